"""Recordings of read human speech, and what is said in them."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from pipeline.core.errors import SessionError


class Voice(BaseModel):
    """A recording and what is said in it."""

    text: str
    note: str = ""
    """Who speaks, and the licence."""


_Voices = TypeAdapter(dict[str, Voice])


def read_voices(folder: Path) -> dict[Path, Voice]:
    """Return the recordings of a folder with a voices.json, in its order.

    Raises SessionError (reference-unreadable).
    """
    file = folder / "voices.json"
    try:
        voices = _Voices.validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        said = str(error).splitlines()[0]
        raise SessionError("reference-unreadable", f"{file} cannot be used: {said}.") from None
    return {folder / name: voice for name, voice in voices.items()}
