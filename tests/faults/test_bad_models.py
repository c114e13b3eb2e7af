"""Models that are not there, not whole or not of the right kind, given to the real program.

The engines' own tests (tests/engines) go through every file of a model; these hold that each kind
of trouble ends the start with one sentence, its code and the right exit code.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.resources import bundled
from pipeline.models.library import MANIFEST, Manifest, StoredFile, digest, nobody
from scripts.support.program import SERMON, call, started
from tests.support.model_fixtures import pulled, starter_files
from tests.support.needs import needs_file
from tests.support.sounds import wav

pytestmark = pytest.mark.slow

STT = bundled("models", "starter", "stt")
MARIAN = bundled("models", "starter", "marian")
GEMMA = bundled("models", "tiny", "gemma")
GGUF = "model.gguf"
KEYS = {"stt": "STT", "marian": "TRANSLATE__PARTIAL", "gemma": "TRANSLATE__FINAL"}


def refused(tmp_path: Path, role: str, model: Path, code: str, *says: str) -> None:
    needs_file(STT, MARIAN, GEMMA)
    wav(tmp_path / "a.wav", np.zeros(16_000))
    done = call(
        *("run", "--port", "0", "--input", "a.wav", "--pace", "fast"),
        cwd=tmp_path,
        env={f"STARK_TRANSLATE__{KEYS[role]}__MODEL": str(model)},
    )
    assert done.returncode == 1, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("stark-translate: "), done.stderr
    assert last.endswith(f"[{code}]")
    for word in (str(model), *says):
        assert word in last


def truncated(folder: Path, tmp_path: Path, name: str, share: float) -> Path:
    """Return a copy of a model in which one file ends early."""
    needs_file(folder)
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    data = (copy / name).read_bytes()
    (copy / name).write_bytes(data[: round(len(data) * share)])
    return copy


def test_marian_is_no_recognizer(tmp_path: Path) -> None:
    refused(tmp_path, "stt", MARIAN, "model-wrong-kind", "stt.model", "not a Whisper model")


def test_whisper_is_no_translator(tmp_path: Path) -> None:
    refused(
        tmp_path, "marian", STT, "model-wrong-kind", "translate.partial.model", "not a translation"
    )


def test_a_folder_is_no_gguf(tmp_path: Path) -> None:
    refused(tmp_path, "gemma", MARIAN, "model-wrong-kind", "translate.final.model", ".gguf")


@pytest.mark.parametrize("role", ["stt", "marian"])
def test_a_file_is_no_folder(tmp_path: Path, role: str) -> None:
    refused(tmp_path, role, STT / "model.bin", "model-wrong-kind", "folder that holds model.bin")


@pytest.mark.parametrize("role", ["stt", "marian"])
def test_an_empty_folder_lacks_everything(tmp_path: Path, role: str) -> None:
    (tmp_path / "empty").mkdir()
    refused(tmp_path, role, tmp_path / "empty", "model-missing", "lacks model.bin")


@pytest.mark.parametrize(
    ("role", "name", "share"),
    [
        ("stt", "model.bin", 0.999),
        ("stt", "model.bin", 0.0),
        ("stt", "tokenizer.json", 0.5),
        ("marian", "model.bin", 0.999),
        ("marian", "source.spm", 0.5),
        ("marian", "shared_vocabulary.json", 0.5),
    ],
)
def test_a_truncated_file_is_a_broken_model(
    tmp_path: Path, role: str, name: str, share: float
) -> None:
    folder = STT if role == "stt" else MARIAN
    refused(tmp_path, role, truncated(folder, tmp_path, name, share), "model-broken", "again")


@pytest.mark.parametrize(
    ("kind", "section", "setback"),
    [
        ("marian", "partial", "the quick translator failed"),
        ("pulled", "partial", "the quick translator failed"),
        ("gemma", "final", "the final translator failed"),
    ],
)
def test_a_broken_model_of_a_further_language_costs_that_language_only(
    tmp_path: Path, kind: str, section: str, setback: str
) -> None:
    variable = {}
    if kind == "gemma":
        needs_file(GEMMA)
        model = str(next((truncated(GEMMA, tmp_path, GGUF, 0.5)).glob("*.gguf")))
    elif kind == "marian":
        model = str(truncated(MARIAN, tmp_path, "model.bin", 0.9))
    else:
        folder, model = tmp_path / "models", "opus-mt-en-fr"
        pulled(folder, model, "marian", starter_files("marian"))
        next(folder.rglob("source.spm")).unlink()
        variable["STARK_TRANSLATE__MODELS__DIRECTORY"] = str(folder)
    (tmp_path / "config.toml").write_text(
        "[[translate.targets]]\nlang = 'fr'\nrest = false\n"
        f"{section} = {{ model = {model!r} }}\n"
        + ("partial = { engine = 'none' }\n" if section == "final" else "")
    )
    with started("run", "--input", str(SERMON), cwd=tmp_path, **variable) as program:
        fault = program.wait_for("fault")
        program.until(lambda: len(program.journal()) >= 2, 120, "captions")
        told = program.health()["languages"][0]["setback"]
        assert program.stop() == 0
    assert fault["code"] == "model-broken"
    assert "fr" in fault["stage"]
    assert told.startswith("French: ")
    assert setback in told
    assert {line["target"]["lang"] for line in program.journal()} == {"es"}


def test_a_bit_that_flips_in_a_model_is_told_while_it_serves(tmp_path: Path) -> None:
    """It loads without a word; its hash tells, in the background."""
    needs_file(MARIAN)
    model = tmp_path / "marian"
    shutil.copytree(MARIAN, model)
    files = tuple(
        StoredFile(
            path=file.name,
            size_bytes=file.stat().st_size,
            sha256=digest(file, "sha256", nobody),
        )
        for file in model.iterdir()
    )
    manifest = Manifest(
        name="m", role="marian", repository="", revision="", pulled_utc="", files=files
    )
    (model / MANIFEST).write_text(manifest.model_dump_json())
    content = bytearray((model / "model.bin").read_bytes())
    content[len(content) * 2 // 3] ^= 1
    (model / "model.bin").write_bytes(content)
    wav(tmp_path / "a.wav", np.zeros(16_000 * 120))
    variable = {"STARK_TRANSLATE__TRANSLATE__PARTIAL__MODEL": str(model)}
    with started("run", "--input", "a.wav", cwd=tmp_path, **variable) as program:
        fault = program.wait_for("fault")
        assert program.stop() == 0
    assert fault["code"] == "model-changed"
    assert str(model / "model.bin") in fault["message"]
