"""Estimate how likely a final caption is wrong: a logistic regression on available evidence.

Glass-box quality estimation (Fomicheva et al. 2020, arXiv 2005.10608) with the quick translator as
a second judge (forced decoding, as in Prism). The church rules add exact checks where probabilities
are blind: numbers, references, a lost "not". No extra model runs. The worst share of a service
counts as doubtful, since translators differ in how confident they are.
"""

from __future__ import annotations

import json
import math
from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

from pipeline.church.fidelity.given_text import given
from pipeline.church.fidelity.rarity import rarity
from pipeline.core.resources import bundled
from pipeline.core.types import Caption, Check, Opinion, Word
from pipeline.text.words import length

OWN = "doubt.json"
"""File in session.directory: the judge that `learn judge` has fitted."""

log = structlog.get_logger()

# Church words have a separate feature (`terms`); names have none.
_EXACT = frozenset({"reference", "number", "negation"})
SHARE = 0.28
"""The worst share of a service's finals, which is doubtful."""
_LEAST = 0.24
"""A final less likely wrong is never doubtful, even among the worst of a good service."""
_LOWEST = 1e-4
"""Lower bound of a probability before its logarithm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The features of a final. A feature that is None counts neither for nor against it."""

    quick_mean: float | None = None
    """Mean log-probability of the final's tokens in the quick translator."""
    quick_least: float | None = None
    """Log-probability of the final's least likely token in the quick translator."""
    final_mean: float | None = None
    """Mean log-probability in the translator that made it."""
    agreement: float | None = None
    """chrF of the quick translation against the final, 0..1."""
    length: float | None = None
    """Absolute logarithm of the ratio of the final's length to the source's."""
    rules: float | None = None
    """Doubtful numbers, references and negations; at most three."""
    terms: float | None = None
    """Church words without their rendering; at most three."""
    rarity: float | None = None
    """How rare the rarest word of the source is, 0 to 7."""
    heard: float | None = None
    """Logarithm of the probability of the least certain recognized word."""


# In the order of the weights. After a change `parsed` refuses older judges.
FEATURES = tuple(field.name for field in fields(Evidence))


@dataclass(frozen=True, slots=True)
class DoubtModel:
    """A fitted judge: a caption is wrong with probability 1 / (1 + exp(-(bias + weights * z)))."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    usual: tuple[float, ...]
    """Quantiles of the probabilities of the fitted captions, evenly spaced in rank."""
    without_own: DoubtModel | None = None
    """The model for translators that give no log-probability, such as servers."""

    def probability(self, evidence: Evidence) -> float:
        """Return the probability that a final with this evidence is wrong, 0..1."""
        if evidence.final_mean is None and self.without_own is not None:
            return self.without_own.probability(evidence)
        z = (row_of(evidence) - np.array(self.mean)) / np.array(self.scale)
        # An unknown feature counts as the mean of the fitted captions: 0 after scaling.
        logit = self.bias + float(np.nan_to_num(z, nan=0.0) @ np.array(self.weights))
        # The logistic function as a tanh, which never overflows.
        return round((1 + math.tanh(logit / 2)) / 2, 4)


def evidence_of(caption: Caption) -> Evidence:
    """Return the evidence about a final caption."""
    transcript = caption.transcript
    evidence = gathered(
        caption.opinion,
        caption.translation.avg_logprob if caption.translation else None,
        transcript.recognition.words,
        of_texts(transcript.text, transcript.lang, caption.text, caption.checks),
    )
    # The judge is not fitted to the quick translator's confidence in its own text.
    return replace(evidence, final_mean=None) if _is_alone(caption) else evidence


def gathered(
    opinion: Opinion | None,
    final_mean: float | None,
    words: Sequence[Word],
    texts: Mapping[str, float],
) -> Evidence:
    """Return the evidence from a second opinion, log-probabilities, words and `of_texts`."""
    return Evidence(
        quick_mean=opinion.mean if opinion else None,
        quick_least=opinion.least if opinion else None,
        final_mean=final_mean,
        agreement=opinion.agreement if opinion else None,
        heard=math.log(max(_LOWEST, min(w.probability for w in words))) if words else None,
        **texts,
    )


class Judge:
    """Judges the finals of one language in a service, in order."""

    def __init__(self, model: DoubtModel) -> None:
        """Begin a service with the probabilities of the finals that `model` was fitted to."""
        self._model = model
        # Sorted, as `insort` needs it, and a new list for this language.
        self._seen = sorted(model.usual)
        # Reads the word list now: during a service too many open files may prevent that.
        rarity("", "en")

    def judged(self, final: Caption) -> Caption:
        """Return a final with the probability that it is wrong, if there is evidence.

        A final that the quick translator made alone is doubtful as soon as one rule finds a fault.
        A final that it neither made nor has an opinion of is not judged.
        """
        is_alone = _is_alone(final)
        # Without evidence the model would return the mean of the fitted captions.
        if final.opinion is None and not is_alone:
            return final
        evidence = evidence_of(final)
        doubt = self._model.probability(evidence)
        is_wrong = bool(evidence.rules) if is_alone else self.is_among_worst(doubt)
        return replace(final, doubt=doubt, is_doubtful=is_wrong)

    def is_among_worst(self, doubt: float) -> bool:
        """Whether a final with this probability is in the worst share; it counts from now on."""
        # Added before the comparison, so that the list is never empty.
        insort(self._seen, doubt)
        return doubt >= max(_LEAST, self._seen[int(len(self._seen) * (1 - SHARE))])


def _is_alone(final: Caption) -> bool:
    """Whether the quick translator has made a final, and no other translator has rated it."""
    return final.opinion is None and final.engine == "marian" and final.translation is not None


def of_texts(said: str, lang: str, target: str, checks: Sequence[Check]) -> dict[str, float]:
    """Return the features of the two texts and of their checks.

    The translator's input (`given`) is compared, not what was `said` in `lang`.
    """
    source = given(said, lang)
    doubtful = [check.kind for check in checks if check.outcome == "doubtful"]
    rare = rarity(source, lang)
    return {
        # An empty text counts as one letter, since zero has no logarithm.
        "length": abs(math.log(max(1.0, length(target)) / max(1.0, length(source)))),
        "rules": float(min(3, sum(kind in _EXACT for kind in doubtful))),
        "terms": float(min(3, doubtful.count("term"))),
    } | ({} if rare is None else {"rarity": rare})


def dumped(model: DoubtModel) -> str:
    """Return a judge as JSON, with the names of its features."""
    facts: dict[str, Any] = {"features": list(FEATURES), **asdict(model)}
    return json.dumps(facts, indent=2) + "\n"


def parsed(text: str) -> DoubtModel:
    """Return a judge from JSON. Raises ValueError if it is not a judge of this version."""
    try:
        facts: Mapping[str, Any] = json.loads(text)
        if tuple(facts["features"]) != FEATURES:
            raise ValueError("other features")
        return _model(facts)
    # A TypeError means JSON of another shape, such as a list instead of an object.
    except (KeyError, TypeError) as error:
        raise ValueError(f"lacks {error}") from None


def _model(facts: Mapping[str, Any]) -> DoubtModel:
    columns = {name: tuple(map(float, facts[name])) for name in ("mean", "scale", "weights")}
    if {len(column) for column in columns.values()} != {len(FEATURES)}:
        raise ValueError("not a value for each feature")
    without = facts["without_own"]
    return DoubtModel(
        **columns,
        bias=float(facts["bias"]),
        usual=tuple(map(float, facts["usual"])),
        without_own=None if without is None else _model(without),
    )


def shipped() -> DoubtModel:
    """Return the judge that ships, fitted to judged finals of the starter (training.train)."""
    return parsed(bundled("models", "doubt", "weights.json").read_text(encoding="utf-8"))


def in_use(directory: Path) -> DoubtModel:
    """Return the church's own judge from session.directory, else the one that ships."""
    file = directory / OWN
    try:
        return parsed(file.read_text(encoding="utf-8")) if file.exists() else shipped()
    except (OSError, ValueError) as error:
        # A service runs with the shipped judge rather than with none.
        log.warning("judge unreadable", file=str(file), error=str(error), instead="the shipped one")
        return shipped()


def row_of(evidence: Evidence) -> NDArray[np.float64]:
    """Return the features in order, shape (len(FEATURES),); an unknown one is NaN."""
    values = (getattr(evidence, name) for name in FEATURES)
    return np.array([math.nan if value is None else value for value in values], float)
