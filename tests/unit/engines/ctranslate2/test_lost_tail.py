"""The decisions of the lost-tail guard, and the guard in the real engine on real sound."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from pipeline.core.resources import bundled
from pipeline.core.types import SAMPLE_RATE, Pcm, Recognition, Word
from pipeline.engines.ctranslate2 import whisper as engine
from pipeline.engines.ctranslate2.lost_tail import LastWord, ends_of, is_credible, joined, last_word
from pipeline.engines.ctranslate2.whisper import Whisper
from pipeline.evaluation.word_errors import word_error_rate
from scripts.bench.accuracy import material
from tests.support.needs import needs_file

STARTER = bundled("models", "starter", "stt")
SERMON = bundled("demo", "sermon.flac")
VOICES = bundled("demo", "voices")
LOUD = np.full(2 * SAMPLE_RATE, 0.1, np.float32)


def path(*frames: int) -> list[tuple[int, int]]:
    """Return an alignment in which token number i has frames[i] frames."""
    tokens = [token for token, count in enumerate(frames) for _ in range(count)]
    return [(token, frame) for frame, token in enumerate(tokens)]


def test_a_token_ends_with_its_last_frame() -> None:
    assert ends_of(3, path(10, 5, 20, 40)) == (0.2, 0.3, 0.7)
    assert ends_of(0, path(40)) == ()
    assert ends_of(3, [(0, 1), (2, 2), (3, 3)]) == (), "the path leaves a token out"


def test_the_last_word_ends_where_its_last_token_does() -> None:
    pieces = [" Grace", " and", " pea", "ce"]
    word = last_word(pieces, path(10, 5, 20, 15, 50), [0.9, 0.9, 0.8, 0.5])
    assert word is not None
    assert word.first_token == 2
    assert word.start_s == pytest.approx(0.30)
    assert word.end_s == pytest.approx(1.00)
    assert word.probability == pytest.approx(0.4)
    # A full stop that covers the lost speech is no word.
    word = last_word([" Amen", "."], path(25, 100, 10), [0.9, 0.9])
    assert word is not None
    assert word.end_s == pytest.approx(0.5)


@pytest.mark.parametrize("pieces", [[], ["."], [" ...", " "]])
def test_no_word_no_end(pieces: list[str]) -> None:
    assert last_word(pieces, path(*[5] * (len(pieces) + 1)), [0.9] * len(pieces)) is None
    assert last_word([" Amen"], [(1, 0), (1, 1)], [0.9]) is None, "the alignment skips it"


@pytest.mark.parametrize(
    ("probability", "end_s", "rest_start_s"),
    [(0.9, 1.4, 1.4), (0.3, 1.4, 1.0), (0.3, 4.0, 4.0)],
    ids=["sure", "cut short", "a text without spaces"],
)
def test_a_doubtful_word_is_heard_again(
    probability: float, end_s: float, rest_start_s: float
) -> None:
    assert LastWord(3, 1.0, end_s, probability).rest_start_s == rest_start_s


@pytest.mark.parametrize(
    ("rest", "credible"),
    [
        (Recognition("and the Lord said to him.", -0.3, 0.1, 1.0), True),
        (Recognition("and the Lord said to him.", -0.9, 0.1, 1.0), False),
        (Recognition("", -0.3, 0.1, 1.0), False),
        (Recognition("[Music]", -0.3, 0.1, 1.0), False),
        (Recognition("la la la la la la la la", -0.3, 0.1, 1.0), False),
        (Recognition("Thank you for watching!", -0.3, 0.7, 1.0), False),
        (Recognition("one two", None, None, None), False),
    ],
)
def test_only_a_clear_rest_is_believed(rest: Recognition, credible: bool) -> None:
    assert is_credible(rest, LOUD) is credible


def test_two_recognitions_as_one() -> None:
    first = Recognition(
        "Small children", -0.2, 0.01, 0.8, (Word("Small", 0.9), Word("children", 1))
    )
    rest = Recognition("came to see him.", -0.5, 0.9, 1.1, tuple(Word(w, 0.5) for w in "abcd"))
    whole = joined(first, rest)
    assert whole.text == "Small children came to see him."
    assert whole.avg_logprob == pytest.approx(-0.4)
    assert whole.no_speech_prob == 0.01
    assert whole.compression_ratio == 1.1
    assert len(whole.words) == 6


@pytest.mark.parametrize(
    ("first", "rest", "whole"),
    [
        ("he came to see", "to see him.", "he came to see him."),
        ("he came to See,", "see him.", "he came to See, him."),
        ("holy, holy", "Holy is the Lord.", "holy, holy is the Lord."),
        ("he came", "she went", "he came she went"),
        ("他来了。", "我们祷告。", "他来了。我们祷告。"),
        ("", "she went", "she went"),
        ("he came", "", "he came"),
    ],
)
def test_words_heard_twice_at_the_cut_stand_once(first: str, rest: str, whole: str) -> None:
    assert joined(Recognition(first), Recognition(rest)).text == whole


def test_what_later_parts_have_lost_is_counted() -> None:
    """Audio of more than 30 s has several parts, each with its own tail."""
    parts = (
        Recognition("In the beginning"),
        Recognition("was the Word", lost_tail_s=1.5, tail_recovered=True),
        Recognition("and the Word was God.", lost_tail_s=2.0),
    )
    whole = reduce(joined, parts)
    assert whole.text == "In the beginning was the Word and the Word was God."
    assert (whole.lost_tail_s, whole.tail_recovered) == (3.5, True)


@pytest.mark.parametrize(
    ("parts", "english"),
    [
        ((("Dios es", "God is"), ("amor.", "love.")), "God is love."),
        ((("Dios es", "God is"), ("", "")), "God is"),
        ((("Dios es", "God is"), ("amor.", ""), ("Amén.", "Amen.")), ""),
        ((("Dios es", ""), ("amor.", "love.")), ""),
    ],
)
def test_a_translation_of_some_parts_is_none_of_the_whole(
    parts: Sequence[tuple[str, str]], english: str
) -> None:
    made = (Recognition(text, english=own) for text, own in parts)
    assert reduce(joined, made).english == english


@pytest.fixture(scope="module")
def sentences() -> list[tuple[Pcm, str]]:
    """Utterances of the demo sermon: two sentences each, of which the starter loses some."""
    needs_file(SERMON)
    pcm, _ = soundfile.read(SERMON, dtype="float32")
    listed = json.loads(SERMON.with_suffix(".json").read_text())["sentences"]
    return [
        (
            pcm[
                round((a["start_s"] - 0.2) * SAMPLE_RATE) : round((b["end_s"] + 0.2) * SAMPLE_RATE)
            ],
            f"{a['en']} {b['en']}",
        )
        for a, b in list(zip(listed[::2], listed[1::2], strict=False))[:6]
        if a["section"] == b["section"]
    ]


def first_half(decode: Any) -> Any:
    """Return a `decode` whose first pass ends its text in the middle of the tokens."""

    def decode_half(
        self: Whisper, pcm: Pcm, window_s: float, *, telling: bool, prefix: Sequence[int] = ()
    ) -> Any:
        heard = decode(self, pcm, window_s, telling=telling, prefix=prefix)
        if window_s != self._window_s:
            return heard
        tokens = heard.tokens[: len(heard.tokens) // 2]
        text = self._tokenizer.decode(tokens).strip()
        spoken = heard.recognition.words[: len(text.split())]
        return replace(
            heard, tokens=tokens, recognition=replace(heard.recognition, text=text, words=spoken)
        )

    return decode_half


def error_rate(heard: Sequence[Recognition], told: Sequence[str]) -> float:
    return word_error_rate(zip(told, (each.text for each in heard), strict=True)) or 0.0


@pytest.mark.slow
def test_sentences_that_the_starter_leaves_out_are_found(
    whisper: Whisper, sentences: list[tuple[Pcm, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [text for _, text in sentences]
    assert len(texts) > 3
    guarded = [whisper.recognize(pcm, final=True) for pcm, _ in sentences]
    monkeypatch.setattr(whisper, "has_alignment", False)
    plain = [whisper.recognize(pcm, final=True) for pcm, _ in sentences]
    assert any(each.tail_recovered for each in guarded)
    assert error_rate(guarded, texts) < error_rate(plain, texts)
    for before, after in zip(plain, guarded, strict=True):
        assert (before.text == after.text) is not after.tail_recovered
        assert [word.text for word in after.words] in ([], after.text.split())


@pytest.mark.slow
def test_a_text_that_ends_amid_a_word_is_completed(
    whisper_base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Whisper(whisper_base)
    model.load()
    voices = [
        each
        for each in material(VOICES, clean=True)
        if each.condition == "pauses shortened" and len(each.utterances) == 1
    ][:2]
    texts = [each.text for each in voices]

    def hear(*, final: bool) -> list[Recognition]:
        """Return the recognition of each recording; partials have no guard."""
        heard = [[model.recognize(pcm, final=final) for pcm in v.utterances] for v in voices]
        return [Recognition(" ".join(each.text for each in parts)) for parts in heard]

    monkeypatch.setattr(Whisper, "_decode", first_half(Whisper._decode))
    assert error_rate(hear(final=False), texts) > 0.35
    assert error_rate(hear(final=True), texts) < 0.12, "of the whole texts it is 0.08"


@pytest.mark.slow
def test_a_tail_that_nobody_can_hear_is_counted_and_not_made_up(
    whisper: Whisper, sentences: list[tuple[Pcm, str]]
) -> None:
    """Three seconds of noise follow the words; the voice detector took them for speech."""
    noise = np.random.default_rng(2).normal(0, 0.02, 3 * SAMPLE_RATE).astype(np.float32)
    clean = whisper.recognize(sentences[0][0], final=True)
    heard = whisper.recognize(np.concatenate([sentences[0][0], noise]), final=True)
    assert heard.lost_tail_s > 2.0
    assert not heard.tail_recovered
    assert len(heard.text.split()) <= len(clean.text.split()) + 1


@pytest.mark.slow
def test_a_model_that_cannot_align_has_no_guard(
    tmp_path: Path, sentences: list[tuple[Pcm, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "stt"
    folder.mkdir()
    for file in STARTER.iterdir():
        (folder / file.name).symlink_to(file)
    config = json.loads((STARTER / "config.json").read_text())
    del config["alignment_heads"]
    (folder / "config.json").unlink()
    (folder / "config.json").write_text(json.dumps(config))
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr(engine.log, "info", lambda *_, **facts: messages.append(facts))
    model = Whisper(folder, threads=1)
    model.load()
    assert not model.has_alignment
    assert model.recognize(sentences[0][0], final=True).lost_tail_s == 0.0
    partial = model.recognize(sentences[0][0], final=False)
    assert (bool(partial.tokens), partial.ends_s) == (True, ())
    assert len(messages) == 1, "said once, not for each sentence"
