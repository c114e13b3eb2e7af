"""What operators' pages are told of the check before a service. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one test of `stark-translate check`."""

    test: str
    verdict: Literal["ok", "look", "failed"]
    line: str
    fix: str
    """How to mend it; empty for `ok`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCheck:
    """The results of the last run of `stark-translate check`."""

    utc: str
    ok: bool
    results: tuple[CheckResult, ...]
    differs: tuple[str, ...] = ()
    """Settings that it was made with and that have another value now: it holds no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckMessage:
    """How far a check is that was started at the desk; to operators."""

    type: Literal["check"] = "check"
    doing: str = ""
    """What is being tested, in words; empty: it is over."""
    problem: str = ""
    """Why it came to no end; empty: it did."""
    check: LastCheck | None = None
    """What was checked last, once it is over."""
