"""The settings of what leaves the hall: [publish] and [outputs]."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from pipeline.config.section import Section, Text


class Publish(Section):
    """[publish]"""

    nats: Text = ""
    # One token of NATS' subjects: dots would part it, `*` and `>` are wildcards.
    church: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] = "church"
    credentials: Text = ""
    keep_hours: Annotated[float, Field(ge=0.1, le=24 * 366)] = 24.0

    @field_validator("nats")
    @classmethod
    def _server_address(cls, nats: str) -> str:
        parts = urlsplit(nats)  # raises ValueError for what it cannot parse, `port` too
        place = parts.scheme in ("nats", "tls") and parts.hostname and parts.port != 0
        if nats and (not place or not nats.isprintable() or " " in nats):
            # Without the value: a password may stand in it.
            msg = "is not an address such as nats://captions.example.org:4222, or tls://..."
            raise ValueError(msg)
        return nats


class Outputs(Section):
    """[outputs]"""

    youtube: Text = ""
    vmix: Text = ""
    vmix_title: Annotated[str, Field(min_length=1)] = "1, Message.Text"
    propresenter: Text = ""
    propresenter_message: Annotated[str, Field(min_length=1)] = "Captions, Text"
    freeshow: Text = ""
    freeshow_variable: Annotated[str, Field(min_length=1)] = "Captions"
    hls: bool = False

    @field_validator("youtube", "vmix", "propresenter", "freeshow")
    @classmethod
    def _web_address(cls, url: str) -> str:
        parts = urlsplit(url)  # raises ValueError for what it cannot parse, `port` too
        place = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if url and (not place or not url.isprintable() or " " in url):
            # Without the value: YouTube's has the stream's key in it.
            msg = "is not a web address such as http://192.168.1.30:8088"
            raise ValueError(msg)
        return url
