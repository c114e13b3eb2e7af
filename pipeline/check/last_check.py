"""The results of the last `check`, kept in session.directory for the operator's page.

With them are the settings that they hold for: a check of another microphone or model says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from pipeline.check.result import Result
from pipeline.config.loader import leaves
from pipeline.config.schema import Settings
from pipeline.core.files import WholeFile
from pipeline.core.timestamps import utc_now
from pipeline.protocol.messages import CheckResult, LastCheck

FILE = "check.json"
_LOOKED_AT = {"audio", "stt", "translate", "servers", "dictionary", "models"}
"""Sections that decide what is heard and how well. The port is left out: a check beside a service
that runs has to name another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept(LastCheck):
    """What the file holds. Only `LastCheck` goes to pages."""

    settings: dict[str, Any] = field(default_factory=dict)
    """By key path; empty in a file of an earlier version."""


def keep(directory: Path, results: Iterable[Result], settings: Settings | None = None) -> None:
    """Write the results, with the settings that they hold for if those are known.

    Raises OSError; then the earlier ones stay.

    A missing directory is not created: the user that the service runs as might not own it then.
    """
    if not directory.is_dir():
        return
    kept = tuple(
        CheckResult(test=r.name, verdict=r.verdict, line=r.message, fix=r.fix) for r in results
    )
    ok = all(result.verdict != "failed" for result in kept)
    file = WholeFile(directory / FILE)
    file.content = orjson.dumps(
        _Kept(utc=utc_now(), ok=ok, results=kept, settings=_of(settings) if settings else {}),
        option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE,
    )
    file.flush()


def last_check(directory: Path, in_force: Settings | None = None) -> LastCheck | None:
    """Return the kept results, None if there are none or they cannot be read.

    With the settings `in_force` they name those that they do not hold for.
    """
    try:
        content = (directory / FILE).read_bytes()
        kept = TypeAdapter(_Kept).validate_json(content)
    except (OSError, ValidationError):
        return None
    now = _of(in_force) if in_force and kept.settings else {}
    differs = tuple(sorted(key for key, value in now.items() if kept.settings.get(key) != value))
    return LastCheck(utc=kept.utc, ok=kept.ok, results=kept.results, differs=differs)


def _of(settings: Settings) -> dict[str, Any]:
    # As JSON has them: they are compared with what is read back.
    return dict(leaves(settings.model_dump(mode="json", include=_LOOKED_AT)))
