"""The training loop that the translators share: its clock, rates, checkpoints, log and resume.

The learning rate follows elapsed time, not steps: a short warm-up, then a linear decay to nearly
zero. So a training ends well at any time limit. Time spent before a resume counts.
"""

from __future__ import annotations

import argparse
import functools
import math
import random
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from tqdm import tqdm

from pipeline.cli.options import number
from pipeline.core.errors import LearningError, ModelError
from training.data import corpora
from training.models import steps

MINUTES = number(float, 0.001, 100_000)
"""The type of an option that takes minutes."""
WARM_UP = 0.02
LAST_RATE = 0.01
LABEL_SMOOTHING = 0.1
REPORT_S = 30.0
SAVE_S = 180.0


def parser(description: str, minutes: float) -> argparse.ArgumentParser:
    """Return a parser with the options that the trainers of both translators share."""
    options = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    corpora.add_options(options)
    options.add_argument("--out", type=Path, required=True, help="checkpoints and vocabulary")
    options.add_argument(
        "--minutes", type=MINUTES, default=minutes, help="in all, resumes included"
    )
    options.add_argument("--steps", type=int, default=0, help="ends then, if before --minutes")
    options.add_argument("--evaluate-minutes", type=MINUTES, default=10.0)
    options.add_argument("--resume", action="store_true", help="go on from --out")
    options.add_argument("--vocabulary", type=int, default=8000, help="pieces")
    options.add_argument("--muon-rate", type=float, default=2e-3, help="peak, hidden matrices")
    options.add_argument("--adam-rate", type=float, default=2e-3, help="peak, all else")
    options.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--no-compile", dest="compile", action="store_false")
    return options


def require_device(device: str) -> None:
    """Check that torch can use the device. Raises LearningError (gpu-unavailable)."""
    if device == "cuda" and not torch.cuda.is_available():
        raise LearningError(
            "gpu-unavailable",
            f"--device cuda: torch {torch.__version__} finds no GPU here.",
            "Check NVIDIA's driver, install torch's build for CUDA, or train with --device cpu.",
        )


def optimizers(
    model: nn.Module,
    layers: str,
    muon_rate: float,
    adam_rate: float,
    *,
    goes_on: bool = False,
    is_new: Callable[[str], bool] = lambda _: True,
    old_share: float = 1.0,
) -> list[torch.optim.Optimizer]:
    """Use Muon (Jordan et al., 2024, kellerjordan.github.io/posts/muon) for the matrices whose name
    contains `layers`, and AdamW for all else. Muon reaches a loss in fewer steps than AdamW alone.
    Muon always computes in bfloat16: on a CPU without it that takes 15 seconds a step, and all the
    rest takes 4. There AdamW trains everything, at a tenth of the rate if the model `goes_on`: at
    the full rate it forgets what it knew.
    Parameters that are not `is_new` use `old_share` of the rates."""

    def groups(rate: float, *kinds: bool) -> list[dict[str, Any]]:
        found: dict[bool, list[nn.Parameter]] = defaultdict(list)
        for name, parameter in model.named_parameters():
            if (parameter.ndim == 2 and layers in name) in kinds:
                found[is_new(name)].append(parameter)
        return [
            {"params": some, "lr": rate if new else old_share * rate} for new, some in found.items()
        ]

    adam = functools.partial(
        torch.optim.AdamW, lr=adam_rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True
    )
    if product_type(next(model.parameters()).device.type) != torch.bfloat16:
        return [adam(groups(adam_rate / 10 if goes_on else adam_rate, True, False))]
    muon = torch.optim.Muon(
        groups(muon_rate, True), lr=muon_rate, weight_decay=0.01,
        adjust_lr_fn="match_rms_adamw",
    )  # fmt: skip
    return [muon, adam(groups(adam_rate, False))]


def rate_at(progress: float) -> float:
    """Share of the peak rate at a progress from 0 to 1: a short warm-up, then linear."""
    if progress < WARM_UP:
        return max(progress, 0.02 * WARM_UP) / WARM_UP
    return max(LAST_RATE, (1.0 - progress) / (1.0 - WARM_UP))


def cosine_at(progress: float) -> float:
    """Share of the peak rate at a progress from 0 to 1: a short warm-up, then half a cosine."""
    if progress < WARM_UP:
        return max(progress, 0.02 * WARM_UP) / WARM_UP
    falling = (progress - WARM_UP) / (1.0 - WARM_UP)
    return max(LAST_RATE, 0.5 + 0.5 * math.cos(math.pi * min(1.0, falling)))


@dataclass(frozen=True)
class Plan:
    """How long to train (`minutes` of wall time, earlier runs counted), where, and from what.

    When several processes train the same weights, only the one that `leads` saves, evaluates and
    reports. The others begin at `elapsed_s`.
    """

    directory: Path
    minutes: float
    evaluate_minutes: float = 10.0
    resume: bool = False
    clip: float = 1.0
    seed: int = 1
    leads: bool = True
    elapsed_s: float = 0.0
    rates: Callable[[float], float] = rate_at
    """Share of the peak rate at a progress from 0 to 1."""
    steps: int = 0
    """Most steps, earlier runs included; training may end earlier by time. 0: by time alone."""
    level: str = ""
    """Quantization level that the model is trained for, one of `models.steps`; "" for none."""

    def progress(self, elapsed_s: float, step: int) -> float:
        """Return how much of the training is done, 0..1 and above."""
        by_steps = step / self.steps if self.steps else 0.0
        return max(by_steps, elapsed_s / (60 * self.minutes))


def smoothed_loss(logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Mean cross entropy of logits (count, vocabulary), targets smoothed by LABEL_SMOOTHING."""
    logits = logits.float()
    wanted = logits.gather(1, targets[:, None])[:, 0]
    smooth = (1 - LABEL_SMOOTHING) * wanted + LABEL_SMOOTHING * logits.mean(-1)
    return ((logits.logsumexp(-1) - smooth) * weights).sum() / weights.sum()


def half_precision(device: str) -> torch.autocast:
    """Compute in bfloat16 where the machine has instructions for it.

    A CPU without them does it in software, several times slower than in float32.
    """
    return torch.autocast(device, torch.bfloat16, enabled=product_type(device) == torch.bfloat16)


def product_type(device: str) -> torch.dtype:
    """Return the number type, of those that fit training, that this machine multiplies fastest."""
    able = torch.cpu.get_capabilities()
    has_half = device != "cpu" or bool(able.get("avx512_bf16") or able.get("amx_bf16"))
    return torch.bfloat16 if has_half else torch.float32


def multiplies_int8() -> bool:
    """Whether int8 products are faster here than float32 ones.

    PyTorch's int8 product takes a quarter of the time with AVX-512 VNNI, 20 times as long without.
    """
    return bool(torch.cpu.get_capabilities().get("avx512_vnni"))


class Passes(IterableDataset[Any]):  # type: ignore[misc]  # torch.utils.data has no types
    """Batches that `makers` processes make in parallel, each with its own seed.

    A GPU learns faster than one process mixes. With one maker the trainer makes them itself.
    """

    def __init__(self, make: Callable[[random.Random], Iterator[Any]], makers: int) -> None:
        super().__init__()
        self._make, self._makers = make, makers

    def __call__(self, rng: random.Random) -> Iterator[Any]:
        """Yield batches without end."""
        if self._makers == 1:
            return self._make(rng)
        self._seed = rng.randrange(2**30)
        return iter(DataLoader(self, batch_size=None, num_workers=self._makers, prefetch_factor=8))

    def __iter__(self) -> Iterator[Any]:
        """Yield the batches of one process."""
        worker = get_worker_info()
        return self._make(random.Random(self._seed + (worker.id if worker else 0)))


def to(batch: Any, device: str) -> Any:
    """Return a dataclass of tensors, nested ones included, moved to a device."""
    moved = {
        name: value.to(device) if isinstance(value, Tensor) else to(value, device)
        for name, value in vars(batch).items()
    }
    return type(batch)(**moved)


def train(
    model: nn.Module,
    steppers: list[torch.optim.Optimizer],
    *,
    batches: Callable[[random.Random], Iterator[Any]],
    loss_of: Callable[[Any], Tensor],
    evaluate: Callable[[], str],
    plan: Plan,
) -> None:
    """Train until the plan's time is over; SIGTERM saves and ends early, so that it can resume.

    `batches` yields batches without end; `loss_of` returns the mean loss of one; `evaluate` returns
    a line for the log. Raises ModelError when the loss is not a number any more or a checkpoint
    cannot be written; the last good checkpoint stays."""
    plan.directory.mkdir(parents=True, exist_ok=True)
    checkpoint = plan.directory / "checkpoint.pt"
    elapsed_s, step, average = plan.elapsed_s, 0, 0.0
    shares = None
    groups = [group for stepper in steppers for group in stepper.param_groups]
    rates = [group["lr"] for group in groups]
    if plan.resume:
        saved = _take_up(checkpoint, model, steppers)
        elapsed_s, step, average = saved["elapsed_s"], saved["step"], saved["loss"]
        shares = saved.get("shares")
    # The loaded state has the rates of the earlier run; a resumed run may use other rates.
    groups = [group for stepper in steppers for group in stepper.param_groups]
    storing = steps.Storing(model, plan.level, shares)

    def save() -> None:
        state = {"model": model.state_dict(), "optimizers": [s.state_dict() for s in steppers]}
        figures: dict[str, Any] = {"elapsed_s": elapsed_s, "step": step, "loss": average}
        figures |= {"level": storing.level, "shares": storing.shares}
        _save(checkpoint, state | figures)

    def as_stored() -> str:
        with storing.held():
            return evaluate()

    torch.manual_seed(plan.seed + step)
    stop = _StopFlag()
    log = _Log(plan, elapsed_s, step)
    began = time.monotonic() - elapsed_s
    saved_at = elapsed_s
    for batch in batches(random.Random(plan.seed + step)):
        progress = plan.progress(elapsed_s, step)
        if progress >= 1.0 or stop:
            break
        for group, rate in zip(groups, rates, strict=True):
            group["lr"] = rate * plan.rates(progress)
        with storing.held():
            loss = loss_of(batch)
            if not torch.isfinite(loss):
                raise _diverged(step, checkpoint)
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
        for stepper in steppers:
            stepper.step()
            stepper.zero_grad(set_to_none=True)
        step += 1
        average += (loss.item() - average) * max(0.02, 1 / step)
        elapsed_s = time.monotonic() - began
        if not plan.leads:
            continue
        if elapsed_s - saved_at >= SAVE_S:
            save()
            saved_at = elapsed_s
        log.tell(elapsed_s, step, average, as_stored)
    if plan.leads:
        save()
        print(f"stopped at {elapsed_s / 60:.1f} min, step {step}: {as_stored()}", flush=True)


class _Log:
    """Print the progress of a training."""

    def __init__(self, plan: Plan, elapsed_s: float, step: int) -> None:
        self._plan = plan
        self._reported = self._evaluated = elapsed_s
        self._step = step

    def tell(self, elapsed_s: float, step: int, loss: float, evaluate: Callable[[], str]) -> None:
        """Print pace and loss, and the result of `evaluate`, when each is due."""
        minutes = self._plan.minutes
        if elapsed_s - self._reported >= REPORT_S:
            pace = 60 * (step - self._step) / (elapsed_s - self._reported)
            meter = tqdm.format_meter(
                int(elapsed_s), int(60 * minutes), elapsed_s, ncols=60, ascii=True, unit="s"
            )
            rate = self._plan.rates(self._plan.progress(elapsed_s, step))
            print(
                meter, f"step {step} ({pace:.0f}/min) loss {loss:.3f} rate {rate:.2f}", flush=True
            )
            self._reported, self._step = elapsed_s, step
        if elapsed_s - self._evaluated >= 60 * self._plan.evaluate_minutes:
            print(f"evaluation at {elapsed_s / 60:.1f} min: {evaluate()}", flush=True)
            self._evaluated = elapsed_s


def _take_up(
    checkpoint: Path, model: nn.Module, steppers: list[torch.optim.Optimizer]
) -> dict[str, Any]:
    """Load weights and optimizer moments; return the whole checkpoint."""
    saved: dict[str, Any] = torch.load(checkpoint, weights_only=False, map_location="cpu")
    model.load_state_dict(saved["model"])
    # Another machine may use other optimizers (see `optimizers`): then the moments start at zero.
    if len(saved["optimizers"]) == len(steppers):
        for stepper, state in zip(steppers, saved["optimizers"], strict=True):
            stepper.load_state_dict(state)
    return saved


def _save(path: Path, state: dict[str, Any]) -> None:
    fresh = path.with_suffix(".new")
    try:
        torch.save(state, fresh)
    except (OSError, RuntimeError) as error:
        fresh.unlink(missing_ok=True)
        raise ModelError(
            "checkpoint-unsaved",
            f"{path} cannot be written: {error}.",
            "Is the disk full? Make room and go on with --resume.",
        ) from error
    fresh.replace(path)  # a kill during saving must not destroy the last good checkpoint


def _diverged(step: int, checkpoint: Path) -> ModelError:
    kept = f"{checkpoint} is from before." if checkpoint.exists() else "Nothing was saved yet."
    return ModelError(
        "training-diverged",
        f"The loss of step {step} is no number. {kept}",
        "Train with a lower rate; --resume goes on from the checkpoint.",
    )


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
