"""A model on a server teaches both translators, with the real server, trainers and program."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest

from pipeline.cli.main import main
from pipeline.core.resources import bundled
from pipeline.engines.ctranslate2.marian import Marian
from tests.support.model_servers import real_llama_server
from tests.support.needs import needs_train_extra

needs_train_extra()

pytestmark = [pytest.mark.slow, pytest.mark.train]

TINY = bundled("models", "tiny", "gemma", "model.gguf")
SAID = [
    *("God is good.", "The Lord is my shepherd.", "We pray together.", "Come to church on Sunday."),
    *("He gave his life on the cross.", "Grace is a gift.", "Thank you for your help.", "Amen."),
]


def write_mix(place: Path) -> None:
    place.mkdir(parents=True)
    lines = [
        {"en": text, "es": "Referencia.", "part": "sermon", "weight": 1.0, "source": "review"}
        for text in SAID
    ]
    (place / "train.jsonl").write_bytes(b"".join(orjson.dumps(each) + b"\n" for each in lines))
    (place / "held_out.jsonl").write_bytes(orjson.dumps(lines[0]) + b"\n")


@pytest.mark.timeout(1500)
def test_a_server_teaches_both_translators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_mix(Path("learning/mix"))
    asked = ["learn", "distill", "--steps", "1", "--minutes", "600", "--sentences", "1"]
    asked += ["--teacher", "starter", "--set", "translate.final.prompt=starter"]
    asked += ["--set", "translate.final.engine=openai", "--set", "translate.final.server=gpu"]
    with real_llama_server(tmp_path) as (url, _):
        assert main([*asked, "--set", f"servers.gpu.url={url}"]) == 0
    assert "learn compare" in capsys.readouterr().out
    kept = Path("learning/distill/taught.jsonl")
    lessons = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [each["en"] for each in lessons] == SAID
    assert "Dios" in lessons[0]["es_teacher"]
    taught_by = json.loads(Path("learning/distill/teacher.json").read_text())
    assert taught_by["teacher"] == "openai:starter starter"
    student = Marian(Path("learning/distill/model"))
    student.load()
    assert student.translate(SAID[0]).text
    # A final translator learns in the same way; the result is a GGUF file.
    final = [*asked, "--student", "gemma", "--base", str(TINY), "--levels", "Q8_0"]
    with real_llama_server(tmp_path) as (url, _):
        assert main([*final, "--set", f"servers.gpu.url={url}"]) == 0
    assert "--role gemma" in capsys.readouterr().out
    assert list(Path("learning/distill-gemma/model").glob("*Q8_0.gguf"))
    # Without the server nothing starts, and nothing is lost.
    before = kept.read_bytes()
    assert main([*asked, "--set", f"servers.gpu.url={url}"]) == 1
    assert "[teacher-gone]" in capsys.readouterr().err
    assert kept.read_bytes() == before
