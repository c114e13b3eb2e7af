"""The keys, and the config.toml that shows them."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from pydantic import ValidationError

from pipeline.config.loader import leaves, load
from pipeline.config.publishing import Output
from pipeline.config.schema import Settings, Stt, Vad
from pipeline.config.section import ModelServer
from pipeline.config.spelling import INHERITED, without_expert
from pipeline.core.errors import ConfigError
from pipeline.core.resources import bundled


def test_the_shipped_file_holds_every_key_with_its_default() -> None:
    shipped = dict(leaves(without_expert(tomllib.loads(bundled("config.toml").read_text()))))
    every = dict(leaves(Settings().model_dump(mode="json")))
    inherited = {f"translate.compare.{key}" for key in INHERITED if key != "model"}
    # `servers` and `outputs` are lists of a church's own: an example shows each of their keys.
    listed = {"servers", "outputs", "translate.also_spoken"}  # the last is written with `source`
    assert shipped == {k: v for k, v in every.items() if k not in {*inherited, *listed}}
    text = bundled("config.toml").read_text()
    for key in (*ModelServer.model_fields, *Output.model_fields):
        assert f"\n# {key} = " in text


def test_every_key_of_the_shipped_file_is_explained() -> None:
    lines = bundled("config.toml").read_text().splitlines()
    assert [line for line in lines if " = " in line and "#" not in line] == []


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"eager_ms": 32}, "eager_ms must be 0 (off) or at least 64"),
        ({"eager_ms": 400}, "eager_ms must be below vad.silence_ms"),
        ({"eager_ms": 200, "silence_ms": 200}, "eager_ms must be below vad.silence_ms"),
        ({"eager_ms": 0, "silence_ms": 64}, ""),
        ({"silence_ms": 64}, ""),  # a file from before eager finals
        ({"eager_ms": 64, "silence_ms": 64}, ""),  # the same file, after a reload
        ({"eager_ms": 64, "silence_ms": 65, "reopen_ms": 0}, ""),
    ],
)
def test_an_eager_run_comes_before_the_end(given: dict[str, int], wrong: str) -> None:
    if not wrong:
        assert Vad(**given).eager_ms == given.get("eager_ms", Vad().eager_ms)
        return
    with pytest.raises(ValidationError, match=re.escape(wrong)):
        Vad(**given)


@pytest.mark.parametrize(
    ("key", "given", "kept"),
    [
        ("server.address", "", ""),
        ("server.address", "https://captions.example.org", "https://captions.example.org/"),
        ("server.address", "http://[fd00::1]:8765/captions/", "http://[fd00::1]:8765/captions/"),
        ("servers.gpu", {"url": "https://gpu:8000/v1/"}, ModelServer(url="https://gpu:8000/v1")),
        ("servers.gpu", {"url": "http://[::1]:8080"}, ModelServer(url="http://[::1]:8080")),
        *(("session.new_at", at, at) for at in ("", "00:00", "23:59")),
        ("church.colour", "#1F5673", "#1F5673"),
        ("speech.languages", ["es"], ("es",)),
    ],
)
def test_a_value_is_taken_and_an_address_written_in_one_way(
    key: str, given: Any, kept: Any
) -> None:
    section, _, name = key.partition(".")
    found = getattr(load(flags={key: given}).settings, section)
    assert (found[name] if section == "servers" else getattr(found, name)) == kept


@pytest.mark.parametrize(
    ("key", "says", "values"),
    [
        (
            *("server.address", "server.address: is not a web address such as"),
            [
                *("captions.example.org", "ftp://a.example.org/", "https://", "http://[fd00::1/"),
                *("https://a.example.org/#token=secret", "https://me:secret@a.example.org/"),
                *("https://a.example.org/?a=b", "https://a.example.org/\n", "https://a b.org/"),
                "http://captions.example.org:port/",
            ],
        ),
        (
            *("servers.gpu.url", "servers.gpu.url"),
            [
                *("", "gpu:8080", "ftp://gpu/v1", "http://", "http://u:key@gpu/v1", "http://[::1"),
                *("http://gpu/v1?key=x", "http://gpu:0/v1", "http://gpu:99999/v1"),
                "http://gpü/v1",
            ],
        ),
        ("session.new_at", "is no time such as", ["4:00", "24:00", "12:60", "noon", "04:00:00"]),
        ("church.colour", "is no colour such as", ["red", "#fff", "1f5673", "#1f5673; }"]),
        ("speech.languages", r"speech\.languages: fr is no caption language", [["es", "fr"]]),
        ("translate.final.engine", 'needs server = "NAME"', ["openai"]),
        ("stt", "needs server_model", [{"engine": "openai", "server": "gpu"}]),
        ("stt", 'needs server = "NAME"', [{"engine": "openai", "server_model": "large-v3"}]),
    ],
)
def test_what_is_refused_says_what_was_expected(key: str, says: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ConfigError, match=says):
            load(flags={key: value})


def test_the_recognizer_behind_a_server_is_whisper() -> None:
    whole = Stt(engine="openai", server="gpu", server_model="large-v3")
    assert (whole.local_engine, Stt(engine="moonshine").local_engine) == ("whisper", "moonshine")
