"""A coordinator with its commands, hub, board and record."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from pipeline.captions.board import CaptionBoard
from pipeline.check.checks import standing_checks
from pipeline.config.loader import changed, load
from pipeline.core.errors import ProtocolError
from pipeline.core.types import SAMPLE_RATE, Caption, Recognition, Transcript, Utterance
from pipeline.daemon.captions.targets import Targets
from pipeline.daemon.context.context import OpenSession, make_context
from pipeline.daemon.context.screen import Screen
from pipeline.daemon.desk.live_check import LiveCheck
from pipeline.daemon.desk.operator_commands import OperatorCommands
from pipeline.daemon.desk.service_notes import ServiceNotes
from pipeline.dictionary.store import Dictionary
from pipeline.protocol.caption import CaptionMessage
from pipeline.session.recorder import SessionRecorder
from scripts.support import records
from scripts.support.operator_server import FakeHearing, idle_workers


def utterance(id: int = 1) -> Utterance:  # noqa: A002
    return records.utterance(
        id, 0.0, 1.0, revision=1, samples=SAMPLE_RATE, spoken_s=0.5, closed_s=1.0
    )


def transcript(text: str = "grace", id: int = 1) -> Transcript:  # noqa: A002
    return Transcript(utterance(id), "en", text, text, Recognition(text))


def caption(text: str, *, final: bool, id: int = 1) -> Caption:  # noqa: A002
    return Caption(transcript(id=id), "es", text, "gemma" if final else "marian", final)


class CaptionScreen(Screen):
    """Keeps the messages that are shown, and the captions that settle."""

    def __init__(self) -> None:
        self.messages: list[CaptionMessage] = []
        self.settled: list[tuple[CaptionMessage, datetime]] = []

    def on_caption(self, message: CaptionMessage, lang: str) -> None:
        self.messages.append(message)

    def on_settled(self, message: CaptionMessage, spoken_utc: datetime, lang: str) -> None:
        self.settled.append((message, spoken_utc))


class CoordinatorFixture:
    """A coordinator and its commands on real parts; nobody connects to its hub.

    Without `church_words` the dictionary and the glossary are off. Verses are off unless `flags`
    turn them on. Reading the shipped files, above all a Bible, takes longer than the rest.
    """

    def __init__(
        self,
        tmp_path: Path,
        flags: dict[str, Any] | None = None,
        *,
        start: bool = True,
        church_words: bool = False,
    ) -> None:
        needed: dict[str, Any] = {"session.directory": str(tmp_path), "operator.token": "secret"}
        needed |= {"dictionary.enabled": church_words, "church.glossary": church_words}
        needed["church.verses"] = "off"
        settings = load(flags=needed | (flags or {})).settings
        self.settings = settings
        langs = settings.translate.langs
        recorder = SessionRecorder(tmp_path, source="en", targets=langs, on_fault=print)
        boards = tuple(CaptionBoard("test", "en", lang, 10) for lang in langs)
        session = OpenSession(recorder, boards, None)
        self.screen = CaptionScreen()
        self.context = make_context(settings, session, Dictionary(settings), "live", self.screen)
        self.facts = self.context.facts
        self.board = boards[0]
        self.boards = dict(zip(langs, boards, strict=True))
        self.recorder = self.context.recorder
        if start:
            self.recorder.start()
        self.hearing = FakeHearing()
        self.workers = idle_workers(settings, self.hearing)
        """One for each target language; their threads do not run."""
        self.targets = Targets(settings, self.context, self.workers, lambda _: None)
        self.coordinator = self.targets[0].coordinator
        self.live_check = LiveCheck(
            self.context,
            self.coordinator,
            lambda now, _: standing_checks(now),  # no engine runs here
        )
        self.notes = ServiceNotes(self.context, tmp_path, "en")
        self.commands = OperatorCommands(
            self.context,
            self.targets,
            self.hearing,
            self.reload,
            live_check=self.live_check,
            notes=self.notes,
        )
        self.reloads = 0
        self.reload_error: ProtocolError | None = None

    def set(self, key: str, value: object) -> None:
        self.facts.settings = changed(self.facts.settings, {key: value})

    async def reload(self) -> None:
        if self.reload_error is not None:
            raise self.reload_error
        self.reloads += 1

    @property
    def state(self) -> tuple[str, str]:
        return self.context.announcer.state

    def written(self, name: str = "diagnostics.jsonl") -> list[dict[str, Any]]:
        if not self.recorder._is_started:
            self.recorder.start()
        self.recorder.close(5)
        lines = (self.recorder.folder / name).read_bytes().splitlines()
        records = [orjson.loads(line) for line in lines]
        return [record for record in records if record["type"] != "summary"]

    def events(self, name: str) -> list[dict[str, Any]]:
        return [record for record in self.written() if record.get("event") == name]
