"""The guarantee of eager finals, with the real segmenter, workers and coordinator.

A final comes from its eager utterance, unless resumed speech was reported before it. In the end
every utterance has one final, from all its samples, and one record.
"""

from __future__ import annotations

import queue
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.audio.segmenter import Segmenter
from pipeline.captions.board import CaptionBoard
from pipeline.config.schema import Settings, Vad
from pipeline.core.reports import Report, Settled
from pipeline.core.types import (
    BLOCK_SAMPLES,
    AudioBlock,
    Caption,
    Pcm,
    Recognition,
    Transcript,
    Utterance,
)
from pipeline.daemon.captions.coordinator import CaptionCoordinator
from pipeline.daemon.context.context import DaemonContext
from pipeline.dictionary.store import Dictionary
from pipeline.engines.protocols import never
from pipeline.session.reader import Session
from pipeline.session.recorder import SessionRecorder
from pipeline.workers.degradation import LIMIT_S, Degradation, Rung, Waits
from pipeline.workers.listener import Listen
from pipeline.workers.queues import DraftQueue, UtteranceQueue
from pipeline.workers.quick import QuickPass
from pipeline.workers.transcriber import Transcribe
from pipeline.workers.translator import Translate
from tests.support.coordinator import CaptionScreen, CoordinatorFixture
from tests.support.examples import examples
from tests.support.fakes import FakeSource, FakeTranslator

VAD = Vad(
    silence_ms=224,
    eager_ms=96,
    reopen_ms=320,
    join_ms=0,
    min_speech_ms=96,
    pre_roll_ms=64,
    max_utterance_s=4.0,
    partial_ms=320,
)

JOINING = VAD.model_copy(update={"reopen_ms": 64, "fragment_ms": 256, "join_ms": 480})

HOLDING = JOINING.model_copy(update={"hold_ms": 640})
"""No text ends a sentence here, so all are held."""


class Numbers:
    """A recognizer that returns the first and last block that it hears, as a word."""

    name = "numbers"
    degraded_reason = ""
    hotwords = ""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.is_cancelled = never

    def load(self) -> None: ...

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        text = word(pcm)
        if final:
            self.heard.append(text)
        return Recognition(text, avg_logprob=-0.1, no_speech_prob=0.0, compression_ratio=1.0)


class Scripted:
    """A voice detector that returns given probabilities, one for each block."""

    def __init__(self, probabilities: list[float]) -> None:
        self._probabilities = iter(probabilities)

    def load(self) -> None: ...

    def probability(self, pcm: Pcm) -> float:
        return next(self._probabilities)

    def reset(self) -> None: ...


def word(pcm: Pcm) -> str:
    return f"from{int(pcm[0])}to{int(pcm[-1])}"


@cache
def context() -> DaemonContext:
    """Return the context that all lines share, so that the pages are read once."""
    with TemporaryDirectory() as folder:
        return CoordinatorFixture(Path(folder), start=False).context


class Line:
    """An utterance's whole path, step by step: without threads, every order is possible."""

    def __init__(self, folder: Path, probabilities: list[float], vad: Vad) -> None:
        self.recorder = SessionRecorder(folder, source="en", targets=("es",), on_fault=print)
        self.recorder.start()
        self.screen = CaptionScreen()
        target = replace(
            context().targets[0],
            board=CaptionBoard("test", "en", "es", 200),
            sinks=(self.recorder, self.screen),
        )
        self.coordinator = CaptionCoordinator(
            replace(context(), recorder=self.recorder, targets=(target,)), target
        )
        self.reports: list[Report] = []
        """Reports of the engine threads that the main thread has not seen yet."""
        self.degradation = Degradation()
        self.utterances, self.drafts = UtteranceQueue(), DraftQueue(0)
        self.recognizer = Numbers()
        self.closed: list[Utterance] = []
        in_force = Settings(vad=vad)
        segmenter = Segmenter(vad)
        self.listen = Listen(
            source=FakeSource(np.zeros(0, np.float32)),
            detector=Scripted(probabilities),
            segmenter=segmenter,
            utterances=self.utterances,
            degradation=self.degradation,
            emit=self.take,
        )
        self.transcribe = Transcribe(
            quick=QuickPass(
                settings=in_force,
                translator=FakeTranslator("quick"),
                drafts=self.drafts,
                degradation=self.degradation,
                emit=self.reports.append,
                stage="transcribe",
                shed=True,
            ),
            recognizer=self.recognizer,
            dictionary=Dictionary(in_force),
            utterances=self.utterances,
            shed=True,
            expect_more=segmenter.expect_more,
        )
        self.translate = Translate(
            settings=in_force,
            translator=FakeTranslator("best"),
            drafts=self.drafts,
            degradation=self.degradation,
            emit=self.reports.append,
            is_stale=self.utterances.is_stale,
        )

    def take(self, report: Report) -> None:
        """Handle a report as the app does."""
        match report:
            case Caption():
                self.coordinator.show(report)
            case Transcript():
                self.coordinator.on_filtered(report)
            case Utterance(final=True):
                self.closed.append(report)
                self.coordinator.on_closed(report)
            case Utterance():
                self.coordinator.on_resumed(report)
            case Settled(id=key):
                self.coordinator.on_settled(key)

    def hear(self, index: int) -> None:
        pcm = np.full(BLOCK_SAMPLES, index, np.float32)
        self.listen._take(AudioBlock(index * BLOCK_SAMPLES, pcm, 1.0 + index * 0.032))

    def recognize(self) -> bool:
        if not len(self.utterances) and self.utterances._partial is None:
            return False
        utterance = self.utterances.take()
        if isinstance(utterance, Utterance):
            self.transcribe.take(utterance)
        return True

    def finish_draft(self) -> bool:
        try:
            draft = self.drafts.get_nowait()
        except queue.Empty:
            return False
        assert draft is not None
        self.translate.doing = draft
        caption = None if self.translate._is_cancelled() else self.translate._final(*draft)
        if caption is not None:
            self.reports.append(caption)
        return True

    def deliver(self) -> bool:
        while self.reports:
            self.take(self.reports.pop(0))
        return True

    def end(self) -> None:
        self.listen._send(self.listen._segmenter.flush(), 0.0)
        while self.recognize():
            pass
        while self.finish_draft():
            pass
        self.deliver()
        self.coordinator.settle()
        self.recorder.close(5)


RUNS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.4, 0.95]), st.integers(1, 12)), min_size=1, max_size=25
)
WORK = st.lists(
    st.sampled_from(["", "r", "t", "d", "rd", "td", "rtd", "rrttd"]), min_size=1, max_size=40
)
SPOKEN = [(0.95, 8), (0.0, 12), (0.95, 8), (0.0, 5), (0.95, 4), (0.0, 30), (0.95, 5), (0.0, 4)]

RETURNS = [(0.95, 8), (0.0, 5), (0.95, 8), (0.0, 30)]
LATE = [*[""] * 10, "rt", "", "", "d"]
"""The result of the eager utterance (block 10) is reported after speech resumes (block 13)."""


def check(runs: list[tuple[float, int]], work: list[str], rung: Rung, vad: Vad = VAD) -> None:
    """Hear some audio; `work` is what engines and main thread do after each block."""
    probabilities = [p for p, count in runs for _ in range(count)]
    with TemporaryDirectory() as folder:
        line = Line(Path(folder), probabilities, vad)
        line.degradation.observe(Waits(LIMIT_S.get(rung, 0.0) * 1.1), 0.0)
        for index in range(len(probabilities)):
            line.hear(index)
            for each in work[index % len(work)]:
                {"r": line.recognize, "t": line.finish_draft, "d": line.deliver}[each]()
        line.end()
        session = Session(line.recorder.folder)
        records, journal, captions = session.utterances, session.messages, session.captions
    last = {utterance.id: utterance for utterance in line.closed}
    wanted = {key: f"{word(utterance.pcm)}-best" for key, utterance in last.items()}
    is_final: dict[int, bool] = {}
    for message in line.screen.messages:
        if message.status == "resumed" and is_final.get(message.id, False):
            is_final[message.id] = False
        assert not is_final.get(message.id, False), "a final only changes once it is reopened"
        is_final[message.id] = message.final
    assert {m.id: m.target.text for m in captions} == wanted, "of all that was said, each once"
    assert journal == [m for m in line.screen.messages if m.final], "the journal has all versions"
    assert [m.id for m in journal] == sorted(m.id for m in journal)
    assert [record.id for record in records] == sorted(wanted), "one record each, in order"
    assert [record.end_s for record in records] == [
        round(last[key].end_s, 3) for key in sorted(last)
    ]
    assert len(set(line.recognizer.heard)) == len(line.recognizer.heard), "nothing is heard twice"
    assert line.coordinator.tracks.unfinished == 0


@pytest.mark.parametrize(
    ("runs", "work", "rung"),
    [
        (SPOKEN, ["rtd"], Rung.FULL),
        (SPOKEN, [""], Rung.FULL),
        (SPOKEN, ["r", *[""] * 9, "td"], Rung.FULL),
        (SPOKEN, ["rtd"], Rung.NO_PARTIALS),
        (RETURNS, LATE, Rung.FULL),
    ],
    ids=["at once", "at the end", "slow", "behind", "late"],
)
@pytest.mark.parametrize("vad", [VAD, JOINING, HOLDING], ids=["", "joining", "holding"])
def test_a_final_is_what_was_prepared_or_a_resumption_was_announced(
    runs: list[tuple[float, int]], work: list[str], rung: Rung, vad: Vad
) -> None:
    check(runs, work, rung, vad)


@pytest.mark.slow
@settings(max_examples=examples(20), deadline=None)
@given(
    RUNS,
    WORK,
    st.sampled_from([Rung.FULL, Rung.FULL, Rung.NO_PARTIALS]),
    st.sampled_from([VAD, JOINING, HOLDING]),
)
def test_so_it_is_whenever_speech_returns_and_whatever_engines_are_at(
    runs: list[tuple[float, int]], work: list[str], rung: Rung, vad: Vad
) -> None:
    check(runs, work, rung, vad)
