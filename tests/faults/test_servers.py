"""The real program while a sermon plays and its model servers go away and come back."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.cli.main import main
from pipeline.models.resolve import resolve
from scripts.support.program import SERMON, Program, started
from tests.support.model_servers import answers, free_port, says, scripted
from tests.support.speech_servers import SPEECH_MODEL, forms, speech_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

FINAL = "STARK_TRANSLATE__TRANSLATE__FINAL__"
STT = "STARK_TRANSLATE__STT__"
PARTIAL = "STARK_TRANSLATE__TRANSLATE__PARTIAL__"
TARGETS = "STARK_TRANSLATE__TRANSLATE__TARGETS"
PATIENT = {"STARK_TRANSLATE__ENGINES__HANG_S": "120", f"{FINAL}DEADLINE_S": "120"}
SAYS = says(" Bien", " hecho.")


def at(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1"


def final_at(port: int) -> dict[str, str]:
    return {f"{FINAL}ENGINE": "openai", f"{FINAL}URL": at(port)}


GONE = "nothing listens there"


def test_servers_that_go_and_come_cost_quality_and_no_sentence(tmp_path: Path) -> None:
    """Servers of the recognizer, both translators and a further language; then a router.

    The recognizer's server is real: faster-whisper behind a socket, the program's own model.
    """
    stt, quick, final, french = (free_port() for _ in range(4))
    model = resolve("stt", "starter")
    targets = [
        {
            "lang": "fr",
            "rest": False,
            "partial": {"engine": "none"},
            "final": {"engine": "openai", "url": at(french)},
        }
    ]
    env = (
        PATIENT
        | final_at(final)
        | {
            f"{STT}ENGINE": "openai",
            f"{STT}URL": at(stt),
            f"{STT}SERVER_MODEL": SPEECH_MODEL,
            f"{STT}MODEL": "starter",
            f"{STT}DEADLINE_S": "60",
            f"{PARTIAL}ENGINE": "openai",
            f"{PARTIAL}URL": at(quick),
            f"{PARTIAL}LOCAL": "starter",
            TARGETS: orjson.dumps(targets).decode(),
        }
    )
    router = answers(200, b"<html>Welcome to the router</html>", "text/html")
    with started("run", "--input", str(SERMON), cwd=tmp_path, **env) as program:
        program.wait_for("ready", 300)
        await_finals(program, "marian")
        await_setback(program, f"{GONE}; whisper:", "marian stands in on this machine")
        with ExitStack() as servers:
            speech = servers.enter_context(speech_server(model, port=stt))
            for port, words in ((final, SAYS), (french, says(" Bien", " fait."))):
                servers.enter_context(scripted(words, port=port))
            program.until(lambda: len(forms(speech)) >= 2, 300, "sound on its way")
            await_finals(program, "openai")
            await_finals(program, "openai", lang="fr")
            # The quick translator's reason may stay: a late service may not ask it for a while.
            program.until(
                lambda: program.health()["setback"].count(GONE) == 1, 300, "end of the reasons"
            )
            await_setback(program, "marian stands in on this machine")
        await_finals(program, "source", lang="fr")
        await_finals(program, "marian")
        await_setback(program, f"{GONE}; whisper:", "marian stands in on this machine")
        with scripted(router, port=final):
            await_finals(program, "marian")
            await_setback(program, "text/html")
        assert program.health()["recognizer"] == f"openai:{SPEECH_MODEL}"
        assert program.stop() == 0
        journal, translated = program.journal(), program.journal("fr")
        heard_by = {record["recognizer"] for record in program.records()}
        assert "router" not in (program.folder / "captions.jsonl").read_text()
    # A caption translated too late is there twice: untranslated, then translated.
    ids = {line["id"] for line in journal}
    assert ids == set(range(1, len(ids) + 1))
    assert all(line["source"]["text"] for line in journal)
    assert heard_by == {f"openai:{SPEECH_MODEL}", f"whisper:{model.name}"}
    assert {texts(journal), texts(translated)} == {"Bien hecho.", "Bien fait."}
    assert {line["target"]["engine"] for line in journal} <= {"marian", "openai", "source"}


def texts(journal: list[dict[str, Any]]) -> str:
    """Return a server's texts, which are always the same."""
    (text,) = {c["target"]["text"] for c in journal if c["target"]["engine"] == "openai"}
    return str(text)


def await_finals(program: Program, engine: str, count: int = 1, lang: str = "") -> None:
    """Wait until an engine has made `count` more finals."""

    def makers() -> list[str]:
        if not (program.folder / f"captions{lang and '.' + lang}.jsonl").exists():
            return []
        return [line["target"]["engine"] for line in program.journal(lang)]

    before = len(makers())
    program.until(lambda: makers()[before:].count(engine) >= count, 300, f"{engine} {lang}")


def await_setback(program: Program, *words: str) -> None:
    """Wait for these words in the reason on the operator's page."""
    program.until(
        lambda: all(word in program.health()["setback"] for word in words), 300, f"reason {words}"
    )


def test_a_key_that_cannot_be_read_ends_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in (final_at(free_port()) | {f"{FINAL}KEY_FILE": "/nowhere/key"}).items():
        monkeypatch.setenv(name, value)
    assert main(["run", "--input", str(SERMON), "--port", "0"]) == 1
    error = capsys.readouterr().err
    assert "key_file of translate.final.server: /nowhere/key" in error
    assert "key-unreadable" in error
