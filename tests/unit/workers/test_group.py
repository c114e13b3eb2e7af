"""All workers together: when all are ready, when all is done, and a translator that hangs."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from pipeline.config.loader import changed, load
from pipeline.config.schema import Settings
from pipeline.core.reports import Rendition, Report, WorkerEnded, WorkerReady
from pipeline.core.standing import Reopened
from pipeline.core.types import Caption, Comparison, Utterance
from pipeline.daemon.context.state import DaemonState
from pipeline.dictionary.store import Dictionary
from pipeline.engines.protocols import TargetEngines
from pipeline.workers.base import Engines
from pipeline.workers.degradation import Degradation, Waits
from pipeline.workers.group import SILENT_S, STUCK_S, WorkerGroup
from pipeline.workers.target import HANG_GRACE_S
from scripts.support.journal import message
from tests.support.fakes import (
    FakeDetector,
    FakeRecognizer,
    FakeSource,
    FakeTranslator,
    Speech,
    pcm_of,
)
from tests.support.patience import wait_for

SCRIPT = [Speech(0.5, 1.5, "twelve men"), Speech(2.5, 3.5, "to all of you")]


class Watched:
    """A group that keeps its reports, and follows `ready` and `ended` as the app does."""

    def __init__(
        self,
        settings: Settings,
        final: FakeTranslator | None,
        compare: FakeTranslator | None = None,
        *extra: TargetEngines,
        recognizer: FakeRecognizer | None = None,
        partial: FakeTranslator | None = None,
    ) -> None:
        self.reports: list[Report] = []
        engines = Engines(
            source=FakeSource(pcm_of(SCRIPT, 5.0)),
            detector=FakeDetector(),
            recognizer=recognizer or FakeRecognizer(SCRIPT),
            targets=(TargetEngines("es", partial or FakeTranslator("marian"), final), *extra),
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
        return [caption.engine for caption in self.captions if caption.final]

    @property
    def captions(self) -> list[Caption]:
        return [report.caption for report in self.reports if isinstance(report, Rendition)]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "empty.toml").touch()
    flags = {"audio.input": "x", "audio.pace": "fast", "translate.final.deadline_s": 0.1}
    flags |= {"vad.join_ms": 0, "dictionary.enabled": False}
    return load(tmp_path / "empty.toml", flags).settings


@pytest.mark.parametrize("with_final", [True, False])
def test_it_loads_works_and_ends(settings: Settings, with_final: bool) -> None:
    watched = Watched(settings, FakeTranslator("gemma") if with_final else None)
    group = watched.group
    assert not group.is_loaded
    group.start()
    wait_for(lambda: group.is_loaded)
    assert watched.finals() == []
    assert not group.is_done
    group.begin()
    wait_for(lambda: group.is_done)
    assert watched.finals() == (["gemma"] if with_final else ["marian"]) * 2
    said = [[check.said for check in c.checks] for c in watched.captions if c.final]
    assert said == [["twelve"], []], "every final is compared with what was said"
    assert all(caption.checks == () for caption in watched.captions if not caption.final)
    assert (group.is_broken, group.degraded_reason, group.may_shed) == (False, "", False)
    assert group.queues() == {"mailbox": 0, "drafts": 0}
    assert group.dropped() == {"partials": group.dropped()["partials"], "drafts": 0}
    group.stop()
    wait_for(lambda: not group.is_stuck)


def test_a_hanging_translator_is_noticed_once_and_used_again_when_it_is_back(
    settings: Settings,
) -> None:
    hang = threading.Event()
    watched = Watched(settings, FakeTranslator("gemma", hang=hang))
    group = watched.group
    group.start()
    group.begin()
    wait_for(lambda: {"listen", "transcribe"} <= set(group.ended))
    (target,) = group.targets
    wait_for(lambda: target.translate is not None and target.translate.doing is not None)
    now = time.monotonic()
    assert not target.check_final(now)
    assert target.check_final(now + HANG_GRACE_S + 1)
    assert not target.check_final(now + HANG_GRACE_S + 2)  # already reported
    assert group.degraded_reason == "the final translator hangs"
    assert group.is_done
    assert group.is_stuck
    assert [c.id for c in target.take_unfinished()] == [1, 2]
    hang.set()
    wait_for(lambda: not group.is_stuck)
    assert not target.check_final(time.monotonic())
    assert group.degraded_reason == ""


def test_a_broken_worker_is_known(settings: Settings) -> None:
    watched = Watched(settings, None)
    watched.group.ended["transcribe"] = RuntimeError("a bug")
    assert watched.group.is_broken
    watched.group.stop()  # this also ends the listener's wait for it
    watched.group.start()
    watched.group.begin()
    wait_for(lambda: not watched.group.is_stuck)


def test_what_is_reopened_reaches_the_transcriber_and_half_a_sentence_the_segmenter(
    settings: Settings,
) -> None:
    settings = changed(settings, {"translate.targets": [{"lang": "fr"}]})
    french = TargetEngines("fr", None, None)
    group = Watched(settings, FakeTranslator("gemma"), None, french).group
    for target in group.targets:
        target.quick.go_on(message(7, "Ask not.", "No preguntes.", lang=target.lang))
        assert target.quick.reopened == Reopened(7, "Ask not.", "No preguntes.")
    assert group._transcribe.quick is group.targets[0].quick
    assert group._transcribe._expect_more == group._segmenter.expect_more
    controls = DaemonState("live", settings)
    controls.off_record = True
    group.apply(controls)
    assert [target.quick.reopened for target in group.targets] == [None, None], "off the record"


def test_after_a_command_of_an_operator_nothing_follows_from_what_was_said(
    settings: Settings,
) -> None:
    group = Watched(settings, FakeTranslator("gemma")).group
    group.start()
    wait_for(lambda: group.is_loaded)
    group.begin()
    wait_for(lambda: group.is_done)
    final = group.targets[0].translate
    assert final is not None
    assert [caption.id for caption in final.previous._made] == [1, 2]
    group.apply(DaemonState("live", settings))
    assert final.previous._made == ()


def test_captions_wait_for_no_comparison(settings: Settings) -> None:
    hang = threading.Event()
    watched = Watched(settings, FakeTranslator("gemma"), FakeTranslator("other", hang=hang))
    group = watched.group
    group.start()
    wait_for(lambda: group.is_loaded)
    group.begin()
    wait_for(lambda: group.is_done)
    assert watched.finals() == ["gemma"] * 2
    for report in [caption for caption in watched.captions if caption.final]:
        group.compare(report)
    assert not group.is_over
    assert group.is_stuck
    group.stop()
    hang.set()
    wait_for(lambda: group.is_over and not group.is_stuck)
    assert [r.id for r in watched.reports if isinstance(r, Comparison)] == [1, 2]


@pytest.mark.parametrize("late", ["recognizer", "quick"])
def test_what_waits_for_the_recognizer_waits_for_the_quick_translator_only_while_that_works(
    settings: Settings, late: str
) -> None:
    hang = threading.Event()

    def wait(*_: object) -> None:
        hang.wait()

    group = Watched(
        settings,
        FakeTranslator("gemma"),
        recognizer=FakeRecognizer(SCRIPT, says=wait) if late == "recognizer" else None,
        partial=FakeTranslator("marian", hang=hang) if late == "quick" else None,
    ).group
    group.start()
    wait_for(lambda: group.is_loaded)
    assert group.targets[0].waits(time.monotonic()) == Waits()
    assert group.targets[0].has_time(time.monotonic())
    group.begin()
    (target,) = group.targets
    wait_for(lambda: getattr(target.waits(time.monotonic() + 60), f"{late}_s") >= 60)
    waits = target.waits(time.monotonic() + 60)
    assert waits.recognizer_s >= 60
    assert (waits.quick_s >= 60) is (late == "quick")
    assert waits.final_s == 0
    assert not group.targets[0].has_time(time.monotonic() + 60)
    hang.set()
    wait_for(lambda: group.is_done)
    assert group.targets[0].waits(time.monotonic()) == Waits()
    group.stop()
    wait_for(lambda: not group.is_stuck)


def test_a_hang_is_seen_while_an_engine_is_degraded(settings: Settings) -> None:
    recognizer = FakeRecognizer(SCRIPT, degraded_reason="on the CPU instead of the GPU")
    quick = FakeTranslator("marian", degraded_reason="the server does not answer")
    group = Watched(settings, None, recognizer=recognizer, partial=quick).group
    group.may_shed = True
    group._transcribe.busy_since_s = 1.0
    assert group.is_transcribing(STUCK_S)
    assert not group.is_transcribing(STUCK_S + 2.0)


def test_a_listener_that_waits_for_room_does_not_hang(settings: Settings) -> None:
    """Otherwise systemd would end a service whose recognizer is far behind or being replaced."""
    group = Watched(settings, FakeTranslator("gemma")).group
    group.may_shed = True
    group.listen.begin()
    group.listen.beat_s = 0.0
    now_s = SILENT_S + 1
    assert not group.is_listening(now_s)
    for key in range(32):
        group._utterances.put(Utterance(key, 1, True, "silence", 0, 1, pcm_of([], 0.1)))
    assert group.is_listening(now_s)
    group._utterances.take()
    assert not group.is_listening(now_s)
