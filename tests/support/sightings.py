"""Histories of growing captions as a display saw them, from little data."""

from __future__ import annotations

from dataclasses import replace

from scripts.bench.sightings import History, Sighting
from scripts.support.journal import message

Shown = tuple[float, str, int, str, bool]
"""Time, text, stable characters, engine, final."""


def history(*shown: Shown, id: int = 1, end_s: float = 4.0) -> History:  # noqa: A002
    """Return the history of a caption whose utterance begins at 1 s."""
    made = []
    for revision, (at_s, text, stable, engine, final) in enumerate(shown, 1):
        new = message(
            id, text, text, start_s=1.0, end_s=min(end_s, at_s), seq=revision, engine=engine,
            final=final,
        )  # fmt: skip
        if not final:
            new = replace(new, stable=stable)
        made.append(Sighting(at_s, replace(new, revision=revision)))
    return History(id, tuple(made))
