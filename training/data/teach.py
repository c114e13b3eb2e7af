"""Let a trained Gemma translate English for Marian to learn from, many sentences at once.

    python -m training.data.teach --model FILE.gguf --bible FILE --tatoeba FILE \\
        --target es fr --target-bible FILE --out DIR

It translates the sentences written for this project and a sample of Tatoeba, the same for each
language. After an interruption it continues. `stark-translate learn distill` does the same with any
engine, one sentence at a time; with our Gemma this is some ten times faster.
Method: Kim and Rush 2016, "Sequence-Level Knowledge Distillation", EMNLP.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import sentencepiece
import torch

from training.data import corpora, pieces
from training.gguf_export.progress import bar, exit_code_of
from training.models.gemma_decoding import greedy
from training.models.gemma_model import Gemma
from training.train.fine_tune_gemma import load_base
from training.train.train_gemma import encode
from training.train.training import half_precision

BATCH = 192
# A longer text is no caption sentence; an answer that has not ended by then is a loop.
LONGEST = 80
TATOEBA = 40_000
ENDS = frozenset({pieces.END_OF_TURN_ID, pieces.EOS})
_WRITTEN = ("sermon", "everyday", corpora.MODERN, corpora.TALK)
_SEED = 7


def sources(splits: Sequence[corpora.Split], count: int, written: int | None = None) -> list[str]:
    """Return the English to translate: sentences written for this project, `count` of Tatoeba.

    At most `written` of the former. Held-out sentences of any language are left out.
    """
    unseen = {corpora.words(pair.en) for split in splits for pair in measured(split)}
    found: dict[tuple[str, ...], str] = {}
    for split in splits:
        for source in _WRITTEN:
            for pair in split.training.get(source, ()):
                found.setdefault(corpora.words(pair.en), pair.en)
    found = dict(itertools.islice(found.items(), written))
    others = [pair.en for split in splits for pair in split.training.get("tatoeba", ())]
    for english in random.Random(_SEED).sample(others, min(count, len(others))):
        found.setdefault(corpora.words(english), english)
    return [english for words, english in found.items() if words not in unseen]


def measured(split: corpora.Split) -> Iterator[corpora.Pair]:
    """Yield the held-out pairs of a split."""
    yield from (*split.held_out_tatoeba, *split.held_out_books, *split.sermon_test)


def alike(
    examples: Sequence[tuple[str, list[int]]], most: int = BATCH
) -> Iterator[Sequence[tuple[str, list[int]]]]:
    """Yield texts with their prompts in batches of equally long prompts."""
    by_length = sorted(examples, key=lambda example: len(example[1]))
    for _, equal in itertools.groupby(by_length, key=lambda example: len(example[1])):
        group = list(equal)
        yield from (group[first : first + most] for first in range(0, len(group), most))


def translate(
    model: Gemma,
    tokenizer: sentencepiece.SentencePieceProcessor,
    texts: Sequence[str],
    target: str,
) -> Iterator[list[tuple[str, str]]]:
    """Yield texts with their translations by batch, without loops and empty answers."""
    asked = encode(tokenizer, [(text, "") for text in texts], target)
    prompts = [tokens[: start + 1] for tokens, start in asked]
    short = [each for each in zip(texts, prompts, strict=True) if len(each[1]) <= LONGEST]
    for batch in alike(short):
        with half_precision("cpu"):
            answers = greedy(model, [prompt for _, prompt in batch], ENDS, LONGEST)
        yield [
            (text, tokenizer.decode(answer))
            for (text, _), answer in zip(batch, answers, strict=True)
            if 0 < len(answer) < LONGEST
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Teach as the options say; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True,
        help="the teacher: a starter's GGUF, or a folder of cut_vocabulary")  # fmt: skip
    corpora.add_options(parser)
    parser.add_argument("--out", type=Path, required=True, help="for taught_LANG.tsv")
    parser.add_argument("--count", type=int, default=TATOEBA, help="of Tatoeba (%(default)s)")
    parser.add_argument("--written", type=int, help="of what was written for us, at most (all)")
    parser.add_argument("--threads", type=int, default=2, help="%(default)s")
    options = parser.parse_args(arguments)
    return exit_code_of(lambda: run(options))


def run(options: argparse.Namespace) -> None:
    """Teach as the options say. Raises StarkError."""
    torch.set_num_threads(options.threads)
    splits = corpora.splits_of(options)
    model, tokenizer = load_base(options.model)
    texts = sources(splits, options.count, options.written)
    options.out.mkdir(parents=True, exist_ok=True)
    for target in options.target:
        path = corpora.taught_file(options.out, target)
        done = {pair.en for pair in corpora.read_pairs(path, "")} if path.exists() else set()
        left = [text for text in texts if text not in done]
        with bar(target) as on_text, path.open("a", encoding="utf-8") as file:
            made = len(done)
            for lessons in translate(model, tokenizer, left, target):
                made += len(lessons)
                file.writelines(f"{english}\t{answer}\n" for english, answer in lessons)
                file.flush()
                on_text(made, len(texts))
        print(f"{path}: {made:,} of {len(texts):,} sentences")


if __name__ == "__main__":
    sys.exit(main())
