"""The results of the last `check`, kept in session.directory for the operator's page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from pipeline.check.result import Result
from pipeline.core.files import WholeFile
from pipeline.core.timestamps import utc_now
from pipeline.protocol.messages import CheckResult, LastCheck

FILE = "check.json"


def keep(directory: Path, results: Iterable[Result]) -> None:
    """Write the results. Raises OSError; then the earlier ones stay.

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
        LastCheck(utc=utc_now(), ok=ok, results=kept),
        option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE,
    )
    file.flush()


def last_check(directory: Path) -> LastCheck | None:
    """Return the kept results, None if there are none or they cannot be read."""
    try:
        content = (directory / FILE).read_bytes()
        return TypeAdapter(LastCheck).validate_json(content)
    except (OSError, ValidationError):
        return None
