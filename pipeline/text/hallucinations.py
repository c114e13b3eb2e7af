"""Detect recognized text that nobody said. Pure.

Speech models write text for silence, music and coughs too: typical endings of online videos, or one
phrase again and again. Real speech must stay: a real "thank you", "amen", "holy, holy, holy". So a
stock phrase needs a second sign that nobody spoke, and words of worship may be repeated more often
than others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pipeline.core.languages import LANGUAGES, words_of_all
from pipeline.core.types import Recognition
from pipeline.text import repetition
from pipeline.text.words import is_unspaced, words

QUIET_DBFS = -45.0
"""Root mean square below which an utterance is quiet: speech is 15 to 30 dB louder."""

UNSURE_LOGPROB = -0.7
"""Mean log-probability below which Whisper is unsure; sermons are between -0.1 and -0.5."""

WORDS_A_SECOND = 7.0
"""Nobody speaks faster; the fastest auctioneers reach 6."""

NO_SENSE_LOGPROB = -1.3
"""Below this the text is a guess: Whisper measured -1.4 to -2.7 for organ, choir, applause and a
foreign language, and down to -1.15 for two words of a real voice in much noise.
"""

OTHER_LANG_PROB = 0.15
"""Below this probability of the expected language, another one is spoken. Whisper base gives 0.00
to 0.25 in Spanish, from 0.3 in English. Not used below 1.5 s, which may be any language.
"""

UNSURE_OTHER_LANG_PROB = 0.25
"""The same limit if Whisper is unsure of its text."""

_FAST_WORDS_A_SECOND = 4.5
"""Faster than a preacher who repeats a sentence."""

_SENTENCE = 6
"""Words of the shortest sentence whose second round is taken for the recognizer's."""

_LETTERS_A_WORD = 4
_LANG_S = 1.5
_LOOP_COUNT = 4
_WORD_COUNT = 6  # "no, no, no, no" is emphasis
_WORSHIP_COUNT = 10
_LOOP_SHARE = 0.6
# "[Music]", "(applause)", "*laughs*": notes on sounds in subtitles, from which models learnt.
_ANNOTATION = re.compile(r"\[[^]]{0,40}\]|\([^)]{0,40}\)|\*[^*]{0,40}\*|[♪♫]")
# Of all languages, since over silence models write English whatever language is set.
_WORSHIP = words_of_all(language.worship for language in LANGUAGES.values())
_STOCK = re.compile("|".join(phrase for each in LANGUAGES.values() for phrase in each.stock))
_WEAK = words_of_all(language.weak for language in LANGUAGES.values())

# Whisper's own limits.
_NO_SPEECH_PROB = 0.6
_LEAST_LOGPROB = -1.0
_MOST_COMPRESSION = 2.4


def reason(recognition: Recognition, text: str, level_dbfs: float, duration_s: float) -> str:
    """Return why `text` must not be shown, "" when it may.

    `empty`: no words; `no-speech`: Whisper detected none and is unsure; `guess`: Whisper is very
    unsure; `other-language`: another language than the expected one; `repetition`: one n-gram over
    and over; `compression`: repetitive by zlib's measure; `stock-phrase`: text that models write
    over silence, and it was quiet or uncertain; `too-fast`: too many words for `duration_s`.
    """
    # A text with only such notes is empty.
    found = words(_ANNOTATION.sub(" ", text))
    silent = _above(recognition.no_speech_prob, _NO_SPEECH_PROB)
    unsure = silent or _below(recognition.avg_logprob, UNSURE_LOGPROB)
    quiet = level_dbfs < QUIET_DBFS
    worship = _WORSHIP.issuperset(found)
    # If each letter is a word, words of worship are unknown, and a repeated word looks longer.
    patient = worship or is_unspaced(text)
    repetitive = _above(recognition.compression_ratio, _MOST_COMPRESSION)
    # Words of worship ("Amen", "Hosanna") are alike in all languages, so they are excepted below.
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
    # The first match in the order above, since the record and the log have one reason.
    return next((sign for sign, seen in signs.items() if seen), "")


def said_once(recognition: Recognition, duration_s: float) -> Recognition:
    """Return a recognition with one round of a repeated sentence, if all are too fast to be said.

    Whisper writes a sentence twice or more where it does not find the end of the sound.
    """
    said = recognition.text.split()
    if len(said) <= _FAST_WORDS_A_SECOND * duration_s:
        return recognition
    loop = repetition.longest([" ".join(words(each)) for each in said], max_period=len(said))
    if loop.period < _SENTENCE or loop.length < _LOOP_SHARE * len(said):
        return recognition
    end = loop.start + loop.period
    rest = said[loop.start + loop.length :]
    # The last round may be cut off.
    kept = said[:end] if rest == said[loop.start :][: len(rest)] else said[:end] + rest
    heard = [each.text.strip() for each in recognition.words[: len(kept)]]
    return replace(
        recognition,
        text=" ".join(kept),
        words=recognition.words[: len(kept)] if heard == kept else (),
        compression_ratio=repetition.compression_ratio(" ".join(kept)),
    )


def _spoken(found: Sequence[str]) -> float:
    """Return the number of spoken words; a letter of an unspaced script is a part of a word."""
    letters = sum(map(is_unspaced, found))
    return len(found) - letters + letters / _LETTERS_A_WORD


def _loops(words: list[str], count: int) -> bool:
    loop = repetition.longest(words)
    needed = max(count, _WORD_COUNT) if loop.period == 1 else count
    # A loop that is a small part of a long text is accepted, since the rest was said.
    return loop.count >= needed and loop.length >= _LOOP_SHARE * len(words)


def _stock(phrase: str, *, quiet: bool, unsure: bool, silent: bool) -> bool:
    if phrase in _WEAK:  # people really say these, so uncertainty alone is not enough
        return silent or (quiet and unsure)
    return (quiet or unsure) and _STOCK.fullmatch(phrase) is not None


def _above(value: float | None, threshold: float) -> bool:
    # Not every recognizer gives all these figures; a missing one is no sign.
    return value is not None and value > threshold


def _below(value: float | None, threshold: float) -> bool:
    return value is not None and value < threshold
