"""The real program while a sermon plays, and the server that makes its finals goes and comes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from pipeline.models.resolve import resolve
from scripts.support.program import SERMON, Program, call, started
from tests.support.model_servers import answers, free_port, real_server, says, scripted, serves
from tests.support.speech_servers import SPEECH_MODEL, forms, speech_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

FINAL = "STARK_TRANSLATE__TRANSLATE__FINAL__"
STT = "STARK_TRANSLATE__STT__"
PARTIAL = "STARK_TRANSLATE__TRANSLATE__PARTIAL__"
TARGETS = "STARK_TRANSLATE__TRANSLATE__TARGETS"
PATIENT = {"STARK_TRANSLATE__ENGINES__HANG_S": "120", f"{FINAL}DEADLINE_S": "120"}
SAYS = says(" Bien", " hecho.")


def final_at(port: int) -> dict[str, str]:
    return {f"{FINAL}ENGINE": "openai", f"{FINAL}URL": f"http://127.0.0.1:{port}/v1"}


@contextmanager
def playing(tmp_path: Path, env: dict[str, str]) -> Iterator[Program]:
    with started("run", "--input", str(SERMON), cwd=tmp_path, **(PATIENT | env)) as program:
        program.wait_for("serving", 300)
        yield program


def makers(program: Program) -> list[str]:
    return [line["target"]["engine"] for line in program.journal()]


def await_finals(program: Program, engine: str, count: int = 2) -> None:
    """Wait until an engine has made so many finals more."""
    before = len(makers(program))
    program.until(lambda: makers(program)[before:].count(engine) >= count, 300, engine)


def await_captions(program: Program, count: int = 2) -> None:
    """Wait for so many finals more, whoever translates them on a busy machine."""
    before = len(program.journal())
    program.until(lambda: len(program.journal()) >= before + count, 300, "captions")


def test_a_server_that_goes_and_comes_costs_quality_and_no_sentence(tmp_path: Path) -> None:
    port = free_port()
    with playing(tmp_path, final_at(port)) as program:
        await_finals(program, "marian")
        assert "nothing listens there" in program.health()["setback"]
        with scripted(SAYS, port=port):
            await_finals(program, "openai")
            program.until(lambda: program.health()["setback"] == "", what="end of the reason")
        await_finals(program, "marian")
        assert "nothing listens there" in program.health()["setback"]
        assert program.stop() == 0
        journal = program.journal()
    # What was not translated in time is in it twice: as it was said, then translated.
    ids = {line["id"] for line in journal}
    assert ids == set(range(1, len(ids) + 1))
    texts = [line["target"]["text"] for line in journal if line["target"]["engine"] == "openai"]
    assert set(texts) == {"Bien hecho."}


def test_what_no_translator_says_is_never_on_screen(tmp_path: Path) -> None:
    router = answers(200, b"<html>Welcome to the router</html>", "text/html")
    with scripted(router) as server, playing(tmp_path, final_at(server.server_port)) as program:
        await_finals(program, "marian", 3)
        assert "text/html" in program.health()["setback"]
        assert program.stop() == 0
        assert "router" not in (program.folder / "captions.jsonl").read_text()


def test_a_quick_translator_on_a_server_has_a_local_one_behind_it(tmp_path: Path) -> None:
    env = {
        f"{PARTIAL}ENGINE": "openai",
        f"{PARTIAL}URL": f"http://127.0.0.1:{free_port()}/v1",
        f"{PARTIAL}LOCAL": "starter",
        f"{FINAL}ENGINE": "marian",
    }
    with playing(tmp_path, env) as program:
        await_finals(program, "marian")
        assert "marian stands in on this machine" in program.health()["setback"]
        assert program.stop() == 0


def test_a_real_server_makes_the_finals_of_a_service(tmp_path: Path) -> None:
    with real_server(tmp_path) as (url, _):
        port = int(url.rpartition(":")[2].partition("/")[0])
        with playing(tmp_path, final_at(port)) as program:
            await_finals(program, "openai", 3)
            assert program.health()["setback"] == ""
            assert program.stop() == 0


def test_a_further_language_has_a_server_of_its_own(tmp_path: Path) -> None:
    port = free_port()
    french = {
        "lang": "fr",
        "rest": False,
        "partial": {"engine": "none"},
        "final": {"engine": "openai", "url": f"http://127.0.0.1:{port}/v1"},
    }
    env = {f"{FINAL}ENGINE": "marian", TARGETS: orjson.dumps([french]).decode()}

    def made() -> list[str]:
        if not (program.folder / "captions.fr.jsonl").exists():
            return []
        return [line["target"]["engine"] for line in program.journal("fr")]

    with playing(tmp_path, env) as program:
        with scripted(says(" Bien", " fait."), port=port):
            program.until(lambda: made().count("openai") >= 2, 300, "French")
        before = len(made())
        program.until(lambda: made()[before:].count("source") >= 2, 300, "the spoken words")
        await_finals(program, "marian")
        assert "nothing listens there" in program.health()["setback"]
        assert program.stop() == 0
    assert {line["target"]["engine"] for line in program.journal()} == {"marian"}


def test_a_recognizers_server_that_goes_and_comes_costs_no_sentence(tmp_path: Path) -> None:
    """A real one: faster-whisper behind a socket, the same model in the program."""
    port, model = free_port(), resolve("stt", "starter")
    env = {
        f"{STT}ENGINE": "openai",
        f"{STT}URL": f"http://127.0.0.1:{port}/v1",
        f"{STT}SERVER_MODEL": SPEECH_MODEL,
        f"{STT}MODEL": "starter",
        f"{STT}DEADLINE_S": "60",
        f"{FINAL}ENGINE": "marian",
    }
    with playing(tmp_path, env) as program:
        await_captions(program)
        assert "nothing listens there; whisper:" in program.health()["setback"]
        assert "stands in on this machine" in program.health()["setback"]
        with speech_server(model, port=port) as server:
            program.until(lambda: len(forms(server)) >= 2, 300, "sound on its way")
            program.until(lambda: program.health()["setback"] == "", 300, "end of the reason")
            await_captions(program)
        await_captions(program)
        assert "stands in on this machine" in program.health()["setback"]
        assert program.health()["recognizer"] == f"openai:{SPEECH_MODEL}"
        assert program.stop() == 0
        journal = program.journal()
        heard_by = {record["recognizer"] for record in program.records()}
    # What was not translated in time is in it twice: as it was said, then translated.
    ids = {line["id"] for line in journal}
    assert ids == set(range(1, len(ids) + 1))
    assert all(line["source"]["text"] for line in journal)
    assert heard_by == {f"openai:{SPEECH_MODEL}", f"whisper:{model.name}"}


def test_check_names_a_server_of_another_model(tmp_path: Path) -> None:
    with scripted(models=serves("llama-3")) as server:
        env = PATIENT | final_at(server.server_port)
        done = call("check", "--no-audio", "--port", "0", cwd=tmp_path, env=env, timeout_s=300)
    assert done.returncode == 1
    (red,) = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert red.split()[1] == "server-final"
    assert "[server-other-model]" in red


def test_a_key_that_cannot_be_read_ends_the_start(tmp_path: Path) -> None:
    env = final_at(free_port()) | {f"{FINAL}KEY_FILE": "/nowhere/key"}
    arguments = ("run", "--input", str(SERMON), "--port", "0")
    done = call(*arguments, cwd=tmp_path, env=env, timeout_s=300)
    assert done.returncode == 1
    assert "key_file of translate.final.server: /nowhere/key" in done.stderr
    assert "key-unreadable" in done.stderr
