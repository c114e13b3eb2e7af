"""The data of past services for pages. Pure.

The fields are those of the answers of `/past` (docs/PROTOCOL.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pipeline.core.types import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class PastService:
    """A service in the list."""

    name: str
    """The name of its folder."""
    began: str
    """ISO 8601 by the church's clock, with its offset; "" if the name does not contain it."""
    length_s: float
    source: str
    target: str
    """The language of the captions that are read: the first one's if no other was asked for."""
    targets: tuple[str, ...]
    """All caption languages, the first one first."""
    mode: Mode
    """How it was run: rehearsals and demos are not for everybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadParagraph:
    """A continuous piece of speech and its translation; either may be empty."""

    start_s: float
    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadService:
    """The texts of a service."""

    service: PastService
    paragraphs: tuple[ReadParagraph, ...]
    left_out: tuple[str, ...] = ()
    """Damaged lines that are left out, by file: "captions.jsonl: 3, 7"."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file: its name in plain ASCII, and its bytes."""

    name: str
    content: bytes


# A protocol, since `server` must not import `session`: the server does not read folders.
class Archive(Protocol):
    """The past services. Every method may read files."""

    def listed(self) -> list[PastService]:
        """Return the services with any speech, the newest first."""
        ...

    def mode_of(self, name: str) -> Mode:
        """Return how a service was run. Raises SessionError."""
        ...

    # Names and languages come from a page, so each method below must look them up among the
    # existing ones. Without a language it is the first one.
    def read(self, name: str, lang: str = "") -> ReadService:
        """Return a service's texts. Raises SessionError."""
        ...

    def download(self, name: str, which: str, form: str, lang: str = "") -> Download:
        """Return a service as a file. Raises SessionError."""
        ...

    def dashboard(self) -> bytes:
        """Return the page of all services, HTML. Raises SessionError (dashboard-missing)."""
        ...
