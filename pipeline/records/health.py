"""How the daemon is: what /healthz, the operator's page and diagnostics.jsonl are told. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from pipeline.core.types import Mode, State

RungName = Literal[
    "full",
    "fewer-partials",
    "no-partials",
    "partial-engine-finals",
    "source-captions",
    "behind",
]


RUNG_NAMES: tuple[RungName, ...] = get_args(RungName)
"""From nothing given up to all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queues:
    """How much waits."""

    mailbox: int
    """Utterances for the recognizer."""
    drafts: int
    """Captions for the final translator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """What was given up since the start."""

    blocks: int
    """Blocks of 32 ms of audio: the driver's overflows and a full queue."""
    records: int
    """Records and captions that could not be written."""
    partials: int
    """Partials that a newer one replaced before the recognizer had time for them."""
    drafts: int
    """Finals that the quick translator made because the final translator was too far behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRecord:
    """How the daemon is, every ten seconds and at the end."""

    type: Literal["health"] = "health"
    utc: str
    state: State
    reason: str
    """Why it is in this state; empty where that needs no reason."""
    mode: Mode
    session: str
    """The session's name, that of its folder."""
    uptime_s: float
    """Since the daemon was started."""
    audio_s: float
    """Audio heard so far."""
    lag_s: float
    """Age of the oldest closed utterance that has no final caption yet."""
    rung: RungName
    """What is given up because the machine is behind."""
    source: str
    """The microphone's or the file's name."""
    recognizer: str
    """Engine and model."""
    partial: str
    """The quick translator's name, empty where there is none."""
    final: str
    """The final translator's name, empty where there is none."""
    setback: str
    """Which engines are not as they should be, and what stands in; empty when all are."""
    queues: Queues
    dropped: Dropped
    memory_mb: float
    """Memory of the process, megabytes (10^6 bytes) resident."""
