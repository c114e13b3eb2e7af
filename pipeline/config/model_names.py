"""What people call models, and the name that the program has for each. Pure."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

_WHISPER = {
    "base": "whisper-base",
    "large": "Systran/faster-whisper-large-v3",
    "turbo": "large-v3-turbo",
    "large-turbo": "large-v3-turbo",
    "distil": "distil-large-v3",
    "distil-large": "distil-large-v3",
    **{
        size: f"Systran/faster-whisper-{size}"
        for size in ("tiny", "tiny.en", "small", "medium", "medium.en", "large-v2", "large-v3")
    },
}
"""Sizes of Whisper, in the form that the recognizer loads."""
_TRANSLATORS = {
    "opus-mt": "opus-mt-en-es",
    "helsinki-nlp/opus-mt-en-es": "opus-mt-en-es",
    "translategemma": "translategemma-4b-q4_k_m",
    "translategemma-4b": "translategemma-4b-q4_k_m",
    "translategemma-12b": "translategemma-12b-q4_k_m",
}
_MAKERS = re.compile(r"^(openai/|systran/)?(faster-)?whisper-")


def known_name(name: str) -> str:
    """Return the name of the model that is called so elsewhere; any other name as it is.

    "small", "Whisper small" and "openai/whisper-small" are one model.
    """
    plain = re.sub(r"[\s_]+", "-", name.strip().lower())
    size = _MAKERS.sub("", plain)
    if plain == "tiny":  # a translator that ships is called so
        return name
    # A name that people use, and that the registry has as well: small.en.
    if size.endswith(".en") and size not in _WHISPER:
        return size if size in ("base.en", "small.en") else name
    return _WHISPER.get(size) or _TRANSLATORS.get(plain) or name


ModelName = Annotated[str, Field(min_length=1), AfterValidator(known_name)]
"""A model's name, path or hub id."""
