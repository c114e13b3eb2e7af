"""Helpers that the command lines of scripts share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import orjson
from rich.console import Console
from rich.progress import track

from pipeline.core.errors import StarkError

P = ParamSpec("P")
T = TypeVar("T")


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is a module's docstring, line by line."""
    return argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def add_settings(parser: argparse.ArgumentParser, what: str = "a setting") -> None:
    """Add `--set KEY=VALUE`, which may come more than once."""
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=what)


def says_errors(main: Callable[P, int]) -> Callable[P, int]:
    """Let a main function print an error of the program, or of a file, and return 2."""

    @wraps(main)
    def saying(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            return main(*args, **kwargs)
        except (StarkError, OSError) as error:
            print(error, file=sys.stderr)
            return 2

    return saying


def progress(items: Iterable[T], what: str, total: float | None = None) -> Iterable[T]:
    """Yield the items, with a bar on standard error: the output stays the result alone."""
    return track(items, what, total, console=Console(stderr=True))


def write_json(file: Path | None, value: Any) -> None:
    """Write a value as indented JSON; do nothing without a file."""
    if file:
        file.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2))
