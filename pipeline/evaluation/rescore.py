"""Judge the captions of a past session again, with any estimator and measure of agreement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.engines.llama_cpp.embedder import Embedder
from pipeline.records.quality import AgreementBy, Flag, Quality, QualityEstimator
from pipeline.records.utterance import UtteranceRecord, judged


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRecord:
    """A line of quality.jsonl: the judgement of a caption by `score`."""

    id: int
    """The utterance."""
    estimator: str
    """Name of the estimator of the translation's quality."""
    flags: tuple[Flag, ...]
    """Measures past their limit."""
    quality: Quality
    agreement_by: AgreementBy = "chrf"
    """How the two translators' agreement was measured."""


def judge_again(
    utterances: Sequence[UtteranceRecord],
    estimator: QualityEstimator,
    meaning: MeaningAgreement | None = None,
    on_caption: Callable[[], None] = lambda: None,
) -> list[QualityRecord]:
    """Return the judgement of every caption that was shown.

    Filtered utterances have no caption. An operator's edits are not in the records: the
    translator's own text is judged. With `meaning` the agreement is measured anew, without it
    stays as it was measured live. Raises the estimator's errors and those of `meaning`.
    """
    shown = [(each, each.final) for each in utterances if each.final]
    # All at once: CometKiwi works in batches, one caption at a time would take far longer.
    estimates = estimator.estimate(
        [(each.text, final.text, final.avg_logprob) for each, final in shown if final]
    )
    records = []
    for (each, _), told in zip(shown, estimates, strict=True):
        # By the same function as live, so that both judge alike but for who measures.
        again = judged(_compared(each, meaning), told)
        on_caption()
        if again.quality is not None:
            records.append(
                QualityRecord(
                    id=again.id,
                    estimator=estimator.name,
                    flags=again.flags,
                    quality=again.quality,
                    agreement_by=meaning.name if meaning else "chrf",
                )
            )
    return records


def _compared(record: UtteranceRecord, meaning: MeaningAgreement | None) -> UtteranceRecord:
    """Return a record with the agreement measured anew; where one engine spoke there is none."""
    quick, final = record.partial, record.final
    # None stays None: without a second engine the cosine would be that of a text with itself.
    if meaning is None or record.agreement is None or quick is None or final is None:
        return record
    return replace(record, agreement=meaning.agreement(quick.text, final.text))


class MeaningAgreement:
    """Compares two texts of one language, after the service."""

    name: AgreementBy = "cosine"

    def __init__(self, model: Path) -> None:
        """Take an embedding model, a .gguf file."""
        self._embedder = Embedder(model)

    def load(self) -> None:
        """Load the model. Raises ModelError."""
        self._embedder.load()

    def agreement(self, text: str, final: str) -> float | None:
        """Return 0..1; None if one of them says nothing. Raises EngineError."""
        if not (text.strip() and final.strip()):
            return None
        # The vectors have length 1, so that their product is the cosine.
        cosine = float(self._embedder.embed(text) @ self._embedder.embed(final))
        # Vectors that point away from each other have nothing in common either.
        return round(min(1.0, max(0.0, cosine)), 4)
