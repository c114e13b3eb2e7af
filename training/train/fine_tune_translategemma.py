"""Teach a TranslateGemma a church's words by low-rank additions (LoRA), on a training mix.

    python -m training.train.fine_tune_translategemma --base DIR --mix DIR --out DIR

`--base` is a Hugging Face folder. The prompts are rendered as the program renders them, and
compared with the model's own chat template. On a GPU `--four-bit` keeps the frozen weights in 4 bit
(QLoRA, Dettmers et al., arXiv:2305.14314; needs bitsandbytes). If memory is short, the trainer
steps down by itself: one pair at a time, then shorter pairs. Embeddings are not trained, so the
adapter is small and convert_translategemma accepts it. `--resume` continues a training.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import random
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn

from pipeline.core.errors import LearningError, ModelError
from pipeline.engines import prompts
from pipeline.learning.manifest import write_manifest
from training.gguf_export import merging
from training.gguf_export.chat_template import check_template, encode_prompt
from training.gguf_export.progress import exit_code_of, only_warnings
from training.models.whisper_model import IGNORED, Additions
from training.train.training import MINUTES, Plan, require_device, train

TARGETS = r"^(?!.*(vision|projector)).*\.(q|k|v|o|gate|up|down)_proj$"
A_STEP = 8
"""Pairs in a step of the optimizer, in any number of micro-batches."""
_HELD_OUT = 32
_SHORT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory")


@dataclass(frozen=True)
class Fit:
    """Size of a micro-batch: pairs, and tokens of each pair."""

    pairs: int
    tokens: int


LADDER = (Fit(2, 512), Fit(1, 512), Fit(1, 384))
"""From the best to the one that needs the least memory."""


@dataclass(frozen=True)
class Example:
    """Tokens of prompt and answer, where the answer begins, and how much the pair counts."""

    tokens: list[int]
    answer: int
    weight: float


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--base", type=Path, required=True, help="folder of a TranslateGemma")
    add("--mix", type=Path, required=True, help="the --out of `stark-translate learn mix`")
    add("--out", type=Path, required=True, help="for checkpoint.pt and adapter/")
    add("--source", default="en", help="%(default)s")
    add("--target", default="es", help="%(default)s")
    add("--epochs", type=float, default=3, help="3 at first; later 2 at --rate 1e-4 (%(default)g)")
    add("--minutes", type=MINUTES, default=600, help="ends earlier than that (%(default)g)")
    add("--steps", type=int, default=0, help="ends after so many, if before --epochs")
    add("--evaluate-minutes", type=MINUTES, default=15, help="%(default)g")
    add("--resume", action="store_true", help="go on from --out")
    add("--rank", type=int, default=16, help="%(default)s")
    add("--alpha", type=int, default=32, help="%(default)s")
    add("--rate", type=float, default=2e-4, help="peak (%(default)g)")
    add("--four-bit", action="store_true", help="frozen weights in 4 bit, on a GPU")
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--threads", type=int, default=1, help="%(default)s")
    add("--no-compile", action="store_true", help="accepted, for all trainers' sake")
    return parser.parse_args(arguments)


def load(options: argparse.Namespace) -> tuple[Any, Any]:
    """Return the frozen model with trainable LoRA weights, and its tokenizer. Raises ModelError."""
    merging.check_base(options.base)
    more: dict[str, Any] = {}
    if options.four_bit:
        if options.device != "cuda" or importlib.util.find_spec("bitsandbytes") is None:
            raise ModelError(
                "four-bit-unavailable",
                "--four-bit needs --device cuda and the package bitsandbytes.",
                "Install it on the machine with the GPU, or train without --four-bit.",
            )
        more["quantization_config"] = transformers.BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
        )
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(options.base, local_files_only=True)
        names = json.loads((options.base / "config.json").read_text())["architectures"]
        dtype = torch.float32 if options.device == "cpu" else torch.bfloat16
        model = getattr(transformers, names[0]).from_pretrained(
            options.base, dtype=dtype, local_files_only=True, **more
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelError("base-unreadable", f"{options.base} cannot be loaded: {error}.") from error
    torch.manual_seed(1)
    config = LoraConfig(
        r=options.rank, lora_alpha=options.alpha, target_modules=TARGETS, bias="none"
    )
    with warnings.catch_warnings():  # peft 0.21 calls transformers 5 as if it were 4
        warnings.simplefilter("ignore", FutureWarning)
        adapted = get_peft_model(model, config)
    return adapted if options.four_bit else adapted.to(options.device), tokenizer


def examples(tokenizer: Any, path: Path, langs: tuple[str, str]) -> list[Example]:
    """Return the pairs of a file with the program's own prompts. Raises LearningError."""
    end = tokenizer.convert_tokens_to_ids(prompts.END_OF_TURN)
    found = []
    try:
        for line in path.read_bytes().splitlines():
            fields = json.loads(line)
            prompt = prompts.render("translategemma", fields[langs[0]], *langs)
            asked = encode_prompt(tokenizer, prompt)
            answer = tokenizer.encode(
                fields[langs[1]], add_special_tokens=False, split_special_tokens=True
            )
            weight = float(fields.get("weight", 1.0))
            found.append(Example([*asked, *answer, end], len(asked), weight))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LearningError(
            "mix-unreadable", f"{path} cannot be used: {error!r}.", "Make the mix again."
        ) from None
    return found


def groups(every: Sequence[Example], rng: random.Random) -> Iterator[list[Example]]:
    """Yield the pairs of each step without end, every pass in another order."""
    while True:
        order = rng.sample(list(every), len(every))
        for first in range(0, len(order), A_STEP):
            yield order[first : first + A_STEP]


def loss_of(model: Any, pairs: Sequence[Example], pad: int, device: str) -> Tensor:
    """Return the weighted sum over pairs of the mean loss of each answer's tokens."""
    longest = max(len(each.tokens) for each in pairs)
    ids = torch.full((len(pairs), longest), pad)
    wanted = torch.full((len(pairs), longest), IGNORED)
    for row, each in enumerate(pairs):
        ids[row, : len(each.tokens)] = torch.tensor(each.tokens)
        wanted[row, each.answer : len(each.tokens)] = torch.tensor(each.tokens[each.answer :])
    ids, wanted = ids.to(device), wanted.to(device)
    mask = torch.zeros_like(ids)
    for row, each in enumerate(pairs):
        mask[row, : len(each.tokens)] = 1
    more = {"token_type_ids": torch.zeros_like(ids)} if _sees_pictures(model) else {}
    logits = model(input_ids=ids, attention_mask=mask, **more).logits[:, :-1].float()
    targets = wanted[:, 1:]
    losses = nn.functional.cross_entropy(
        logits.transpose(1, 2), targets, reduction="none", ignore_index=IGNORED
    )
    means = losses.sum(1) / (targets != IGNORED).sum(1)
    return (means * torch.tensor([each.weight for each in pairs], device=device)).sum()


def _sees_pictures(model: Any) -> bool:
    # In training such a model requires a mask of the tokens that belong to a picture.
    return "ConditionalGeneration" in type(model.get_base_model()).__name__


class Stepper:
    """Compute steps in the largest micro-batches that memory allows, and remember their size."""

    def __init__(self, model: Any, pad: int, device: str) -> None:
        self._model, self._pad, self._device = model, pad, device
        self.rung = 0

    def step(self, group: Sequence[Example]) -> Tensor:
        """Compute the gradients of a step; return its mean loss, detached from the graph.

        Raises LearningError (memory-short) if there is no smaller size left to try.
        """
        while True:
            try:
                mean = self._step(group, LADDER[self.rung])
            except (RuntimeError, MemoryError) as error:
                if not _is_short_of_memory(error):
                    raise
                self._step_down(error)
            else:
                # The caller calls backward() on it as on any loss; this one has no graph behind it.
                return torch.tensor(mean, requires_grad=True)

    def _step(self, group: Sequence[Example], fit: Fit) -> float:
        kept = [each for each in group if len(each.tokens) <= fit.tokens]
        total = 0.0
        for first in range(0, len(kept), fit.pairs):
            pairs = kept[first : first + fit.pairs]
            loss = loss_of(self._model, pairs, self._pad, self._device) / len(kept)
            loss.backward()
            total += loss.item()
        return total

    def _step_down(self, error: BaseException) -> None:
        if self.rung + 1 == len(LADDER):
            raise LearningError(
                "memory-short",
                f"Not even one pair of {LADDER[-1].tokens} tokens fits into memory.",
                "Train a smaller model, with --four-bit on a GPU, or on a larger machine.",
            ) from error
        self.rung += 1
        fit = LADDER[self.rung]
        text = f"memory is short: {fit.pairs} pair at a time, of {fit.tokens} tokens at most"
        print(text, flush=True)
        self._model.zero_grad(set_to_none=True)
        gc.collect()
        if self._device == "cuda":
            torch.cuda.empty_cache()


def _is_short_of_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or any(
        words in str(error).lower() for words in _SHORT_OF_MEMORY
    )


def run(options: argparse.Namespace) -> None:
    """Train as the options say and write the adapter. Raises StarkError."""
    require_device(options.device)
    langs = (options.source, options.target)
    model, tokenizer = load(options)
    if not check_template(tokenizer, *langs):
        print("the tokenizer has no chat template to compare the prompt with", flush=True)
    learnt = [
        each
        for each in examples(tokenizer, options.mix / "train.jsonl", langs)
        if len(each.tokens) <= LADDER[0].tokens
    ]
    if not learnt:
        message = f"There is nothing to train on in {options.mix}."
        raise LearningError("mix-empty", message, "Run `stark-translate learn mix` first.")
    measured = examples(tokenizer, options.mix / "held_out.jsonl", langs)[:_HELD_OUT] or learnt[-4:]
    learning = Additions(model)
    pad = tokenizer.pad_token_id or 0
    stepper = Stepper(model, pad, options.device)

    def evaluate() -> str:
        model.eval()
        with torch.no_grad():
            losses = [loss_of(model, [each], pad, options.device).item() for each in measured]
        model.train()
        weights = sum(each.weight for each in measured)
        return f"held-out loss {sum(losses) / weights:.4f}"

    count = sum(p.numel() for p in learning.parameters())
    print(f"{count / 1e6:.2f} M weights learn; {len(learnt)} pairs; {evaluate()}", flush=True)
    steps = max(1, round(options.epochs * len(learnt) / A_STEP))
    model.train()
    train(
        learning,
        [torch.optim.AdamW(learning.parameters(), lr=options.rate, weight_decay=0.0)],
        batches=lambda rng: groups(learnt, rng),
        loss_of=stepper.step,
        evaluate=evaluate,
        plan=Plan(
            options.out,
            options.minutes,
            options.evaluate_minutes,
            options.resume,
            steps=min(steps, options.steps) if options.steps else steps,
        ),
    )
    model.save_pretrained(options.out / "adapter")
    inputs = [options.base / "config.json", options.mix / "train.jsonl"]
    figures = {"pairs": len(learnt), "rung": stepper.rung, "evaluation": evaluate()}
    write_manifest(
        options.out / "manifest.json",
        step="fine-tune-translategemma",
        inputs=inputs,
        settings=vars(options),
        figures=figures,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the options say; return the exit code."""
    options = options_of(arguments)
    torch.set_num_threads(options.threads)
    return exit_code_of(lambda: run(options))


if __name__ == "__main__":
    only_warnings()
    sys.exit(main())
