"""The health record: the daemon's state for /healthz, operators and diagnostics.jsonl. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from pipeline.core.types import Mode, State

# In the order of the ladder: RUNG_NAMES.index is the degree of degradation; the report plots it.
RungName = Literal[
    "full", "fewer-partials", "no-partials", "partial-engine-finals", "source-captions", "behind"
]


RUNG_NAMES: tuple[RungName, ...] = get_args(RungName)
"""The steps of the degradation ladder, from no degradation to the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queues:
    """The lengths of the queues between workers."""

    mailbox: int
    """Utterances for the recognizer."""
    drafts: int
    """Captions for the final translator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Counts of what was lost or skipped since the start."""

    # The only count of lost speech here: the captions of the others are only later or rougher.
    blocks: int
    """Blocks of 32 ms of audio, lost by the driver's overflows and a full queue."""
    records: int
    """Records and captions that could not be written."""
    partials: int
    """Partials that a newer one replaced before the recognizer could process them."""
    drafts: int
    """Finals that the quick translator made because the final translator was too far behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineHealth:
    """The work of an engine since the start, and its memory."""

    engine: str
    """`stt`, `partial`, `final` or `compare`."""
    model: str
    """The engine's name, as in `recognizer`, `partial` and `final`."""
    # The last load: an engine that died loads again, and the new process may be slower.
    load_ms: float | None
    """Duration of the last load of its model; null before the first."""
    memory_mb: float
    """Memory of its process, megabytes (10^6 bytes) resident."""
    busy_s: float
    """Seconds of work."""
    prompt_tokens: int
    """Tokens that a translator has read: the source text and the rest of the prompt."""
    generated_tokens: int
    """Tokens that a translator has generated."""
    # Per second of work, not of the service: the preacher's pauses say nothing about an engine.
    tokens_per_s: float | None
    """Tokens generated per second of work; null before the first, and for a recognizer."""
    # None, not 0: 0 would make a driver without data look like an empty GPU.
    gpu_memory_mb: float | None
    """GPU memory in use, megabytes (10^6 bytes); null if it uses no GPU, or if unknown."""
    gpu_busy: float | None
    """Share of time, 0 to 1, in which that GPU was busy; null as above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageHealth:
    """An extra target language."""

    lang: str
    watchers: int
    """Displays that show it."""
    # Not derived from `watchers`: a language rests some time after its last watcher has left.
    is_resting: bool
    """Whether translation is off because nobody watches."""
    rung: RungName
    """Its own step of the degradation ladder."""
    waiting: int
    """Texts that wait for translation."""
    lag_s: float
    """Age of the oldest waiting text."""
    setback: str
    """What is wrong with the language; empty if nothing is."""


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
    """The session's name, which is its folder's name."""
    uptime_s: float
    """Seconds since the daemon was started."""
    audio_s: float
    """Seconds of audio heard so far."""
    # Open utterances do not count: long speech is no sign of a slow machine.
    lag_s: float
    """Age of the oldest closed utterance that has no final caption yet."""
    rung: RungName
    """The step of the degradation ladder: what is skipped because the machine is behind."""
    source: str
    """The name of the microphone or file."""
    recognizer: str
    """Engine and model."""
    partial: str
    """The quick translator's name, empty if there is none."""
    final: str
    """The final translator's name, empty if there is none."""
    setback: str
    """Which engines are failing, and what replaces them; empty if none is."""
    queues: Queues
    dropped: Dropped
    # The daemon's own process. Engine processes are in `engines`: each may be replaced alone.
    memory_mb: float
    """Memory of the process, megabytes (10^6 bytes) resident."""
    # The fields from here on have defaults, since sessions of earlier versions lack them.
    engines: tuple[EngineHealth, ...] = ()
    """The engines that have their own process."""
    utc_offset_min: int = 0
    """Minutes by which the church's clock is ahead of `utc`."""
    languages: tuple[LanguageHealth, ...] = ()
    """The target languages after the first."""
