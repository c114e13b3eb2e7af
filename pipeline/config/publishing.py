"""The settings of what leaves the hall: [publish] and [outputs]. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from pipeline.config.section import SecretAddress, Section, Text, split_address


class Publish(Section):
    """[publish]"""

    nats: SecretAddress = ""
    church: str = "church"
    credentials: Text = ""
    keep_hours: Annotated[float, Field(ge=0.1, le=24 * 366)] = 24.0

    @field_validator("church")
    @classmethod
    def _subject_token(cls, church: str) -> str:
        # One token of NATS' subjects: dots would part it, `*` and `>` are wildcards.
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


PROGRAMS = ("youtube", "vmix", "propresenter", "freeshow")
"""The programs of [outputs]: each has a key with its address, and one with its language."""

_ShownLang = Annotated[str, Field(pattern=r"^([a-z]{2,3})?$")]
"""The language that a program shows; "" is the first one that is translated into."""


class Outputs(Section):
    """[outputs]"""

    # YouTube's has the stream's key in it, the others may have a user and a password.
    youtube: SecretAddress = ""
    youtube_lang: _ShownLang = ""
    vmix: SecretAddress = ""
    vmix_title: Annotated[str, Field(min_length=1)] = "1, Message.Text"
    vmix_lang: _ShownLang = ""
    propresenter: SecretAddress = ""
    propresenter_message: Annotated[str, Field(min_length=1)] = "Captions, Text"
    propresenter_lang: _ShownLang = ""
    freeshow: SecretAddress = ""
    freeshow_variable: Annotated[str, Field(min_length=1)] = "Captions"
    freeshow_lang: _ShownLang = ""
    hls: bool = False

    def by_lang(self, first: str) -> dict[str, Outputs]:
        """Return the section of each language that a program shows, with its programs only.

        `first` is the language of those that name none.
        """
        shown = {name: self.lang_of(name) or first for name in PROGRAMS if getattr(self, name)}
        return {
            lang: self.model_copy(update={name: "" for name in PROGRAMS if shown.get(name) != lang})
            for lang in dict.fromkeys(shown.values())
        }

    def lang_of(self, program: str) -> str:
        """Return the language that a program names, "" if none."""
        return str(getattr(self, f"{program}_lang"))

    def refuse_unknown(self, langs: Collection[str]) -> None:
        """Raise ValueError where a program is to show a language that there is not."""
        for name in PROGRAMS:
            if (lang := self.lang_of(name)) and lang not in langs:
                shown = ", ".join(langs)
                msg = (
                    f"outputs.{name}_lang is {lang!r}, which is neither spoken nor translated "
                    f"into: this service has {shown}"
                )
                raise ValueError(msg)

    @field_validator("youtube", "vmix", "propresenter", "freeshow")
    @classmethod
    def _web_address(cls, url: str) -> str:
        if url and split_address(url, "http", "https") is None:
            msg = "is not a web address such as http://192.168.1.30:8088"
            raise ValueError(msg)
        return url
