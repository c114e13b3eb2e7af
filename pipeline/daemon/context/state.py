"""The facts of a running service, and the one state that follows from them.

The state that displays see is not stored. It is computed from the facts each time, so that it
cannot disagree with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.captions.sink import Sink
from pipeline.config.schema import Settings
from pipeline.core.types import Mode, SongControl, State
from pipeline.records.events import ModelUsed
from pipeline.session.recorder import SessionRecorder
from pipeline.workers.degradation import Degradation, Rung

OFF_RECORD = "off the record"
SONG = "captions go on by themselves when somebody speaks"
SONG_HELD = "held by the operator"
OFF_RECORD_OWED = "what was said off the record is still in the files"


@dataclass(slots=True)
class DaemonState:
    """Facts that the parts of the daemon share. Only the main thread reads and writes them."""

    mode: Mode
    settings: Settings
    """The settings in force. A setting that needs a restart keeps its first value."""
    has_begun: bool = False
    """Every engine is loaded."""
    has_ended: bool = False
    broken: str = ""
    """Why the daemon cannot go on."""
    source_lost: str = ""
    """Why there is no audio."""
    source_muted: bool = False
    """The microphone is present but muted, which is normal in a service."""
    degraded_reason: str = ""
    """Which engines are not used."""
    is_speaking: bool = False
    paused: bool = False
    blank: bool = False
    models: tuple[ModelUsed, ...] = ()
    is_song: bool = False
    song_control: SongControl = "auto"
    forced_language: str = ""
    """The spoken language that an operator has chosen; "": it is detected."""
    may_begin_anew: bool = False
    """A new session can follow this one: in a service, but not for a file."""
    is_new_session_wanted: bool = False
    off_record: bool = False
    """Nothing is heard, shown or kept, until `on-record`."""

    @property
    def spoken(self) -> tuple[str, ...]:
        """The spoken languages if there are several."""
        translate = self.settings.translate
        return translate.spoken if translate.also_spoken else ()

    @property
    def song(self) -> SongControl | Literal["off"]:
        """The operators' choice about song, for their pages."""
        return "off" if self.settings.church.song == "off" else self.song_control


class StateAnnouncer:
    """Computes the service's state from the facts, and notifies the sinks when it changes."""

    def __init__(
        self,
        facts: DaemonState,
        degradation: Degradation,
        recorder: SessionRecorder,
        sinks: Sequence[Sink],
    ) -> None:
        self._facts = facts
        self._degradation = degradation
        self._recorder = recorder
        self._sinks = sinks
        self._announced: tuple[State, str] | None = None

    @property
    def state(self) -> tuple[State, str]:
        """The state to show, and why."""
        facts, rung = self._facts, self._degradation.rung
        purging = OFF_RECORD_OWED if self._recorder.purging else ""
        disk = self._recorder.degraded_reason
        reason = _all(self._degradation.reason, facts.degraded_reason, purging, disk)
        # If captions are held anyway, lag is not reported.
        lost = _all(facts.source_lost, disk)
        gravest_first: list[tuple[object, State, str]] = [
            (facts.has_ended, "ended", ""),
            (facts.broken, "fault", facts.broken),
            # For displays it is one more reason to be dark.
            (facts.off_record, "blank", _all(OFF_RECORD, purging, lost)),
            # Displays are dark only in this state, so a pause must not light them again.
            # A lost microphone is reported, so that it is back when the service goes on.
            (
                facts.blank and facts.paused,
                "blank",
                _all("blanked and paused by the operator", lost),
            ),
            (facts.blank, "blank", _all("blanked by the operator", lost)),
            # After these: a restart must not light the displays either.
            (not facts.has_begun, "starting", ""),
            (facts.paused, "paused", _all("paused by the operator", lost)),
            # Before "no-audio", because it is the harmless case of it.
            (facts.source_lost and facts.source_muted, "muted", lost),
            (facts.source_lost, "no-audio", lost),
            (facts.is_song, "song", SONG_HELD if facts.song_control == "hold" else SONG),
            # On lower rungs only quality is reduced, which only operators see, in the reason.
            (rung >= Rung.SOURCE_CAPTIONS, "behind", reason),
            (facts.is_speaking, "speech", reason),
        ]
        return next(((s, why) for fact, s, why in gravest_first if fact), ("listening", reason))

    def announce(self) -> None:
        """Notify every sink if the state has changed."""
        # Computed once: the recorder's thread may change the state of the disk meanwhile.
        state = self.state
        if state != self._announced:
            self._announced = state
            for sink in self._sinks:
                sink.on_state(*state)


def _all(*reasons: str) -> str:
    return "; ".join(filter(None, reasons))
