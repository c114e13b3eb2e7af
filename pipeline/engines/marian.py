"""Text to text at once: MarianMT on CTranslate2, sentence by sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.core.errors import EngineError, ModelError
from pipeline.core.types import Translation
from pipeline.engines.ctranslate2_errors import explain, require
from pipeline.engines.output import join
from pipeline.engines.protocols import never
from pipeline.text import repetition, sentences

_KEY = "translate.partial.model"
_FILES = ("model.bin", "config.json", "source.spm", "target.spm")
_MAX_PIECES = 80
"""Longest source handed over at once. Models have 256 positions or more; the cap stays below."""


class Marian:
    """A Translator on `ctranslate2.Translator`; `path` is the folder of a converted Marian model.

    It was trained on single sentences, so every sentence is translated by itself: nothing of a
    long text is lost, and what is said later cannot change what stands.
    """

    name = "marian"
    setback = ""
    gpu_layers = 0
    deadline_s = math.inf

    def __init__(self, path: Path, *, compute_type: str = "int8", threads: int = 1) -> None:
        self._path = path
        self._compute_type = compute_type
        self._threads = threads
        self._translator: Any = None
        self._source: Any = None
        self._target: Any = None
        self._end: list[str] = []
        self.is_cancelled = never

    def load(self) -> None:
        """Load the model and translate a word. Raises ModelError."""
        require(self._path, _FILES, _KEY, "translation")
        import ctranslate2  # noqa: PLC0415 - heavy
        import sentencepiece  # noqa: PLC0415 - heavy

        try:
            self._translator = ctranslate2.Translator(
                str(self._path),
                device="cpu",
                compute_type=self._compute_type,
                inter_threads=1,
                intra_threads=self._threads,
            )
            pieces = sentencepiece.SentencePieceProcessor
            self._source = pieces(model_file=str(self._path / "source.spm"))
            self._target = pieces(model_file=str(self._path / "target.spm"))
            self._end = [] if self._adds_end() else ["</s>"]
            self.translate("Amen.")
        except EngineError as error:
            raise ModelError("model-broken", f"{_KEY}: {error.message}") from error
        except Exception as error:
            raise explain(error, self._path, _KEY, "translation") from error

    def translate(
        self,
        text: str,
        on_text: Callable[[str], None] | None = None,
        draft: str = "",  # noqa: ARG002 - quick enough without
    ) -> Translation:
        """Translate `text`; `on_text` gets the whole once. Raises EngineError `marian-failed`."""
        try:
            parts = [
                self._part(piece)
                for sentence in sentences.split(text)
                for piece in sentences.pack(sentence, self._fits)
            ]
        except Exception as error:
            raise EngineError("marian-failed", f"{self.name}: {error}.") from error
        whole = join(self.name, parts)
        if on_text is not None and whole.text:
            on_text(whole.text)
        return whole

    def _part(self, text: str) -> Translation:
        source = self._source.encode(text, out_type=str)
        cap = 20 + int(2.5 * len(source))
        result = self._translator.translate_batch(
            [source + self._end], beam_size=1, max_decoding_length=cap, return_scores=True
        )[0]
        pieces = result.hypotheses[0]
        repeats = repetition.longest(repetition.words(text)).count
        loop = repetition.anywhere(pieces, repeats)
        kept = pieces if loop is None else repetition.cut(pieces, loop, repeats)
        return Translation(
            text=self._target.decode(kept),
            engine=self.name,
            tokens=len(pieces),
            avg_logprob=result.scores[0] if result.scores else None,
            stopped="loop" if loop else "length" if len(pieces) >= cap else "end",
        )

    def _fits(self, text: str) -> bool:
        return len(self._source.encode(text)) <= _MAX_PIECES

    def _adds_end(self) -> bool:
        """Whether CTranslate2 appends the end token itself; that depends on the converter."""
        config = json.loads((self._path / "config.json").read_text(encoding="utf-8"))
        return bool(config.get("add_source_eos", False))
