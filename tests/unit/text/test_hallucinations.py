from __future__ import annotations

import json
import zlib
from typing import Any

import pytest

from pipeline.core.resources import bundled
from pipeline.core.types import Recognition, Word
from pipeline.text.hallucinations import reason, said_once

SPOKEN_DBFS = -22.0
QUIET_DBFS = -55.0


def judge(
    text: str,
    *,
    level_dbfs: float = SPOKEN_DBFS,
    duration_s: float = 6.0,
    avg_logprob: float | None = -0.3,
    no_speech_prob: float | None = 0.02,
    compression_ratio: float | None = None,
    lang_prob: float | None = None,
) -> str:
    """Ask `reason` about a text, by default with Whisper's measures of a good recognition."""
    raw = text.encode()
    ratio = compression_ratio or len(raw) / len(zlib.compress(raw))
    recognition = Recognition(text, avg_logprob, no_speech_prob, ratio, lang_prob=lang_prob)
    return reason(recognition, text, level_dbfs, duration_s)


@pytest.mark.parametrize(
    "text",
    [
        "Thank you.",
        "Yes, Lord, yes.",
        "Holy, holy, holy is the Lord God Almighty.",
        "Hallelujah, hallelujah, hallelujah, hallelujah, hallelujah, hallelujah!",
        "My God, my God, why have you forsaken me?",
        "No, no, no, no!",
        "His mercy endures for ever. Give thanks: his mercy endures for ever.",
        "Thank you for watching over us, Lord.",
        "We subscribe to no other gospel.",
        "The music was loud.",
        "3:16",
        "(For Joab and all Israel stayed there six months, until he had cut off every male.)",
    ],
)
def test_what_a_church_says_stays(text: str) -> None:
    assert judge(text) == ""


def test_the_demo_sermon_stays() -> None:
    sentences = json.loads(bundled("demo", "sermon.json").read_text())["sentences"]
    assert len(sentences) > 20
    for sentence in sentences:
        duration_s = sentence["end_s"] - sentence["start_s"]
        assert judge(sentence["en"], duration_s=duration_s) == "", sentence["en"]


@pytest.mark.parametrize("text", ["Thank you.", "Amen.", "Yes.", "Hallelujah!", "Okay."])
def test_real_short_words_stay_when_said_softly_or_recognized_with_doubt(text: str) -> None:
    assert judge(text, level_dbfs=QUIET_DBFS) == judge(text, avg_logprob=-0.9) == ""


@pytest.mark.parametrize("text", ["Thank you.", "you", "Bye-bye!"])
def test_a_weak_phrase_needs_both_signs(text: str) -> None:
    assert judge(text, level_dbfs=QUIET_DBFS, avg_logprob=-0.9) == "stock-phrase"
    assert judge(text, no_speech_prob=0.7) == "stock-phrase", "a band, say: loud, and no voice"


@pytest.mark.parametrize(
    "text",
    [
        "Thank you for watching!",
        "Please like and subscribe.",
        "Don't forget to subscribe to my channel.",
        "I'll see you in the next video.",
        "Captioned by Jane Roe",
        "Transcription by CastingWords",
        "www.example.com",
        "Copyright 2019",
        "Music",
    ],
)
def test_a_stock_phrase_needs_one_sign(text: str) -> None:
    assert judge(text) == ""
    assert judge(text, level_dbfs=QUIET_DBFS) == "stock-phrase"
    assert judge(text, avg_logprob=-0.9) == "stock-phrase"
    assert judge(text, no_speech_prob=0.7) == "stock-phrase"


@pytest.mark.parametrize(
    "text", ["", "  ", "...", "[Music]", "(applause)", "*laughs*", "♪ ♪", "[Music] ♪ ..."]
)
def test_no_words(text: str) -> None:
    assert judge(text) == "empty"


def test_a_recognizer_without_measures_is_believed() -> None:
    recognition = Recognition("And so we pray.")
    assert reason(recognition, "And so we pray.", -50.0, 2.0) == ""


@pytest.mark.parametrize(
    "text",
    [
        "I'm going to go. I'm going to go. I'm going to go. I'm going to go.",
        "So the so the so the so the so the so the",
        "And then he said that " + "it was not " * 6,
        "no " * 6,
        "Thank you. " * 10,
        "Holy, " * 12,
    ],
)
def test_loops(text: str) -> None:
    assert judge(text, duration_s=12.0) == "repetition"


FRIENDS = "Dear friends, welcome to my church!"
HALF_SPANISH = "The Swiss nel cul to arrakomina en el salón, y los niños pueden ir a la escuela."
"""Output of Whisper base for a Spanish sentence with the language set to English."""
CITY = "We go up to the city, we go up to the house, we go up to the city."
LOAF = "Walter says he burned the first loaf, so be thankful you're getting the second."
FOX = "the quick brown fox jumps over the lazy dog and runs away from us"
ORGAN, SPANISH = "I'm gonna go back to the room.", "The Buddha has been able to take the throne."
"""What the real Whisper guesses for an organ and for Spanish."""
A_LITTLE = "No, no, no, no, that is not at all what the apostle Paul is telling the church in Rome."
GOD_SO_LOVED = (
    "神はそのひとり子を賜わったほどにこの世を愛して下さった",
    "เพราะว่าพระเจ้าทรงรักโลกจนได้ทรงประทานพระบุตรองค์เดียวของพระองค์",
)


@pytest.mark.parametrize(
    ("text", "measures", "wanted"),
    [
        # An annotation next to words does not matter; a loop that is a small part is kept.
        ("[Music] Grace to you.", {}, ""),
        (A_LITTLE, {"duration_s": 12.0}, ""),
        # "no-speech" needs both thresholds.
        ("And so", {"no_speech_prob": 0.9, "avg_logprob": -1.3}, "no-speech"),
        ("And so", {"no_speech_prob": 0.9, "avg_logprob": -0.5}, ""),
        # A guess; two words in much noise are kept.
        (ORGAN, {"no_speech_prob": 0.47, "avg_logprob": -1.97}, "guess"),
        ("Oh, yeah", {"no_speech_prob": 0.32, "avg_logprob": -1.74}, "guess"),
        (SPANISH, {"no_speech_prob": 0.14, "avg_logprob": -2.43}, "guess"),
        ("Ask not!", {"no_speech_prob": 0.12, "avg_logprob": -1.15, "lang_prob": 0.3}, ""),
        # Another language; but some words are the same in all, and a short one sounds like any.
        (FRIENDS, {"lang_prob": 0.02}, "other-language"),
        (FRIENDS, {"lang_prob": 0.2}, ""),
        (HALF_SPANISH, {"lang_prob": 0.153, "avg_logprob": -0.87}, "other-language"),
        ("Amen.", {"lang_prob": 0.02}, ""),
        ("Hallelujah, amen!", {"lang_prob": 0.02}, ""),
        ("Grace.", {"lang_prob": 0.02, "duration_s": 1.4}, ""),
        # Compression; the words of worship may be repetitive.
        (CITY, {"compression_ratio": 2.5}, "compression"),
        (CITY, {"compression_ratio": 2.3}, ""),
        ("Holy is the Lord, holy is the Lord, holy", {"compression_ratio": 2.5}, ""),
        # Too fast to be spoken; scripts without spaces are not too fast, and may repeat:
        # each sign counts as a word, and sung lines are repeated.
        (FOX, {"duration_s": 1.0}, "too-fast"),
        (FOX, {"duration_s": 2.5}, ""),
        (GOD_SO_LOVED[0], {"duration_s": 2.5, "compression_ratio": 1.0}, ""),
        (GOD_SO_LOVED[1], {"duration_s": 3.0, "compression_ratio": 1.0}, ""),
        ("哈利路亚 " * 5, {"duration_s": 4.0, "compression_ratio": 1.0}, ""),
    ],
)
def test_each_measure_tells_by_itself(text: str, measures: dict[str, Any], wanted: str) -> None:
    assert judge(text, **measures) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Vielen Dank fürs Zuschauen!",
        "Untertitel im Auftrag des ZDF für funk, 2017",
        "Merci d'avoir regardé cette vidéo !",
        "Sous-titres réalisés par la communauté",
        "Obrigado por assistir!",
        "Inscreva-se no canal",
        "Grazie per la visione!",
        "Sottotitoli creati dalla comunità",
        "Спасибо за просмотр!",
        "Продолжение следует...",
        "시청해주셔서 감사합니다.",
        "ご視聴ありがとうございました。",
        "谢谢观看",
        "請不吝點贊 訂閱 轉發",
    ],
)
def test_what_models_write_over_silence_in_other_languages_is_not_shown(text: str) -> None:
    assert judge(text, avg_logprob=-0.9) == "stock-phrase"
    assert judge(text) == "", "said clearly and loudly it was said"


@pytest.mark.parametrize(
    "text",
    [
        "Danke.", "Merci Seigneur.", "Obrigado, Senhor.", "Grazie a Dio.", "Спасибо Господу.",
        "Wir danken dir für das Zuhören.", "La musique était belle.", "감사합니다, 주님.",
        "ありがとうございます。", "谢谢主。",
    ],
)  # fmt: skip
def test_what_a_church_says_in_other_languages_stays_in_doubt(text: str) -> None:
    assert judge(text, avg_logprob=-0.9) == ""


@pytest.mark.parametrize(
    ("text", "duration_s", "kept"),
    [
        # As Whisper base wrote it.
        (f"{LOAF} {LOAF} Walter says he burned the", 4.8, LOAF),
        (f"Friends, {LOAF} {LOAF}", 4.8, f"Friends, {LOAF}"),
        (f"{LOAF} {LOAF} And we laughed.", 5.0, f"{LOAF} And we laughed."),
        # A preacher who says it twice needs the time.
        (f"{LOAF} {LOAF}", 8.0, f"{LOAF} {LOAF}"),
        ("Go, go, go, go, go, go, go.", 1.0, "Go, go, go, go, go, go, go."),
    ],
)
def test_a_sentence_that_is_written_twice_is_shown_once(
    text: str, duration_s: float, kept: str
) -> None:
    words = tuple(Word(f" {each}", 0.9) for each in text.split())
    once = said_once(Recognition(text, words=words, compression_ratio=2.6), duration_s)
    assert once.text == kept
    if kept != text and text.startswith(kept):
        assert (once.compression_ratio or 9.0) < 2.0
        assert " ".join(each.text.strip() for each in once.words) == kept
