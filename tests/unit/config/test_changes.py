"""When a changed setting takes effect: known for every key, and what is put in force is valid."""

from __future__ import annotations

from collections import Counter

import pytest

from pipeline.config.changes import EFFECT, Changes, changes
from pipeline.config.loader import changed, leaves
from pipeline.config.schema import Settings

KEYS = [key for key, _ in leaves(Settings().model_dump())]


def test_every_key_has_an_effect_and_those_that_need_no_restart_are_marked() -> None:
    assert list(EFFECT) == KEYS
    assert min(Counter(EFFECT.values()).values()) > 10


def test_nothing_differs() -> None:
    assert changes(Settings(), Settings()) == Changes((), (), ())


def test_what_differs_is_told_by_when_it_takes_effect() -> None:
    wanted = changed(
        Settings(),
        {
            "vad.silence_ms": 700,
            "stt.hotwords": True,
            "audio.device": "USB",
            "log.level": "debug",
            "server.history": 50,
            "server.port": 8765,  # as it was
        },
    )
    assert changes(Settings(), wanted) == Changes(
        live=("log.level", "server.history"),
        next_utterance=("stt.hotwords", "vad.silence_ms"),
        restart=("audio.device",),
    )


@pytest.mark.parametrize("key", ["vad.threshold", "vad.end_threshold"])
def test_keys_that_are_checked_together_have_one_class(key: str) -> None:
    assert EFFECT[key] == "next-utterance"


@pytest.mark.parametrize(
    "key",
    ["translate.source", "translate.target", "translate.final.engine", "translate.partial.engine"],
)
def test_so_have_languages_and_translators(key: str) -> None:
    assert EFFECT[key] == "restart"
