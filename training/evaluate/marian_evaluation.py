"""Measure the starter Marian through CTranslate2 and SentencePiece."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import ctranslate2
import sentencepiece

from pipeline.text.commit_policy import normalized_erasure
from training.data import corpora, pieces
from training.evaluate.evaluate import Row, size_of
from training.evaluate.translation_score import held_out, score

_CUTS = 3
_SHORTEST = 3
_SENTENCES = 150
_SEED = 4


def rows(directory: Path, split: corpora.Split, threads: int) -> Iterator[Row]:
    """Measure with beam 1, one sentence at a time, as partials are translated."""
    translator = ctranslate2.Translator(str(directory), compute_type="int8", intra_threads=threads)
    source = sentencepiece.SentencePieceProcessor(model_file=str(directory / "source.spm"))
    target = sentencepiece.SentencePieceProcessor(model_file=str(directory / "target.spm"))

    asked = pieces.asked_for(source, split.target)

    def translate(text: str) -> tuple[str, int]:
        tokens = [*asked, *source.encode(text, out_type=str), "</s>"]
        cap = 20 + int(2.5 * len(tokens))
        answer = translator.translate_batch([tokens], beam_size=1, max_decoding_length=cap)
        made = answer[0].hypotheses[0]
        return target.decode(made), len(made)

    yield from score("marian", translate, split)
    back = taken_back(lambda text: translate(text)[0], begun(split))
    growing = split.named("words taken back as a sentence grows, for each in the end")
    yield "marian", growing, f"{back:.3f}"
    if split.target == corpora.SPANISH:  # the files are the same for all
        yield "marian", "size", size_of(directory)


def begun(split: corpora.Split) -> Iterator[list[str]]:
    """Yield held-out sentences as they grow: three prefixes of each, then the whole."""
    rng = random.Random(_SEED)
    for pairs in held_out(split).values():
        for pair in pairs[:_SENTENCES]:
            words = pair.en.split()
            if len(words) < _SHORTEST + _CUTS:
                continue
            cuts = sorted(rng.sample(range(_SHORTEST, len(words)), _CUTS))
            yield [" ".join(words[:cut]) for cut in (*cuts, len(words))]


def taken_back(translate: Callable[[str], str], growing: Iterator[Sequence[str]]) -> float:
    """Return how many words of a translation are missing in the next one, per word that remains:
    the normalized erasure of plain retranslation (Arivazhagan et al., arXiv:1912.03393)."""
    lost, left = 0.0, 0
    for texts in growing:
        made = [translate(text) for text in texts]
        words = len(made[-1].split())
        lost += words * (normalized_erasure(made) or 0.0)
        left += words
    return lost / max(1, left)
