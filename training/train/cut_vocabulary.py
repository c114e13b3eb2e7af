"""Cut a pretrained Gemma 3 to the tokens that the corpora need, for fine_tune_gemma.

    python -m training.train.cut_vocabulary \\
        --gguf FILE --bible FILE --tatoeba FILE --out DIR

Most of the weights of Gemma 3 270M are embeddings of 262,144 tokens; English and Spanish need an
eighth of them. Writes `weights.pt`, `gemma.spm`, `shape.json` and `manifest.json` into `--out`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

import torch

from pipeline.engines.prompts import starter_text
from pipeline.learning.manifest import write_manifest
from training.data import corpora, mixture, subwords
from training.gguf_export.progress import bar, exit_code_of
from training.models import gemma_gguf

REFERENCES = 20_000
# A rarer piece is spelled with smaller pieces.
AT_LEAST = 8


def texts_of(split: corpora.Split, references: int = REFERENCES) -> Iterator[str]:
    """Yield all training text, the names that `mixture` inserts, and Bible references."""
    for pairs in split.training.values():
        for pair in pairs:
            yield pair.en
            yield mixture.of_today(pair, split.target)
    for pair in mixture.practice(references, random.Random(0), split.target):
        yield pair.en
        yield pair.target
    yield from [starter_text("", split.target)] * AT_LEAST
    for names in (mixture.MEN, mixture.WOMEN, mixture.PLACES):
        for name in names:
            yield from [f". {name}"] * AT_LEAST


def with_lower_case(words: Counter[str]) -> Counter[str]:
    """Add each word without its marks and capitals, as recognizers sometimes write it."""
    marks = subwords.SPACE + ".,;:!?()\"'¿¡-"
    bare: Counter[str] = Counter()
    for word, times in words.items():
        bare[subwords.SPACE + word.strip(marks).lower()] += times
    return words + bare


def whole_words(listed: Iterable[str], pieces: Container[str]) -> Counter[str]:
    """Return the words of a list that are one piece, with a count that keeps them whole."""
    spaced = (subwords.SPACE + word for word in listed)
    return Counter(dict.fromkeys((word for word in spaced if word in pieces), AT_LEAST))


def main(arguments: Sequence[str] | None = None) -> int:
    """Cut as the options say; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gguf", type=Path, required=True, help="the pretrained Gemma 3")
    corpora.add_options(parser)
    parser.add_argument("--words", type=Path, nargs="*", default=[],
        help="lists of words, as of a spelling dictionary: those of one piece stay so")  # fmt: skip
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--at-least", type=int, default=AT_LEAST, help="uses of a piece that stays")
    parser.add_argument("--references", type=int, default=REFERENCES,
        help="to the Bible, made up to practise (%(default)s)")  # fmt: skip
    options = parser.parse_args(arguments)
    return exit_code_of(lambda: run(options))


def run(options: argparse.Namespace) -> None:
    """Cut as the options say. Raises StarkError."""
    whole = gemma_gguf.read(options.gguf)
    splits = corpora.splits_of(options)
    texts = (text for split in splits for text in texts_of(split, options.references))
    words = with_lower_case(subwords.count_words(texts))
    for path in options.words:
        words += whole_words(path.read_text("utf-8").split(), whole.mergeable)
    with bar("counting pieces") as on_word:
        kept = subwords.needed(words, whole.mergeable, options.at_least, on_word)
    smaller, tokenizer = gemma_gguf.cut(whole, kept)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "gemma.spm").write_bytes(tokenizer)
    sizes = json.dumps(smaller.shape.as_dict(), indent=2)
    (options.out / "shape.json").write_text(sizes + "\n", encoding="utf-8")
    torch.save(smaller.weights, options.out / "weights.pt")
    weights = sum(tensor.numel() for tensor in smaller.weights.values())
    figures = {"tokens": [len(whole.tokens), len(smaller.tokens)], "weights": weights}
    inputs = [options.gguf, *corpora.inputs_of(options), *options.words]
    write_manifest(
        options.out / "manifest.json",
        step="cut-vocabulary",
        inputs=inputs,
        settings=vars(options),
        figures=figures,
    )
    print(
        f"{options.out}: {len(smaller.tokens):,} of {len(whole.tokens):,} tokens, "
        f"{weights / 1e6:.1f} M weights"
    )


if __name__ == "__main__":
    sys.exit(main())
