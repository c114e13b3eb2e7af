"""Train the starter Marian from scratch or from a CTranslate2 Marian.

    python -m training.train.train_marian --bible FILE --tatoeba FILE --out DIR \\
        --minutes 35 --init OLD_MARIAN_DIR

With `--init` the old model's pieces are kept. If it has no byte pieces, its 256 rarest pieces
become byte pieces: then no text is unknown, and all other embeddings keep their meaning.

With several languages (`--target es fr`) the first needs no token. Each other language is written
when its token, such as `>>fr<<`, comes before the text; with `--init` it gets its own pieces.
"""

from __future__ import annotations

import argparse
import functools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sentencepiece
import torch
from torch import Tensor

from pipeline.core.errors import ModelError
from training.data import corpora, pieces
from training.data.mixture import (
    REFERENCES,
    SENTENCES,
    SHARES,
    Utterances,
    mixed_pass,
    shares_of,
)
from training.data.packing import Packed, lay_out, pack
from training.evaluate.development import Development
from training.models.marian_model import (
    Marian,
    MarianShape,
    added_layers,
    from_ctranslate2,
    from_state,
    with_hidden,
    with_layers,
)
from training.train.training import (
    Passes,
    Plan,
    half_precision,
    optimizers,
    parser,
    smoothed_loss,
    to,
    train,
)

# One static shape, because compiling each shape takes a minute; longer pairs are left out.
ROW_TOKENS = 96
ROWS = 40
"""Rows of a step on a CPU; a GPU has room for some hundreds."""
DEV_LENGTH = 80

Example = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Batch:
    """Packed sources and targets; a pair has the same row and sequence number in both."""

    source: Packed
    target: Packed


def encode(
    processor: sentencepiece.SentencePieceProcessor,
    pairs: Sequence[tuple[str, str]],
    target: str = corpora.SPANISH,
) -> list[Example]:
    """Return token ids of source and target, each with its end token. The source begins with the
    token of the language if the vocabulary has one."""
    end = processor.eos_id()
    asked = [processor.piece_to_id(token) for token in pieces.asked_for(processor, target)]
    english = processor.encode([pair[0] for pair in pairs])
    answers = processor.encode([pair[1] for pair in pairs])
    return [([*asked, *s, end], [*t, end]) for s, t in zip(english, answers, strict=True)]


def longest(example: Example) -> int:
    """Return the number of tokens of the longer side."""
    return max(len(example[0]), len(example[1]))


def make_batch(rows: list[list[Example]], length: int) -> Batch:
    """Lay out both sides in rows of one static length."""
    source, target = (lay_out([[e[side] for e in row] for row in rows], length) for side in (0, 1))
    return Batch(source, target)


def batches(
    splits: Sequence[corpora.Split],
    processor: sentencepiece.SentencePieceProcessor,
    rng: random.Random,
    utterances: Utterances = SENTENCES,
    shares: Mapping[str, float] = SHARES,
    *,
    row_count: int = ROWS,
    part: float = 1.0,
) -> Iterator[Batch]:
    """Yield batches without end; each pass is mixed anew, a share `part` of it at a time."""
    shares = {name: share * part for name, share in shares.items()}
    count = 0
    while True:
        examples: list[Example] = []
        for split in splits:
            mixed = mixed_pass(split, rng, utterances, int(REFERENCES * part), shares)
            examples += encode(processor, mixed, split.target)
        rows = pack((e for e in examples if longest(e) <= ROW_TOKENS), longest, ROW_TOKENS)
        if not rows:
            raise ModelError("corpora-empty", "The corpora hold no pair to train on.", "")
        # A church's first mix may fill less than one batch. All batches have one shape.
        count = count or min(row_count, len(rows))
        rows *= math.ceil(count / len(rows))
        rng.shuffle(rows)
        for first in range(0, len(rows) - count + 1, count):
            yield make_batch(rows[first : first + count], ROW_TOKENS)


def loss_of(model: Marian, batch: Batch, autocast: torch.autocast) -> Tensor:
    """Return the mean loss of the target tokens."""
    with autocast:
        logits = model.logits(model(batch.source, batch.target).flatten(0, 1))
    weights = (batch.target.sequence > 0).flatten().float()
    return smoothed_loss(logits, batch.target.ids.flatten(), weights)


def greedy(
    model: Marian,
    processor: sentencepiece.SentencePieceProcessor,
    texts: list[str],
    target: str = corpora.SPANISH,
) -> list[str]:
    """Translate for the log: no cache, all sentences at once, up to DEV_LENGTH tokens."""
    with torch.no_grad():
        device = model.embeddings.weight.device.type
        end = processor.eos_id()
        asked = encode(processor, [(text, "") for text in texts], target)
        sources = [tokens for tokens, _ in asked]
        source = to(lay_out([[s] for s in sources], max(map(len, sources))), device)
        memory = model.encode(source)
        answers: list[list[int]] = [[] for _ in texts]
        for _ in range(DEV_LENGTH):
            # The model does not see the last position yet: any id works there.
            ahead = to(lay_out([[[*a, end]] for a in answers], len(answers[0]) + 1), device)
            chosen = model.logits(model.decode(memory, source, ahead)[:, -1]).argmax(-1).tolist()
            for answer, token in zip(answers, chosen, strict=True):
                answer.append(end if end in answer else token)
            if all(end in answer for answer in answers):
                break
        return [processor.decode(a[: a.index(end)] if end in a else a) for a in answers]


def main() -> None:
    """Train as the options say."""
    options = parser(__doc__, minutes=35)
    options.add_argument(
        "--init", type=Path, help="continue from this CTranslate2 Marian directory"
    )
    options.add_argument(
        "--prefixes", type=float, default=0.0, help="share of the pairs that are cut short"
    )
    options.add_argument(
        "--several", type=float, default=0.0, help="share of short pairs with 1 to 3 more behind"
    )
    options.add_argument(
        "--pieces", type=int, default=3000, help="of a language that --init has not (%(default)s)"
    )
    options.add_argument(
        "--encoder-layers", type=int, default=0, help="more than --init has: it grows deeper"
    )
    options.add_argument("--decoder-layers", type=int, default=0, help="likewise")
    options.add_argument(
        "--old-rate", type=float, default=1.0, help="share of the rates for what --init has (1)"
    )
    options.add_argument(
        "--hidden", type=int, default=0, help="more units between the two matrices of each layer"
    )
    options.add_argument(
        "--dropout",
        type=float,
        default=0.0,
        help="share of each layer's work that is left out, "
        "which many passes over the same sentences need (%(default)s)",
    )
    options.add_argument("--rows", type=int, default=ROWS, help="of a step (%(default)s)")
    options.add_argument(
        "--makers", type=int, default=1, help="processes that make batches; a GPU needs about 6"
    )
    options.add_argument(
        "--shares", nargs="+", default=[], metavar="SOURCE=SHARE",
        help="how often a pass takes a source, such as talk=2 tatoeba=.1 (see data/mixture.py)"
    )  # fmt: skip
    args = options.parse_args()
    shares = shares_of(args.shares)
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    splits = corpora.splits_of(args)
    model, processor = prepare(args, splits)
    model.to(args.device)
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = args.dropout
    count = sum(p.numel() for p in model.parameters())
    sizes = {s.target: {name: len(p) for name, p in s.training.items()} for s in splits}
    print(f"{count / 1e6:.2f} M parameters, training pairs: {sizes}", flush=True)
    autocast = half_precision(args.device)
    loss = functools.partial(loss_of, model, autocast=autocast)
    developments = {split.target: Development(split) for split in splits}
    utterances = Utterances(join_share=args.several, most=4, prefix_share=args.prefixes)

    def evaluate() -> str:
        lines = []
        model.eval()
        for target, development in developments.items():
            examples = encode(processor, development.pairs, target)
            batch = make_batch([[e] for e in examples], max(map(longest, examples)))
            with torch.no_grad():
                value = loss(to(batch, args.device)).item()
            answers = greedy(model, processor, development.english, target)
            lines.append(f"{target} {development.line(value, answers)}")
        model.train()
        return "\n  ".join(lines)

    if not args.resume:
        print(f"before training: {evaluate()}", flush=True)
    passes = Passes(
        lambda rng: batches(
            splits, processor, rng, utterances, shares,
            row_count=args.rows, part=1 / args.makers,
        ),
        args.makers,
    )  # fmt: skip
    train(
        model,
        optimizers(
            model,
            "layer_",
            args.muon_rate,
            args.adam_rate,
            goes_on=args.init is not None,
            is_new=is_new(args),
            old_share=args.old_rate,
        ),
        batches=lambda rng: (to(batch, args.device) for batch in passes(rng)),
        loss_of=torch.compile(loss, dynamic=False) if args.compile else loss,
        evaluate=evaluate,
        plan=Plan(args.out, args.minutes, args.evaluate_minutes, args.resume, steps=args.steps),
    )


def is_new(args: argparse.Namespace) -> Callable[[str], bool]:
    """Return a test of a parameter's name: whether the model of `--init` lacks its layer."""
    if not args.init:
        return lambda _: True
    shape = from_ctranslate2(args.init).shape
    added = {
        f"{part}.layer_{index}."
        for part, old, count in (
            ("encoder", shape.encoder_layers, args.encoder_layers),
            ("decoder", shape.decoder_layers, args.decoder_layers),
        )
        for index in added_layers(old, count)
    }
    return lambda name: name.startswith(tuple(added))


def prepare(
    args: argparse.Namespace, splits: Sequence[corpora.Split]
) -> tuple[Marian, sentencepiece.SentencePieceProcessor]:
    """Return a new model and vocabulary, or those of `--init`, or of `--out` when resuming."""
    vocabulary = args.out / "marian.spm"
    if args.resume:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
        weights = torch.load(args.out / "checkpoint.pt", weights_only=False)["model"]
        return from_state(weights), processor
    if not args.init:
        texts = (text for split in splits for text in texts_of(split))
        pieces.train_unigram(texts, args.vocabulary, vocabulary)
        for split in splits[1:]:
            pieces.add_language(vocabulary, split.target, (), 0)
        processor = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
        return Marian(MarianShape(processor.vocab_size())), processor
    model = with_layers(from_ctranslate2(args.init), "encoder", args.encoder_layers)
    model = with_layers(model, "decoder", args.decoder_layers)
    model = with_hidden(model, args.hidden)
    processor, replaced = pieces.add_bytes(args.init / "source.spm", vocabulary)
    with torch.no_grad():
        table = model.embeddings.weight
        table[replaced] = table.mean(0) + 0.02 * torch.randn(len(replaced), model.shape.width)
    known = [processor.id_to_piece(index) for index in range(processor.vocab_size())]
    for split in splits[1:]:
        if not pieces.asked_for(processor, split.target):
            pieces.add_language(vocabulary, split.target, texts_of(split, 1), args.pieces)
    extended = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
    new = [extended.id_to_piece(index) for index in range(len(known), extended.vocab_size())]
    if new:
        rows = dict(zip(known, model.embeddings.weight.detach().numpy(), strict=True))
        added, _ = pieces.carry_embeddings(new, processor, rows, np.random.default_rng(1))
        weights = dict(model.state_dict())
        weights["embeddings.weight"] = torch.cat(
            [weights["embeddings.weight"], torch.from_numpy(added)]
        )
        model = from_state(weights, model.shape.heads)
    return model, extended


def texts_of(split: corpora.Split, side: int | None = None) -> Iterator[str]:
    """Yield the texts of one pass, from both sides or from one."""
    for pair in mixed_pass(split, random.Random(0)):
        yield from pair if side is None else (pair[side],)


if __name__ == "__main__":
    main()
