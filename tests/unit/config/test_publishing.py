from __future__ import annotations

import re
from typing import Any

import pytest

from pipeline.config.loader import load
from pipeline.config.publishing import by_lang
from pipeline.core.errors import ConfigError


@pytest.mark.parametrize(
    "url", ["", "nats://captions.example.org", "nats://user:pass@10.0.0.1:4222", "tls://host:4443"]
)
def test_addresses_of_servers_are_taken(url: str) -> None:
    assert load(flags={"publish.nats": url}).settings.publish.nats == url


@pytest.mark.parametrize(
    ("key", "says", "values"),
    [
        (
            *("publish.nats", r"nats://captions\.example\.org:4222"),
            ["captions.example.org", "http://host", "nats://", "nats://host:0", "nats://a..b"],
        ),
        ("publish.church", "church", ["", "st.paul", "a b", "*", ">"]),
        ("outputs", r"outputs\.0: program = .vmix. needs its url", [[{"program": "vmix"}]]),
        (
            *("outputs", "is not a web address such as"),
            [[{"program": "vmix", "url": f"http://{host}"}] for host in ("a..b", "a" * 64 + ".b")],
        ),
    ],
)
def test_what_is_refused_says_what_was_expected(key: str, says: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ConfigError, match=says):
            load(flags={key: value})


PROGRAMS = [
    {"program": "youtube", "url": "http://127.0.0.1:1/c"},
    {"program": "vmix", "url": "http://127.0.0.1:2"},
    {"program": "vmix", "url": "http://127.0.0.1:3", "lang": "fr", "place": "2, Text"},
    {"program": "hls"},
]


def test_programs_show_the_first_target_unless_they_name_a_language() -> None:
    flags = {"outputs": PROGRAMS, "translate.targets": [{"lang": "fr"}]}
    youtube, first, second, _ = outputs = load(flags=flags).settings.outputs
    assert by_lang(outputs, "es") == {"es": (youtube, first), "fr": (second,)}
    assert (first.shows_in, second.shows_in) == ("1, Message.Text", "2, Text")
    assert by_lang((), "es") == {}


@pytest.mark.parametrize("lang", ["en", "es", "fr", ""])
def test_a_program_shows_what_is_spoken_or_translated_into(lang: str) -> None:
    flags = {"outputs": [{**PROGRAMS[0], "lang": lang}], "translate.targets": [{"lang": "fr"}]}
    assert load(flags=flags).settings.outputs[0].lang == lang


def test_a_language_that_there_is_not_is_refused_by_name() -> None:
    says = r"^outputs: lang of youtube is 'fr', which is neither .* this service has es, en "
    with pytest.raises(ConfigError) as refused:
        load(flags={"outputs": [{**PROGRAMS[0], "lang": "fr"}]})
    assert re.match(says, str(refused.value).splitlines()[0]), refused.value
    with pytest.raises(ConfigError, match=r"outputs\.0\.lang"):
        load(flags={"outputs": [{**PROGRAMS[0], "lang": "French"}]})
