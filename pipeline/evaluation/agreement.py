"""How far two translations mean the same: the cosine of their sentences' embeddings.

Letters (chrF, which is measured live) call "Dios es bueno" and "el Señor es bondadoso" strangers;
what they mean does not. Reimers and Gurevych 2019, "Sentence-BERT", EMNLP.
"""

from __future__ import annotations

from pathlib import Path

from pipeline.engines.llama_cpp.embedder import Embedder
from pipeline.records.quality import AgreementBy


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
        cosine = float(self._embedder.embed(text) @ self._embedder.embed(final))
        # Vectors that point away from each other have nothing in common either.
        return round(min(1.0, max(0.0, cosine)), 4)
