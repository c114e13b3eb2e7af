"""Checks and their results: green, yellow with advice, or red with a fix.

The last results are kept in session.directory for the operator's page, with the settings that were
checked: a check of another microphone or model is not valid.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import TypeAdapter, ValidationError

from pipeline.config.loader import leaves
from pipeline.config.schema import Settings
from pipeline.core.errors import StarkError
from pipeline.core.files import write_whole
from pipeline.core.formats import utc_now
from pipeline.protocol.messages import CheckResult, LastCheck

Verdict = Literal["ok", "look", "failed"]
FILE = "check.json"
_LOOKED_AT = {"audio", "stt", "translate", "servers", "dictionary", "models"}
"""Sections that affect recognition and translation. The port is left out: a check during a service
has to use another one."""


@dataclass(frozen=True, slots=True)
class Passed:
    """A success. `advice` says what could be better, `code` identifies the advice."""

    message: str
    advice: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A named test. `run` returns Passed or raises the StarkError that makes the result red."""

    name: str
    doing: str
    """Shown while it runs; may ask the person to do something."""
    run: Callable[[], Passed]
    needs: tuple[str, ...] = ()
    """Checks that must pass first: if one of them is red, this one is skipped."""
    fix: str = ""
    """The fix for an error that has none itself."""


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

    A check has no result if one that it needs was red or skipped.
    """
    bad: set[str] = set()
    for check in checks:
        if bad.intersection(check.needs):
            bad.add(check.name)  # so that checks that need this one are skipped too
            continue
        on_start(check)
        # After `on_start`, which may print or update the console.
        start_s = time.perf_counter()
        try:
            passed = check.run()
            outcome = (True, passed.message, passed.advice, passed.code)
        except StarkError as error:  # any other error is a bug and ends the program
            bad.add(check.name)
            # The error's own fix is more specific than the check's.
            outcome = (False, error.message, error.fix or check.fix, error.code)
        yield Result(check.name, *outcome, round((time.perf_counter() - start_s) * 1000, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept(LastCheck):
    """The content of the file. Pages get only `LastCheck`."""

    settings: dict[str, Any] = field(default_factory=dict)
    """By key path; empty in a file of an earlier version."""


def keep(directory: Path, results: Iterable[Result], settings: Settings | None = None) -> None:
    """Write the results, with the checked settings if they are known.

    Raises OSError; then the earlier results stay. A missing directory is not created: the user
    that the service runs as might not own it then.
    """
    if not directory.is_dir():
        return
    kept = tuple(
        CheckResult(test=r.name, verdict=r.verdict, line=r.message, fix=r.fix) for r in results
    )
    ok = all(result.verdict != "failed" for result in kept)
    content = orjson.dumps(
        _Kept(utc=utc_now(), ok=ok, results=kept, settings=_of(settings) if settings else {}),
        option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE,
    )
    write_whole(directory / FILE, content)


def last_check(directory: Path, in_force: Settings | None = None) -> LastCheck | None:
    """Return the kept results, None if there are none or they cannot be read.

    With the settings `in_force`, `differs` lists the settings that have changed since the check.
    """
    try:
        content = (directory / FILE).read_bytes()
        # Validated like any input: the file may be of another version, or damaged.
        kept = TypeAdapter(_Kept).validate_json(content)
    except (OSError, ValidationError):
        return None
    now = _of(in_force) if in_force and kept.settings else {}
    # A check during a service may have had other settings, and they may have changed since.
    differs = tuple(sorted(key for key, value in now.items() if kept.settings.get(key) != value))
    return LastCheck(utc=kept.utc, ok=kept.ok, results=kept.results, differs=differs)


def _of(settings: Settings) -> dict[str, Any]:
    # As JSON values, since they are compared with values read from the file.
    return dict(leaves(settings.model_dump(mode="json", include=_LOOKED_AT)))
