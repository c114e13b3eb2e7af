"""Checks and their results: green, yellow with advice, or red with a fix."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.core.errors import StarkError

Verdict = Literal["ok", "look", "failed"]


@dataclass(frozen=True, slots=True)
class Passed:
    """A success. `advice` says what could be better, `code` names that."""

    message: str
    advice: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A named test. `run` returns Passed or raises the StarkError that makes it red."""

    name: str
    doing: str
    """Shown while it runs; may ask the person to do something."""
    run: Callable[[], Passed]
    needs: tuple[str, ...] = ()
    """Checks that must pass first: this one is left out if one of them is red."""
    fix: str = ""
    """The fix of an error that has none of its own."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a check. With `ok` a `fix` is only advice."""

    name: str
    ok: bool
    message: str
    fix: str
    code: str
    took_ms: float

    @property
    def verdict(self) -> Verdict:
        """The result in one word."""
        if not self.ok:
            return "failed"
        return "look" if self.fix else "ok"


def results(
    checks: Sequence[Check], on_start: Callable[[Check], None] = lambda _: None
) -> Iterator[Result]:
    """Run the checks in order and yield each result at once.

    A check has no result if one that it needs was red or left out.
    """
    bad: set[str] = set()
    for check in checks:
        if bad.intersection(check.needs):
            bad.add(check.name)  # and so what needs this one is left out too
            continue
        on_start(check)
        start_s = time.perf_counter()
        try:
            passed = check.run()
            outcome = (True, passed.message, passed.advice, passed.code)
        except StarkError as error:  # anything else is a mistake of ours, and ends the program
            bad.add(check.name)
            outcome = (False, error.message, error.fix or check.fix, error.code)
        yield Result(check.name, *outcome, round((time.perf_counter() - start_s) * 1000, 1))
