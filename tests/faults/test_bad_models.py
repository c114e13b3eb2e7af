"""Missing, incomplete or wrong models, given to the real program.

The engines' own tests (tests/engines) cover every file of a model. These tests check that each
kind of fault ends the start with one sentence, its code and the right exit code.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.cli.main import main
from pipeline.core.resources import bundled
from pipeline.models.library import MANIFEST, Manifest, StoredFile, digest, nobody
from scripts.support.program import SERMON, started
from tests.support.model_fixtures import pulled, starter_files
from tests.support.needs import needs_file
from tests.support.sounds import wav

pytestmark = pytest.mark.slow

STT = bundled("models", "starter", "stt")
MARIAN = bundled("models", "starter", "marian")
GEMMA = bundled("models", "tiny", "gemma")
GGUF = "model.gguf"
KEYS = {"stt": "STT", "marian": "TRANSLATE__PARTIAL", "gemma": "TRANSLATE__FINAL"}

Refused = Callable[..., None]


@pytest.fixture
def refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Refused:
    needs_file(STT, MARIAN, GEMMA)
    wav(tmp_path / "a.wav", np.zeros(16_000))
    monkeypatch.chdir(tmp_path)

    def check(role: str, model: Path, code: str, *says: str) -> None:
        monkeypatch.setenv(f"STARK_TRANSLATE__{KEYS[role]}__MODEL", str(model))
        section, engine = ("PARTIAL", "none") if role == "gemma" else ("FINAL", "marian")
        monkeypatch.setenv(f"STARK_TRANSLATE__TRANSLATE__{section}__ENGINE", engine)
        assert main(["run", "--port", "0", "--input", "a.wav", "--pace", "fast"]) == 1
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith("stark-translate: "), last
        assert last.endswith(f"[{code}]")
        for word in (str(model), *says):
            assert word in last

    return check


def truncated(folder: Path, copy: Path, name: str, share: float) -> Path:
    """Return a copy of a model with one truncated file."""
    needs_file(folder)
    shutil.copytree(folder, copy)
    data = (copy / name).read_bytes()
    (copy / name).write_bytes(data[: round(len(data) * share)])
    return copy


@pytest.mark.parametrize(
    ("role", "model", "says"),
    [
        ("stt", MARIAN, ("stt.model", "not a Whisper model")),
        ("marian", STT, ("translate.partial.model", "not a translation")),
        ("gemma", MARIAN, ("translate.final.model", ".gguf")),
        ("marian", STT / "model.bin", ("folder that holds model.bin",)),
    ],
    ids=["marian to hear", "whisper to translate", "folder", "file"],
)
def test_a_model_of_another_kind_is_refused(
    refused: Refused, role: str, model: Path, says: tuple[str, ...]
) -> None:
    refused(role, model, "model-wrong-kind", *says)


def test_an_empty_folder_lacks_everything(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused("stt", tmp_path / "empty", "model-missing", "lacks model.bin")


@pytest.mark.parametrize("role", ["stt", "marian"])
def test_a_truncated_file_is_a_broken_model(refused: Refused, tmp_path: Path, role: str) -> None:
    where = (STT, "model.bin", 0.999) if role == "stt" else (MARIAN, "shared_vocabulary.json", 0.5)
    folder, name, share = where
    refused(role, truncated(folder, tmp_path / "copy", name, share), "model-broken", "again")


def flipped(model: Path) -> Path:
    """Copy Marian with a flipped bit; its file list has the hashes from before."""
    needs_file(MARIAN)
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
    return model


def test_broken_models_of_further_languages_cost_those_only_and_a_flipped_bit_is_told(
    tmp_path: Path,
) -> None:
    """A model with a flipped bit loads without an error; the background hash check finds it."""
    own, models, pulled_one = tmp_path / "own", tmp_path / "models", "opus-mt-en-fr"
    pulled(models, pulled_one, "marian", starter_files("marian"))
    next(models.rglob("source.spm")).unlink()
    broken = {
        "fr": ("French", "partial", pulled_one),
        "de": ("German", "partial", truncated(MARIAN, tmp_path / "m", "model.bin", 0.9)),
        "it": ("Italian", "final", truncated(GEMMA, tmp_path / "g", GGUF, 0.5) / GGUF),
    }
    text = ""
    for lang, (_, section, model) in broken.items():
        text += f"[[translate.targets]]\nlang = '{lang}'\nrest = false\n"
        text += f"{section} = {{ model = '{model}' }}\n"
        text += (
            "final = { engine = 'marian' }\n"
            if section == "partial"
            else "partial = { engine = 'none' }\n"
        )
    (tmp_path / "config.toml").write_text(text)
    env = {
        "STARK_TRANSLATE__MODELS__DIRECTORY": str(models),
        "STARK_TRANSLATE__TRANSLATE__PARTIAL__MODEL": str(flipped(own)),
    }

    def faults(code: str) -> list[dict[str, Any]]:
        return [e for e in program.records("event") if e.get("code") == code]

    with started("run", "--input", str(SERMON), cwd=tmp_path, **env) as program:
        program.wait_for("ready")
        program.until(lambda: len(faults("model-broken")) == len(broken), what="broken models")
        program.until(lambda: faults("model-changed"), what="flipped bit")
        program.until(lambda: len(program.journal()) >= 2, what="captions")
        setbacks = {each["lang"]: each["setback"] for each in program.health()["languages"]}
        (changed,) = faults("model-changed")
        stages = {fault["stage"] for fault in faults("model-broken")}
        assert program.stop() == 0
    assert str(own / "model.bin") in changed["message"]
    who = {"partial": "the quick translator failed", "final": "the final translator failed"}
    for lang, (name, section, _) in broken.items():
        assert setbacks[lang].startswith(f"{name}: ")
        assert who[section] in setbacks[lang]
        assert any(lang in stage for stage in stages)
    assert {line["target"]["lang"] for line in program.journal()} == {"es"}
