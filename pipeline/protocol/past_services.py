"""What pages are told of services that are over. Pure.

Their fields are the answers of `/past` (docs/PROTOCOL.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pipeline.core.types import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class PastService:
    """A line of the list."""

    name: str
    """Of its folder."""
    began: str
    """ISO 8601 by the church's clock, with its offset; "" if the name does not say."""
    length_s: float
    source: str
    target: str
    mode: Mode
    """Rehearsals and demos are no services for everybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadParagraph:
    """What was said in one go, and its translation; either may be empty."""

    start_s: float
    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadService:
    """A service to read."""

    service: PastService
    paragraphs: tuple[ReadParagraph, ...]
    left_out: tuple[str, ...] = ()
    """Damaged lines that are missing in it, by file: "captions.jsonl: 3, 7"."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file: its name, which is plain ASCII, and its bytes."""

    name: str
    content: bytes


# A protocol, since `server` must not import `session`: what serves does not read folders.
class Archive(Protocol):
    """Knows the services that are over. Every method may read files."""

    def listed(self) -> list[PastService]:
        """Return the services in which something was said, the newest first."""
        ...

    def mode_of(self, name: str) -> Mode:
        """Return how a service was run. Raises SessionError."""
        ...

    # A name comes from a page, so each method below has to look it up among those that exist.
    def read(self, name: str) -> ReadService:
        """Return a service's texts. Raises SessionError."""
        ...

    def download(self, name: str, which: str, form: str) -> Download:
        """Return a service as a file. Raises SessionError."""
        ...

    def dashboard(self) -> bytes:
        """Return the page of all services, HTML. Raises SessionError (dashboard-missing)."""
        ...
