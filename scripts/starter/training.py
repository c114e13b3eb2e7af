"""The training loop that the translators share: its clock, rates, checkpoints, log and resume.

The rate follows elapsed time, not steps, so that a training ends well whenever it must end: a
short warm-up, then linear to nearly zero. Time spent before a resume counts.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

WARM_UP = 0.02
LAST_RATE = 0.01
LABEL_SMOOTHING = 0.1
REPORT_S = 30.0
SAVE_S = 180.0


@dataclass(frozen=True)
class Plan:
    """How long to train (`minutes` of wall time, earlier runs counted), where, and from what."""

    directory: Path
    minutes: float
    evaluate_minutes: float = 10.0
    resume: bool = False
    clip: float = 1.0
    seed: int = 1


def rate_at(progress: float) -> float:
    """Share of the peak rate at a progress from 0 to 1."""
    if progress < WARM_UP:
        return max(progress, 0.02 * WARM_UP) / WARM_UP
    return max(LAST_RATE, (1.0 - progress) / (1.0 - WARM_UP))


def smoothed_loss(logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Mean cross entropy of logits (count, vocabulary), targets smoothed by LABEL_SMOOTHING."""
    logits = logits.float()
    wanted = logits.gather(1, targets[:, None])[:, 0]
    smooth = (1 - LABEL_SMOOTHING) * wanted + LABEL_SMOOTHING * logits.mean(-1)
    return ((logits.logsumexp(-1) - smooth) * weights).sum() / weights.sum()


def to(batch: Any, device: str) -> Any:
    """A dataclass of tensors, and of such dataclasses, moved to a device."""
    moved = {
        name: value.to(device) if isinstance(value, Tensor) else to(value, device)
        for name, value in vars(batch).items()
    }
    return type(batch)(**moved)


def train(
    model: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    batches: Callable[[random.Random], Iterator[Any]],
    loss_of: Callable[[Any], Tensor],
    evaluate: Callable[[], str],
    plan: Plan,
) -> None:
    """Train until the plan's time is over; SIGTERM saves and ends early, to be resumed.

    `batches` yields batches without end; `loss_of` gives the mean loss of one; `evaluate` gives
    a line for the log."""
    plan.directory.mkdir(parents=True, exist_ok=True)
    checkpoint = plan.directory / "checkpoint.pt"
    elapsed_s, step, average = 0.0, 0, 0.0
    if plan.resume:
        saved = torch.load(checkpoint, weights_only=False, map_location="cpu")
        model.load_state_dict(saved["model"])
        for optimizer, state in zip(optimizers, saved["optimizers"], strict=True):
            optimizer.load_state_dict(state)
        elapsed_s, step, average = saved["elapsed_s"], saved["step"], saved["loss"]
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
    torch.manual_seed(plan.seed + step)
    stop = _StopFlag()
    began = time.monotonic() - elapsed_s
    reported = saved_at = evaluated = elapsed_s
    reported_step = step
    for batch in batches(random.Random(plan.seed + step)):
        progress = elapsed_s / (60 * plan.minutes)
        if progress >= 1.0 or stop:
            break
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["initial_lr"] * rate_at(progress)
        loss = loss_of(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        step += 1
        keep = min(0.98, 1 - 1 / step)
        average = keep * average + (1 - keep) * loss.item()
        elapsed_s = time.monotonic() - began
        if elapsed_s - reported >= REPORT_S:
            pace = 60 * (step - reported_step) / (elapsed_s - reported)
            note = f"step {step} ({pace:.0f}/min) loss {average:.3f} rate {rate_at(progress):.2f}"
            meter = tqdm.format_meter(
                int(elapsed_s), int(60 * plan.minutes), elapsed_s, ncols=60, ascii=True, unit="s"
            )
            print(meter, note, flush=True)
            reported, reported_step = elapsed_s, step
        if elapsed_s - saved_at >= SAVE_S:
            _save(checkpoint, model, optimizers, elapsed_s, step, average)
            saved_at = elapsed_s
        if elapsed_s - evaluated >= 60 * plan.evaluate_minutes:
            print(f"evaluation at {elapsed_s / 60:.1f} min: {evaluate()}", flush=True)
            evaluated = elapsed_s
    _save(checkpoint, model, optimizers, elapsed_s, step, average)
    print(f"stopped at {elapsed_s / 60:.1f} min, step {step}: {evaluate()}", flush=True)


def _save(
    path: Path,
    model: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    elapsed_s: float,
    step: int,
    loss: float,
) -> None:
    state = {
        "model": model.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in optimizers],
        "elapsed_s": elapsed_s,
        "step": step,
        "loss": loss,
    }
    fresh = path.with_suffix(".new")
    torch.save(state, fresh)
    fresh.replace(path)  # a kill in the middle of saving must not cost the last good checkpoint


class _StopFlag:
    """True once SIGTERM or SIGINT has come."""

    def __init__(self) -> None:
        self._stop = False
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self._set)

    def _set(self, *_: object) -> None:
        self._stop = True

    def __bool__(self) -> bool:
        return self._stop
