"""CometKiwi as the quality estimator after the service; needs the extra `comet`.

Rei et al. 2022, "CometKiwi: IST-Unbabel 2022 Submission for the Quality Estimation Shared Task".
It needs torch and a model of half a billion parameters, so it is never loaded live.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.core.errors import EngineError, ModelError
from pipeline.core.resources import installing

MODEL = "Unbabel/wmt22-cometkiwi-da"
# Without a GPU, a larger batch needs more memory and is not faster.
_BATCH = 8


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
