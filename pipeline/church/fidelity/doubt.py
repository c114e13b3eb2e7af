"""How likely a final caption is wrong: a logistic regression on what is known of it anyway.

Glass-box quality estimation (Fomicheva et al. 2020, arXiv 2005.10608) with the quick translator as
a second judge (forced decoding, as Prism does it), and with the rules of church truth, which are
exact where probabilities are blind: numbers, references, a lost "not". No model of its own runs.
What counts as doubtful is the worst share of a service, since translators differ in how sure they
are of themselves.
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
"""In session.directory: the judge that `learn judge` has fitted."""

log = structlog.get_logger()

# Church words have a feature of their own (`terms`); names have none.
_EXACT = frozenset({"reference", "number", "negation"})
SHARE = 0.28
"""Of a service's finals, the worst, that are doubtful."""
_LEAST = 0.24
"""Who is less likely wrong is not doubtful, even among the worst of a service that went well."""
_LOWEST = 1e-4
"""Of a probability, before its logarithm is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of a final. A feature that is None counts neither for nor against it."""

    quick_mean: float | None = None
    """Mean log-probability of the final's tokens in the quick translator."""
    quick_least: float | None = None
    """... and that of its least likely token."""
    final_mean: float | None = None
    """Mean log-probability in the translator that made it."""
    agreement: float | None = None
    """chrF of the quick translation against it, 0..1."""
    length: float | None = None
    """How far its length is from the source's: the logarithm of the ratio, without its sign."""
    rules: float | None = None
    """Numbers, references and negations that are doubtful in it; three at most."""
    terms: float | None = None
    """Church words whose rendering it lacks; three at most."""
    rarity: float | None = None
    """How rare the rarest word of the source is, 0 to 7."""
    heard: float | None = None
    """Logarithm of the probability of the least certain word that was heard."""


# In the order of the weights: after a change here older judges are refused, see `parsed`.
FEATURES = tuple(field.name for field in fields(Evidence))


@dataclass(frozen=True, slots=True)
class DoubtModel:
    """A fitted judge: how likely a caption is wrong is 1 / (1 + exp(-(bias + weights * z)))."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    usual: tuple[float, ...]
    """Probabilities of the fitted captions, as many below each as above the one before."""
    without_own: DoubtModel | None = None
    """The one for translators that give no log-probability, as those on servers."""

    def probability(self, evidence: Evidence) -> float:
        """Return how likely a final with this evidence is wrong, 0..1."""
        if evidence.final_mean is None and self.without_own is not None:
            return self.without_own.probability(evidence)
        z = (row_of(evidence) - np.array(self.mean)) / np.array(self.scale)
        # What is not known counts as the mean of the fitted captions: 0 after scaling.
        logit = self.bias + float(np.nan_to_num(z, nan=0.0) @ np.array(self.weights))
        # The logistic function as a tanh, which does not overflow however sure it is.
        return round((1 + math.tanh(logit / 2)) / 2, 4)


def evidence_of(caption: Caption) -> Evidence:
    """Return what is known of a final caption."""
    transcript = caption.transcript
    evidence = gathered(
        caption.opinion,
        caption.translation.avg_logprob if caption.translation else None,
        transcript.recognition.words,
        of_texts(
            given(transcript.text, transcript.lang), transcript.lang, caption.text, caption.checks
        ),
    )
    # The judge is not fitted to how sure the quick translator is of its own work.
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
    """Judges the finals of one language in a service, in the order in which they are made."""

    def __init__(self, model: DoubtModel) -> None:
        """Begin a service, for which at first those finals stand that `model` was fitted to."""
        self._model = model
        # Sorted, as `insort` needs it, and a list of this language's own.
        self._seen = sorted(model.usual)

    def judged(self, final: Caption) -> Caption:
        """Return a final with how likely it is wrong, where there is anything to judge it by.

        A final that the quick translator made alone is doubtful as soon as one rule finds a fault.
        One that it neither made nor has an opinion of is not judged.
        """
        is_alone = _is_alone(final)
        # Without any evidence the model would tell the mean of the captions that it is fitted to.
        if final.opinion is None and not is_alone:
            return final
        evidence = evidence_of(final)
        doubt = self._model.probability(evidence)
        is_wrong = bool(evidence.rules) if is_alone else self.is_among_worst(doubt)
        return replace(final, doubt=doubt, is_doubtful=is_wrong)

    def is_among_worst(self, doubt: float) -> bool:
        """Whether a final that is so likely wrong is of the worst share; it counts from now on."""
        # Counted before it is compared, so that the list is never empty.
        insort(self._seen, doubt)
        return doubt >= max(_LEAST, self._seen[int(len(self._seen) * (1 - SHARE))])


def _is_alone(final: Caption) -> bool:
    """Whether the quick translator has made a final, and nobody else has seen it."""
    return final.opinion is None and final.engine == "marian" and final.translation is not None


def of_texts(source: str, lang: str, target: str, checks: Sequence[Check]) -> dict[str, float]:
    """Return what two texts say by themselves, and what comparing them has found.

    `source` is what the translator got (`given`), not what was said; `lang` is its language.
    """
    doubtful = [check.kind for check in checks if check.outcome == "doubtful"]
    rare = rarity(source, lang)
    return {
        # An empty text counts as one letter, since zero has no logarithm.
        "length": abs(math.log(max(1.0, length(target)) / max(1.0, length(source)))),
        "rules": float(min(3, sum(kind in _EXACT for kind in doubtful))),
        "terms": float(min(3, doubtful.count("term"))),
    } | ({} if rare is None else {"rarity": rare})


def dumped(model: DoubtModel) -> str:
    """Return a judge as JSON, its weights by their features."""
    facts: dict[str, Any] = {"features": list(FEATURES), **asdict(model)}
    return json.dumps(facts, indent=2) + "\n"


def parsed(text: str) -> DoubtModel:
    """Return a judge from JSON. Raises ValueError where it is none of this version."""
    try:
        facts: Mapping[str, Any] = json.loads(text)
        if tuple(facts["features"]) != FEATURES:
            raise ValueError("other features")
        return _model(facts)
    # A TypeError is JSON of another shape, such as a list in the place of the table.
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
    """Return the church's own judge in the folder of the sessions, else the one that ships."""
    file = directory / OWN
    try:
        return parsed(file.read_text(encoding="utf-8")) if file.exists() else shipped()
    except (OSError, ValueError) as error:
        # A service begins with the shipped judge rather than with none.
        log.warning("judge unreadable", file=str(file), error=str(error), instead="the shipped one")
        return shipped()


def row_of(evidence: Evidence) -> NDArray[np.float64]:
    """Return the features in their order, shape (len(FEATURES),); NaN where one is not known."""
    values = (getattr(evidence, name) for name in FEATURES)
    return np.array([math.nan if value is None else value for value in values], float)
