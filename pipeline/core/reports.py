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
    """The utterance's."""


@dataclass(frozen=True, slots=True)
class Retranslated:
    """A text that an operator wrote has been translated, or could not be."""

    ticket: int
    """The request's."""
    caption: Caption | None
    """Its translation, `final` if nothing better follows; None: no translator could make one."""
    target: str
    """The language that it was made for."""


@dataclass(frozen=True, slots=True)
class Rendition:
    """A caption in a target language: what a worker has made as a `Caption`."""

    lang: str
    """The target's; that of the caption is the source language where that stands in."""
    caption: Caption


@dataclass(frozen=True, slots=True)
class Level:
    """The loudness of the input, measured a few times a second."""

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
    """It gives nothing but zeros, and has given sound before: somebody has muted it."""


@dataclass(frozen=True, slots=True)
class SongChanged:
    """Captions are held because of song, or no longer."""

    held: bool
    by: Literal["detector", "operator"]
    from_s: float
    """Where the song began, seconds of the session's audio."""
    to_s: float
    """Where it was noticed, or where captions go on."""


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
"""What has come of speech. Of utterances only finals, when they are closed, and those that speech
returned to; of transcripts only those of whole utterances that are filtered. A `Caption` is told
within the workers only, before its target is known."""

MachineReport: TypeAlias = Level | Fault | SourceChanged | SongChanged | WorkerReady | WorkerEnded
"""How the machine and what it hears are."""

Report: TypeAlias = CaptionReport | MachineReport
"""What workers tell the main thread."""

Emit: TypeAlias = Callable[[Report], None]
"""The function by which workers send a report to the main thread."""
