"""The keys, and the config.toml that shows them."""

from __future__ import annotations

import re
import tomllib

import pytest
from pydantic import ValidationError

from pipeline.config.loader import leaves
from pipeline.config.publishing import Output
from pipeline.config.schema import Church, Server, Settings, Stt, Vad
from pipeline.config.section import ModelServer, OnServer, Session
from pipeline.config.spelling import INHERITED, without_expert
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
    ("given", "address"),
    [
        ("", ""),
        ("https://captions.example.org", "https://captions.example.org/"),
        ("http://192.168.1.20:8765/", "http://192.168.1.20:8765/"),
        ("http://[fd00::1]:8765/captions/", "http://[fd00::1]:8765/captions/"),
    ],
)
def test_an_address_for_phones_ends_with_a_slash(given: str, address: str) -> None:
    assert Server(address=given).address == address


@pytest.mark.parametrize(
    "given",
    [
        "captions.example.org",
        "ftp://captions.example.org/",
        "https://",
        "https://captions.example.org/#token=secret",
        "https://captions.example.org/?a=b",
        "https://me:secret@captions.example.org/",
        "https://captions example.org/",
        "https://captions.example.org/\n",
        "http://[fd00::1/",
        "http://captions.example.org:port/",
    ],
)
def test_what_is_no_address_for_phones_is_refused(given: str) -> None:
    with pytest.raises(ValidationError, match="address"):
        Server(address=given)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"eager_ms": 32}, "eager_ms must be 0 (off) or at least 64"),
        ({"eager_ms": 400}, "eager_ms must be below vad.silence_ms"),
        ({"eager_ms": 200, "silence_ms": 200}, "eager_ms must be below vad.silence_ms"),
        ({"eager_ms": 0, "silence_ms": 64}, ""),
        ({"silence_ms": 80}, ""),  # a file from before eager finals
        ({"eager_ms": 64, "silence_ms": 65, "reopen_ms": 0}, ""),
    ],
)
def test_an_eager_run_comes_before_the_end(given: dict[str, int], wrong: str) -> None:
    if not wrong:
        assert Vad(**given).eager_ms == given.get("eager_ms", Vad().eager_ms)
        return
    with pytest.raises(ValidationError, match=re.escape(wrong)):
        Vad(**given)


def test_a_recognizer_on_a_server_needs_its_address_and_the_servers_name_for_it() -> None:
    with pytest.raises(ValidationError, match='needs server = "NAME"'):
        Stt(engine="openai", server_model="large-v3")
    with pytest.raises(ValidationError, match="needs server_model"):
        Stt(engine="openai", server="gpu")
    whole = Stt(engine="openai", server="gpu", server_model="large-v3")
    assert (whole.local_engine, Stt(engine="moonshine").local_engine) == ("whisper", "moonshine")


@pytest.mark.parametrize("at", ["", "00:00", "04:00", "23:59"])
def test_a_new_session_begins_at_a_time_of_day_or_never(at: str) -> None:
    assert Session(new_at=at).new_at == at


@pytest.mark.parametrize("at", ["4:00", "24:00", "12:60", "noon", "04:00:00"])
def test_what_is_no_time_of_day_is_refused(at: str) -> None:
    with pytest.raises(ValidationError, match="is no time such as"):
        Session(new_at=at)


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


def test_a_colour_has_six_digits() -> None:
    assert Church(colour="#1F5673").colour == "#1F5673"
    for colour in ("red", "#fff", "1f5673", "#1f5673; }"):
        with pytest.raises(ValidationError, match="is no colour such as"):
            Church(colour=colour)


def test_only_caption_languages_are_spoken() -> None:
    assert Settings.model_validate({"speech": {"languages": ["es"]}}).speech.languages == ("es",)
    with pytest.raises(ValidationError, match=r"speech\.languages: fr is no caption language"):
        Settings.model_validate({"speech": {"languages": ["es", "fr"]}})
