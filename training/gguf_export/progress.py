"""Progress bars, results and exit codes of programs that run for minutes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import structlog
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from pipeline.core.errors import StarkError

T = TypeVar("T")

console = Console(stderr=True, soft_wrap=True, highlight=False)


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar, and yield the function that moves it: (done, of)."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, of: bars.update(task, completed=done, total=of)


def growing(what: str, path: Path, expected_bytes: int, work: Callable[[], T]) -> T:
    """Run `work` in a thread, and show how much of the file or folder `path` it has written."""
    with bar(what) as on_bytes, ThreadPoolExecutor(1) as worker:
        ends = worker.submit(work)
        while not wait([ends], timeout=0.2).done:
            on_bytes(min(_size(path), expected_bytes), expected_bytes)
        return ends.result()


def exit_code_of(work: Callable[[], None]) -> int:
    """Run a program's work and return its exit code; print an error in a line, without a trace."""
    try:
        work()
    except StarkError as error:
        console.print(f"error: {error}", style="red", markup=False)
        return error.exit_code
    return 0


def unfinished(path: Path) -> Path:
    """Return the name that a file or folder has until it is complete."""
    return path.with_name(f"{path.name}.part")


def only_warnings() -> None:
    """Keep llama.cpp's log lines out of these programs' output."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def _size(path: Path) -> int:
    try:
        return sum(f.stat().st_size for f in [path, *path.glob("*")] if f.is_file())
    except FileNotFoundError:  # it was just renamed
        return 0
