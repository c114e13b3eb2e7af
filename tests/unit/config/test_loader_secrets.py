"""Secrets are marked in the schema, and marked values are not shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pipeline.config.loader import SECRETS, changed, is_secret, load, shown
from pipeline.config.schema import Settings
from pipeline.core.errors import ConfigError


def strings(section: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield (key path, field) for every key that takes a string, of further targets too."""
    for name, field in section.model_fields.items():
        kinds = [field.annotation, *get_args(field.annotation)]
        inner = [each for each in kinds if isinstance(each, type) and issubclass(each, BaseModel)]
        for each in inner:
            yield from strings(each, f"{prefix}{name}.")
        if str in kinds:
            yield f"{prefix}{name}", field


def is_taken(path: str, value: str) -> bool:
    try:
        changed(Settings(), {path: value})
    except ValueError:
        return False
    return True


def test_every_key_that_may_hold_a_secret_is_marked() -> None:
    """A key is found by its name, or because it takes only addresses, even with a password."""
    place = "user:hush@example.org:4222/a?key=hush"
    found = {
        path
        for path, _ in strings(Settings)
        if re.search("token|password|secret", path)
        or (
            not path.startswith("translate.targets.")
            and (is_taken(path, f"http://{place}") or is_taken(path, f"nats://{place}"))
            and not is_taken(path, "no address")
        )
    }
    assert found == {*SECRETS} - {"outputs"}, "a list: its addresses are tried below"


def test_a_further_target_has_no_key_that_the_first_one_lacks() -> None:
    """So the findings about the first target's keys hold for further targets."""
    prefix = "translate.targets."
    known = {path for path, _ in strings(Settings)}
    own = {path.replace(prefix, "translate.") for path in known if path.startswith(prefix)}
    assert own - known <= {"translate.lang"}


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("operator.token", "hush", "set"),
        ("operator.token", "", ""),
        (
            "outputs",
            [
                {"program": "youtube", "url": "http://upload.youtube.com/closedcaption?cid=hush"},
                {"program": "vmix", "url": "http://me:hush@[fd00::1]:8088/api"},
            ],
            [
                {"program": "youtube", "url": "http://upload.youtube.com"},
                {"program": "vmix", "url": "http://[fd00::1]:8088"},
            ],
        ),
        (
            "publish.nats",
            "nats://church:hush@captions.example.org:4222",
            "nats://captions.example.org:4222",
        ),
        ("server.port", 8765, 8765),
    ],
)
def test_of_a_secret_its_place_is_shown_at_most(path: str, value: Any, says: Any) -> None:
    assert shown(path, value) == says
    assert "hush" not in repr(changed(Settings(), {path: value}))


def test_a_section_with_a_secret_in_it_is_not_shown_either() -> None:
    assert [is_secret(path) for path in ("operator", "operator.token", "operator.token.x")] == [
        True
    ] * 3
    assert [is_secret(path) for path in ("", "operator.off_record_s", "server")] == [False] * 3


WRONG = {
    "string_type": dict.fromkeys(SECRETS, 4477001),
    "table": {path: {"x": "4477001"} for path in SECRETS},
    "list": {path: ["4477001"] for path in SECRETS},
    "section": {path.partition(".")[0]: "4477001" for path in SECRETS},
    "address": {path: "4477001" for path in SECRETS if SECRETS[path].is_address},
    # Without its host this is a host and a port, and Python's own error quotes the port.
    "port": {p: "nats://church:4477001" for p in SECRETS if SECRETS[p].is_address},
    "http port": {p: "http://church:4477001" for p in SECRETS if SECRETS[p].is_address},
    "brackets": {p: "http://church:[4477001@x" for p in SECRETS if SECRETS[p].is_address},
    "no bare address": {
        "server.address": "https://me:4477001@captions.example.org/",
        "stt.url": "https://me:4477001@gpu.example.org/v1",
        "translate.final.url": "https://gpu.example.org:4477001x/v1",
    },
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_an_error_in_a_secret_does_not_quote_it(wrong: dict[str, Any]) -> None:
    for path, value in wrong.items():
        with pytest.raises(ConfigError) as caught:
            load(flags={path: value})
        assert path in str(caught.value)
        assert "4477001" not in str(caught.value)
