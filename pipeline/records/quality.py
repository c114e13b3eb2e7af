"""The quality of a caption: flags, a composite score, a decision about the training pair. Pure.

A pair of source and target text is kept for training only if nothing speaks against it.
The score is the weighted mean of these parts, each 0..1; a missing part is left out:

- `stt`: confidence of the recognizer, 1 / (1 + exp(-10 (avg_logprob + 0.3)));
- `estimate`: quality of the translation, by CometKiwi after the service. In a live one it is
  exp(avg_logprob) of the final's tokens, the geometric mean of their probabilities;
- `agreement`: chrF of the quick translation against the final (Popović 2015), or the cosine of
  their embeddings (pipeline.evaluation.rescore).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sacrebleu.metrics.chrf import CHRF

from pipeline.text.words import WORD, length, words

# Created once: it has no state between sentences, and every caption uses it.
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

# From the type, so that a flag added there is counted and sorted automatically.
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
        """Return the worse limit that a value has passed; a value at a limit is within it."""
        # The sign makes one comparison work for upper and lower limits.
        sign = 1.0 if self.reject > self.flag else -1.0
        if value is None or sign * value <= sign * self.flag:
            return None
        return "reject" if sign * value > sign * self.reject else "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The limits of every measure, and the weights of the score, which add up to 1.

    `accept`, `moderate` and `review` are the lowest scores of these decisions. `length_ratio` is
    the allowed range of target letters (`length`) per source letter. A source of fewer than
    `words` words is too short. A target is no translation if a share `copied` of its words, and at
    least three, are also in the source, without names; of 19,500 human pairs (Tatoeba) 4 are so.
    """

    # The recognizer's filter has its own limits: these judge what was shown in spite of it.
    avg_logprob: Limit = Limit(-0.5, -1.0)
    no_speech_prob: Limit = Limit(0.3, 0.6)
    # Whisper's own limit for a repetitive text is also 2.4.
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
"""More than one or two, since short words such as "a", "no", "me" exist in both languages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """The measures of a caption; None if not measured. `target` is empty without a translation."""

    source: str
    target: str
    # Not derived from the texts: a translation of names alone is equal to its source.
    translated: bool
    """False if the source text replaces a missing translation."""
    avg_logprob: float | None
    no_speech_prob: float | None
    compression_ratio: float | None
    estimate: float | None
    agreement: float | None
    is_doubtful: bool = False
    """Whether the judge of finals calls it doubtful."""


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
    """Weighted mean of the known parts, 0..1; None if there are none."""
    parts: Parts
    decision: Decision
    """Whether the pair of source and target text is kept for training."""
    excluded: tuple[Exclusion, ...]
    """Why the pair cannot be used, whatever its score; empty if it can."""


def probability(avg_logprob: float | None) -> float | None:
    """Return the geometric mean of the tokens' probabilities, 0..1."""
    # Rounding may put the mean above 0, which would be a probability above 1.
    return None if avg_logprob is None else math.exp(min(avg_logprob, 0.0))


def confidence(avg_logprob: float | None) -> float | None:
    """Return 1 / (1 + exp(-10 (avg_logprob + 0.3))), in a form that cannot overflow."""
    # The logistic function is a shifted tanh, which saturates at 1 where exp would overflow.
    return None if avg_logprob is None else (1 + math.tanh(5 * (avg_logprob + 0.3))) / 2


def agreement(text: str, final: str) -> float | None:
    """Return the chrF, 0..1, of one translation against another; None if one is empty."""
    if not (text and final):
        return None
    score: float = _CHRF.sentence_score(text, [final]).score
    # sacrebleu's scale is 0..100, that of the other parts 0..1.
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
    # A measure within its limits gives "name:None", which is not in FLAGS and is removed below.
    passed = {f"{name}:{limit.passed(value)}" for name, (limit, value) in limits.items()}
    # Without a second limit, since the judge of finals says yes or no.
    if measures.is_doubtful:
        passed.add("doubt:flag")
    return tuple(flag for flag in FLAGS if flag in passed)  # in the order of FLAGS


def judge(measures: Measures) -> Quality:
    """Return score and decision; an exclusion or a measure past its second limit rejects."""
    # Rounded before use, so that the figures in the record give exactly its score.
    parts = Parts(
        stt=rounded(confidence(measures.avg_logprob)),
        estimate=rounded(measures.estimate),
        agreement=rounded(measures.agreement),
    )
    # A rejected caption keeps its score, since the report sorts by it, worst first.
    score, flagged = _score(parts), flags(measures)
    excluded = _excluded(measures, flagged)
    hopeless = bool(excluded) or any(flag.endswith(":reject") for flag in flagged)
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
    # Divided by the weights of the known parts: an unmeasured part has no effect.
    return rounded(sum(w * part for w, part in known) / sum(w for w, _ in known))


def _decision(score: float | None) -> Decision:
    if score is None:
        return "review"  # nothing is known, so a person has to look
    if score >= THRESHOLDS.accept:
        return "accept"
    if score >= THRESHOLDS.moderate:
        return "moderate"
    return "review" if score >= THRESHOLDS.review else "reject"


def _excluded(measures: Measures, flagged: Sequence[Flag]) -> tuple[Exclusion, ...]:
    source = words(measures.source)
    low, high = THRESHOLDS.length_ratio
    # In letters: one word may be several in another language, and some scripts have no spaces.
    ratio = length(measures.target) / max(1.0, length(measures.source))
    signs: dict[Exclusion, bool] = {
        "compression-ratio": "compression-ratio:reject" in flagged,
        "no-speech-prob": "no-speech-prob:reject" in flagged,
        "too-short": len(source) < THRESHOLDS.words,
        "untranslated": not measures.translated or _is_copied(measures.source, measures.target),
        "length-ratio": not low <= ratio <= high,
    }
    return tuple(sign for sign, seen in signs.items() if seen)


def _is_copied(source: str, target: str) -> bool:
    """Whether a target repeats its source, or a large part of it."""
    # This also finds a copy that consists only of names, which are ignored below.
    if words(source) == words(target):
        return True
    given, made = set(WORD.findall(source)), WORD.findall(target)
    # Names stay the same in every language, so they are no sign of a copy.
    # In scripts without small letters every word counts as a name: only the test above applies.
    names = {word for word in given if not word.islower()}
    own = [word.casefold() for word in made if word not in names]
    source_words = set(words(source))
    copied = sum(word in source_words for word in own)
    # Both conditions: three of forty words may be loanwords, and one of two may be "no".
    return copied >= _COPIED_WORDS and copied >= THRESHOLDS.copied * len(own)


def rounded(value: float | None, digits: int = 4) -> float | None:
    """Return a rounded value; None for one that is not finite."""
    # JSON has no nan and no infinity: a line with one would later be refused as damaged.
    return round(value, digits) if value is not None and math.isfinite(value) else None
