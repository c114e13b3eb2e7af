"""The health record: the daemon's state for /healthz, operators and diagnostics.jsonl. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from pipeline.core.types import Mode, State

# The order is the ladder's: RUNG_NAMES.index is how much is given up, and the report draws it.
RungName = Literal[
    "full", "fewer-partials", "no-partials", "partial-engine-finals", "source-captions", "behind"
]


RUNG_NAMES: tuple[RungName, ...] = get_args(RungName)
"""The steps of the degradation ladder, from nothing given up to everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queues:
    """The lengths of the queues between workers."""

    mailbox: int
    """Utterances for the recognizer."""
    drafts: int
    """Captions for the final translator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Counts of what was lost or given up since the start."""

    # The one count here that means lost speech: partials and drafts are only later or rougher.
    blocks: int
    """Blocks of 32 ms of audio: the driver's overflows and a full queue."""
    records: int
    """Records and captions that could not be written."""
    partials: int
    """Partials that a newer one replaced before the recognizer had time for them."""
    drafts: int
    """Finals that the quick translator made because the final translator was too far behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineHealth:
    """What one engine has done since the start, and what it holds."""

    engine: str
    """`stt`, `partial`, `final` or `compare`."""
    model: str
    """The engine's name, as `recognizer`, `partial` and `final` have it."""
    # "The last time": an engine that died loads again, and the new process may be slower.
    load_ms: float | None
    """How long its model took to load, the last time; null before that."""
    memory_mb: float
    """Memory of its process, megabytes (10^6 bytes) resident."""
    busy_s: float
    """Seconds of work."""
    prompt_tokens: int
    """Read by a translator: the source text and what goes around it."""
    generated_tokens: int
    """Written by a translator."""
    # Per second of work and not of the service: pauses of the preacher say nothing of an engine.
    tokens_per_s: float | None
    """Written in a second of work; null before the first, and for a recognizer."""
    # None, not 0: a driver that tells nothing looks like a GPU with nothing on it otherwise.
    gpu_memory_mb: float | None
    """Held on a GPU, megabytes (10^6 bytes); null if it is on none, or nobody can tell."""
    gpu_busy: float | None
    """Share of time, 0 to 1, in which that GPU was at work; null as above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageHealth:
    """An extra target language."""

    lang: str
    watchers: int
    """Displays that show it."""
    # Apart from `watchers`: a language rests some time after its last watcher has left.
    is_resting: bool
    """Whether nothing is translated, since nobody watches."""
    rung: RungName
    """Its own step of the degradation ladder."""
    waiting: int
    """Texts that wait to be translated."""
    lag_s: float
    """Age of the oldest of them."""
    setback: str
    """What is not as it should be with it; empty when all is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRecord:
    """The daemon's state, written every ten seconds and at the end."""

    type: Literal["health"] = "health"
    utc: str
    state: State
    reason: str
    """Why it is in this state; empty if the state explains itself."""
    mode: Mode
    session: str
    """The session's name, that of its folder."""
    uptime_s: float
    """Seconds since the daemon was started."""
    audio_s: float
    """Seconds of audio heard so far."""
    # Open utterances do not count: somebody who speaks long is no sign of a slow machine.
    lag_s: float
    """Age of the oldest closed utterance that has no final caption yet."""
    rung: RungName
    """The step of the degradation ladder: what is given up because the machine is behind."""
    source: str
    """The microphone's or the file's name."""
    recognizer: str
    """Engine and model."""
    partial: str
    """The quick translator's name, empty where there is none."""
    final: str
    """The final translator's name, empty where there is none."""
    setback: str
    """Which engines are failing, and what stands in for them; empty if none is."""
    queues: Queues
    dropped: Dropped
    # The daemon's own process. Those of engines are in `engines`, since each may be replaced alone.
    memory_mb: float
    """Memory of the process, megabytes (10^6 bytes) resident."""
    # From here on with defaults: sessions of earlier versions lack these fields and are read all
    # the same.
    engines: tuple[EngineHealth, ...] = ()
    """Of each engine in a process of its own."""
    utc_offset_min: int = 0
    """Minutes by which the church's own clock is ahead of `utc`."""
    languages: tuple[LanguageHealth, ...] = ()
    """The target languages beside the first."""
