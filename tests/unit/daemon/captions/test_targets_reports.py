"""What workers report reaches the first target and the further languages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from pipeline.core.reports import Rendition, Settled
from pipeline.core.types import Caption, Recognition, Transcript, Utterance
from tests.support.daemon import Service
from tests.support.fakes import FakeTranslator


def heard(*, filtered: str = "") -> Transcript:
    pcm = np.zeros(16_000, np.float32)
    utterance = Utterance(1, 1, True, "silence", 0, 16_000, pcm, closed_s=1.0, can_resume=True)
    return Transcript(utterance, "en", "grace", "grace", Recognition("grace"), filtered=filtered)


def service(tmp_path: Path) -> Service:
    flags = {"translate.targets": [{"lang": "fr", "rest": False}]}
    pair = (FakeTranslator("fr-quick"), FakeTranslator("fr-final"))
    return Service(tmp_path, extra_targets={"fr": pair}, flags=flags)


def test_each_language_is_shown_its_own_captions(tmp_path: Path) -> None:
    app = service(tmp_path).app
    boards = {board.target: board for board in app._context.boards}
    app._targets.take(heard().utterance)
    app._targets.take(Rendition("es", Caption(heard(), "es", "gracia", "gemma", True)))
    assert boards["es"].message(1).target.text == "gracia"
    assert not boards["fr"].snapshot().messages
    app._targets.take(Rendition("fr", Caption(heard(), "fr", "la grâce", "gemma", True)))
    assert boards["fr"].message(1).target.text == "la grâce"
    assert boards["es"].seq == boards["fr"].seq == 1


def test_what_has_settled_is_offered_to_every_language(tmp_path: Path) -> None:
    app = service(tmp_path).app
    app._targets.take(heard().utterance)
    app._targets.take(Rendition("es", Caption(heard(), "es", "gracia", "gemma", True)))
    assert not app._targets._settled, "speech may still return to it"
    app._targets.take(Settled(1))
    assert [each.utterance.id for each in app._targets._settled] == [1]


def test_a_text_that_is_none_is_taken_back_everywhere(tmp_path: Path) -> None:
    app = service(tmp_path).app
    partial = replace(heard().utterance, final=False, cause="partial")
    shown = replace(heard(), utterance=partial)
    app._targets.take(Rendition("es", Caption(shown, "es", "gracia", "marian", False)))
    app._targets.take(Rendition("fr", Caption(shown, "fr", "grâce", "marian", False)))
    app._targets.take(heard().utterance)
    app._targets.take(heard(filtered="repetition"))
    for board in app._context.boards:
        assert not board.snapshot().messages
