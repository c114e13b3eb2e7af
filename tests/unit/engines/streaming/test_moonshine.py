"""The real Moonshine with the model that its package contains, on human voices."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pipeline.core.errors import ModelError
from pipeline.core.resources import bundled, require_extra
from pipeline.core.types import Pcm
from pipeline.engines.streaming.moonshine import Moonshine, heard, kind_of
from scripts.bench.accuracy import Material, material
from scripts.support.voice_score import score_text
from tests.support.needs import needs_file, needs_module

VOICES = bundled("demo", "voices")


@pytest.fixture(scope="module")
def model() -> Path:
    needs_module("moonshine_voice")
    return require_extra("moonshine_voice", "moonshine", "stt.engine") / "assets" / "tiny-en"


@pytest.fixture(scope="module")
def moonshine(model: Path) -> Moonshine:
    engine = Moonshine(model, section="stt")
    engine.load()
    return engine


@pytest.fixture(scope="module")
def spoken() -> list[Material]:
    needs_file(VOICES)
    return [each for each in material(VOICES, clean=True) if each.condition == "as recorded"]


@pytest.fixture(scope="module")
def sentence(spoken: list[Material]) -> Pcm:
    """Ask what you can do for your country."""
    return next(each for each in spoken if "your country" in each.text).utterances[-1]


@pytest.mark.slow
def test_human_voices_are_understood(moonshine: Moonshine, spoken: list[Material]) -> None:
    texts = [moonshine.recognize(p, final=True).text for each in spoken for p in each.utterances]
    score = score_text([each.text for each in spoken], " ".join(texts))
    assert score.wer < 0.06, texts
    assert score.lost == ()
    assert score.stops >= 11, texts


@pytest.mark.slow
def test_a_sentence_grows_while_it_is_spoken(moonshine: Moonshine, sentence: Pcm) -> None:
    half = moonshine.recognize(sentence[: len(sentence) // 2], final=False)
    assert half.text.lower().startswith("ask what")
    assert half.committed == 0, "it may think again"
    assert [token.text.strip() for token in half.tokens] == half.text.split()
    whole = moonshine.recognize(sentence, final=True).text
    assert whole == "Ask what you can do for your country."


@pytest.mark.slow
def test_all_in_one_piece_is_heard_as_in_many(model: Path, sentence: Pcm) -> None:
    engine = Moonshine(model, section="stt")
    engine.load()
    whole = engine.push(sentence, is_last=True)
    engine.reset()
    for at in range(0, len(sentence), 12_000):
        engine.push(sentence[at : at + 12_000])
    parts = engine.push(np.zeros(0, np.float32), is_last=True)
    assert [piece.text for piece in parts.committed] == [piece.text for piece in whole.committed]
    assert whole.committed
    assert whole.tail == ()


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("tiny-en", "TINY"),
        ("small-streaming-en", "SMALL_STREAMING"),
        ("medium-streaming-en-v2", "MEDIUM_STREAMING"),
    ],
)
def test_the_kind_of_a_model_is_in_its_name(folder: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "tokenizer.bin").touch()
    assert kind_of(tmp_path / folder, "stt.model") == kind


def test_a_folder_of_another_model_is_told_by_its_setting(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"stt\.model: there is no folder .*\[model-missing\]"):
        kind_of(tmp_path / "none", "stt.model")
    for name in ("whisper-base", "tiny-en", "tinyfolk"):
        (tmp_path / name).mkdir()
        with pytest.raises(ModelError, match=r"is not a Moonshine model.*\[model-wrong-kind\]"):
            kind_of(tmp_path / name, "stt.model")


@pytest.mark.slow
def test_a_model_whose_files_are_broken_is_told(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tiny-en"
    folder.mkdir()
    (folder / "tokenizer.bin").write_bytes((model / "tokenizer.bin").read_bytes())
    for name in ("encoder_model.ort", "decoder_model_merged.ort"):
        (folder / name).write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"stt\.model: .*\[model-broken\]"):
        Moonshine(folder, section="stt").load()


def line(text: str, *, is_complete: bool, words: list[Any] | None = None) -> Any:
    return SimpleNamespace(text=text, is_complete=is_complete, words=words)


def word(text: str, start: float, end: float) -> Any:
    return SimpleNamespace(word=text, start=start, end=end, confidence=0.9)


def test_a_line_that_is_over_is_committed_and_an_open_one_is_not() -> None:
    lines = [line("Grace to you.", is_complete=True), line("And pea", is_complete=False)]
    made = heard(lines, is_last=False)
    assert [piece.text for piece in made.committed] == [" Grace", " to", " you."]
    assert [piece.text for piece in made.tail] == [" And", " pea"]
    assert len(heard(lines, is_last=True).committed) == 5


def test_words_have_times_where_the_model_tells_them_of_all() -> None:
    timed = [word("Grace", 0.4, 0.7), word(" you.", 0.7, 1.1)]
    (first, second) = heard(
        [line("Grace you.", is_complete=False, words=timed)], is_last=False
    ).tail
    # The times are those of the speech, without the added silence before it.
    assert [first.start_s, second.end_s] == pytest.approx([0.1, 0.8])
    assert second.probability == 0.9
    (first, second) = heard(
        [line("Grace you.", is_complete=False, words=timed[:1])], is_last=False
    ).tail
    assert first.start_s is second.end_s is None
