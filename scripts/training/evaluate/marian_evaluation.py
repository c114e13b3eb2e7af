"""The starter Marian measured through CTranslate2 and SentencePiece."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ctranslate2
import sentencepiece

from scripts.training.data import corpora
from scripts.training.evaluate.evaluate import Row, size_of
from scripts.training.evaluate.translation_score import score


def rows(directory: Path, split: corpora.Split, threads: int) -> Iterator[Row]:
    """Beam 1, one sentence at a time, as partials are translated."""
    translator = ctranslate2.Translator(str(directory), compute_type="int8", intra_threads=threads)
    source = sentencepiece.SentencePieceProcessor(model_file=str(directory / "source.spm"))
    target = sentencepiece.SentencePieceProcessor(model_file=str(directory / "target.spm"))

    def translate(text: str) -> tuple[str, int]:
        tokens = [*source.encode(text, out_type=str), "</s>"]
        cap = 20 + int(2.5 * len(tokens))
        answer = translator.translate_batch([tokens], beam_size=1, max_decoding_length=cap)
        made = answer[0].hypotheses[0]
        return target.decode(made), len(made)

    yield from score("marian", translate, split)
    yield "marian", "size", size_of(directory)
