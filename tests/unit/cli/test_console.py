"""The console prints names and texts as they are."""

from __future__ import annotations

import io
from pathlib import Path

from rich.progress import Progress
from rich.table import Table

import pipeline.cli
from pipeline.cli.console import DESCRIPTION, Console

NAME = "USB [mic] :on: [/b]"


def test_brackets_and_colons_stay_as_they_are() -> None:
    """`devices` left [mic] out of a name, and [/b] in one ended the command."""
    console = Console(file=io.StringIO(), width=60)
    table = Table(NAME, title=f"{NAME}, too")
    table.add_row(NAME)
    console.print(NAME, table)
    with Progress(DESCRIPTION, console=console) as bars:
        bars.add_task(NAME)
    assert console.file.getvalue().count(NAME) == 5  # type: ignore[attr-defined]


def test_every_command_has_this_console() -> None:
    for file in Path(*pipeline.cli.__path__).rglob("*.py"):
        if file.name != "console.py":
            assert "rich.console import Console" not in file.read_text("utf-8"), file
            assert "from rich.markup" not in file.read_text("utf-8"), file
