"""Detect recognized text that nobody said. Pure.

Speech models write something for silence, music and coughs too: what ends online videos, or one
phrase again and again. What a church says must stay: a real "thank you", "amen", "holy, holy,
holy". So a stock phrase needs a second sign that nobody spoke, and the words of worship may be
repeated more often than others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.core.languages import LANGUAGES, words_of_all
from pipeline.core.types import Recognition
from pipeline.text import repetition
from pipeline.text.words import is_unspaced, words

QUIET_DBFS = -45.0
"""Root mean square below which an utterance is quiet: speech is 15 to 30 dB louder."""

UNSURE_LOGPROB = -0.7
"""Mean log-probability below which Whisper is unsure; sermons lie between -0.1 and -0.5."""

WORDS_A_SECOND = 7.0
"""Nobody speaks faster; the fastest auctioneers reach 6."""

NO_SENSE_LOGPROB = -1.3
"""Below this the text is a guess: a real Whisper's go from -1.4 to -2.7 in organ, choir, applause
and a foreign language, and down to -1.15 for two words of a real voice in much noise.
"""

OTHER_LANG_PROB = 0.15
"""Another language is spoken if the expected one is less likely: with Whisper base 0.00 to 0.25
in Spanish, from 0.3 on in English; not asked of less than 1.5 s, which may be any language.
"""

UNSURE_OTHER_LANG_PROB = 0.25
"""The same where Whisper is unsure of what it wrote."""

_LETTERS_A_WORD = 4
_LANG_S = 1.5
_LOOP_COUNT = 4
_WORD_COUNT = 6  # "no, no, no, no" is emphasis
_WORSHIP_COUNT = 10
_LOOP_SHARE = 0.6
# "[Music]", "(applause)", "*laughs*": what subtitles, which models learnt from, say of sounds.
_ANNOTATION = re.compile(r"\[[^]]{0,40}\]|\([^)]{0,40}\)|\*[^*]{0,40}\*|[♪♫]")
# Of all languages: over silence models write English whatever they are told to hear.
_WORSHIP = words_of_all(language.worship for language in LANGUAGES.values())
_STOCK = re.compile("|".join(phrase for each in LANGUAGES.values() for phrase in each.stock))
_WEAK = words_of_all(language.weak for language in LANGUAGES.values())

# Whisper's own limits.
_NO_SPEECH_PROB = 0.6
_LEAST_LOGPROB = -1.0
_MOST_COMPRESSION = 2.4


def reason(recognition: Recognition, text: str, level_dbfs: float, duration_s: float) -> str:
    """Return why `text` must not be shown, "" when it may.

    `empty` no words in it; `no-speech` Whisper heard none and is unsure; `guess` it is not sure of
    anything; `other-language` it hears another one than the expected; `repetition` an n-gram
    over and over; `compression` as repetitive by zlib's measure; `stock-phrase` what models write
    over silence, and it was quiet or uncertain; `too-fast` more words than fit into `duration_s`.
    """
    # A text that has nothing but such notes in it is an empty one.
    found = words(_ANNOTATION.sub(" ", text))
    silent = _above(recognition.no_speech_prob, _NO_SPEECH_PROB)
    unsure = silent or _below(recognition.avg_logprob, UNSURE_LOGPROB)
    quiet = level_dbfs < QUIET_DBFS
    worship = _WORSHIP.issuperset(found)
    # Where each letter is a word nothing is known of worship, and one word said again looks longer.
    patient = worship or is_unspaced(text)
    repetitive = _above(recognition.compression_ratio, _MOST_COMPRESSION)
    # "Amen", "Hosanna": words of worship are alike in all languages, and pass below.
    least = UNSURE_OTHER_LANG_PROB if unsure else OTHER_LANG_PROB
    foreign = _below(recognition.lang_prob, least) and duration_s >= _LANG_S
    signs = {
        "empty": not found,
        "no-speech": silent and _below(recognition.avg_logprob, _LEAST_LOGPROB),
        "guess": _below(recognition.avg_logprob, NO_SENSE_LOGPROB),
        "other-language": foreign and not worship,
        "repetition": _loops(found, _WORSHIP_COUNT if patient else _LOOP_COUNT),
        "compression": repetitive and not worship,
        "stock-phrase": _stock(" ".join(found), quiet=quiet, unsure=unsure, silent=silent),
        # The 3 is for very short utterances: "Yes, amen" in a quarter of a second is no error.
        "too-fast": _spoken(found) > 3 + WORDS_A_SECOND * duration_s,
    }
    # The first that fits, in the order above: one reason goes into the record and the log.
    return next((sign for sign, seen in signs.items() if seen), "")


def _spoken(found: Sequence[str]) -> float:
    """Return how many words that is to say; letters of scripts without spaces are parts of one."""
    letters = sum(map(is_unspaced, found))
    return len(found) - letters + letters / _LETTERS_A_WORD


def _loops(words: list[str], count: int) -> bool:
    loop = repetition.longest(words)
    needed = max(count, _WORD_COUNT) if loop.period == 1 else count
    # Of a long text a loop that is a small part stays: the rest was said.
    return loop.count >= needed and loop.length >= _LOOP_SHARE * len(words)


def _stock(phrase: str, *, quiet: bool, unsure: bool, silent: bool) -> bool:
    if phrase in _WEAK:  # people do say these: doubt alone is not enough
        return silent or (quiet and unsure)
    return (quiet or unsure) and _STOCK.fullmatch(phrase) is not None


def _above(value: float | None, threshold: float) -> bool:
    # Not every recognizer tells each of these figures: what is not told is no sign.
    return value is not None and value > threshold


def _below(value: float | None, threshold: float) -> bool:
    return value is not None and value < threshold
