"""The settings of an engine that may be on a server: where that is, and how it is asked. Pure."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, model_validator

from pipeline.config.section import Section, Text, is_bare, split_address


def _server_address(url: str) -> str:
    if not url:
        return ""
    if not url.isascii() or not is_bare(split_address(url, "http", "https")):
        msg = "is not a server's address such as http://gpu.example.org:8080/v1"
        raise ValueError(msg)
    return url.rstrip("/")


ServerUrl = Annotated[Text, AfterValidator(_server_address)]
"""A server's address, without a slash at its end; "" for none."""


class OnServer(Section):
    """The keys of a table whose engine may be on a server."""

    engine: str
    url: ServerUrl = ""
    key_file: Text = ""
    ca_file: Text = ""

    @property
    def lacks_server(self) -> bool:
        """Whether a server is to be asked, and none is named."""
        return self.engine == "openai" and not self.url

    @model_validator(mode="after")
    def _has_server(self) -> Self:
        if self.lacks_server:
            msg = 'engine = "openai" needs the server\'s url, such as "http://192.168.1.5:8080/v1"'
            raise ValueError(msg)
        return self
