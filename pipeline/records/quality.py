"""The quality of a caption: flags, a composite score, a decision about the training pair. Pure.

A pair of source and target text is worth keeping for training only if nothing speaks against it.
The score is a weighted mean of three parts, each 0..1, over those that exist:

- `stt`: confidence of the recognizer, 1 / (1 + exp(-10 (avg_logprob + 0.3)));
- `estimate`: quality of the translation as a `QualityEstimator` sees it. Live it is
  exp(avg_logprob) of the final's tokens, the geometric mean of their probabilities;
- `agreement`: chrF of the quick translation against the final (Popović 2015), or the cosine of
  what the two mean (pipeline.evaluation.rescore).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from sacrebleu.metrics.chrf import CHRF

from pipeline.text.words import WORD, length, words

# Made once: it holds no state between sentences, and every caption asks it.
_CHRF = CHRF()

Flag = Literal[
    "avg-logprob:flag",
    "avg-logprob:reject",
    "no-speech-prob:flag",
    "no-speech-prob:reject",
    "compression-ratio:flag",
    "compression-ratio:reject",
    "estimate:flag",
    "estimate:reject",
    "agreement:flag",
    "agreement:reject",
    "doubt:flag",
]
"""A measure that is past its first limit (flag) or its second (reject)."""

# From the type, so that a flag which is added there is counted and sorted without more.
FLAGS: tuple[Flag, ...] = get_args(Flag)

Exclusion = Literal[
    "compression-ratio", "no-speech-prob", "too-short", "untranslated", "length-ratio"
]
"""Why a pair cannot be used, whatever its score."""

Decision = Literal["accept", "moderate", "review", "reject"]


@dataclass(frozen=True, slots=True)
class Limit:
    """The two limits of one measure; high values are bad if `reject` is above `flag`."""

    flag: float
    reject: float

    def passed(self, value: float | None) -> Literal["flag", "reject"] | None:
        """Return the worse of the limits that a value has passed; reaching it is not passing."""
        # So that one comparison does for limits from above and from below.
        sign = 1.0 if self.reject > self.flag else -1.0
        if value is None or sign * value <= sign * self.flag:
            return None
        return "reject" if sign * value > sign * self.reject else "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The limits of every measure, and the weights of the score, which add up to 1.

    `accept`, `moderate` and `review` are the lowest scores of these decisions. `length_ratio` is
    letters (`length`) of the target for one of the source. A source of fewer than `words` words is
    too short to be a pair. A target is no translation if `copied` of its words, three at least,
    stand in the source too, names left out. Of 19,500 human pairs (Tatoeba) 4 are so.
    """

    # The recognizer's filter has limits of its own: these judge what was shown in spite of it.
    avg_logprob: Limit = Limit(-0.5, -1.0)
    no_speech_prob: Limit = Limit(0.3, 0.6)
    # Whisper's own limit of a text that repeats itself is 2.4, too.
    compression_ratio: Limit = Limit(2.0, 2.4)
    estimate: Limit = Limit(0.7, 0.5)
    agreement: Limit = Limit(0.6, 0.4)
    stt_weight: float = 0.35
    estimate_weight: float = 0.45
    agreement_weight: float = 0.20
    accept: float = 0.85
    moderate: float = 0.70
    review: float = 0.50
    # A shorter source, such as "Amen.", teaches nothing.
    words: int = 3
    copied: float = 0.3
    length_ratio: tuple[float, float] = (0.8, 2.5)


THRESHOLDS = Thresholds()
AgreementBy = Literal["chrf", "cosine"]


_COPIED_WORDS = 3
"""Short words such as "a", "no" and "me" are words of both languages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What is known of a caption; None if not measured. `target` is empty without a translation."""

    source: str
    target: str
    # Told, not guessed from the texts: a translation of names alone is equal to its source.
    translated: bool
    """False where the source text stands in for a translation."""
    avg_logprob: float | None
    no_speech_prob: float | None
    compression_ratio: float | None
    estimate: float | None
    agreement: float | None
    is_doubtful: bool = False
    """Whether the judge of finals calls it so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of the score, each 0..1, higher is better; None if not measured."""

    stt: float | None
    """Confidence of the recognizer."""
    estimate: float | None
    """Estimated quality of the translation."""
    agreement: float | None
    """Agreement of the quick translation and the final."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """The judgement of one caption."""

    score: float | None
    """Weighted mean of the parts that exist, 0..1; None where there are none."""
    parts: Parts
    decision: Decision
    """Whether the pair of source and target text is kept for training."""
    excluded: tuple[Exclusion, ...]
    """Why the pair cannot be used, whatever its score; empty if it can."""


# A protocol and no base class: CometKiwi brings torch, and this module loads nothing.
class QualityEstimator(Protocol):
    """Estimates the quality of translations without a reference."""

    @property
    def name(self) -> str:
        """Short name, for records."""

    def load(self) -> None:
        """Load the model. Raises ModelError."""

    def estimate(self, captions: Sequence[tuple[str, str, float | None]]) -> list[float | None]:
        """Return 0..1 for each (source, target, avg_logprob of the target); None: cannot tell.

        Raises EngineError.
        """


class LogProbability:
    """The translator's own certainty as an estimate; it costs nothing."""

    name = "log-probability"

    def load(self) -> None:
        """Do nothing."""

    def estimate(self, captions: Sequence[tuple[str, str, float | None]]) -> list[float | None]:
        """Return the geometric mean of the token probabilities of each target."""
        return [probability(avg_logprob) for _, _, avg_logprob in captions]


def probability(avg_logprob: float | None) -> float | None:
    """Return the geometric mean of the tokens' probabilities, 0..1."""
    # A mean that rounding has put above 0 would be a probability above 1.
    return None if avg_logprob is None else math.exp(min(avg_logprob, 0.0))


def confidence(avg_logprob: float | None) -> float | None:
    """Return 1 / (1 + exp(-10 (avg_logprob + 0.3))), in a form that cannot overflow."""
    # The logistic function is a shifted tanh, which ends at 1 where exp would overflow.
    return None if avg_logprob is None else (1 + math.tanh(5 * (avg_logprob + 0.3))) / 2


def agreement(text: str, final: str) -> float | None:
    """Return the chrF, 0..1, of one translation against another; None if one says nothing."""
    if not (text and final):
        return None
    score: float = _CHRF.sentence_score(text, [final]).score
    # sacrebleu counts to 100, the score's other parts to 1.
    return round(score / 100, 4)


def flags(measures: Measures) -> tuple[Flag, ...]:
    """Return the measures of a caption that are past a limit."""
    limits = {
        "avg-logprob": (THRESHOLDS.avg_logprob, measures.avg_logprob),
        "no-speech-prob": (THRESHOLDS.no_speech_prob, measures.no_speech_prob),
        "compression-ratio": (THRESHOLDS.compression_ratio, measures.compression_ratio),
        "estimate": (THRESHOLDS.estimate, measures.estimate),
        "agreement": (THRESHOLDS.agreement, measures.agreement),
    }
    # "name:None" of a measure within its limits is in no list of flags, and falls out below.
    passed = {f"{name}:{limit.passed(value)}" for name, (limit, value) in limits.items()}
    # Without a second limit: who judges a final says yes or no.
    if measures.is_doubtful:
        passed.add("doubt:flag")
    return tuple(flag for flag in FLAGS if flag in passed)  # in the order of FLAGS


def judge(measures: Measures) -> Quality:
    """Return score and decision: an exclusion or a measure past its second limit rejects."""
    # Rounded before they are used, so that the record's own figures give its score.
    parts = Parts(
        stt=_rounded(confidence(measures.avg_logprob)),
        estimate=_rounded(measures.estimate),
        agreement=_rounded(measures.agreement),
    )
    # A rejected caption keeps its score: the report sorts by it, the worst first.
    score, excluded = _score(parts), _excluded(measures)
    hopeless = bool(excluded) or any(flag.endswith(":reject") for flag in flags(measures))
    return Quality(
        score=score,
        parts=parts,
        decision="reject" if hopeless else _decision(score),
        excluded=excluded,
    )


def _score(parts: Parts) -> float | None:
    weighted = [
        (THRESHOLDS.stt_weight, parts.stt),
        (THRESHOLDS.estimate_weight, parts.estimate),
        (THRESHOLDS.agreement_weight, parts.agreement),
    ]
    known = [(weight, part) for weight, part in weighted if part is not None]
    if not known:
        return None
    # Over the weights of the parts that are known: what nobody measured counts neither way.
    return _rounded(sum(w * part for w, part in known) / sum(w for w, _ in known))


def _decision(score: float | None) -> Decision:
    if score is None:
        return "review"  # nothing is known of it: a person has to look
    if score >= THRESHOLDS.accept:
        return "accept"
    if score >= THRESHOLDS.moderate:
        return "moderate"
    return "review" if score >= THRESHOLDS.review else "reject"


def _excluded(measures: Measures) -> tuple[Exclusion, ...]:
    source = words(measures.source)
    low, high = THRESHOLDS.length_ratio
    # In letters: words of one language are several of another, or have no spaces between them.
    ratio = length(measures.target) / max(1.0, length(measures.source))
    signs: dict[Exclusion, bool] = {
        "compression-ratio": _rejects(THRESHOLDS.compression_ratio, measures.compression_ratio),
        "no-speech-prob": _rejects(THRESHOLDS.no_speech_prob, measures.no_speech_prob),
        "too-short": len(source) < THRESHOLDS.words,
        "untranslated": not measures.translated or _is_copied(measures.source, measures.target),
        "length-ratio": not low <= ratio <= high,
    }
    return tuple(sign for sign, seen in signs.items() if seen)


def _is_copied(source: str, target: str) -> bool:
    """Whether a target repeats its source, or a good part of it."""
    # Of texts of names alone, too, which count as no copies below.
    if words(source) == words(target):
        return True
    given, made = set(WORD.findall(source)), WORD.findall(target)
    # Names stay the same in every language, and are no sign of a copy.
    # Scripts without small letters have only "names" here: there the equal text above is the test.
    names = {word for word in given if not word.islower()}
    own = [word.casefold() for word in made if word not in names]
    said = set(words(source))
    copied = sum(word in said for word in own)
    # Both: three of forty words are loanwords, and one of two is "no".
    return copied >= _COPIED_WORDS and copied >= THRESHOLDS.copied * len(own)


def _rejects(limit: Limit, value: float | None) -> bool:
    return limit.passed(value) == "reject"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
