"""The workers together: when all are ready, when all is done, and a translator that hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.core.reports import Report, WorkerEnded, WorkerReady
from pipeline.core.standing import Reopened
from pipeline.core.types import Caption, Comparison, Pcm, Recognition
from pipeline.daemon.context.state import DaemonState
from pipeline.dictionary.store import Dictionary
from pipeline.protocol.caption import CaptionMessage, SourceText, TargetText
from pipeline.workers.degradation import Degradation, Waits
from pipeline.workers.engines import Engines
from pipeline.workers.group import HANG_GRACE_S, WorkerGroup
from tests.support.fakes import (
    FakeDetector,
    FakeRecognizer,
    FakeSource,
    FakeTranslator,
    Speech,
    pcm_of,
)

SCRIPT = [Speech(0.5, 1.5, "grace and peace"), Speech(2.5, 3.5, "to all of you")]


class Watched:
    """A group whose reports are kept, and its `ready` and `ended` followed as the app does."""

    def __init__(
        self,
        settings: Settings,
        final: FakeTranslator | None,
        compare: FakeTranslator | None = None,
        script: list[Speech] = SCRIPT,
        *,
        recognizer: FakeRecognizer | None = None,
        partial: FakeTranslator | None = None,
    ) -> None:
        self.reports: list[Report] = []
        engines = Engines(
            source=FakeSource(pcm_of(script, 5.0)),
            detector=FakeDetector(),
            recognizer=recognizer or FakeRecognizer(script),
            partial=partial or FakeTranslator("marian"),
            final=final,
            compare=compare,
        )
        self.group = WorkerGroup(
            settings,
            engines,
            dictionary=Dictionary(settings),
            degradation=Degradation(),
            emit=self.take,
        )

    def take(self, report: Report) -> None:
        self.reports.append(report)
        if isinstance(report, WorkerReady):
            self.group.ready.add(report.worker)
        if isinstance(report, WorkerEnded):
            self.group.ended[report.worker] = report.error

    def finals(self) -> list[str]:
        return [r.engine for r in self.reports if isinstance(r, Caption) and r.final]


def soon(reached: object) -> None:
    deadline = time.monotonic() + 20
    while not reached():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "empty.toml").touch()
    flags = {"audio.input": "x", "audio.pace": "fast", "translate.final.deadline_s": 0.1}
    return load(
        tmp_path / "empty.toml", {"vad.join_ms": 0} | flags | {"dictionary.enabled": False}
    ).settings


@pytest.mark.parametrize("with_final", [True, False])
def test_it_loads_works_and_ends(settings: Settings, with_final: bool) -> None:
    watched = Watched(settings, FakeTranslator("gemma") if with_final else None)
    group = watched.group
    assert not group.is_loaded
    group.start()
    soon(lambda: group.is_loaded)
    assert watched.finals() == []
    assert not group.is_done
    group.begin()
    soon(lambda: group.is_done)
    assert watched.finals() == (["gemma"] if with_final else ["marian"]) * 2
    assert (group.is_broken, group.degraded_reason, group.may_shed) == (False, "", False)
    assert group.queues() == {"mailbox": 0, "drafts": 0}
    assert group.dropped() == {"partials": group.dropped()["partials"], "drafts": 0}
    group.stop()
    soon(lambda: not group.is_stuck)


@pytest.mark.parametrize("with_final", [True, False])
@pytest.mark.parametrize("on", [True, False])
def test_every_final_is_compared_with_what_was_said(
    settings: Settings, with_final: bool, on: bool
) -> None:
    church = settings.church.model_copy(update={"numbers": on})
    settings = settings.model_copy(update={"church": church})
    script = [Speech(0.5, 1.5, "twelve men")]
    watched = Watched(settings, FakeTranslator("gemma") if with_final else None, script=script)
    watched.group.start()
    watched.group.begin()
    soon(lambda: watched.group.is_done)
    captions = [report for report in watched.reports if isinstance(report, Caption)]
    said = [[check.said for check in c.checks] for c in captions if c.final]
    assert said == [["twelve"] if on else []]
    assert all(caption.checks == () for caption in captions if not caption.final)
    watched.group.stop()


def test_a_hanging_translator_is_noticed_once_and_used_again_when_it_is_back(
    settings: Settings,
) -> None:
    hang = threading.Event()
    watched = Watched(settings, FakeTranslator("gemma", hang=hang))
    group = watched.group
    group.start()
    group.begin()
    soon(lambda: {"listen", "transcribe"} <= set(group.ended))
    soon(lambda: group._translate is not None and group._translate.doing is not None)
    now = time.monotonic()
    assert not group.check_translator(now)
    assert group.check_translator(now + HANG_GRACE_S + 1)
    assert not group.check_translator(now + HANG_GRACE_S + 2)  # no news
    assert group.degraded_reason == "the final translator hangs"
    assert group.is_done
    assert group.is_stuck
    assert [c.id for c in group.take_unfinished()] == [1, 2]
    hang.set()
    soon(lambda: not group.is_stuck)
    assert not group.check_translator(time.monotonic())
    assert group.degraded_reason == ""


def test_a_broken_worker_is_known(settings: Settings) -> None:
    watched = Watched(settings, None)
    watched.group.ended["transcribe"] = RuntimeError("a bug")
    assert watched.group.is_broken
    watched.group.stop()  # and the listener is freed from waiting for it
    watched.group.start()
    watched.group.begin()
    soon(lambda: not watched.group.is_stuck)


def test_what_is_reopened_reaches_the_transcriber_and_half_a_sentence_the_segmenter(
    settings: Settings,
) -> None:
    group = Watched(settings, FakeTranslator("gemma")).group
    group.go_on(
        CaptionMessage(
            seq=1,
            id=7,
            revision=2,
            final=False,
            start_s=0.0,
            end_s=1.0,
            source=SourceText("en", "Ask not."),
            target=TargetText("es", "No preguntes.", "gemma"),
            stable=13,
            status="resumed",
        )
    )
    assert group._transcribe.quick.reopened == Reopened(7, "Ask not.", "No preguntes.")
    assert group._transcribe._expect_more == group._segmenter.expect_more
    controls = DaemonState("live", 0.0)
    controls.off_record = True
    group.apply(controls)
    assert group._transcribe.quick.reopened is None, "nothing off the record is gone on with"


def test_captions_wait_for_no_comparison(settings: Settings) -> None:
    hang = threading.Event()
    watched = Watched(settings, FakeTranslator("gemma"), FakeTranslator("other", hang=hang))
    group = watched.group
    group.start()
    soon(lambda: group.is_loaded)
    group.begin()
    soon(lambda: group.is_done)
    assert watched.finals() == ["gemma"] * 2
    for report in [r for r in watched.reports if isinstance(r, Caption) and r.final]:
        group.compare(report)
    assert not group.is_over
    assert group.is_stuck
    group.stop()
    hang.set()
    soon(lambda: group.is_over and not group.is_stuck)
    assert [r.id for r in watched.reports if isinstance(r, Comparison)] == [1, 2]


class HangingRecognizer(FakeRecognizer):
    """Waits for `hang`."""

    def __init__(self, hang: threading.Event) -> None:
        super().__init__(SCRIPT)
        self.hang = hang

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        self.hang.wait()
        return super().recognize(pcm, final=final, prefix=prefix)


@pytest.mark.parametrize("late", ["recognizer", "quick"])
def test_what_waits_for_the_recognizer_waits_for_the_quick_translator_only_while_that_works(
    settings: Settings, late: str
) -> None:
    hang = threading.Event()
    watched = Watched(
        settings,
        FakeTranslator("gemma"),
        recognizer=HangingRecognizer(hang) if late == "recognizer" else None,
        partial=FakeTranslator("marian", hang=hang) if late == "quick" else None,
    )
    group = watched.group
    group.start()
    soon(lambda: group.is_loaded)
    assert group.waits(time.monotonic()) == Waits()
    assert group.has_time(time.monotonic())
    group.begin()
    soon(lambda: getattr(group.waits(time.monotonic() + 60), f"{late}_s"))
    waits = group.waits(time.monotonic() + 60)
    assert waits.recognizer_s >= 60
    assert (waits.quick_s >= 60) is (late == "quick")
    assert waits.final_s == 0
    assert not group.has_time(time.monotonic() + 60)
    hang.set()
    soon(lambda: group.is_done)
    assert group.waits(time.monotonic()) == Waits()
    group.stop()
    soon(lambda: not group.is_stuck)
