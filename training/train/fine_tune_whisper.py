"""Teach a pretrained Whisper a church's words and voices, by low-rank additions (LoRA).

    python -m training.train.fine_tune_whisper --base DIR --sound DIR --out DIR

`--base` is a CTranslate2 folder, as the program uses it. `--sound` is a folder with metadata.jsonl,
as `stark-translate learn collect` writes it. Training stops by the clock, saves every three minutes
and on SIGTERM, and continues with `--resume`. `--out`/best.pt has the additions with the fewest
word errors on held-out utterances; export_whisper makes a model from them.

LoRA: Hu et al., arXiv:2106.09685, on the projections of queries and values.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn

from pipeline.core.errors import LearningError, ModelError
from pipeline.core.types import Pcm
from pipeline.learning.data.folder import METADATA
from pipeline.learning.manifest import write_manifest
from training.data import sound
from training.evaluate.stt_score import word_error_rate
from training.gguf_export.progress import exit_code_of, only_warnings
from training.models.stt_model import decode, encode
from training.models.whisper_model import IGNORED, Additions, Pretrained, greedy, load
from training.train.training import MINUTES, Plan, cosine_at, require_device, train

BEST = "best.pt"
MOST_DEVELOPMENT = 32
TARGETS = ["q_proj", "v_proj"]
_SORTED = 8
"""The number of batches that are sorted by length together, to keep padding small."""
_BROKEN_SHARE = 0.5
_CONTEXT_SHARE = 0.5


@dataclass(frozen=True)
class Batch:
    """Features (batch, mels, frames); tokens, targets and their weights (batch, tokens)."""

    features: Tensor
    tokens: Tensor
    targets: Tensor
    weights: Tensor


@dataclass(frozen=True)
class Score:
    """A model's result on held-out utterances; fewer word errors are better."""

    wer: float
    loss: float

    def __str__(self) -> str:
        return f"WER {100 * self.wer:.1f} %, loss {self.loss:.3f}"

    def is_better_than(self, other: Score) -> bool:
        """Whether its WER is lower; the loss decides between equal WERs."""
        return (self.wer, self.loss) < (other.wer, other.loss)


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--base", type=Path, required=True, help="folder of a CTranslate2 Whisper")
    add("--sound", type=Path, required=True, help="folder with metadata.jsonl")
    add("--out", type=Path, required=True, help="for checkpoint.pt and best.pt")
    add("--lang", default="en", help="what is spoken (%(default)s)")
    add("--context", default="", help="the words that the program gives it to listen for")
    add("--window-s", type=float, default=10, help="the shortest that is encoded (%(default)g)")
    add("--minutes", type=MINUTES, default=60, help="in all, resumes included (%(default)g)")
    add("--steps", type=int, default=0, help="ends after so many, if before --minutes")
    add("--evaluate-minutes", type=MINUTES, default=5, help="%(default)g")
    add("--resume", action="store_true", help="go on from --out")
    add("--rank", type=int, default=32, help="%(default)s")
    add("--alpha", type=int, default=64, help="%(default)s")
    add("--dropout", type=float, default=0.05, help="%(default)s")
    add("--rate", type=float, default=1e-3, help="peak (%(default)g)")
    add("--batch", type=int, default=8, help="utterances (%(default)s)")
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--threads", type=int, default=1, help="%(default)s")
    add("--no-compile", action="store_true", help="accepted, for all trainers' sake")
    return parser.parse_args(arguments)


def add_low_rank(pretrained: Pretrained, options: argparse.Namespace) -> tuple[Any, Additions]:
    """Freeze the model and put low-rank additions, zero at first, beside its queries and values.

    Returns peft's model, whose `merge_and_unload` merges the additions, and the additions.
    """
    torch.manual_seed(1)
    config = LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,
        lora_dropout=options.dropout,
        target_modules=TARGETS,
        bias="none",
    )
    with warnings.catch_warnings():  # peft 0.21 calls transformers 5 by the API of transformers 4
        warnings.simplefilter("ignore", FutureWarning)
        wrapped = get_peft_model(pretrained.model, config)
    return wrapped, Additions(wrapped)


def readable(utterances: Sequence[sound.Utterance]) -> list[tuple[sound.Utterance, Pcm]]:
    """Return utterances with their samples; broken files are reported and left out.

    Raises LearningError (sound-broken) if most are broken.
    """
    found, last = [], None
    for each in utterances:
        try:
            found.append((each, sound.load(each)))
        except LearningError as error:
            print(f"left out: {error.message}", flush=True)
            last = error
    if last and len(found) < _BROKEN_SHARE * len(utterances):
        raise LearningError(
            "sound-broken",
            f"{len(utterances) - len(found)} of {len(utterances)} files cannot be used;"
            f" the last: {last.message}",
            "Collect again, or leave the broken files out of metadata.jsonl.",
        )
    return found


def few(utterances: Sequence[sound.Utterance]) -> Sequence[sound.Utterance]:
    """Return at most MOST_DEVELOPMENT, evenly spread: each evaluation decodes all of them."""
    return utterances[:: -(-len(utterances) // MOST_DEVELOPMENT)] if utterances else utterances


def make_batch(
    pretrained: Pretrained,
    spoken: Sequence[tuple[sound.Utterance, Pcm]],
    contexts: Sequence[str],
    window_s: float,
) -> Batch:
    """Return a batch. Prompts and padding are not targets."""
    speech = pretrained.speech
    rows: list[tuple[list[int], list[int], list[float]]] = []
    for (each, _), context in zip(spoken, contexts, strict=True):
        prompt = speech.prompt(context)
        tokens, weights = speech.tokens(each.text, each.terms)
        unheard = len(prompt) - 1
        rows.append(
            (
                [*prompt, *tokens[:-1]],
                [*[IGNORED] * unheard, *tokens],
                [*[0.0] * unheard, *weights],
            )
        )
    longest = max(len(tokens) for tokens, _, _ in rows)
    shape = (len(rows), longest)
    ids = torch.full(shape, speech.end)
    targets, weights_of = torch.full(shape, IGNORED), torch.zeros(shape)
    for number, (tokens, wanted, weights) in enumerate(rows):
        ids[number, : len(tokens)] = torch.tensor(tokens)
        targets[number, : len(wanted)] = torch.tensor(wanted)
        weights_of[number, : len(weights)] = torch.tensor(weights)
    features = pretrained.features([pcm for _, pcm in spoken], window_s)
    return Batch(features, ids, targets, weights_of)


def loss_of(model: Any, batch: Batch, encoded: Tensor | None = None) -> Tensor:
    """Return the weighted mean cross entropy of the targets."""
    device = next(model.parameters()).device
    if encoded is None:
        encoded = encode(model, batch.features.to(device))
    wanted = batch.targets != IGNORED
    logits = decode(model, batch.tokens.to(device), encoded, wanted.to(device)).float()
    each = nn.functional.cross_entropy(logits, batch.targets[wanted].to(device), reduction="none")
    weights = batch.weights[wanted].to(device)
    return (each * weights).sum() / weights.sum()


def batches(
    pretrained: Pretrained,
    utterances: Sequence[tuple[sound.Utterance, Pcm]],
    options: argparse.Namespace,
    rng: random.Random,
) -> Iterator[Batch]:
    """Yield endless batches of utterances of similar length; half have a context before them."""
    sounds = {each.file: pcm for each, pcm in utterances}
    order = sound.endless([each for each, _ in utterances], rng)
    while True:
        drawn = [next(order) for _ in range(options.batch * _SORTED)]
        drawn.sort(key=lambda each: len(sounds[each.file]))
        groups = [drawn[n : n + options.batch] for n in range(0, len(drawn), options.batch)]
        rng.shuffle(groups)
        for group in groups:
            contexts = [options.context if rng.random() < _CONTEXT_SHARE else "" for _ in group]
            spoken = [(each, sounds[each.file]) for each in group]
            yield make_batch(pretrained, spoken, contexts, options.window_s)


def score(
    pretrained: Pretrained,
    utterances: Sequence[tuple[sound.Utterance, Pcm]],
    options: argparse.Namespace,
) -> Score:
    """Return the model's score, decoding as the program does."""
    pretrained.model.eval()
    pairs: list[tuple[str, str]] = []
    losses: list[float] = []
    with torch.no_grad():
        for first in range(0, len(utterances), options.batch):
            group = utterances[first : first + options.batch]
            batch = make_batch(pretrained, group, [options.context] * len(group), options.window_s)
            encoded = encode(pretrained.model, batch.features.to(options.device))
            losses += [loss_of(pretrained.model, batch, encoded).item()] * len(group)
            heard = greedy(pretrained, encoded, options.context)
            pairs += [
                (each.text, pretrained.speech.text(tokens))
                for (each, _), tokens in zip(group, heard, strict=True)
            ]
    pretrained.model.train()
    return Score(round(word_error_rate(pairs), 4), round(sum(losses) / len(losses), 4))


class BestKeeper:
    """Keeps the additions with the best score in a file."""

    def __init__(self, path: Path, learning: Additions) -> None:
        self._path = path
        self._learning = learning
        self.best: Score | None = None
        if path.exists():
            saved = torch.load(path, weights_only=True)
            self.best = Score(saved["wer"], saved["loss"])

    def see(self, now: Score) -> None:
        """Save the current additions if no earlier score is better. Raises ModelError."""
        if self.best is not None and not now.is_better_than(self.best):
            return
        self.best = now
        state = {"additions": self._learning.state_dict(), "wer": now.wer, "loss": now.loss}
        fresh = self._path.with_suffix(".new")
        try:
            torch.save(state, fresh)
        except (OSError, RuntimeError) as error:
            fresh.unlink(missing_ok=True)
            raise ModelError(
                "checkpoint-unsaved",
                f"{self._path} cannot be written: {error}.",
                "Is the disk full? Make room and go on with --resume.",
            ) from error
        fresh.replace(self._path)


def run(options: argparse.Namespace) -> None:
    """Train as the options say. Raises StarkError."""
    require_device(options.device)  # before the sound is read, which takes minutes
    split = sound.divide(sound.read(options.sound, options.lang))
    training, development = readable(split.training), readable(few(split.development))
    if not training or not development:
        raise LearningError("sound-broken", f"No file in {options.sound} can be used.")
    pretrained = load(options.base, options.lang)
    _, learning = add_low_rank(pretrained, options)
    pretrained.model.to(options.device).train()
    if not options.resume:
        (options.out / BEST).unlink(missing_ok=True)
    keeper = BestKeeper(options.out / BEST, learning)
    count = sum(p.numel() for p in learning.parameters())
    hours = sum(len(pcm) for _, pcm in training) / 16_000 / 3600
    speakers = len({each.speaker for each, _ in training})
    print(
        f"{count / 1e6:.2f} M weights learn; {len(training)} utterances, {hours:.2f} h,"
        f" {speakers} speakers; {len(development)} choose the best", flush=True,
    )  # fmt: skip
    options.out.mkdir(parents=True, exist_ok=True)

    def evaluate() -> str:
        now = score(pretrained, development, options)
        keeper.see(now)
        return f"{now}; best {keeper.best}"

    if not options.resume:
        before = score(pretrained, development, options)
        keeper.see(before)  # additions that are never better than the base are not kept
        (options.out / "before.json").write_text(json.dumps(vars(before)) + "\n")
        print(f"before training: {before}", flush=True)
    stepper = torch.optim.AdamW(learning.parameters(), lr=options.rate, weight_decay=0.01)
    train(
        learning,
        [stepper],
        batches=lambda rng: batches(pretrained, training, options, rng),
        loss_of=lambda batch: loss_of(pretrained.model, batch),
        evaluate=evaluate,
        plan=Plan(
            options.out,
            options.minutes,
            options.evaluate_minutes,
            options.resume,
            rates=cosine_at,
            steps=options.steps,
        ),
    )
    before = Score(**json.loads((options.out / "before.json").read_text()))
    if keeper.best is None or not keeper.best.is_better_than(before):
        raise LearningError(
            "nothing-learnt",
            f"Nothing was learnt: no checkpoint hears better than the base, {before}.",
            "Collect more sound, or start it again with more --minutes; the model in use is as"
            " it was.",
        )
    figures = {"before": vars(before), "best": vars(keeper.best)}
    inputs = [options.base / "model.bin", options.sound / METADATA]
    write_manifest(
        options.out / "manifest.json",
        step="fine-tune-whisper",
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
