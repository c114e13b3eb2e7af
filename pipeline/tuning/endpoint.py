"""When an utterance is over: settings for a church's own speakers, from the pauses they made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pipeline.config.schema import Vad
from pipeline.core.errors import SessionError
from pipeline.records.utterance import UtteranceRecord
from pipeline.session.reader import Session, sessions
from pipeline.tuning.plan import Values

SERVICES = 10
"""The newest are read: who preached a year ago may preach no more."""

ENOUGH = 200
"""Utterances. A service has several hundred."""

# Whole blocks of 32 ms, as silence is counted.
_SILENCES_MS = (160, 192, 224, 256, 320, 416)
_EAGER_MS = (64, 96, 128)
_MOST_TAKEN_BACK = 0.2
"""Finals that may go on, for each caption: a reader sees every one of them change."""
_MOST_IN_VAIN = 1.0
"""Finals that may be prepared in vain, for each caption: they cost the processor only."""


@dataclass(frozen=True, slots=True)
class Pauses:
    """The silences of services. `inside_ms`: those in the middle of an utterance, from 64 ms on."""

    services: int
    utterances: int
    inside_ms: tuple[int, ...]

    def share(self, least_ms: int) -> float:
        """Return how many silences of so many milliseconds there are for each utterance."""
        return sum(ms >= least_ms for ms in self.inside_ms) / self.utterances


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Settings of [vad], and why."""

    values: Values
    why: str


def read_pauses(directory: Path) -> Pauses:
    """Return the pauses of the newest services; sessions that cannot be read are left out."""
    services = utterances = 0
    inside: list[int] = []
    for folder in reversed(sessions(directory)):
        if services == SERVICES:
            break
        try:
            found = list(_spoken(Session(folder).utterances))
        except SessionError:
            continue
        # A rehearsal has no such records, and must not take a service's place.
        services += bool(found)
        utterances += len(found)
        inside += (ms for record in found for ms in record.pauses_ms)
    return Pauses(services, utterances, tuple(inside))


def _spoken(records: Iterable[UtteranceRecord]) -> Iterable[UtteranceRecord]:
    """Yield the records of people in a service; the demo is spoken by machines."""
    return (record for record in records if record.mode == "live" and record.final is not None)


def propose(pauses: Pauses, vad: Vad) -> Endpoint | None:
    """Return the shortest waits that these speakers bear; None if too little was heard.

    What `reopen_ms` and `silence_ms` are together stays: so captions are cut where they were,
    and are only there sooner, or are taken back less often.
    """
    if pauses.utterances < ENOUGH:
        return None
    taken_back = {ms: pauses.share(ms) for ms in _SILENCES_MS}
    # The waits rise: the first that is borne is the shortest.
    silence_ms = next(
        (ms for ms, share in taken_back.items() if share <= _MOST_TAKEN_BACK), _SILENCES_MS[-1]
    )
    eager_ms = next((ms for ms in _EAGER_MS if pauses.share(ms) <= _MOST_IN_VAIN), _EAGER_MS[-1])
    values = {
        "vad.silence_ms": silence_ms,
        "vad.eager_ms": eager_ms,
        "vad.reopen_ms": max(0, vad.silence_ms + vad.reopen_ms - silence_ms),
    }
    why = (
        f"{pauses.utterances} captions of {pauses.services} services: with a wait of {silence_ms} "
        f"ms {taken_back[silence_ms]:.0%} of them go on after their final, and "
        f"{pauses.share(eager_ms):.1f} finals a caption are prepared in vain."
    )
    return Endpoint(values, why)
