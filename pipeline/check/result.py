"""A test before the service and what it says: green, green with advice, or red with the fix."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.core.errors import StarkError

Verdict = Literal["ok", "look", "failed"]


@dataclass(frozen=True, slots=True)
class Passed:
    """What a test found in order. With `advice` something could be better; `code` names it."""

    message: str
    advice: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A named test. `run` returns Passed or raises the StarkError that makes it red."""

    name: str
    doing: str
    """What is shown while it runs; may ask the person for something."""
    run: Callable[[], Passed]
    needs: tuple[str, ...] = ()
    """Checks without which this one would say nothing new: it is left out when one is red."""
    fix: str = ""
    """Said for an error that brings no fix of its own."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a check said. `ok` with a `fix` is advice."""

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
    """Run the checks in order and yield what each says, as it says it.

    A check without a result was left out: one that it needs was red or left out.
    """
    bad: set[str] = set()
    for check in checks:
        if bad.intersection(check.needs):
            bad.add(check.name)
            continue
        on_start(check)
        start_s = time.perf_counter()
        try:
            passed = check.run()
            told = (True, passed.message, passed.advice, passed.code)
        except StarkError as error:
            bad.add(check.name)
            told = (False, error.message, error.fix or check.fix, error.code)
        yield Result(check.name, *told, round((time.perf_counter() - start_s) * 1000, 1))
