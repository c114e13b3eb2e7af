"""A benchmark's table, and its section in a document with other sections."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from pipeline.core.percentiles import nearest_rank
from pipeline.tuning.hardware import cpu_name

PACKAGES = ("faster-whisper", "ctranslate2", "llama-cpp-python", "onnxruntime")


def ranks(values: Iterable[float], *shares: float) -> list[float]:
    """Return the percentiles `shares` (0..1) of some values; nothing without values."""
    ordered = sorted(values)
    return [nearest_rank(ordered, share) for share in shares] if ordered else []


def mean_p90_p95(values: Sequence[float]) -> list[float]:
    """Return the mean and two percentiles of some values; nothing without values."""
    return [fmean(values), *ranks(values, 0.9, 0.95)] if values else []


def slashed(values: Iterable[float], digits: int = 2) -> str:
    """Return values as `0.49 / 0.86 / 0.90`, or "-" without values."""
    return " / ".join(f"{value:.{digits}f}" for value in values) or "-"


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return a table, its heading first, in Markdown; no line end follows the last row."""
    head, *body = rows
    first, *others = (f"| {' | '.join(row)} |" for row in (head, *body))
    return "\n".join([first, f"|{'---|' * len(head)}", *others])


def show(rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table, its heading first."""
    head, *body = rows
    printed = Table(*head, title=title.removeprefix("## ") or None)
    for row in body:
        printed.add_row(*row)
    Console().print(printed)


def write(
    file: Path | None,
    title: str,
    rows: Sequence[Sequence[str]],
    *,
    preface: str,
    notes: Sequence[str],
    explain_once: bool = False,
) -> None:
    """Write a table as a file's section, with a preface before it and a list of notes after it.

    Does nothing without a file. With `explain_once` the preface is left out if another section has
    it; see `with_section` for the place.
    """
    if file is None:
        return
    text = file.read_text("utf-8") if file.exists() else "# Benchmarks\n"
    preface = preface.strip()
    is_explained = explain_once and preface in with_section(text, title, "")
    listed = "\n".join(f"- {note}" for note in notes)
    parts = [title, *([] if is_explained else [preface]), markdown(rows), listed]
    section = "\n\n".join(parts) + "\n"
    file.write_text(with_section(text, title, section), "utf-8")


def with_section(text: str, title: str, new: str) -> str:
    """Return the text with the section under `title` replaced by `new`, or added.

    A new section `## Kind: name` comes after the last one of its kind, or else at the end.
    """

    def sections(head: str) -> list[re.Match[str]]:
        whole = rf"^{head}\n.*?(?=^## |\Z)"
        return list(re.finditer(whole, text, re.MULTILINE | re.DOTALL))

    kind = title.partition(": ")[0]
    if old := sections(re.escape(title)):
        start, end = old[0].span()
    elif alike := sections(rf"{re.escape(kind)}: [^\n]*"):
        start = end = alike[-1].end()
    else:
        start = end = len(text)
    parts = (text[:start].rstrip(), new.rstrip(), text[end:].rstrip())
    return "\n\n".join(part for part in parts if part) + "\n"


def machine() -> dict[str, str]:
    """Return the date, the processor, and the versions of the runtimes."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": f"{cpu_name()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def made(*packages: str) -> str:
    """Return the date, the processor, and the versions of some runtimes, as one note."""
    here = machine()
    versions = ", ".join(f"{package} {here[package]}" for package in packages)
    return f"{here['date']}, {here['cpu']}" + (f"; {versions}" if versions else "")
