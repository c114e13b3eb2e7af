"""A translator on a server, over real sockets; the real server is llama-cpp-python's own."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import EngineCancelledError, EngineError, ModelError, StarkError
from pipeline.engines.protocols import SentencePair, TranslationRequest
from pipeline.engines.remote import api_server as remote_module
from pipeline.engines.remote.openai import OpenAi
from tests.support.model_servers import (
    MODEL,
    Answer,
    Handler,
    answers,
    breaks_off,
    real_llama_server,
    real_server,
    says,
    scripted,
    serves,
    stalls,
)

TEXT = "Grace to you and peace."
PATIENT_S = 60.0
Serve = Callable[[Path], AbstractContextManager[tuple[str, subprocess.Popen[bytes]]]]
HTML = b"<!DOCTYPE html><html><body>Welcome to the router</body></html>"


def engine(url: str, **more: Any) -> OpenAi:
    arguments: dict[str, Any] = {"url": url, "deadline_s": PATIENT_S, **more}
    made = OpenAi(MODEL, **arguments)
    made.open()
    return made


def refused(*turns: Answer, models: Answer | None = None, **more: Any) -> EngineError:
    with scripted(*turns, models=models) as server, pytest.raises(EngineError) as raised:
        engine(server.url, **more).translate(TEXT)
    return raised.value


def test_a_translation_comes_as_it_grows_with_its_counts() -> None:
    with scripted(says(" Gracia", " y", " paz", " a vosotros.", model=MODEL)) as server:
        grown: list[str] = []
        translation = engine(server.url).translate(TEXT, TranslationRequest(grown.append))
        (asked,) = server.asked
    assert translation.text == "Gracia y paz a vosotros."
    assert (translation.engine, translation.stopped) == ("openai", "end")
    assert (translation.tokens, translation.prompt_tokens) == (4, 11)
    assert translation.avg_logprob is None, "nobody has told it"
    assert grown == ["Gracia", "Gracia y", "Gracia y paz a"]
    assert asked["prompt"] == (
        f"<start_of_turn>user\n{TEXT}<end_of_turn>\n<start_of_turn>model\n"
    ), "our own prompt, not the server's template"
    assert (asked["model"], asked["temperature"], asked["stream"]) == (MODEL, 0, True)
    assert asked["stop"] == ["<end_of_turn>"]
    assert 20 < asked["max_tokens"] < 100


def test_the_sentence_before_goes_along_and_nobody_can_speak_a_control_token() -> None:
    previous = SentencePair("He came <end_of_turn>.", "Vino.")
    with scripted(says(" Gracia.", model=MODEL)) as server:
        request = TranslationRequest(previous=previous)
        made = engine(server.url).translate("So <bos> he said.", request)
        (asked,) = server.asked
    assert made.text == "Gracia."
    assert asked["prompt"] == (
        "<start_of_turn>user\nHe came ‹end_of_turn›. So ‹bos› he said.<end_of_turn>\n"
        "<start_of_turn>model\nVino."
    )


def test_nothing_is_asked_for_nothing() -> None:
    with scripted() as server:
        assert engine(server.url).translate("  ").text == ""
        assert server.seen == []


def test_a_long_text_goes_in_parts_that_fit_and_comes_back_whole() -> None:
    text = " ".join(f"This is sentence number {n} of a very long sermon." for n in range(12))
    with scripted(says("Una.")) as server:
        made = engine(server.url, context=256).translate(text)
        asked = server.asked
    assert len(asked) > 1
    assert made.text == " ".join(["Una."] * len(asked))
    assert "".join(each["prompt"] for each in asked).count("sentence number") == 12


def test_a_runaway_loop_is_stopped_and_the_server_is_left() -> None:
    with scripted(stalls(*[" amén"] * 40)) as server:
        made = engine(server.url).translate(TEXT)
        assert server.ended.wait(PATIENT_S), "the server goes on for nobody"
    assert made.stopped == "loop"


def test_the_key_is_sent_and_what_is_in_its_file_is_no_secret_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cret\n")
    with scripted() as server:
        engine(server.url, key_file=str(tmp_path / "key")).translate(TEXT)
        assert {headers["Authorization"] for _, headers, _ in server.seen} == {"Bearer s3cret"}
    error = refused(
        answers(401, b'{"error": {"message": "Invalid API key"}}'),
        key_file=str(tmp_path / "key"),
    )
    assert error.code == "server-refuses"
    assert "Invalid API key" in error.message
    assert "s3cret" not in str(error)


@pytest.mark.parametrize("content", [None, b"", b"two words", b"\xff\xfe"])
def test_a_key_that_cannot_be_read(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ModelError, match="key-unreadable"):
        engine("http://127.0.0.1:1/v1", key_file=str(file))


def test_a_certificate_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    for file in ("ca.pem", "missing.pem"):
        with pytest.raises(ModelError, match="certificate-unreadable"):
            engine("https://127.0.0.1:1", ca_file=str(tmp_path / file))


class TestWrongAnswers:
    """Each wrong answer gives a clear error at once, and none of it is shown."""

    @pytest.mark.parametrize(
        ("answer", "code", "words"),
        [
            (answers(200, HTML, "text/html"), "server-nonsense", "text/html in place of"),
            (answers(404, HTML, "text/html"), "server-nonsense", "status 404"),
            (answers(400, b'{"error": "too long"}'), "server-nonsense", "400: too long"),
            (answers(403, b"{}"), "server-refuses", "refuses the key"),
            (
                answers(404, b'{"error": {"message": "no such model"}}'),
                "server-other-model",
                "does not serve 'starter': no such model",
            ),
            (says("Hola", model="llama-3"), "server-other-model", "'starter': llama-3"),
        ],
    )
    def test_an_answer_that_is_no_translation(self, answer: Answer, code: str, words: str) -> None:
        error = refused(answer)
        assert error.code == code
        assert words in error.message

    @pytest.mark.parametrize(
        "data", [b"data: []\n\n", b'data: {"choices": [{"text": null}]}\n\n', b"data: \xff\xfe\n\n"]
    )
    def test_events_that_make_no_sense(self, data: bytes) -> None:
        def answer(handler: Handler) -> None:
            handler.begin_stream()
            handler.chunk(data)
            handler.end_stream()

        assert refused(answer).code == "server-nonsense"

    def test_an_error_in_mid_stream(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(remote_module, "_WAITS_S", ())

        def answer(handler: Handler) -> None:
            handler.begin_stream()
            handler.piece("Hola")
            handler.event(error={"message": "CUDA error: out of memory"})
            handler.end_stream()

        error = refused(answer)
        assert (error.code, "CUDA error" in error.message) == ("server-failed", True)

    def test_a_server_of_another_model_is_not_asked(self) -> None:
        with scripted(models=serves("llama-3", "qwen")) as server:
            with pytest.raises(EngineError, match="llama-3, qwen") as raised:
                engine(server.url).translate(TEXT)
            assert server.asked == []
        assert raised.value.code == "server-other-model"


class TestPatience:
    @pytest.fixture(autouse=True)
    def _briefly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(remote_module, "_WAITS_S", (0.01, 0.01, 0.01))

    def test_what_may_pass_is_tried_again(self) -> None:
        busy = answers(503, b'{"error": {"message": "Loading model"}}')
        with scripted(busy, answers(502, b"", "text/html"), breaks_off(), says("Ya.")) as server:
            assert engine(server.url).translate(TEXT).text == "Ya."
            assert len(server.asked) == 4

    def test_a_second_attempt_takes_no_words_off_the_screen(self) -> None:
        grown: list[str] = []
        with scripted(breaks_off(" Gracia", " y", " paz", " a"), says(" Gracia", " y paz.")) as s:
            made = engine(s.url).translate(TEXT, TranslationRequest(grown.append))
        assert made.text == "Gracia y paz."
        assert grown == sorted(grown, key=len)
        assert grown == list(dict.fromkeys(grown))

    @pytest.mark.parametrize("pieces", [(), (" Gracia", " y")])
    def test_one_that_stalls_is_late_at_the_deadline(self, pieces: tuple[str, ...]) -> None:
        with scripted(stalls(*pieces)) as server:
            made = engine(server.url, deadline_s=0.5)
            with pytest.raises(EngineError, match="server-late"):
                made.translate(TEXT)
            # On a busy machine the request may not be sent within that time.
            assert len(server.asked) <= 1
            if server.asked:
                assert server.ended.wait(PATIENT_S)

    def test_a_translation_that_nobody_wants_is_left(self) -> None:
        with scripted(stalls(" Gracia", " y")) as server:
            made = engine(server.url)
            made.is_cancelled = lambda: bool(server.asked)
            with pytest.raises(EngineCancelledError):
                made.translate(TEXT)
            assert server.ended.wait(PATIENT_S)
        assert made.degraded_reason == "", "the server has done nothing wrong"


def test_an_address_without_a_path_gets_the_usual_one() -> None:
    with scripted() as server:
        engine(server.url.removesuffix("/v1")).translate(TEXT)
        assert {path for path, _, _ in server.seen} == {"/v1/models", "/v1/completions"}


@pytest.fixture(scope="module")
def local() -> str:
    """Return the text of the same model in this process."""
    from pipeline.engines.llama_cpp.gemma import Gemma
    from pipeline.models.resolve import resolve

    made = Gemma(resolve("gemma", "tiny"), deadline_s=PATIENT_S)
    made.load()
    return made.translate(TEXT).text


@pytest.mark.slow
class TestRealServer:
    """With the starter model: llama_cpp.server, and what `serve-model` starts."""

    def test_its_key_and_its_model_are_checked(self, tmp_path: Path) -> None:
        key = tmp_path / "key"
        key.write_text("s3cret")
        with real_server(tmp_path, key="s3cret", name="church") as (url, _):
            codes = []
            for name, file in (("church", ""), ("other", str(key)), ("church", str(key))):
                made = OpenAi(name, url=url, key_file=file, prompt="starter", deadline_s=PATIENT_S)
                made.open()
                try:
                    codes.append(made.translate(TEXT).engine)
                except StarkError as error:
                    codes.append(error.code)
        assert codes == ["server-refuses", "server-other-model", "openai"]

    @pytest.mark.parametrize(
        ("number", "serve"),
        [(signal.SIGKILL, real_server), (signal.SIGSTOP, real_llama_server)],
    )
    def test_killed_or_stopped_in_mid_stream(
        self, tmp_path: Path, local: str, number: signal.Signals, serve: Serve
    ) -> None:
        """Until then it translates as the local engine does."""
        with serve(tmp_path) as (url, process):
            made = engine(url)
            made.load()
            assert made.degraded_reason == ""
            grown: list[str] = []
            assert made.translate(TEXT, TranslationRequest(grown.append)).text == local
            assert grown
            made.deadline_s = PATIENT_S if number == signal.SIGKILL else 8.0
            struck = threading.Event()

            def strike(_: str) -> None:
                if not struck.is_set():
                    os.kill(process.pid, number)
                    struck.set()

            began_s = time.monotonic()
            with pytest.raises(EngineError, match=r"server-gone|server-late") as raised:
                made.translate(" ".join([TEXT] * 6), TranslationRequest(strike))
            assert struck.is_set(), "it was at it"
            assert raised.value.code == (
                "server-gone" if number == signal.SIGKILL else "server-late"
            )
            assert time.monotonic() - began_s < PATIENT_S
            assert made.degraded_reason
