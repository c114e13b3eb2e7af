"""A benchmark's table, and its section in a document with other sections."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pipeline.tuning.hardware import cpu_name


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
    behind: str = "",
    is_first: bool = False,
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
    file.write_text(with_section(text, title, section, behind=behind, is_first=is_first), "utf-8")


def with_section(
    text: str, title: str, new: str, *, behind: str = "", is_first: bool = False
) -> str:
    """Return the text with the section under `title` replaced by `new`, or added.

    A new section comes after the last section whose title begins with `behind`, before all others
    with `is_first`, or else at the end of the text.
    """
    old = re.search(rf"^{re.escape(title)}\n.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if old is None and behind:
        alike = rf"^{re.escape(behind)}[^\n]*\n.*?(?=^## |\Z)"
        found = list(re.finditer(alike, text, re.MULTILINE | re.DOTALL))
        if found and (rest := text[found[-1].end() :]):
            return f"{text[: found[-1].end()].rstrip()}\n\n{new.rstrip()}\n\n{rest}"
    if old is None and is_first and (found_first := re.search("^## ", text, re.MULTILINE)):
        at = found_first.start()
        return f"{text[:at]}{new.rstrip()}\n\n{text[at:]}"
    if old is None:
        return f"{text.rstrip()}\n\n{new}" if text.strip() else new
    rest = text[old.end() :]
    return text[: old.start()] + new + (f"\n{rest}" if rest else "")


PACKAGES = ("faster-whisper", "ctranslate2", "llama-cpp-python", "onnxruntime")


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
