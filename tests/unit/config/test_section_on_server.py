"""Where a server is, as a person may write it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from pipeline.config.section import ModelServer, OnServer


def test_an_address_is_kept_without_its_last_slash() -> None:
    kept = ModelServer(url="https://gpu.example.org:8000/v1/")
    assert kept.url == "https://gpu.example.org:8000/v1"
    assert ModelServer(url="http://[::1]:8080").url == "http://[::1]:8080"


def test_only_an_engine_on_a_server_needs_an_address() -> None:
    assert OnServer(engine="gemma").server == ""
    with pytest.raises(ValidationError, match='needs server = "NAME"'):
        OnServer(engine="openai")
    with pytest.raises(ValidationError, match="url"):
        ModelServer(url="")


@pytest.mark.parametrize(
    "url",
    [
        *("gpu:8080", "ftp://gpu/v1", "http://", "http://user:key@gpu/v1", "http://gpu/v1?key=x"),
        *(
            "http://gpu:0/v1",
            "http://gpu:99999/v1",
            "http://g pu/v1",
            "http://gpü/v1",
            "http://[::1",
        ),
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ValidationError):
        ModelServer(url=url)
