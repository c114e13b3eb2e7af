"""The process of one engine, tested without its parent's half: how it fails and gives up.

test_engine_process tests its normal answers.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from pipeline.core.errors import EngineCancelledError, EngineError
from pipeline.core.types import Alternative, Translation
from pipeline.engines.llama_cpp.gemma import Gemma
from pipeline.engines.process.channel import Channel, Patience
from pipeline.engines.process.child import OUT_OF_MEMORY, _serve
from pipeline.engines.protocols import SentencePair, TranslationRequest
from pipeline.engines.specification import EngineSpec

SPEC = EngineSpec("gemma", "g", Path("/m.gguf"), {})
DESCRIPTION = {"engine": SPEC.as_json(), "niceness": 0, "oom_score_adj": 0}
ENDS: list[int] = []


class Ended(BaseException):
    """Raised in place of the process's end."""


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load no model, and leave this process's log and end alone."""

    def end(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr("pipeline.engines.process.child._send_logs", lambda _: None)
    monkeypatch.setattr("pipeline.engines.process.child._set_log_level", lambda _: None)
    monkeypatch.setattr("os._exit", end)
    monkeypatch.setattr("os.nice", lambda _: 0)
    monkeypatch.setattr(Gemma, "load", lambda _: None)
    monkeypatch.setattr(Gemma, "kernels", "")


def ask(*requests: dict[str, Any], answered: int | None = None) -> list[dict[str, Any]]:
    """Return all answers of a child; `answered`: how many requests it answers (None: all)."""
    most = len(requests) if answered is None else answered
    ours, its = map(Channel, socket.socketpair())
    for message in (DESCRIPTION, *requests):
        ours.send({"log_level": 20, **message}, patience=Patience())
    child = threading.Thread(target=serve, args=(its,))
    child.start()
    answers: list[dict[str, Any]] = []
    try:
        while True:
            answer, _ = ours.receive(Patience(20))
            answers.append(answer)
            if sum(each["is"] != "text" for each in answers) > most:
                ours.end()
    except EOFError:
        pass
    child.join(20)
    ours.close()
    its.close()
    return answers


def serve(channel: Channel) -> None:
    try:
        _serve(channel)
    except Ended as end:
        ENDS.append(end.args[0])
    except EOFError:
        pass
    channel.end()


TRANSLATE = {
    "do": "translate",
    "text": "Amen",
    "draft": "",
    "stream": False,
    "deadline_s": None,
    "standing": None,
    "rivals": None,
    "previous": None,
    "wanted": [],
}


def test_scores_and_alternatives_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def score(
        _: Gemma, text: str, targets: Sequence[str], previous: SentencePair | None
    ) -> list[tuple[float, float]]:
        assert previous == SentencePair("Grace.", "Gracia.")
        return [(-float(len(text)), -float(len(target))) for target in targets]

    monkeypatch.setattr(Gemma, "score", score, raising=False)

    def translate(_: Gemma, text: str, request: TranslationRequest) -> Translation:
        assert request.previous == SentencePair("Grace.", "Gracia.")
        others = tuple(Alternative(each, -1.0, -2.0) for each in request.rivals or ())
        return Translation(text, "gemma", alternatives=others)

    monkeypatch.setattr(Gemma, "translate", translate)
    previous = {"previous": {"source": "Grace.", "target": "Gracia."}}
    asked = {"do": "score", "text": "Amen", "targets": ["Así sea", "Amén"]} | previous
    _, scored, found = ask(asked, TRANSLATE | {"rivals": ["Así sea"]} | previous)
    assert scored["value"] == {"scores": ((-4.0, -7.0), (-4.0, -4.0))}
    (other,) = found["value"]["alternatives"]
    assert other == {"text": "Así sea", "avg_logprob": -1.0, "whole_logprob": -2.0, "part": 0}


def test_an_engine_that_cannot_score_says_so() -> None:
    _, answer = ask({"do": "score", "text": "Amen", "targets": ["Amén"], "previous": None})
    assert (answer["is"], answer["code"]) == ("error", "score-unknown")


def test_an_error_keeps_its_kind_its_code_and_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    late = EngineError("final-late", "No translation within 3 s.", "Wait.")
    monkeypatch.setattr(Gemma, "translate", Mock(side_effect=late))
    _, answer = ask(TRANSLATE)
    assert answer == {
        "is": "error",
        "class": "EngineError",
        "code": "final-late",
        "message": "No translation within 3 s.",
        "fix": "Wait.",
        "degraded_reason": "",
    }


def test_a_file_that_loading_lacks_is_no_end_of_the_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the process would end without reporting it."""

    lacks = OSError("libgomp.so.1: cannot open shared object file")
    monkeypatch.setattr(Gemma, "load", Mock(side_effect=lacks))
    ours, its = map(Channel, socket.socketpair())
    ours.send({"log_level": 20, **DESCRIPTION}, patience=Patience())
    with pytest.raises(RuntimeError, match=r"libgomp\.so\.1"):
        _serve(its)
    ours.close()
    its.close()


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        EngineError("stt-failed", "whisper: std::bad_alloc."),
        EngineError("gemma-failed", "CUDA error: out of memory."),
    ],
)
def test_without_memory_it_ends_rather_than_go_on_with_what_is_half_done(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    ENDS.clear()
    monkeypatch.setattr(Gemma, "translate", Mock(side_effect=error))
    assert [answer["is"] for answer in ask(TRANSLATE)] == ["loaded"]
    assert ENDS == [OUT_OF_MEMORY]


def test_a_request_is_cancelled_by_the_next_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancel is read between two tokens; one that comes too late is ignored."""

    def translate(self: Gemma, text: str, _: TranslationRequest) -> Translation:
        if text == "long" and self.is_cancelled():
            raise EngineCancelledError("engine-cancelled", "Not wanted.")
        return Translation(text, "gemma")

    monkeypatch.setattr(Gemma, "translate", translate)
    long, short, last = (TRANSLATE | {"text": text} for text in ("long", "short", "last"))
    cancel = {"do": "cancel"}
    _, first, second, third = ask(long, cancel, short, cancel, last, answered=3)
    assert (first["is"], first["class"]) == ("error", "EngineCancelledError")
    assert [each["value"]["text"] for each in (second, third)] == ["short", "last"]
