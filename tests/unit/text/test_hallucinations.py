from __future__ import annotations

import json
import zlib

import pytest

from pipeline.core.resources import bundled
from pipeline.core.types import Recognition
from pipeline.text.hallucinations import reason

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
    """Ask `reason` about a text with Whisper's measures of a good recognition, unless told."""
    raw = text.encode()
    ratio = compression_ratio or len(raw) / len(zlib.compress(raw))
    recognition = Recognition(text, avg_logprob, no_speech_prob, ratio, lang_prob=lang_prob)
    return reason(recognition, text, level_dbfs, duration_s)


@pytest.mark.parametrize(
    "text",
    [
        "For God so loved the world that he gave his only Son.",
        "Thank you.",
        "Amen.",
        "Yes.",
        "Yes, Lord, yes.",
        "Holy, holy, holy is the Lord God Almighty.",
        "Hallelujah, hallelujah, hallelujah!",
        "Hallelujah, hallelujah, hallelujah, hallelujah, hallelujah, hallelujah!",
        "Verily, verily, I say unto you.",
        "My God, my God, why have you forsaken me?",
        "Moses, Moses! Samuel, Samuel! Martha, Martha!",
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
def test_real_short_words_stay_when_said_softly(text: str) -> None:
    assert judge(text, level_dbfs=QUIET_DBFS) == ""


@pytest.mark.parametrize("text", ["Thank you.", "Amen.", "Yes.", "Hallelujah!", "Okay."])
def test_real_short_words_stay_when_recognized_with_doubt(text: str) -> None:
    assert judge(text, avg_logprob=-0.9) == ""


@pytest.mark.parametrize("text", ["Amen.", "Yes.", "Hallelujah!"])
def test_words_of_worship_are_never_stock_phrases(text: str) -> None:
    assert judge(text, level_dbfs=QUIET_DBFS, avg_logprob=-0.9) == ""


@pytest.mark.parametrize("text", ["Thank you.", "you", "Bye-bye!"])
def test_a_weak_phrase_needs_both_signs(text: str) -> None:
    assert judge(text, level_dbfs=QUIET_DBFS, avg_logprob=-0.9) == "stock-phrase"
    assert judge(text, no_speech_prob=0.7) == "stock-phrase", "a band, say: loud, and no voice"


@pytest.mark.parametrize(
    "text",
    [
        "Thank you for watching!",
        "Thanks so much for watching, and see you soon.",
        "Please like and subscribe.",
        "Don't forget to subscribe to my channel.",
        "I'll see you in the next video.",
        "Subtitles by the Amara.org community",
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


def test_an_annotation_beside_words_does_not_matter() -> None:
    assert judge("[Music] Grace to you.") == ""


def test_no_speech_needs_both_thresholds() -> None:
    assert judge("And so", no_speech_prob=0.9, avg_logprob=-1.3) == "no-speech"
    assert judge("And so", no_speech_prob=0.9, avg_logprob=-0.5) == ""
    assert judge("And so", no_speech_prob=0.1, avg_logprob=-1.3) == ""


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


def test_a_loop_that_is_a_small_part_stays() -> None:
    text = "No, no, no, no, that is not at all what the apostle Paul is telling the church in Rome."
    assert judge(text, duration_s=12.0) == ""


@pytest.mark.parametrize(
    ("text", "avg_logprob", "no_speech_prob"),
    [
        ("I'm gonna go back to the room.", -1.97, 0.47),
        ("Oh, yeah", -1.74, 0.32),
        ("The Buddha has been able to take the throne.", -2.43, 0.14),
    ],
    ids=["organ", "a voice that sings vowels", "Spanish"],
)
def test_what_the_real_whisper_guesses(
    text: str, avg_logprob: float, no_speech_prob: float
) -> None:
    assert judge(text, avg_logprob=avg_logprob, no_speech_prob=no_speech_prob) == "guess"


def test_two_words_in_much_noise_stay() -> None:
    assert judge("Ask not!", avg_logprob=-1.15, no_speech_prob=0.12, lang_prob=0.3) == ""


def test_another_language() -> None:
    assert judge("Dear friends, welcome to my church!", lang_prob=0.02) == "other-language"
    assert judge("Dear friends, welcome to my church!", lang_prob=0.2) == ""
    # What Whisper base made of a Spanish sentence that it was told to hear as English.
    half = "The Swiss nel cul to arrakomina en el salón, y los niños pueden ir a la escuela."
    assert judge(half, lang_prob=0.153, avg_logprob=-0.87) == "other-language"


@pytest.mark.parametrize("text", ["Amen.", "Hallelujah, amen!", "Holy, holy, holy!"])
def test_words_that_are_alike_in_all_languages_stay(text: str) -> None:
    assert judge(text, lang_prob=0.02) == ""


def test_a_short_word_may_sound_like_any_language() -> None:
    assert judge("Grace.", duration_s=1.4, lang_prob=0.02) == ""


def test_compression() -> None:
    text = "We go up to the city, we go up to the house, we go up to the city."
    assert judge(text, compression_ratio=2.5) == "compression"
    assert judge(text, compression_ratio=2.3) == ""


def test_the_words_of_worship_may_be_repetitive() -> None:
    assert judge("Holy is the Lord, holy is the Lord, holy", compression_ratio=2.5) == ""


def test_more_words_than_can_be_spoken() -> None:
    text = "the quick brown fox jumps over the lazy dog and runs away from us"
    assert judge(text, duration_s=1.0) == "too-fast"
    assert judge(text, duration_s=2.5) == ""


@pytest.mark.parametrize(
    ("text", "duration_s"),
    [
        ("神はそのひとり子を賜わったほどにこの世を愛して下さった", 2.5),
        ("เพราะว่าพระเจ้าทรงรักโลกจนได้ทรงประทานพระบุตรองค์เดียวของพระองค์", 3.0),
        ("哈利路亚 " * 5, 4.0),  # each sign is a word; what is sung is said again
    ],
)
def test_scripts_without_spaces_are_not_too_fast_and_may_repeat(
    text: str, duration_s: float
) -> None:
    assert judge(text, duration_s=duration_s, compression_ratio=1.0) == ""


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
