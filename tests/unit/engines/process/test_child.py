"""The process of one engine, asked without its parent's half: what it answers to what."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.errors import EngineCancelledError, EngineError
from pipeline.core.standing import Standing, Token
from pipeline.core.terms import WantedTerm
from pipeline.core.types import Recognition, Translation, Word
from pipeline.engines.ctranslate2.whisper import Whisper
from pipeline.engines.llama_cpp.gemma import Gemma
from pipeline.engines.process.channel import Channel, Patience
from pipeline.engines.process.child import OUT_OF_MEMORY, _serve
from pipeline.engines.specification import EngineSpec

SPECS = {
    "stt": EngineSpec("whisper", "w", Path("/m"), {}),
    "final": EngineSpec("gemma", "g", Path("/m.gguf"), {}),
}


class Ended(BaseException):
    """In the place of the process's end."""


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load nothing, and let this process's log and end alone."""

    def end(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr("pipeline.engines.process.child._send_logs", lambda _: None)
    monkeypatch.setattr("pipeline.engines.process.child._set_log_level", lambda _: None)
    monkeypatch.setattr("os._exit", end)
    monkeypatch.setattr("os.nice", lambda _: 0)
    for engine in (Whisper, Gemma):
        monkeypatch.setattr(engine, "load", lambda _: None)


def ask(
    part: str, *requests: tuple[dict[str, Any], bytes], answered: int | None = None
) -> list[dict[str, Any]]:
    """Return everything that a child for `part` answers; `answered`: to so many requests."""
    most = len(requests) if answered is None else answered
    ours, its = map(Channel, socket.socketpair())
    description = {"engine": SPECS[part].as_json(), "niceness": 0, "oom_score_adj": 0}
    ours.send(description | {"log_level": 20}, patience=Patience())
    for request, data in requests:
        ours.send({"log_level": 20, **request}, data, patience=Patience())
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


ENDS: list[int] = []


def serve(channel: Channel) -> None:
    try:
        _serve(channel)
    except Ended as end:
        ENDS.append(end.args[0])
    except EOFError:
        pass
    channel.end()


def test_samples_come_as_they_were_and_words_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []

    def recognize(
        self: Whisper, pcm: Any, *, final: bool, prefix: Sequence[int] = ()
    ) -> Recognition:
        heard.append((self.hotwords, final, prefix, pcm.copy()))
        return Recognition(
            "Amen.",
            np.float64(-0.5),
            words=(Word("Amen.", 0.9),),
            tokens=(Token(7, " Amen", 4), Token(8, ".", 5)),
            ends_s=(0.5, 0.6),
        )

    monkeypatch.setattr(Whisper, "recognize", recognize)
    pcm = np.linspace(-1, 1, 1000, dtype=np.float32)
    request = {"do": "recognize", "final": True, "prefix": [7], "hotwords": "Habakkuk"}
    loaded, done = ask("stt", (request, pcm.tobytes()))
    assert loaded == {"is": "loaded", "degraded_reason": "", "gpu_layers": 0, "kernels": ""}
    assert done["value"]["text"] == "Amen."
    assert done["value"]["avg_logprob"] == -0.5
    assert done["value"]["words"] == [{"text": "Amen.", "probability": 0.9}]
    assert done["value"]["tokens"][1] == {"id": 8, "text": ".", "until": 5}
    assert done["value"]["ends_s"] == [0.5, 0.6]
    ((hotwords, final, prefix, samples),) = heard
    assert (hotwords, final, prefix) == ("Habakkuk", True, [7])
    assert np.array_equal(samples, pcm)


TRANSLATE = {
    "do": "translate",
    "text": "Amen",
    "draft": "Amén",
    "stream": True,
    "deadline_s": 3.5,
    "standing": {"source": 4, "target": 3, "pieces": [["A"], []], "closed": 1},
    "rivals": None,
    "wanted": [asdict(WantedTerm("amen", 0, 4, ("amén",), "es", "amens?"))],
}


def test_a_translation_grows_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def translate(  # noqa: PLR0917 - as the engine's own
        self: Gemma,
        text: str,
        on_text: Any = None,
        draft: str = "",
        standing: Standing | None = None,
        wanted: Sequence[WantedTerm] = (),
    ) -> Translation:
        seen.append((text, draft, standing, [term.forms for term in wanted], self.deadline_s))
        if on_text:
            on_text("A")
        return Translation("Amén", "gemma", tokens=2)

    monkeypatch.setattr(Gemma, "translate", translate)
    monkeypatch.setattr(Gemma, "kernels", "AVX2")
    silent = TRANSLATE | {"stream": False, "deadline_s": None, "standing": None}
    loaded, text, done, again = ask("final", (TRANSLATE, b""), (silent, b""))
    assert loaded["kernels"] == "AVX2"
    assert text == {"is": "text", "text": "A"}
    assert done["value"]["text"] == again["value"]["text"] == "Amén"
    stands = Standing(source=4, target=3, pieces=(("A",), ()), closed=1)
    assert seen == [
        ("Amen", "Amén", stands, [("amén",)], 3.5),
        ("Amen", "Amén", None, [("amén",)], float("inf")),
    ]


def test_scores_and_alternatives_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def score(_: Gemma, text: str, targets: Sequence[str]) -> list[tuple[float, float]]:
        return [(-float(len(text)), -float(len(target))) for target in targets]

    monkeypatch.setattr(Gemma, "score", score, raising=False)
    monkeypatch.setattr(Gemma, "alternatives", lambda _, text: [text, "Así sea"], raising=False)
    monkeypatch.setattr(Gemma, "kernels", "")
    asked = {"do": "score", "text": "Amen", "targets": ["Así sea", "Amén"]}
    _, scored, found = ask("final", (asked, b""), ({"do": "alternatives", "text": "Amen"}, b""))
    assert scored["value"] == {"scores": [[-4.0, -7.0], [-4.0, -4.0]]}
    assert found["value"] == {"texts": ["Amen", "Así sea"]}


def test_an_error_keeps_its_kind_its_code_and_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise EngineError("final-late", "No translation within 3 s.", "Wait.")

    monkeypatch.setattr(Gemma, "translate", fail)
    monkeypatch.setattr(Gemma, "kernels", "")
    _, answer = ask("final", (TRANSLATE, b""))
    assert answer == {
        "is": "error",
        "class": "EngineError",
        "code": "final-late",
        "message": "No translation within 3 s.",
        "fix": "Wait.",
        "degraded_reason": "",
    }


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
    def fail(*_: object, **__: object) -> None:
        raise error

    ENDS.clear()
    monkeypatch.setattr(Gemma, "translate", fail)
    monkeypatch.setattr(Gemma, "kernels", "")
    assert [answer["is"] for answer in ask("final", (TRANSLATE, b""))] == ["loaded"]
    assert ENDS == [OUT_OF_MEMORY]


def test_a_request_is_cancelled_by_the_next_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two tokens it is read; one that comes too late is passed over."""

    def translate(self: Gemma, text: str, **_: object) -> Translation:
        if text == "long" and self.is_cancelled():
            raise EngineCancelledError("engine-cancelled", "Not wanted.")
        return Translation(text, "gemma")

    monkeypatch.setattr(Gemma, "translate", translate)
    monkeypatch.setattr(Gemma, "kernels", "")
    asked = [(TRANSLATE | {"text": text}, b"") for text in ("long", "short", "last")]
    cancel: tuple[dict[str, Any], bytes] = ({"do": "cancel"}, b"")
    _, first, second, third = ask("final", asked[0], cancel, asked[1], cancel, asked[2], answered=3)
    assert (first["is"], first["class"]) == ("error", "EngineCancelledError")
    assert [each["value"]["text"] for each in (second, third)] == ["short", "last"]
