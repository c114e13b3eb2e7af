"""The console and the progress bars of the commands."""

from __future__ import annotations

from typing import Any

import rich.console
from rich.progress import TextColumn

DESCRIPTION = TextColumn("{task.description}", markup=False)
"""The name of a task, before its bar."""


class Console(rich.console.Console):
    """A console that prints texts as they are."""

    def __init__(self, **options: Any) -> None:
        # Names, paths and spoken words may have [brackets] and :colons:, which rich would take
        # for markup and emoji.
        super().__init__(highlight=False, markup=False, emoji=False, **options)
