"""The terminal's view of a download of models: sources, licence and terms, progress."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from pipeline.cli import streams
from pipeline.core.errors import ModelError
from pipeline.core.sizes import human_size
from pipeline.models import download
from pipeline.models.download import Order, Source
from pipeline.models.library import Manifest, ModelLibrary, PullProgress


class Download:
    """Fetches models with a progress bar; a context manager, so that no bar stays behind.

    Terms are accepted by `accept_terms`, or by an answer on the terminal.
    """

    def __init__(self, *, accept_terms: bool = False) -> None:
        self._accept_terms = accept_terms
        self._bars = progress()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def obtain(self, name: str, store: ModelLibrary, revision: str = "") -> Manifest:
        """Pull a model from the first source that has it. Raises ModelError."""
        try:
            return download.obtain(
                name,
                store,
                revision,
                accept=self.accept,
                begin=self._begin,
                on_failure=self._fail,
            )
        except KeyboardInterrupt:
            self._bars.stop()  # first: it redraws over what is printed
            streams.say(f"Stopped. The next pull of {name} goes on from here.")
            raise

    def accept(self, ordered: Order) -> bool:
        """Ask for terms that nobody has accepted here; False where nobody can be asked."""
        # Asked on one, answered on the other: without both there is nobody to ask.
        if self._accept_terms or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return self._accept_terms
        streams.say(f"{ordered.name} is under the {ordered.licence} terms: {ordered.terms}")
        streams.say("Type yes if you have read and accept them:")
        return sys.stdin.readline().strip().casefold() in {"y", "yes"}

    def _begin(self, ordered: Order) -> PullProgress:
        terms = f" (terms: {ordered.terms})" if ordered.terms else ""
        print(
            f"{ordered.name}: {human_size(ordered.fetched_bytes)}, "
            f"licence {ordered.licence}{terms}, from {ordered.origin}",
            flush=True,
        )
        # A source that failed leaves its bars behind; the next one has other sizes.
        self._bars.stop()
        self._bars = progress()
        self._bars.start()
        fetched = self._bars.add_task("fetching", total=ordered.fetched_bytes)
        checked = self._bars.add_task("checking", total=ordered.size_bytes)
        return PullProgress(
            on_bytes=lambda count: self._bars.advance(fetched, count),
            on_checked=lambda count: self._bars.advance(checked, count),
        )

    def _fail(self, error: ModelError, following: Source) -> None:
        self._bars.stop()
        streams.say(f"{error.message} Trying {following}.")


def progress() -> Progress:
    """Return a display of progress on standard error; it shows nothing unless on a terminal."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
