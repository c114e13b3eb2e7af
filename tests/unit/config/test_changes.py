"""When a changed setting takes effect: known for every key, and what is put in force is valid."""

from __future__ import annotations

import pytest

from pipeline.config.changes import _KEYS, EFFECT, Changes, changes
from pipeline.config.loader import changed, leaves
from pipeline.config.schema import Settings

KEYS = [key for key, _ in leaves(Settings().model_dump())]


def test_every_key_has_one_class() -> None:
    classed = " ".join(_KEYS.values()).split()
    assert sorted(classed) == sorted(KEYS), (
        "pipeline/config/changes.py: when does the new key take effect?"
    )


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
