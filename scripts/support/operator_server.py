"""A service with an operator: the real desk, dictionary and record behind the hub."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.audio.utterance_ids import UtteranceIds
from pipeline.check.checks import standing_checks
from pipeline.church.fidelity.finals import checked
from pipeline.church.notes.notes_files import NOTES
from pipeline.cli.screens import LineScreen
from pipeline.config.loader import Changes, changed, load
from pipeline.config.schema import Church, Settings
from pipeline.core.reports import Fault, Level, Rendition, Retranslated, SongChanged
from pipeline.core.types import (
    SAMPLE_RATE,
    Caption,
    Comparison,
    Mode,
    Recognition,
    Span,
    State,
    Transcript,
    Translation,
    Word,
)
from pipeline.daemon.captions.targets import Targets
from pipeline.daemon.context.context import OpenSession, make_context
from pipeline.daemon.desk.live_check import LiveCheck
from pipeline.daemon.desk.operator_commands import OperatorCommands
from pipeline.daemon.desk.service_notes import ServiceNotes
from pipeline.dictionary.matcher import correct
from pipeline.dictionary.store import Dictionary
from pipeline.engines.protocols import TargetEngines
from pipeline.records.health import Dropped, Queues
from pipeline.session.recorder import SessionRecorder
from pipeline.workers.degradation import Degradation
from pipeline.workers.group import HearingControls
from pipeline.workers.queues import Retranslation
from pipeline.workers.quick import QuickPass
from pipeline.workers.target import TargetWorkers
from scripts.support.display_server import DisplayServer
from scripts.support.records import caption, health_record, utterance

LENGTH_S = 3.0
HEALTH = health_record(
    uptime_s=3662.0,
    audio_s=3600.4,
    lag_s=0.8,
    source="USB Audio CODEC",
    queues=Queues(mailbox=0, drafts=1),
    dropped=Dropped(blocks=0, records=0, partials=3, drafts=0),
    memory_mb=812.4,
)


class OperatorServer(DisplayServer):
    """Runs a desk. The token is `secret`; the church's dictionary is in `folder`."""

    def __init__(
        self, folder: Path, *, mode: Mode = "live", extra_targets: Sequence[str] = ()
    ) -> None:
        super().__init__(mode=mode, extra_targets=extra_targets)
        self.folder = folder
        self.dictionary = Dictionary(load(flags={"session.directory": str(folder)}).settings)
        self.health = HEALTH
        self.hearing = FakeHearing(0.0)
        self._recorder = SessionRecorder(
            folder, source="en", targets=tuple(self.boards), on_fault=print
        )
        self._recorder.start()

    @property
    def notes(self) -> Path:
        """Where the notes of this service are kept."""
        return self._recorder.folder / NOTES

    @property
    def rules(self) -> str:
        """The text of the church's own dictionary."""
        return self.dictionary.own.read_text("utf-8") if self.dictionary.own.exists() else ""

    def open(self, state: State = "listening") -> None:
        """Start hub and desk, after `close` on the same port as before."""
        del state  # the desk derives the state itself

        async def start() -> None:
            flags = {
                "session.directory": str(self.folder),
                "server.port": self._port,
                "operator.token": "secret",
                "operator.off_record_s": 10.0,
                # The spoken language is a target only if there are several spoken languages.
                "translate.source": ["en", "es"] if "en" in self.boards else "en",
                "translate.targets": [{"lang": lang} for lang in [*self.boards][1:]],
            }
            session = OpenSession(self._recorder, tuple(self.boards.values()), None)
            self.settings = load(flags=flags).settings
            context = make_context(self.settings, session, self.dictionary, self.mode, LineScreen())
            self.facts, self.metrics = context.facts, context.metrics
            # The workers' threads do not run; `render` publishes their results instead.
            workers = idle_workers(self.settings, self.hearing)
            self.targets = Targets(self.settings, context, workers, lambda _: None)
            self.coordinator = self.targets[0].coordinator
            self.check = LiveCheck(
                context,
                self.coordinator,
                lambda settings, _: standing_checks(settings),  # no engine runs here
            )
            self.commands = OperatorCommands(
                context,
                self.targets,
                self.hearing,
                _reload,
                live_check=self.check,
                notes=ServiceNotes(context, self.folder, "en"),
            )
            self.facts.has_begun = True
            context.announcer.announce()
            await context.hub.start(
                on_command=self.commands.obey,
                health=lambda: self.health,
                console=self.commands.console,
                sound=self.commands.sound,
            )
            self._hub = context.hub

        self._loop.wait(start())
        self._port = self._running().port

    def __exit__(self, *problem: object) -> None:
        super().__exit__(*problem)
        self._recorder.close(10)

    def set(self, key: str, value: object) -> None:
        """Put a setting in force, as a reload does."""
        self.facts.settings = changed(self.facts.settings, {key: value})

    def hear(
        self,
        number: int,
        raw: str,
        target: str,
        *,
        draft: str = "",
        unsure: Mapping[str, float] | None = None,
        is_doubtful: bool = False,
    ) -> None:
        """Pass an utterance through all steps: transcript, correction, Marian draft, Gemma final.

        `unsure` gives the probability of uncertain words; `is_doubtful` is the judge's decision.
        """
        words = tuple(Word(word, (unsure or {}).get(word, 0.95)) for word in raw.split())
        closed_s = time.monotonic() - 0.9
        start_s = 4.0 * number
        said = utterance(
            number,
            start_s,
            start_s + LENGTH_S,
            revision=1,
            samples=round(LENGTH_S * SAMPLE_RATE),
            spoken_s=closed_s - 0.5,
            closed_s=closed_s,
        )
        recognition = Recognition(raw, avg_logprob=-0.2, words=words)
        heard_span = Span(closed_s, closed_s + 0.2)
        heard = Transcript(said, "en", raw, raw, recognition, span=heard_span)
        transcript = correct(self.dictionary.lexicon, heard)
        drafted = Caption(
            transcript, "es", draft or target, "marian", False,
            span=Span(closed_s + 0.2, closed_s + 0.284),
        )  # fmt: skip
        made = Caption(
            transcript, "es", target, "gemma", True,
            translation=Translation(target, "gemma", tokens=9, avg_logprob=-0.2),
            span=Span(closed_s + 0.284, closed_s + 0.9),
            doubt=0.9 if is_doubtful else None, is_doubtful=is_doubtful,
        )  # fmt: skip

        self.hearing.heard_s = said.end_s
        self.hearing.ids.last = max(self.hearing.ids.last, number)

        def report() -> None:
            self.coordinator.on_closed(said)
            self.coordinator.show(drafted)
            self.coordinator.show(checked(made, Church()))

        self._loop.call(report)

    def render(self, lang: str, number: int, raw: str, target: str) -> None:
        """Publish the final of an utterance in an extra target language."""
        made = caption(number, raw, target, final=True, engine="gemma", lang=lang)
        self._loop.call(self.targets.take, Rendition(lang, made))

    def let_go(self) -> None:
        """Release the doubtful finals, as if their waiting time had passed."""
        self._loop.call(self.coordinator.release_due, float("inf"))

    def filter(self, number: int, raw: str, reason: str) -> None:
        """Report an utterance that is filtered for `reason`."""
        said = utterance(number, 4.0 * number, 4.0 * number + LENGTH_S, revision=1)
        transcript = Transcript(said, "en", raw, raw, Recognition(raw), filtered=reason)
        self._loop.call(self.coordinator.on_closed, said)
        self._loop.call(self.coordinator.on_filtered, transcript)

    def level(self, dbfs: float, *, clipped: bool = False, speaking: bool = False) -> None:
        """Report an input level."""
        self._loop.call(self.coordinator.on_level, Level(dbfs, dbfs + 6, clipped, speaking))

    def song(self, *, held: bool) -> None:
        """Report whether captions are held because of song."""
        change = SongChanged(held, "detector", from_s=4.0, to_s=9.0)
        self._loop.call(self.coordinator.on_song, change)

    def report(self, fault: Fault) -> None:
        """Report an error that the service survives."""
        self._loop.call(self.coordinator.on_fault, fault)

    def compare(self, number: int, final: str, text: str) -> None:
        """Report a second final by an engine that runs only for comparison."""
        other = Translation(text, "marian", tokens=9)
        comparison = Comparison(number, "es", final, "opus-mt-en-es", other, Span(0.0, 0.041))
        self._loop.call(self.coordinator.on_comparison, comparison)

    def translated(self, quick: str, final: str) -> None:
        """Answer the last retranslation request, first by Marian, then by Gemma."""
        request = self.hearing.asked[-1]
        for text, engine in ((quick, "marian"), (final, "gemma")):
            made = Caption(request.transcript, "es", text, engine, final=engine == "gemma")
            self._loop.call(self.targets.take, Retranslated(request.ticket, made, "es"))

    def reloaded(self, *restart: str) -> None:
        """Report that the settings were reloaded, and which keys need a restart."""
        changes = Changes(("log.level",), (), restart)
        self._loop.call(self._running().operators.reloaded, changes, rules=7)


async def _reload() -> None:
    """Do nothing: the settings come from no file."""


class FakeHearing:
    """Stays at one position in the audio, `heard_s`."""

    def __init__(self, heard_s: float = 1.0) -> None:
        self.heard_s = heard_s
        self.controls: HearingControls | None = None
        self.settled = 0

        self.asked: list[Retranslation] = []
        self.ids = UtteranceIds()

    def take_id(self) -> int:
        """Return the next id."""
        return self.ids.take()

    def retranslate(self, request: Retranslation) -> None:
        """Keep the request."""
        self.asked.append(request)

    def apply(self, controls: HearingControls) -> None:
        """Keep the operators' controls."""
        self.controls = controls

    def settle(self) -> None:
        """Count it."""
        self.settled += 1


def idle_workers(settings: Settings, hearing: FakeHearing) -> list[TargetWorkers]:
    """Return the workers of each target language, without engines; their threads do not run."""
    made = [
        TargetWorkers(
            alone,
            TargetEngines(alone.translate.target, None, None),
            emit=print,
            is_stale=lambda _: False,
            shed=True,
            ask=hearing.retranslate if number == 0 else None,
        )
        for number, alone in enumerate(settings.for_each_target())
    ]
    made[0].quick = QuickPass(
        settings=settings,
        translator=None,
        drafts=None,
        degradation=Degradation(),
        emit=print,
        stage="transcribe",
        shed=True,
    )
    return made
