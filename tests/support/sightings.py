"""Histories of growing captions as a display saw them, from little data."""

from __future__ import annotations

from pipeline.protocol.caption import CaptionMessage, SourceText, TargetText
from scripts.bench.sightings import History, Sighting

Shown = tuple[float, str, int, str, bool]
"""Time, text, stable characters, engine, final."""


def history(*shown: Shown, id: int = 1, end_s: float = 4.0) -> History:  # noqa: A002
    """Return the history of a caption whose utterance begins at 1 s."""
    made = tuple(
        Sighting(
            at_s,
            CaptionMessage(
                seq=revision,
                id=id,
                revision=revision,
                final=final,
                start_s=1.0,
                end_s=min(end_s, at_s),
                source=SourceText("en", text),
                target=TargetText("es", text, engine),
                stable=len(text) if final else stable,
            ),
        )
        for revision, (at_s, text, stable, engine, final) in enumerate(shown, 1)
    )
    return History(id, made)
