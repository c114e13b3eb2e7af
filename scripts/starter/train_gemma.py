"""Train the starter Gemma, English to Spanish, from scratch (its embeddings may come from a Marian).

    python scripts/starter/train_gemma.py --bible FILE --tatoeba FILE --out DIR --minutes 90

Hidden matrices are trained with Muon (Jordan et al., 2024, kellerjordan.github.io/posts/muon),
which reaches a loss in fewer steps than AdamW; embeddings and norms with AdamW.
"""

from __future__ import annotations

import argparse
import functools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import corpora
import ct2_weights
import numpy as np
import pieces
import sacrebleu
import sentencepiece
import torch
from gemma_model import Gemma, GemmaShape
from mixture import one_pass
from packing import Packed, lay_out, pack
from torch import Tensor
from training import Plan, smoothed_loss, to, train

# One static shape, because each is compiled for a minute; longer pairs are left out.
ROW_TOKENS = 112
ROWS = 42
JOIN_SHARE = 0.12
DEV_SENTENCES = 30
DEV_LENGTH = 64


Example = tuple[list[int], int]


@dataclass(frozen=True)
class Batch:
    """Packed rows; and where in them, flattened, what is predicted, with which weight."""

    rows: Packed
    at: Tensor
    targets: Tensor
    weights: Tensor


def encode(
    processor: sentencepiece.SentencePieceProcessor, pairs: list[tuple[str, str]]
) -> list[Example]:
    """Token ids of each pair as one sequence, and the position from which answers are predicted."""
    english = processor.encode([pair[0] for pair in pairs])
    spanish = processor.encode([pair[1] for pair in pairs])
    examples = []
    for source, target in zip(english, spanish, strict=True):
        prompt = [pieces.BOS, pieces.PROMPT_START_ID, *source, pieces.PROMPT_END_ID]
        examples.append(([*prompt, *target, pieces.END_OF_TURN_ID], len(prompt) - 1))
    return examples


def make_batch(rows: list[list[Example]], length: int) -> Batch:
    """One static shape for equal arguments: half of all positions are predicted, the answers
    being a little less than half of all tokens."""
    room = len(rows) * length // 2
    at: list[int] = []
    targets: list[int] = []
    for index, row in enumerate(rows):
        begin = index * length
        for tokens, start in row:
            at += range(begin + start, begin + len(tokens) - 1)
            targets += tokens[start + 1 :]
            begin += len(tokens)
    count = min(room, len(targets))
    flat = torch.zeros(3, room, dtype=torch.long)
    flat[:, :count] = torch.tensor([at[:count], targets[:count], [1] * count])
    return Batch(lay_out([[e[0] for e in row] for row in rows], length), *flat)


def batches(
    split: corpora.Split, processor: sentencepiece.SentencePieceProcessor, rng: random.Random
) -> Iterator[Batch]:
    """Batches without end, every pass newly mixed. Pairs meet in a row by chance, so that each
    batch has short and long ones."""
    while True:
        examples = encode(processor, one_pass(split.training, rng, JOIN_SHARE))
        examples = [example for example in examples if len(example[0]) <= ROW_TOKENS]
        rows = pack(examples, lambda example: len(example[0]), ROW_TOKENS)
        rng.shuffle(rows)
        for first in range(0, len(rows) - ROWS + 1, ROWS):
            yield make_batch(rows[first : first + ROWS], ROW_TOKENS)


def loss_of(model: Gemma, batch: Batch, autocast: torch.autocast) -> Tensor:
    with autocast:
        logits = model.logits(model(batch.rows).flatten(0, 1)[batch.at])
    return smoothed_loss(logits, batch.targets, batch.weights)


@torch.no_grad()
def greedy(
    model: Gemma, processor: sentencepiece.SentencePieceProcessor, texts: list[str]
) -> list[str]:
    """Translate for the log: no cache, all rows at once, up to DEV_LENGTH tokens an answer."""
    prompts = [tokens[: start + 1] for tokens, start in encode(processor, [(t, "") for t in texts])]
    device = model.embeddings.weight.device
    answers: list[list[int]] = [[] for _ in texts]
    open_rows = list(range(len(texts)))
    for _ in range(DEV_LENGTH):
        rows = [prompts[i] + answers[i] for i in open_rows]
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = torch.tensor(row)
        ids = ids.to(device)
        last = torch.tensor([len(row) - 1 for row in rows], device=device)
        rows_ = Packed(ids, torch.zeros_like(ids), torch.arange(ids.shape[1], device=device).expand_as(ids))
        with torch.autocast(device.type, torch.bfloat16):
            hidden = model(rows_)[torch.arange(len(rows)), last]
            chosen = model.logits(hidden).argmax(-1).tolist()
        for index, token in zip(list(open_rows), chosen, strict=True):
            if token in (pieces.END_OF_TURN_ID, pieces.EOS):
                open_rows.remove(index)
            else:
                answers[index].append(token)
        if not open_rows:
            break
    return [processor.decode(answer) for answer in answers]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bible", type=Path, required=True)
    parser.add_argument("--tatoeba", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="checkpoints and vocabulary")
    parser.add_argument("--embeddings-from", type=Path, help="a CTranslate2 Marian directory")
    parser.add_argument("--minutes", type=float, default=90.0)
    parser.add_argument("--evaluate-minutes", type=float, default=10.0)
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--muon-rate", type=float, default=2e-3)
    parser.add_argument("--adam-rate", type=float, default=2e-3)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    split = corpora.load(args.bible, args.tatoeba)
    vocabulary = args.out / "gemma.spm"
    if args.resume:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
        shape = GemmaShape(**json.loads((args.out / "shape.json").read_text()))
    else:
        pairs = one_pass(split.training, random.Random(0))
        texts = (text for pair in pairs for text in pair)
        processor = pieces.train_bpe(texts, args.vocabulary, vocabulary)
        shape = GemmaShape(
            args.vocabulary, args.width, args.layers, args.width // 64, args.width // 64,
            hidden=args.hidden,
        )
        (args.out / "shape.json").write_text(json.dumps(shape.as_dict(), indent=2) + "\n")
    model = Gemma(shape)
    if args.embeddings_from and not args.resume:
        take_embeddings(model, processor, args.embeddings_from)
    model.to(args.device)
    count = sum(p.numel() for p in model.parameters())
    print(f"{count / 1e6:.2f} M parameters, training pairs:",
          {name: len(pairs) for name, pairs in split.training.items()}, flush=True)

    hidden = [p for name, p in model.named_parameters() if p.ndim == 2 and "blocks" in name]
    rest = [p for name, p in model.named_parameters() if p.ndim != 2 or "blocks" not in name]
    optimizers = [
        torch.optim.Muon(
            hidden, lr=args.muon_rate, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW(rest, lr=args.adam_rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True),
    ]
    autocast = torch.autocast(args.device, torch.bfloat16)

    if args.compile:
        compiled_loss = torch.compile(lambda batch: loss_of(model, batch, autocast), dynamic=False)
    else:
        compiled_loss = functools.partial(loss_of, model, autocast=autocast)

    development = [*split.held_out_tatoeba[:DEV_SENTENCES], *split.held_out_books[:DEV_SENTENCES]]

    def evaluate() -> str:
        examples = encode(processor, [(pair.en, pair.es) for pair in development])
        batch = make_batch([[e] for e in examples], max(len(e[0]) for e in examples))
        with torch.no_grad():
            loss = loss_of(model, to(batch, args.device), autocast).item()
        answers = greedy(model, processor, [pair.en for pair in development])
        scores = []
        for part in (slice(None, DEV_SENTENCES), slice(DEV_SENTENCES, None)):
            wanted = [pair.es for pair in development[part]]
            scores.append(sacrebleu.corpus_chrf(answers[part], [wanted]).score)
        shown = " | ".join([*answers[:3], answers[-1]])
        return f"loss {loss:.3f}, chrF Tatoeba {scores[0]:.1f} books {scores[1]:.1f}: {shown}"

    train(
        model,
        optimizers,
        lambda rng: (to(batch, args.device) for batch in batches(split, processor, rng)),
        compiled_loss,
        evaluate,
        Plan(args.out, args.minutes, args.evaluate_minutes, args.resume),
    )


def take_embeddings(
    model: Gemma, processor: sentencepiece.SentencePieceProcessor, marian: Path
) -> None:
    """Start from a Marian's embeddings, scaled to the size that the model expects."""
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
