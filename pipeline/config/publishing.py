"""The settings of outputs besides the screens: [speech], [publish] and [[outputs]]. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from pipeline.config.section import Lang, PathText, SecretAddress, Section, Text, split_address


class Speech(Section):
    """[speech]"""

    # Off: each language takes half a processor core.
    enabled: bool = False
    engine: Literal["kokoro", "espeak"] = "kokoro"
    model: Annotated[str, Field(min_length=1)] = "kokoro-82m-int8"
    languages: tuple[Lang, ...] = ()
    fastest: Annotated[float, Field(ge=1, le=2)] = 1.25
    max_listeners: Annotated[int, Field(ge=1, le=10_000)] = 300


class Publish(Section):
    """[publish]"""

    nats: SecretAddress = ""
    church: str = "church"
    credentials: PathText = ""
    ca_file: PathText = ""
    keep_hours: Annotated[float, Field(ge=0.1, le=24 * 366)] = 24.0

    @field_validator("church")
    @classmethod
    def _subject_token(cls, church: str) -> str:
        # One token of a NATS subject: dots would split it, `*` and `>` are wildcards.
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", church):
            expected = (
                'a name such as "grace-church" is expected: letters, digits, - and _, 64 at most'
            )
            raise PydanticCustomError("no_subject", expected)
        return church

    @field_validator("nats")
    @classmethod
    def _server_address(cls, nats: str) -> str:
        if nats and split_address(nats, "nats", "tls") is None:
            msg = "is not an address such as nats://captions.example.org:4222, or tls://..."
            raise ValueError(msg)
        return nats


PROGRAMS = ("youtube", "zoom", "vmix", "propresenter", "freeshow")
"""The programs of [[outputs]] that have an address. HLS has none: our own server serves it."""

_PLACES = {"vmix": "1, Message.Text", "propresenter": "Captions, Text", "freeshow": "Captions"}

_ShownLang = Annotated[str, Field(pattern=r"^([a-z]{2,3})?$")]
"""The language that a program shows; "" is the first target language."""


class Output(Section):
    """[[outputs]]: a program that shows final captions."""

    program: Literal["youtube", "zoom", "vmix", "propresenter", "freeshow", "hls"]
    # YouTube and Zoom addresses contain a key, the others may contain a user and a password.
    url: SecretAddress = ""
    lang: _ShownLang = ""
    place: Text = ""
    """vMix: a title's input and field; ProPresenter: message and token; FreeShow: a variable."""

    @model_validator(mode="after")
    def _has_address(self) -> Output:
        if self.program != "hls" and "url" not in self.model_fields_set:
            msg = f'program = "{self.program}" needs its url'
            raise ValueError(msg)
        return self

    @property
    def shows_in(self) -> str:
        """The place, or the program's default place."""
        return self.place or _PLACES.get(self.program, "")

    @field_validator("url")
    @classmethod
    def _web_address(cls, url: str) -> str:
        if url and split_address(url, "http", "https") is None:
            msg = "is not a web address such as http://192.168.1.30:8088"
            raise ValueError(msg)
        return url


def by_lang(outputs: Sequence[Output], first: str) -> dict[str, tuple[Output, ...]]:
    """Return the programs with an address, by the language that they show.

    `first` is the language of programs that name none.
    """
    used = [each for each in outputs if each.url]
    langs = dict.fromkeys(each.lang or first for each in used)
    return {lang: tuple(each for each in used if (each.lang or first) == lang) for lang in langs}


def refuse_unknown(outputs: Sequence[Output], langs: Collection[str]) -> None:
    """Raise ValueError if a program names a language that the service does not have."""
    for each in outputs:
        if each.lang and each.lang not in langs:
            msg = (
                f"outputs: lang of {each.program} is {each.lang!r}, which is neither spoken nor "
                f"translated into: this service has {', '.join(langs)}"
            )
            raise ValueError(msg)
