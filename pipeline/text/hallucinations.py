"""Which recognized text nobody said. Pure.

Speech models write something for silence, music and coughs too: what ends online videos, or one
phrase again and again. What a church says must stay: a real "thank you", "amen", "holy, holy,
holy". So a stock phrase needs a second sign that nobody spoke, and the words of worship may be
repeated more often than others.
"""

from __future__ import annotations

import re

from pipeline.config.schema import Stt
from pipeline.core.types import Recognition
from pipeline.text import repetition as loops

QUIET_DBFS = -45.0
"""Root mean square below which an utterance is quiet: speech is 15 to 30 dB louder."""

UNSURE_LOGPROB = -0.7
"""Mean log-probability below which Whisper is unsure; sermons lie between -0.1 and -0.5."""

WORDS_A_SECOND = 7.0
"""Nobody speaks faster; the fastest auctioneers reach 6."""

_LOOP_COUNT = 4
_WORD_COUNT = 6  # "no, no, no, no" is emphasis
_WORSHIP_COUNT = 10
_LOOP_SHARE = 0.6
_ANNOTATION = re.compile(r"\[[^]]{0,40}\]|\([^)]{0,40}\)|\*[^*]{0,40}\*|[♪♫]")
_WORSHIP_WORDS = (
    "hallelujah alleluia holy hosanna amen glory worthy praise bless thank you jesus lord god come "
    "yes oh the him he is and we our my king father spirit christ mercy maranatha"
)
_WORSHIP = frozenset(_WORSHIP_WORDS.split())
_STOCK = re.compile(
    r"(?:thank you|thanks)(?: (?:so|very) much)? for (?:watching|listening|viewing)\b.*"
    r"|(?:please |don't forget to |remember to )?(?:(?:like|share|comment|and) )*subscribe\b.*"
    r"|(?:i'll )?see you (?:guys )?(?:in the |all in the )?next (?:time|video|one|episode)\b.*"
    r"|(?:subtitl(?:es|ed|ing)|caption(?:s|ed|ing)|transcri(?:bed|ption|pt)|translated)"
    r"(?: (?:was|were))?(?: (?:made|provided))? by\b.*"
    r"|(?:www )?[a-z]+ (?:com|org|net)"
    r"|(?:all rights reserved|copyright)\b.*"
    r"|(?:music|applause|laughter|silence|beep)"
)
_WEAK = frozenset(
    {"thank you", "thank you very much", "thanks", "you", "bye", "bye bye", "okay", "ok", "so"}
    | {"oh", "hmm", "uh", "um", "mm", "the", "i", "and"}
)


def reason(
    recognition: Recognition, text: str, level_dbfs: float, duration_s: float, settings: Stt
) -> str:
    """Return why `text` must not be shown, "" when it may.

    `empty` no words in it; `no-speech` Whisper heard none and is unsure; `repetition` an n-gram
    over and over; `compression` as repetitive by zlib's measure; `stock-phrase` what models write
    over silence, and it was quiet or uncertain; `too-fast` more words than fit into `duration_s`.
    """
    words = loops.words(_ANNOTATION.sub(" ", text))
    silent = _above(recognition.no_speech_prob, settings.no_speech_prob)
    unsure = silent or _below(recognition.avg_logprob, UNSURE_LOGPROB)
    quiet = level_dbfs < QUIET_DBFS
    worship = _WORSHIP.issuperset(words)
    repetitive = _above(recognition.compression_ratio, settings.compression_ratio)
    signs = {
        "empty": not words,
        "no-speech": silent and _below(recognition.avg_logprob, settings.avg_logprob),
        "repetition": _loops(words, _WORSHIP_COUNT if worship else _LOOP_COUNT),
        "compression": repetitive and not worship,
        "stock-phrase": _stock(" ".join(words), quiet=quiet, unsure=unsure),
        "too-fast": len(words) > 3 + WORDS_A_SECOND * duration_s,
    }
    return next((sign for sign, seen in signs.items() if seen), "")


def _loops(words: list[str], count: int) -> bool:
    loop = loops.longest(words)
    needed = max(count, _WORD_COUNT) if loop.period == 1 else count
    return loop.count >= needed and loop.length >= _LOOP_SHARE * len(words)


def _stock(phrase: str, *, quiet: bool, unsure: bool) -> bool:
    if phrase in _WEAK:  # people do say these: both signs are needed
        return quiet and unsure
    return (quiet or unsure) and _STOCK.fullmatch(phrase) is not None


def _above(value: float | None, threshold: float) -> bool:
    return value is not None and value > threshold


def _below(value: float | None, threshold: float) -> bool:
    return value is not None and value < threshold
