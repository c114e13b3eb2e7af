"""The workers together: when all are ready, when all is done, and a translator that hangs."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.core.types import Caption, Comparison, Report, WorkerEnded, WorkerReady
from pipeline.dictionary.store import Dictionary
from pipeline.workers.degradation import Ladder
from pipeline.workers.group import HANG_GRACE_S, Crew, Engines
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
    """A crew whose reports are kept, and its `ready` and `ended` followed as the app does."""

    def __init__(
        self,
        settings: Settings,
        final: FakeTranslator | None,
        compare: FakeTranslator | None = None,
    ) -> None:
        self.reports: list[Report] = []
        engines = Engines(
            source=FakeSource(pcm_of(SCRIPT, 5.0)),
            detector=FakeDetector(),
            recognizer=FakeRecognizer(SCRIPT),
            partial=FakeTranslator("marian"),
            final=final,
            compare=compare,
        )
        self.crew = Crew(
            settings, engines, dictionary=Dictionary(settings), ladder=Ladder(), emit=self.take
        )

    def take(self, report: Report) -> None:
        self.reports.append(report)
        if isinstance(report, WorkerReady):
            self.crew.ready.add(report.worker)
        if isinstance(report, WorkerEnded):
            self.crew.ended[report.worker] = report.error

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
    return load(tmp_path / "empty.toml", flags | {"dictionary.enabled": False}).settings


@pytest.mark.parametrize("with_final", [True, False])
def test_it_loads_works_and_ends(settings: Settings, with_final: bool) -> None:
    watched = Watched(settings, FakeTranslator("gemma") if with_final else None)
    crew = watched.crew
    assert not crew.loaded
    crew.start()
    soon(lambda: crew.loaded)
    assert watched.finals() == []
    assert not crew.done
    crew.begin()
    soon(lambda: crew.done)
    assert watched.finals() == (["gemma"] if with_final else ["marian"]) * 2
    assert (crew.broken, crew.setback, crew.sheds) == (False, "", False)
    assert crew.queues() == {"mailbox": 0, "drafts": 0}
    assert crew.shed() == {"partials": crew.shed()["partials"], "drafts": 0}
    crew.stop()
    soon(lambda: not crew.stuck)


def test_a_hanging_translator_is_noticed_once_and_used_again_when_it_is_back(
    settings: Settings,
) -> None:
    hang = threading.Event()
    watched = Watched(settings, FakeTranslator("gemma", hang=hang))
    crew = watched.crew
    crew.start()
    crew.begin()
    soon(lambda: {"listen", "transcribe"} <= set(crew.ended))
    now = time.monotonic()
    assert not crew.look(now)
    assert crew.look(now + HANG_GRACE_S + 1)
    assert not crew.look(now + HANG_GRACE_S + 2)  # no news
    assert crew.setback == "the final translator hangs"
    assert crew.done
    assert crew.stuck
    assert [c.id for c in crew.rescue()] == [1, 2]
    hang.set()
    soon(lambda: not crew.stuck)
    assert not crew.look(time.monotonic())
    assert crew.setback == ""


def test_a_broken_worker_is_known(settings: Settings) -> None:
    watched = Watched(settings, None)
    watched.crew.ended["transcribe"] = RuntimeError("a bug")
    assert watched.crew.broken
    watched.crew.stop()  # and the listener is freed from waiting for it
    watched.crew.start()
    watched.crew.begin()
    soon(lambda: not watched.crew.stuck)


def test_captions_wait_for_no_comparison(settings: Settings) -> None:
    hang = threading.Event()
    watched = Watched(settings, FakeTranslator("gemma"), FakeTranslator("other", hang=hang))
    crew = watched.crew
    crew.start()
    soon(lambda: crew.loaded)
    crew.begin()
    soon(lambda: crew.done)
    assert watched.finals() == ["gemma"] * 2
    for report in [r for r in watched.reports if isinstance(r, Caption) and r.final]:
        crew.compare(report)
    assert not crew.over
    assert crew.stuck
    crew.stop()
    hang.set()
    soon(lambda: crew.over and not crew.stuck)
    assert [r.id for r in watched.reports if isinstance(r, Comparison)] == [1, 2]
