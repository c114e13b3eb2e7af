"""Fine-tune a pretrained Gemma 3 on translations from English, on a CPU or a GPU.

    python -m training.train.fine_tune_gemma \\
        --base DIR --bible FILE --tatoeba FILE --out DIR

`--base` is the folder that cut_vocabulary writes, or a GGUF file that export_gemma made from one,
such as the shipped starter. The matrices stay frozen and learn low-rank additions (LoRA); they are
int8 on a machine that multiplies int8 fast. `--rank 0` trains all weights instead, in bfloat16 if
the machine computes in it; `--level Q4_0` trains the model for that quantization level
(`training.models.steps`). Training stops by the clock and saves every three minutes and on
SIGTERM. `--resume` continues it, also for a longer time than first planned.
At the end, and with `--merge` alone, `--out`/merged is written; export_gemma takes that folder.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import torch.multiprocessing as processes
from torch import Tensor, nn

from pipeline.core.errors import ModelError
from pipeline.engines.borrowed_words import borrowed
from pipeline.learning.manifest import write_manifest
from training.data import corpora
from training.data.mixture import Utterances, mixed_pass, shares_of
from training.data.packing import pack
from training.gguf_export.progress import exit_code_of
from training.models import gemma_gguf, steps
from training.models.gemma_model import Gemma, GemmaShape
from training.models.linear_loss import linear_loss
from training.models.low_rank import LowRankGemma
from training.train.train_gemma import Batch, Example, encode, make_batch
from training.train.training import (
    LABEL_SMOOTHING,
    MINUTES,
    Passes,
    Plan,
    half_precision,
    multiplies_int8,
    product_type,
    smoothed_loss,
    to,
    train,
)

ROW_TOKENS = 112
ROWS = 6
REFERENCES = 600
BORROWED_SHARE = 0.5
ENGLISH = "en"
# A pretrained model learns from tens of thousands of pairs, not millions. Each pass is therefore a
# sample of the sources, so that an hour of training sees some of each source.
SHARES: Mapping[str, float] = {
    "tatoeba": 0.2,
    "nheb": 0.06,
    "bbe": 0.04,
    "asv": 0.01,
    "sermon": 3.0,
    "everyday": 4.0,
    "modern": 1.0,
    "talk": 1.0,
}
"""Shares for Spanish, and for a language without Tatoeba, which needs more verses."""
OTHER_SHARES: Mapping[str, float] = {**SHARES, "nheb": 0.09, "bbe": 0.07}
# The number of pairs of each held-out set that are measured during training.
HELD_OUT = 48
_WORDS = re.compile(r"\w+")


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--base", type=Path, required=True,
        help="the --out of cut_vocabulary, merged/ of a training, or a starter's GGUF")  # fmt: skip
    corpora.add_options(parser)
    add("--out", type=Path, required=True, help="for checkpoint.pt and merged/")
    add("--minutes", type=MINUTES, default=90, help="in all, resumes included (%(default)s)")
    add("--steps", type=int, default=0, help="ends after so many, if before --minutes")
    add("--evaluate-minutes", type=MINUTES, default=10, help="%(default)s")
    add("--resume", action="store_true", help="go on from --out")
    add("--merge", action="store_true", help="only write merged/ of the last checkpoint")
    add("--rank", type=int, default=32, help="0 trains all weights (%(default)s)")
    add("--rate", type=float, default=1e-3, help="peak; with --rank 0 rather 2e-5 (%(default)s)")
    rows = f"of {ROW_TOKENS} tokens in a step (%(default)s; with --rank 0 rather 24)"
    add("--rows", type=int, default=ROWS, help=rows)
    add("--float", dest="int8", action="store_false", default=multiplies_int8(),
        help="frozen matrices in float32, as without AVX-512 VNNI")  # fmt: skip
    add("--shares", nargs="+", default=[], metavar="SOURCE=SHARE",
        help="how often a pass takes a source, such as talk=2 tatoeba=.1")  # fmt: skip
    add("--back", type=float, default=0.0, metavar="SHARE",
        help="share of the pairs that are learnt into English (%(default)s)")  # fmt: skip
    add("--several", type=float, default=0.15, metavar="SHARE",
        help="of the short pairs that another one follows (%(default)s)")  # fmt: skip
    add("--frozen-layers", type=int, default=0, metavar="N", help="with --rank 0: the embeddings "
        "and the lowest N layers stay as they are, which saves their part of the time")  # fmt: skip
    add("--workers", type=int, default=1,
        help="processes of --threads each that train the same weights (%(default)s)")  # fmt: skip
    add("--threads", type=int, default=1, help="%(default)s")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="cuda takes --rank 0")
    add("--makers", type=int, default=1, help="processes that make batches; a GPU needs about 6")
    add("--level", choices=sorted(steps.LOWEST), default="",
        help="in which it will be stored; takes --rank 0")  # fmt: skip
    add("--no-compile", dest="compile", action="store_false")
    return parser.parse_args(arguments)


def load_base(folder: Path) -> tuple[Gemma, sentencepiece.SentencePieceProcessor]:
    """Return the cut model and its tokenizer; `folder` may be a GGUF file. Raises ModelError."""
    if folder.is_file():
        whole, spelled = gemma_gguf.exported(folder)
        model = Gemma(whole.shape)
        model.load_state_dict(whole.weights)
        return model, sentencepiece.SentencePieceProcessor(model_proto=spelled)
    try:
        model = Gemma(GemmaShape(**json.loads((folder / "shape.json").read_text("utf-8"))))
        saved = torch.load(weights_of(folder), weights_only=True)
        model.load_state_dict(saved.get("model", saved))
        tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(folder / "gemma.spm"))
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise ModelError(
            "base-unreadable",
            f"{folder} is no whole folder of cut_vocabulary: {error}.",
            "Make it with python -m training.train.cut_vocabulary.",
        ) from error
    return model, tokenizer


def weights_of(folder: Path) -> Path:
    """Return the weights file of an earlier training, or else the one that cut_vocabulary wrote."""
    earlier = folder / "checkpoint.pt"
    return earlier if earlier.exists() else folder / "weights.pt"


def prepare(base: Gemma, options: argparse.Namespace) -> Gemma | LowRankGemma:
    """Return the model to train."""
    if options.rank == 0:
        frozen = base.blocks[: options.frozen_layers]
        for part in (base.embeddings, *frozen) if frozen else ():
            part.requires_grad_(requires_grad=False)
        return base
    torch.manual_seed(1)
    return LowRankGemma(base, options.rank, int8=options.int8)


def batches(
    splits: Sequence[corpora.Split],
    tokenizer: sentencepiece.SentencePieceProcessor,
    rng: random.Random,
    row_count: int = ROWS,
    changes: Sequence[str] = (),
    *,
    back: float = 0.0,
    several: float = 0.15,
    part: float = 1.0,
) -> Iterator[Batch]:
    """Yield batches without end; each pass is mixed anew and omits pairs longer than a row.

    `back` is the share of pairs that are trained in reverse, into English. `several` is the share
    of short pairs that are followed by another pair. `part` is the share of a pass that is mixed
    at once, so that several makers need not each begin with a whole pass."""
    utterances = Utterances(join_share=several)
    while True:
        examples = []
        for split in splits:
            usual = SHARES if split.target == corpora.SPANISH else OTHER_SHARES
            shares = {name: share * part for name, share in shares_of(changes, usual).items()}
            mixed = mixed_pass(split, rng, utterances, int(REFERENCES * part), shares)
            onward, turned = [], []
            for english, other in mixed:
                if rng.random() < back and not english.islower():
                    turned.append((other, english))
                else:
                    onward.append((as_asked(english, other, split.target, rng), other))
            examples += encode(tokenizer, onward, split.target)
            examples += encode(tokenizer, turned, ENGLISH)
        examples = [each for each in examples if len(each[0]) <= ROW_TOKENS]
        rng.shuffle(examples)
        if not examples:
            raise ModelError("corpora-empty", "The corpora hold no pair to train on.", "")
        rows = pack(examples, lambda example: len(example[0]), ROW_TOKENS)
        rng.shuffle(rows)
        for first in range(0, len(rows), row_count):
            yield batch_of(rows[first : first + row_count], row_count)


def as_asked(english: str, answer: str, target: str, rng: random.Random) -> str:
    """Return half of the texts with borrowed nouns, as the daemon asks, if the answer has them."""
    asked = borrowed(english, "en", target)
    known = {*_WORDS.findall(english.lower()), *_WORDS.findall(answer.lower())}
    fits = known.issuperset(_WORDS.findall(asked.lower()))
    return asked if fits and rng.random() < BORROWED_SHARE else english


def batch_of(rows: list[list[Example]], row_count: int = ROWS) -> Batch:
    """Return `row_count` rows, one shape for compiled layers; a pass's last rows may be empty."""
    answers = sum(len(tokens) - 1 - start for row in rows for tokens, start in row)
    return make_batch([*rows, *([] for _ in range(row_count - len(rows)))], ROW_TOKENS, answers)


def held_out(
    splits: Sequence[corpora.Split],
    tokenizer: sentencepiece.SentencePieceProcessor,
    row_count: int = ROWS,
) -> dict[str, list[Batch]]:
    """Return batches of the first pairs of each held-out set. No choice depends on them."""
    found = {}
    for split in splits:
        sets = {
            "Tatoeba": split.held_out_tatoeba,
            "books": split.held_out_books,
            "sermon": split.sermon_test,
        }
        for name, pairs in sets.items():
            texts = [(pair.en, pair.target) for pair in pairs[:HELD_OUT]]
            examples = encode(tokenizer, texts, split.target)
            examples = [each for each in examples if len(each[0]) <= ROW_TOKENS]
            rows = pack(examples, lambda example: len(example[0]), ROW_TOKENS)
            if rows:
                found[split.named(name)] = [
                    batch_of(rows[n : n + row_count], row_count)
                    for n in range(0, len(rows), row_count)
                ]
    return found


def losses(model: Gemma | LowRankGemma, sets: Mapping[str, list[Batch]]) -> dict[str, float]:
    """Return the mean loss per token of each held-out set, without smoothing."""
    found = {}
    with torch.no_grad():
        for name, each in sets.items():
            total = sum(
                nn.functional.cross_entropy(
                    predicted(model, b).float(), b.targets, reduction="sum"
                ).item()
                for b in each
            )
            found[name] = round(total / max(1, sum(len(b.targets) for b in each)), 4)
    return found


def predicted(model: Gemma | LowRankGemma, batch: Batch) -> Tensor:
    """Return the logits (count, vocabulary) of the predicted positions.

    Low-rank additions are small and run beside int8 matrices, so bfloat16 gains nothing there.
    """
    if isinstance(model, LowRankGemma):
        return model.logits(model(batch.rows).flatten(0, 1)[batch.at])
    with half_precision(batch.at.device.type):
        return model.logits(model(batch.rows).flatten(0, 1)[batch.at])


def loss_of(model: Gemma | LowRankGemma, batch: Batch) -> Tensor:
    """Return the mean smoothed loss of the predicted tokens."""
    if isinstance(model, LowRankGemma):
        return smoothed_loss(predicted(model, batch), batch.targets, batch.weights)
    device = batch.at.device.type
    with half_precision(device):
        hidden = model(batch.rows).flatten(0, 1)[batch.at]
    table = model.embeddings.weight
    return linear_loss(hidden, table, batch.targets, LABEL_SMOOTHING, product_type(device))


def follow(
    model: Gemma | LowRankGemma,
    splits: Sequence[corpora.Split],
    tokenizer: sentencepiece.SentencePieceProcessor,
    options: argparse.Namespace,
    plan: Plan,
) -> None:
    """Train `model` in this process, alone or with others (Hogwild, Recht et al., arXiv:1106.5730).

    The weights are in shared memory. Each process has its own moments and its own batches. No
    process waits for another: on a busy machine that gains more than ordered updates."""
    torch.set_num_threads(options.threads)
    if options.compile:
        for block in model.blocks:  # one compilation serves all layers, which have the same shape
            block.compile(dynamic=False)
    sets = held_out(splits, tokenizer, options.rows) if plan.leads else {}
    sets = {name: [to(batch, options.device) for batch in found] for name, found in sets.items()}
    passes = Passes(
        lambda rng: batches(
            splits, tokenizer, rng, options.rows, options.shares,
            back=options.back, several=options.several, part=1 / options.makers,
        ),
        options.makers,
    )  # fmt: skip
    learning = [each for each in model.parameters() if each.requires_grad]
    stepper = torch.optim.AdamW(
        learning, lr=options.rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True
    )
    train(
        model,
        [stepper],
        batches=lambda rng: (to(batch, options.device) for batch in passes(rng)),
        loss_of=lambda batch: loss_of(model, batch),
        evaluate=lambda: "held-out loss " + json.dumps(losses(model, sets)),
        plan=plan,
    )


def run(options: argparse.Namespace, splits: Sequence[corpora.Split]) -> None:
    """Train, with all workers. Raises StarkError."""
    base, tokenizer = load_base(options.base)
    if options.level and options.base.is_file() and not options.resume:
        steps.spread(base, options.level, torch.Generator().manual_seed(1))
    model = prepare(base, options)
    elapsed_s = restore(model, options.out)["elapsed_s"] if options.resume else 0.0
    if options.device == "cpu":
        for parameter in model.parameters():
            parameter.data.share_memory_()
    model.to(options.device)
    learning = sum(each.numel() for each in model.parameters() if each.requires_grad)
    frozen = sum(tensor.numel() for tensor in base.state_dict().values())
    sizes = {s.target: {name: len(p) for name, p in s.training.items()} for s in splits}
    print(f"{learning / 1e6:.1f} M weights learn, of {frozen / 1e6:.1f} M; {sizes}", flush=True)
    plan = Plan(
        options.out,
        options.minutes,
        options.evaluate_minutes,
        options.resume,
        steps=options.steps,
        level=options.level,
    )
    # Fork, so that the frozen matrices are not copied into shared memory: a container often has
    # only 64 MB of it. No thread runs yet.
    context = processes.get_context("fork")
    others = [
        context.Process(
            target=follow,
            args=(model, splits, tokenizer, options),
            kwargs={"plan": replace(plan, resume=False, seed=1000 * number, leads=False,
                                    elapsed_s=elapsed_s)},
        )
        for number in range(1, options.workers)
    ]  # fmt: skip
    if others:
        importlib.import_module("torch._dynamo")  # torch.optim imports it: here once, it is slow
    for other in others:
        other.start()
    try:
        follow(model, splits, tokenizer, options, plan)
    finally:
        for other in others:
            other.terminate()
            other.join()


def restore(model: nn.Module, folder: Path) -> dict[str, Any]:
    """Load the last checkpoint's weights; return its step, time, loss, level and shares.

    Raises ModelError."""
    path = folder / "checkpoint.pt"
    try:
        saved = torch.load(path, weights_only=True, map_location="cpu")
        model.load_state_dict(saved["model"])
    except (OSError, RuntimeError, KeyError, EOFError) as error:
        raise ModelError(
            "checkpoint-unreadable",
            f"{path} cannot be gone on from: {error}.",
            "Give the same --base and --rank as before, or begin anew without --resume.",
        ) from error
    named = ("step", "elapsed_s", "loss", "level", "shares")
    return {name: saved.get(name) for name in named}


def merge(options: argparse.Namespace, splits: Sequence[corpora.Split]) -> None:
    """Write what export_gemma takes, and a manifest with the last figures. Raises StarkError."""
    base, tokenizer = load_base(options.base)
    model = prepare(base, options)
    figures = restore(model, options.out)
    if isinstance(model, LowRankGemma):
        merged, _ = load_base(options.base)
        model.merge_into(merged)
    else:
        merged = model
    storing = steps.Storing(merged, figures.pop("level") or "", figures.pop("shares"))
    with storing.held():
        after = losses(merged, held_out(splits, tokenizer))
        weights = {name: tensor.clone() for name, tensor in merged.state_dict().items()}
    if not all(math.isfinite(value) for value in after.values()):
        raise ModelError("training-diverged", f"The merged model is broken: {after}.", "")
    folder = options.out / "merged"
    folder.mkdir(parents=True, exist_ok=True)
    state = {"model": weights, **figures}
    torch.save(state, folder / "checkpoint.new")
    (folder / "checkpoint.new").replace(folder / "checkpoint.pt")
    sizes = json.dumps(merged.shape.as_dict(), indent=2)
    (folder / "shape.json").write_text(sizes + "\n", encoding="utf-8")
    (folder / "gemma.spm").write_bytes(tokenizer.serialized_model_proto())
    base_files = [weights_of(options.base), options.base / "gemma.spm"]
    inputs = [options.base] if options.base.is_file() else base_files
    inputs += corpora.inputs_of(options)
    figures |= {f"loss {name}": value for name, value in after.items()}
    write_manifest(
        folder / "manifest.json",
        step="fine-tune-gemma",
        inputs=inputs,
        settings=vars(options),
        figures=figures,
    )
    print(f"{folder}: held-out loss {json.dumps(after)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and merge as the options say; return the exit code."""
    options = options_of(arguments)
    torch.set_num_threads(options.threads)

    def work() -> None:
        shares_of(options.shares)  # report misspelt shares before reading the corpora
        if options.rank and (options.level or options.device != "cpu"):
            option = "--level" if options.level else "--device"
            raise ModelError("rank-wrong", f"{option} is for all weights.", "Give --rank 0.")
        if options.level and options.workers > 1:
            # Each step puts rounded weights into the shared memory and takes the fine ones back
            # afterwards: another worker would take the rounded ones for the fine ones.
            raise ModelError(
                "workers-wrong",
                "--level takes one process.",
                "Give --threads instead of --workers.",
            )
        splits = corpora.splits_of(options)
        if not options.merge:
            run(options, splits)
        merge(options, splits)

    return exit_code_of(work)


if __name__ == "__main__":
    sys.exit(main())
