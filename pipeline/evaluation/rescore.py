"""Score the captions of a past session again, with any estimator and agreement measure.

CometKiwi: Rei et al. 2022, "CometKiwi: IST-Unbabel 2022 Submission for the Quality Estimation
Shared Task". It needs the extra `comet`: torch and a model of half a billion parameters, so it is
never loaded live.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.core.errors import EngineError, ModelError
from pipeline.core.resources import installing
from pipeline.engines.llama_cpp.embedder import Embedder
from pipeline.records.quality import AgreementBy, Flag, Quality
from pipeline.records.utterance import UtteranceRecord, judged

MODEL = "Unbabel/wmt22-cometkiwi-da"
# Without a GPU, a larger batch needs more memory and is not faster.
_BATCH = 8
LOG_PROBABILITY = "log-probability"
"""The live estimator: the translator's own confidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRecord:
    """A line of quality.jsonl: the scores of a caption by `score`."""

    id: int
    """The utterance."""
    estimator: str
    """Name of the estimator of the translation's quality."""
    flags: tuple[Flag, ...]
    """Measures beyond their limit."""
    quality: Quality
    agreement_by: AgreementBy = "chrf"
    """The measure of the two translators' agreement."""


def judge_again(
    utterances: Sequence[UtteranceRecord],
    estimator: CometKiwi | None = None,
    meaning: MeaningAgreement | None = None,
    on_caption: Callable[[], None] = lambda: None,
) -> list[QualityRecord]:
    """Return the scores of every shown caption.

    Filtered utterances have no caption. An operator's edits are not in the records: the
    translator's own text is scored. Without `estimator` its log-probability counts, as live. With
    `meaning` the agreement is measured again. Raises EngineError.
    """
    shown = [(each, each.final) for each in utterances if each.final]
    # All at once: CometKiwi works in batches; single captions would take far longer.
    estimates: Sequence[float | None] = [None] * len(shown)
    if estimator is not None:
        estimates = estimator.estimate([(each.text, final.text) for each, final in shown])
    records = []
    for (each, _), estimate in zip(shown, estimates, strict=True):
        # The same function as live, so that only the estimator and the agreement differ.
        again = judged(_compared(each, meaning), estimate)
        on_caption()
        if again.quality is not None:
            records.append(
                QualityRecord(
                    id=again.id,
                    estimator=estimator.name if estimator else LOG_PROBABILITY,
                    flags=again.flags,
                    quality=again.quality,
                    agreement_by=meaning.name if meaning else "chrf",
                )
            )
    return records


def _compared(record: UtteranceRecord, meaning: MeaningAgreement | None) -> UtteranceRecord:
    """Return a record with the agreement measured again; with only one engine there is none."""
    quick, final = record.partial, record.final
    # None stays None: with only one engine, a text would be compared with itself.
    if meaning is None or record.agreement is None or quick is None or final is None:
        return record
    return replace(record, agreement=meaning.agreement(quick.text, final.text))


class MeaningAgreement:
    """Compares two texts of one language, after the service."""

    name: AgreementBy = "cosine"

    def __init__(self, model: Path) -> None:
        """Take the path of an embedding model, a .gguf file."""
        self._embedder = Embedder(model)

    def load(self) -> None:
        """Load the model. Raises ModelError."""
        self._embedder.load()

    def agreement(self, text: str, final: str) -> float | None:
        """Return the agreement, 0..1; None if a text is empty. Raises EngineError."""
        if not (text.strip() and final.strip()):
            return None
        # The vectors have length 1, so their product is the cosine.
        cosine = float(self._embedder.embed(text) @ self._embedder.embed(final))
        # A negative cosine also means no agreement.
        return round(min(1.0, max(0.0, cosine)), 4)


class CometKiwi:
    """Quality of translations, 0..1, from source and target text only."""

    name = "cometkiwi"

    def __init__(self, model: str = MODEL) -> None:
        """Take a model's name on its hub, or the path of a checkpoint (`.ckpt`)."""
        self._named = model
        self._model: Any = None

    def load(self) -> None:
        """Load the model. Raises ModelError (comet-missing, comet-unusable)."""
        try:
            import comet  # noqa: PLC0415 - heavy, and only here
        except ImportError:
            raise ModelError(
                "comet-missing",
                "CometKiwi is not installed.",
                f"Run: {installing('comet')}, best in an environment of its own.",
            ) from None
        try:
            path = self._named
            if not path.endswith(".ckpt"):
                path = comet.download_model(path)
            self._model = comet.load_from_checkpoint(path)
        # Any error: torch, the hub and the checkpoint each raise their own classes.
        except Exception as error:
            raise ModelError(
                "comet-unusable",
                f"{self._named} cannot be loaded: {error}.",
                "Its licence must be accepted on the model's page first; or give --model the "
                "path of a checkpoint.",
            ) from error

    def estimate(self, captions: Sequence[tuple[str, str]]) -> list[float]:
        """Return the quality of each (source, target). Raises EngineError."""
        samples = [{"src": source, "mt": target} for source, target in captions]
        if not samples:
            return []
        try:
            # One process, no worker processes: a service has a few hundred captions.
            made = self._model.predict(
                samples, batch_size=_BATCH, gpus=0, num_workers=0, progress_bar=False
            )
            # A regression may slightly exceed both ends.
            return [min(1.0, max(0.0, float(score))) for score in made["scores"]]
        # As above: the classes that torch raises here cannot be listed.
        except Exception as error:
            raise EngineError("comet-failed", f"CometKiwi failed: {error}.") from error
