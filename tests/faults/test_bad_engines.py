"""Engines that fail in the middle of a service, and a disk that blocks."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import EngineError
from pipeline.core.types import Pcm, Recognition, Translation
from tests.support.daemon import DURATION_S, SCRIPT, Service, all_finals, until
from tests.support.fakes import FakeDetector, FakeRecognizer, FakeSource, FakeTranslator, pcm_of

pytestmark = pytest.mark.slow


class FailsForAWhile(FakeDetector):
    """Fails from its 60th block to its 200th call."""

    calls = 0

    def probability(self, pcm: Pcm) -> float:
        self.calls += 1
        if 60 <= self.calls < 200:
            raise EngineError("vad-failed", "It was told to fail.")
        return super().probability(pcm)


def test_a_voice_activity_model_that_fails_costs_no_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.workers.listener.LOUD_DBFS", -70.0)  # the script is very quiet
    monkeypatch.setattr("pipeline.workers.listener._REST_S", (0.01, 0.01))
    seen: list[dict[str, Any]] = []

    async def watch(service: Service) -> None:
        async with service.connect("?kind=operator") as socket:
            seen.append(await until(socket, lambda m: "loudness" in m.get("reason", "")))
            seen.append(await until(socket, lambda m: m.get("reason") == ""))

    source = FakeSource(pcm_of(SCRIPT, DURATION_S), speed=4)
    service = Service(tmp_path, source=source, detector=FailsForAWhile())
    assert service.run(watch) == 0
    assert service.finals() == all_finals("gemma")
    assert [line["source"]["text"] for line in service.journal()] == [s.text for s in SCRIPT]
    assert set(service.faults()) == {"vad-failed"}


def test_a_quick_translator_that_only_fails_is_left_alone_with_a_reason(tmp_path: Path) -> None:
    failing = FakeTranslator("marian", fails=lambda _: True)

    async def watch(service: Service) -> None:
        async with service.connect() as socket:
            await until(socket, lambda m: "quick translator failed" in m.get("reason", ""))

    source = FakeSource(pcm_of(SCRIPT, DURATION_S), speed=8)
    service = Service(tmp_path, source=source, partial=failing)
    assert service.run(watch) == 0
    assert service.finals() == all_finals("gemma")
    assert failing.calls == 5


class Nonsense(FakeTranslator):
    def translate(self, text: str, *_: object) -> Translation:
        self.calls += 1
        return Translation(["<pad><pad>", "神はその独り子を", ""][self.calls % 3], self.name)


@pytest.mark.parametrize(
    ("partial", "final", "by"),
    [("good", "nonsense", "marian"), ("nonsense", "good", "gemma"), ("nonsense", "both", "source")],
)
def test_nonsense_of_a_translator_never_reaches_a_display(
    tmp_path: Path, partial: str, final: str, by: str
) -> None:
    service = Service(
        tmp_path,
        partial=FakeTranslator("marian") if partial == "good" else Nonsense("marian"),
        final=FakeTranslator("gemma") if final == "good" else Nonsense("gemma"),
    )
    assert service.run() == 0
    assert service.finals() == all_finals(by)
    expected = {"partial-unusable"} if final == "good" else {"final-unusable"}
    assert set(service.faults()) == expected | ({"partial-unusable"} if final == "both" else set())
    assert "pad" not in (service.app.folder / "captions.jsonl").read_text()


class RunsAway(FakeRecognizer):
    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        heard = super().recognize(pcm, final=final)
        return Recognition("and then we go " * 9) if final else heard


def test_a_recognizer_that_runs_away_leaves_what_it_had_understood(tmp_path: Path) -> None:
    source = FakeSource(pcm_of(SCRIPT, DURATION_S), speed=8)
    service = Service(tmp_path, source=source, recognizer=RunsAway(SCRIPT))
    assert service.run() == 0
    texts = [line["source"]["text"] for line in service.journal()]
    assert len(texts) == len(SCRIPT)
    for said, text in zip(SCRIPT, texts, strict=True):
        assert text.startswith("sentence number")
        assert said.text.startswith(text)
    assert set(service.faults()) == {"stt-unusable"}


def test_a_disk_that_does_not_answer_delays_no_caption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write of the journal's first line blocks until everything has been said."""
    answers = threading.Event()
    sync = os.fdatasync

    def hang(fd: int) -> None:
        answers.wait()
        sync(fd)

    monkeypatch.setattr("os.fdatasync", hang)
    monkeypatch.setattr("pipeline.session.recorder._SLOW_S", 0.3)
    seen: list[int] = []

    async def watch(service: Service) -> None:
        async with service.connect() as socket:
            await until(socket, lambda m: "does not answer" in m.get("reason", ""))
            while len(SCRIPT) not in seen:
                final = await until(socket, lambda m: m.get("final") is True)
                seen.append(final["id"])
            assert service.records("utterance") == []
            answers.set()

    source = FakeSource(pcm_of(SCRIPT, DURATION_S), speed=8)
    service = Service(tmp_path, source=source)
    try:
        assert service.run(watch) == 0
    finally:
        answers.set()
    assert sorted({1, *seen}) == [number for number, _ in all_finals("gemma")]
    assert service.finals() == all_finals("gemma")
    assert len(service.records()) == len(SCRIPT)
