"""Reports of workers to the main thread: values of `core.types`, and events about them. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pipeline.core.types import Caption, Comparison, Transcript, Utterance


@dataclass(frozen=True, slots=True)
class Settled:
    """Speech can no longer return to a final utterance that could be resumed."""

    id: int


@dataclass(frozen=True, slots=True)
class Retranslated:
    """A text that an operator wrote has been translated, or could not be."""

    ticket: int
    caption: Caption | None
    """The translation, `final` if nothing better follows; None: no translator could make one."""
    target: str


@dataclass(frozen=True, slots=True)
class Rendition:
    """A worker's `Caption` for a target language."""

    lang: str
    """The target language. The caption's own `lang` may be the source language as a fallback."""
    caption: Caption


@dataclass(frozen=True, slots=True)
class Level:
    """The loudness of the input, measured a few times per second."""

    dbfs: float
    peak_dbfs: float
    clipped: bool
    speaking: bool


@dataclass(frozen=True, slots=True)
class Fault:
    """An error in one stage that the program survives."""

    stage: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class SourceChanged:
    """The microphone went away (`lost`) or is back."""

    lost: bool
    message: str
    muted: bool = False
    """It sends only zeros after it had sound: somebody has muted it."""


@dataclass(frozen=True, slots=True)
class SongChanged:
    """Captions are now held because of song, or no longer held."""

    held: bool
    by: Literal["detector", "operator"]
    from_s: float
    """The start of the song, in seconds of the session's audio."""
    to_s: float
    """The time when it was detected, or when captions go on."""


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """A worker has loaded its engine."""

    worker: str


@dataclass(frozen=True, slots=True)
class WorkerEnded:
    """A worker's thread is over; `error` is None when its input simply ended."""

    worker: str
    error: BaseException | None = None


CaptionReport: TypeAlias = (
    Utterance | Settled | Transcript | Caption | Rendition | Comparison | Retranslated
)
"""Results of speech. An Utterance is reported only when it is closed, or when speech returned to
it. A Transcript is reported only if its utterance is whole and it is filtered. A `Caption` is
reported only within the workers, before its target is known."""

Report: TypeAlias = (
    CaptionReport | Level | Fault | SourceChanged | SongChanged | WorkerReady | WorkerEnded
)
"""What workers report to the main thread."""

Emit: TypeAlias = Callable[[Report], None]
"""The function by which workers send a report to the main thread."""
