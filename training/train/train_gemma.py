"""Train the starter Gemma, English to Spanish, from scratch.

    python -m training.train.train_gemma --bible FILE --tatoeba FILE --out DIR --minutes 90

`--embeddings-from` takes a Marian, whose embeddings give most pieces a meaning from the start.
"""

from __future__ import annotations

import argparse
import functools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sentencepiece
import torch
from torch import Tensor

from pipeline.engines.prompts import starter_text
from training.data import corpora, pieces
from training.data.mixture import Utterances, mixed_pass
from training.data.packing import Packed, lay_out, pack
from training.evaluate.development import Development
from training.models import ct2_weights
from training.models.gemma_model import Gemma, GemmaShape
from training.train.training import (
    Plan,
    half_precision,
    optimizers,
    parser,
    smoothed_loss,
    to,
    train,
)

# One static shape, because compiling a shape takes a minute; longer pairs are left out.
ROW_TOKENS = 112
ROWS = 42
JOIN_SHARE = 0.12
DEV_LENGTH = 64


Example = tuple[list[int], int]


@dataclass(frozen=True)
class Batch:
    """Packed rows, and the predicted positions (flattened), their targets and their weights."""

    rows: Packed
    at: Tensor
    targets: Tensor
    weights: Tensor


def encode(
    processor: sentencepiece.SentencePieceProcessor,
    pairs: list[tuple[str, str]],
    target: str = corpora.SPANISH,
) -> list[Example]:
    """Return each pair's token ids as one sequence, and the position before its answer."""
    asked = processor.encode([starter_text(english, target) for english, _ in pairs])
    answered = processor.encode([answer for _, answer in pairs])
    examples = []
    for source, answer in zip(asked, answered, strict=True):
        prompt = [pieces.BOS, pieces.PROMPT_START_ID, *source, pieces.PROMPT_END_ID]
        examples.append(([*prompt, *answer, pieces.END_OF_TURN_ID], len(prompt) - 1))
    return examples


def make_batch(rows: list[list[Example]], length: int, room: int | None = None) -> Batch:
    """Return rows of `length` tokens; `room` is the number of predicted positions.

    By default `room` is half of all positions, which gives one static shape. Answers are a little
    less than half of all tokens; positions beyond `room` are not predicted."""
    at: list[int] = []
    targets: list[int] = []
    for index, row in enumerate(rows):
        begin = index * length
        for tokens, start in row:
            at += range(begin + start, begin + len(tokens) - 1)
            targets += tokens[start + 1 :]
            begin += len(tokens)
    room = len(rows) * length // 2 if room is None else room
    count = min(room, len(targets))
    flat = torch.zeros(3, room, dtype=torch.long)
    flat[:, :count] = torch.tensor([at[:count], targets[:count], [1] * count])
    return Batch(lay_out([[e[0] for e in row] for row in rows], length), *flat)


def batches(
    split: corpora.Split, processor: sentencepiece.SentencePieceProcessor, rng: random.Random
) -> Iterator[Batch]:
    """Yield batches without end; each pass is mixed anew. Pairs are packed into rows at random, so
    that each batch has short and long pairs."""
    while True:
        examples = encode(processor, mixed_pass(split, rng, Utterances(join_share=JOIN_SHARE)))
        examples = [example for example in examples if len(example[0]) <= ROW_TOKENS]
        rows = pack(examples, lambda example: len(example[0]), ROW_TOKENS)
        rng.shuffle(rows)
        for first in range(0, len(rows) - ROWS + 1, ROWS):
            yield make_batch(rows[first : first + ROWS], ROW_TOKENS)


def loss_of(model: Gemma, batch: Batch, autocast: torch.autocast) -> Tensor:
    """Return the mean loss of the predicted tokens."""
    with autocast:
        logits = model.logits(model(batch.rows).flatten(0, 1)[batch.at])
    return smoothed_loss(logits, batch.targets, batch.weights)


def greedy(
    model: Gemma, processor: sentencepiece.SentencePieceProcessor, texts: list[str]
) -> list[str]:
    """Translate for the log: no cache, all rows at once, at most DEV_LENGTH tokens per answer."""
    with torch.no_grad():
        prompts = [
            tokens[: start + 1] for tokens, start in encode(processor, [(t, "") for t in texts])
        ]
        device = model.embeddings.weight.device
        answers: list[list[int]] = [[] for _ in texts]
        unfinished = list(range(len(texts)))
        for _ in range(DEV_LENGTH):
            rows = [prompts[i] + answers[i] for i in unfinished]
            packed = to(lay_out([[row] for row in rows], max(map(len, rows))), device.type)
            last = torch.tensor([len(row) - 1 for row in rows], device=device)
            with half_precision(device.type):
                chosen = model.logits(model(packed)[range(len(rows)), last]).argmax(-1).tolist()
            for index, token in zip(list(unfinished), chosen, strict=True):
                if token in {pieces.END_OF_TURN_ID, pieces.EOS}:
                    unfinished.remove(index)
                else:
                    answers[index].append(token)
            if not unfinished:
                break
        return [processor.decode(answer) for answer in answers]


def main() -> None:
    """Train as the options say."""
    options = parser(__doc__, minutes=90)
    options.add_argument("--embeddings-from", type=Path, help="a CTranslate2 Marian directory")
    options.add_argument(
        "--width", type=int, default=256, help="a multiple of 64, the head's width"
    )
    options.add_argument("--layers", type=int, default=6)
    options.add_argument("--hidden", type=int, default=512, help="width of the feed-forward")
    args = options.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    split = corpora.split_of(args)
    model, processor = prepare(args, split)
    model.to(args.device)
    count = sum(p.numel() for p in model.parameters())
    sizes = {name: len(pairs) for name, pairs in split.training.items()}
    print(f"{count / 1e6:.2f} M parameters, training pairs: {sizes}", flush=True)
    autocast = half_precision(args.device)
    loss = functools.partial(loss_of, model, autocast=autocast)
    development = Development(split)

    def evaluate() -> str:
        examples = encode(processor, development.pairs)
        batch = make_batch([[e] for e in examples], max(len(e[0]) for e in examples))
        with torch.no_grad():
            value = loss(to(batch, args.device)).item()
        return development.line(value, greedy(model, processor, development.english))

    train(
        model,
        optimizers(model, "blocks", args.muon_rate, args.adam_rate),
        batches=lambda rng: (to(batch, args.device) for batch in batches(split, processor, rng)),
        loss_of=torch.compile(loss, dynamic=False) if args.compile else loss,
        evaluate=evaluate,
        plan=Plan(args.out, args.minutes, args.evaluate_minutes, args.resume, steps=args.steps),
    )


def prepare(
    args: argparse.Namespace, split: corpora.Split
) -> tuple[Gemma, sentencepiece.SentencePieceProcessor]:
    """Return a new model and vocabulary, or those of `--out`; the loop loads the weights."""
    vocabulary, sizes = args.out / "gemma.spm", args.out / "shape.json"
    if args.resume:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
        return Gemma(GemmaShape(**json.loads(sizes.read_text()))), processor
    texts = (text for pair in mixed_pass(split, random.Random(0)) for text in pair)
    processor = pieces.train_bpe(texts, args.vocabulary, vocabulary)
    heads = args.width // GemmaShape.head_width
    shape = GemmaShape(args.vocabulary, args.width, args.layers, heads, heads, hidden=args.hidden)
    sizes.write_text(json.dumps(shape.as_dict(), indent=2) + "\n")
    model = Gemma(shape)
    if args.embeddings_from:
        take_embeddings(model, processor, args.embeddings_from)
    return model, processor


def take_embeddings(
    model: Gemma, processor: sentencepiece.SentencePieceProcessor, marian: Path
) -> None:
    """Copy a Marian's embeddings, scaled to the size that the model expects."""
    old = ct2_weights.read_weights(marian / "model.bin")["decoder/embeddings/weight"]
    names = json.loads((marian / "shared_vocabulary.json").read_text())
    old_processor = sentencepiece.SentencePieceProcessor(model_file=str(marian / "source.spm"))
    new = [processor.id_to_piece(i) for i in range(processor.vocab_size())]
    rows, copied = pieces.carry_embeddings(
        new, old_processor, dict(zip(names, old, strict=True)), np.random.default_rng(1)
    )
    rows *= model.shape.width**-0.5 / rows.std()
    with torch.no_grad():
        model.embeddings.weight[:, : rows.shape[1]] = torch.from_numpy(rows)
    print(f"{copied} of {len(new)} embeddings copied from {marian}", flush=True)


if __name__ == "__main__":
    main()
