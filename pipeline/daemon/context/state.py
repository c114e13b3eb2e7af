"""The facts of a running service, and the one state that follows from them.

The state that displays see is not stored: it is worked out of the facts each time, so that no two
of them can disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.core.types import Mode, SongControl, SongMode, State
from pipeline.daemon.context.sinks import Sink
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
    off_record_s: float
    """Seconds of what has just been said that `off-record` takes away."""
    has_begun: bool = False
    """Every engine is loaded."""
    has_ended: bool = False
    broken: str = ""
    """Why the daemon cannot go on."""
    source_lost: str = ""
    """Why nothing is heard."""
    source_muted: bool = False
    """The microphone is there and has been muted: that belongs to a service."""
    degraded_reason: str = ""
    """Which engines are set aside."""
    is_speaking: bool = False
    paused: bool = False
    blank: bool = False
    models: tuple[ModelUsed, ...] = ()
    """What the engines have been told to load."""
    song_mode: SongMode = "auto"
    """The setting."""
    is_song: bool = False
    """Captions are held because of song."""
    song_control: SongControl = "auto"
    """What operators want of song."""
    spoken: tuple[str, ...] = ()
    """The languages that are spoken, where there are several. The setting."""
    forced_language: str = ""
    """The one of them that an operator has chosen; "": it is detected."""
    may_begin_anew: bool = False
    """A session can end for another one to begin: of a service, and not of a file."""
    is_new_session_wanted: bool = False
    """An operator has asked for one."""
    hold_doubtful: bool = False
    """The setting."""
    hides_interpreter: bool = False
    """Nobody is shown what an interpreter says again. The setting."""
    hold_s: float = 8.0
    """So long a doubtful final waits for an operator, at most. The setting."""
    off_record: bool = False
    """Nothing is heard, shown or kept. Only `on-record` ends it."""


class StateAnnouncer:
    """Works the service's state out of the facts, and tells the sinks whenever it has changed."""

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
        # Where captions are held anyway, being late is no news.
        lost = _all(facts.source_lost, disk)
        gravest_first: list[tuple[object, State, str]] = [
            (facts.has_ended, "ended", ""),
            (facts.broken, "fault", facts.broken),
            # To displays it is one more reason to be dark.
            (facts.off_record, "blank", _all(OFF_RECORD, purging, lost)),
            # Displays are dark in this state only, so a pause must not light them up again.
            # A microphone that is lost meanwhile is told, so that it is there when they go on.
            (
                facts.blank and facts.paused,
                "blank",
                _all("blanked and paused by the operator", lost),
            ),
            (facts.blank, "blank", _all("blanked by the operator", lost)),
            # Behind these: a restart must not light the displays up either.
            (not facts.has_begun, "starting", ""),
            (facts.paused, "paused", _all("paused by the operator", lost)),
            # Before the next one, of which it is the harmless kind.
            (facts.source_lost and facts.source_muted, "muted", lost),
            (facts.source_lost, "no-audio", lost),
            (facts.is_song, "song", SONG_HELD if facts.song_control == "hold" else SONG),
            # Below it quality is given up that only operators are told of, by the reason.
            (rung >= Rung.SOURCE_CAPTIONS, "behind", reason),
            (facts.is_speaking, "speech", reason),
        ]
        return next(((s, why) for fact, s, why in gravest_first if fact), ("listening", reason))

    def announce(self) -> None:
        """Tell every sink if the state has changed."""
        # Worked out once: what the disk is like may change meanwhile, in the record's thread.
        state = self.state
        if state != self._announced:
            self._announced = state
            for sink in self._sinks:
                sink.on_state(*state)


def _all(*reasons: str) -> str:
    return "; ".join(filter(None, reasons))
