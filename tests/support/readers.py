"""Functions for child processes in tests: each behaves like a reader of a bad file."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.errors import NotesError


@dataclass(frozen=True, slots=True)
class Found:
    words: frozenset[str]
    places: tuple[tuple[int, str], ...] = ()


def find(words: list[str], *, places: int) -> Found:
    print("a library that prints")
    return Found(frozenset(words), tuple((n, "é") for n in range(places)))


def refuse(name: str) -> str:
    raise NotesError("notes-empty", f"{name}: there is no text in it.", "Type some.")


def go_deep(depth: int = 0) -> int:
    return go_deep(depth + 1)


def fill_memory() -> int:
    return len(bytearray(4 << 30))


def say_much() -> str:
    return "x" * 2_000_000


def crash() -> str:
    os.abort()


def think() -> str:
    while True:
        pass


def wait(told: Path) -> str:
    """Write this process's ID to the file, then sleep for longer than any test."""
    told.write_text(str(os.getpid()))
    time.sleep(600)
    return ""
