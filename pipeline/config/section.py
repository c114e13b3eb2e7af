"""What all sections of the settings share: base class, value types, times of effect."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError


def split_address(url: str, *schemes: str) -> SplitResult | None:
    """Return the parts of an address with one of these schemes, None if it is not one.

    It raises no error, because Python's errors quote the address, which may contain a password.
    """
    try:
        parts = urlsplit(url)
        # Reading `port` raises ValueError if it is not a number: then the address is invalid.
        is_place = parts.scheme in schemes and _is_host(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_place and url.isprintable() and " " not in url else None


def _is_host(name: str | None) -> bool:
    """Whether a name can be looked up. It must not have two dots in a row or too long a part."""
    try:
        return bool(name and name.encode("idna"))
    except UnicodeError:
        return False


def is_bare(parts: SplitResult | None) -> bool:
    """Whether these are the parts of an address without a user, password, query or fragment."""
    return parts is not None and not (
        parts.username or parts.password or parts.query or parts.fragment
    )


def _web_address(address: str) -> str:
    if not address:
        return ""
    if not is_bare(split_address(address, "http", "https")):
        msg = "is not a web address such as https://captions.example.org/"
        raise ValueError(msg)
    return address if address.endswith("/") else f"{address}/"


def _path(path: str) -> str:
    # No system has such a name, and Python's functions raise ValueError for it, not OSError.
    if "\0" in path:
        msg = "a path has no null character"
        raise ValueError(msg)
    return os.path.expanduser(path)  # noqa: PTH111 - `Path` would make "" into "."


Text = Annotated[str, Field(min_length=0)]  # with a length pydantic refuses text that is not UTF-8
PathText = Annotated[Text, AfterValidator(_path)]
"""A file or folder; "~" is the user's home."""
Threads = Annotated[int, Field(ge=1, le=256)]
Share = Annotated[float, Field(ge=0, le=1)]
# Small letters only: the codes are parts of file names and subjects, and compared literally.
Lang = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]
WebAddress = Annotated[Text, AfterValidator(_web_address)]
"""An address for a browser, with a slash at its end; "" for none."""


@dataclass(frozen=True, slots=True)
class Applies:
    """When a change of a setting takes effect in a running service."""

    effect: Literal["live", "next-utterance"]


LIVE = Applies("live")
NEXT_UTTERANCE = Applies("next-utterance")


@dataclass(frozen=True, slots=True)
class Secret:
    """Marks a setting that is a password, or an address that may contain one.

    Its value is never printed, logged or written to a file (`config.loader`).
    """

    is_address: bool = False


# Not in the `repr` of a section either, because a traceback may show it.
SecretText = Annotated[Text, Field(repr=False), Secret()]
SecretAddress = Annotated[Text, Field(repr=False), Secret(is_address=True)]


class Section(BaseModel):
    """A table of the file. Unknown keys are errors."""

    # Frozen: several threads read one tree, and a reload replaces the whole tree.
    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_switch_for_a_number(cls, value: Any, field: ValidationInfo) -> Any:
        # pydantic takes true for 1: port 1, or one thread.
        is_number = cls.model_fields[str(field.field_name)].annotation in (int, float)
        if is_number and isinstance(value, bool):
            raise PydanticCustomError("no_number", "a number is expected")
        return value


def keys(section: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Yield (key path, marks) for every key of a section and of its inner sections."""
    for name, field in section.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from keys(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field.metadata


_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):[0-5]\d")


class Session(Section):
    """[session]"""

    directory: Annotated[PathText, Field(min_length=1)] = "sessions"
    drain_s: Annotated[float, Field(ge=0, le=600), LIVE] = 10.0
    # Short: if the machine is off after one service, the next must not show its captions.
    resume_s: Annotated[float, Field(ge=0, le=86_400)] = 1800.0
    # 0 means for ever: no sermon is deleted unless the user asks for it.
    keep_days: Annotated[int, Field(ge=0, le=36_500), LIVE] = 0
    keep_mb: Annotated[int, Field(ge=0, le=10_000_000), LIVE] = 0
    keep_audio: Annotated[Literal["none", "doubtful", "all"], LIVE] = "none"
    new_at: Annotated[Text, LIVE] = "04:00"

    @field_validator("new_at")
    @classmethod
    def _time_of_day(cls, new_at: str) -> str:
        if new_at and not _TIME_OF_DAY.fullmatch(new_at):
            msg = f'{new_at!r} is no time such as "04:00", nor "" for never'
            raise ValueError(msg)
        return new_at


class Learn(Section):
    """[learn]"""

    directory: Annotated[PathText, Field(min_length=1), LIVE] = "learning"
    general: Annotated[PathText, LIVE] = ""
    train: Annotated[Literal["", "marian", "stt", "both"], LIVE] = ""
    minutes: Annotated[float, Field(gt=0, le=10_000), LIVE] = 120.0
    embedding: Annotated[Text, LIVE] = ""


class Operator(Section):
    """[operator]"""

    token: SecretText = ""
    off_record_s: Annotated[float, Field(ge=0, le=600), LIVE] = 60.0


class Log(Section):
    """[log]"""

    level: Annotated[Literal["debug", "info", "warning", "error"], LIVE] = "info"
    format: Annotated[Literal["auto", "console", "json"], LIVE] = "auto"


def _server_address(url: str) -> str:
    if not url:
        return ""
    if not url.isascii() or not is_bare(split_address(url, "http", "https")):
        msg = "is not a server's address such as http://gpu.example.org:8080/v1"
        raise ValueError(msg)
    return url.rstrip("/")


ServerUrl = Annotated[Text, AfterValidator(_server_address)]
"""A server's address, without a slash at its end; "" for none."""


class ModelServer(Section):
    """[servers.NAME]: a server that recognizes or translates."""

    url: Annotated[ServerUrl, Field(min_length=1)]
    key_file: PathText = ""
    ca_file: PathText = ""


_GONE = {
    "sherpa-onnx": '"moonshine" or "whisper"',
    "exllamav2": '"gemma" with a GGUF file and gpu_layers = -1',
}
"""The replacements for engines of earlier versions."""


class OnServer(Section):
    """The keys of a table whose engine may be on a server."""

    engine: str
    server: Text = ""
    """Its name in [servers]."""

    @field_validator("engine", mode="before")
    @classmethod
    def _no_engine_that_is_gone(cls, engine: object) -> object:
        if isinstance(engine, str) and engine in _GONE:
            msg = f'"{engine}" is gone: use {_GONE[engine]}'
            raise ValueError(msg)
        return engine


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
"""Whisper sizes and the model names that the recognizer loads."""
_TRANSLATORS = {
    "opus-mt": "opus-mt-en-es",
    "helsinki-nlp/opus-mt-en-es": "opus-mt-en-es",
    "translategemma": "translategemma-4b-q4_k_m",
    "translategemma-4b": "translategemma-4b-q4_k_m",
    "translategemma-12b": "translategemma-12b-q4_k_m",
}
_MAKERS = re.compile(r"^(openai/|systran/)?(faster-)?whisper-")


def known_name(name: str) -> str:
    """Return our name for a model with this common name; any other name is unchanged.

    "small", "Whisper small" and "openai/whisper-small" are one model.
    """
    plain = re.sub(r"[\s_]+", "-", name.strip().lower())
    size = _MAKERS.sub("", plain)
    if plain == "tiny":  # the name of a translator that ships
        return name
    # A common name that the registry has as well: small.en.
    if size.endswith(".en") and size not in _WHISPER:
        return size if size in ("base.en", "small.en") else name
    return _WHISPER.get(size) or _TRANSLATORS.get(plain) or name


def _translator(name: str, info: ValidationInfo) -> str:
    # A server has its own names; "large" is no translator.
    known = known_name(name)
    is_ours = info.data.get("engine") != "openai" and known in _TRANSLATORS.values()
    return known if is_ours else name


RecognizerName = Annotated[str, Field(min_length=1), AfterValidator(known_name)]
"""A recognizer's name, path or hub id."""
TranslatorName = Annotated[str, Field(min_length=1), AfterValidator(_translator)]
"""A translator's name, path or hub id, or its name on a server."""
