"""Judge measurements: do engines keep up with speech and fit into memory? Else what helps. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.config.schema import Settings
from pipeline.core.formats import human_size
from pipeline.models.registry import KEYS, Model, Role
from pipeline.tuning.plan import Figures, Machine

BUDGETS: Mapping[Role, float] = {"stt": 0.5, "marian": 0.2, "gemma": 0.7}
"""Limits of an engine's work, seconds for each second of speech.

A queue grows without end as its server's share of busy time nears 1; at 0.7 what comes at random
still waits about one service time (Pollaczek and Khinchine, M/D/1: r / 2(1 - r)). Whisper and
Marian share one thread, so they share the 0.7; Gemma has a thread of its own.
"""
CORES = 0.8
"""Share of the cores that all engines together may keep busy; the rest is for the system."""
BUSY, TOO_BUSY = 0.1, 0.4
"""Shares of the processor used by other programs: above the first there is a warning, above the
second the measurements are useless.
"""
HEADROOM_BYTES = 300_000_000
"""Reserve for growth during a service: displays, history, the engines' own buffers."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judgement, and in `fix` what to do about it; with `ok` that is only advice."""

    what: Role | str
    ok: bool
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    """A model's need of memory."""

    name: str
    role: Role
    need_bytes: int


def judge(
    role: Role, figures: Figures, settings: Settings, smaller: Model | None = None
) -> Verdict:
    """Judge whether an engine keeps up with speech.

    `smaller` is the model from `find_smaller`, to recommend if not.
    """
    budget, deadline_s = BUDGETS[role], settings.translate.final.deadline_s
    load = (
        f"busy {figures.busy:.1%} of the time while somebody speaks, at most {budget:.0%}; "
        f"the slowest final took {figures.slowest_s:.2f} s"
    )
    # Only the final translator has a deadline: past it the draft becomes the final.
    late = role == "gemma" and figures.slowest_s > deadline_s
    if figures.busy <= budget and not late:
        return Verdict(role, ok=True, message=f"{load}.")
    if late:
        load += f", and translate.final.deadline_s is {deadline_s:g}"
    if smaller is not None:
        fix = (
            f"{smaller.name} should keep up: `stark-translate models pull {smaller.name}`, then "
            f'{KEYS[role]} = "{smaller.name}".'
        )
    else:
        fix = {
            "stt": "No smaller model is known: this takes a quicker machine, or a GPU.",
            "marian": 'translate.partial.engine = "none" leaves the quick translation out.',
            "gemma": 'translate.final.engine = "marian" makes the finals with the quick one.',
        }[role]
    partial_ms = settings.vad.partial_ms
    if role == "stt" and partial_ms and figures.finals_busy < budget:
        # The rest goes to partials, whose number falls as the time between them grows.
        partials = figures.busy - figures.finals_busy
        # Work on partials goes with how many there are, and these with 1 / partial_ms.
        needed_ms = partial_ms * partials / (budget - figures.finals_busy)
        # Rarer partials would be of no use to anybody who reads.
        if needed_ms <= 4000:
            # Rounded up: a little less would be too much work again.
            fix += f" Or fewer partial captions: vad.partial_ms = {-int(-needed_ms // 100) * 100}."
    return Verdict(role, ok=False, message=f"{load}: it cannot keep up.", fix=fix)


def judge_together(figures: Mapping[Role, Figures], machine: Machine) -> Verdict:
    """Judge whether the cores are enough for all engines together."""
    used = {role: each.cores for role, each in figures.items()}
    total, most = sum(used.values()), CORES * machine.cores
    load = f"{total:.2f} of {machine.cores} cores busy, at most {most:.2f}"
    if total <= most:
        return Verdict("together", ok=True, message=f"{load}.")
    largest = max(used, key=lambda role: used[role])
    fix = f"Choose a smaller {KEYS[largest]}, which takes the most."
    return Verdict("together", ok=False, message=f"{load}: they cannot all keep up.", fix=fix)


def judge_memory(needs: Sequence[Need], machine: Machine) -> Verdict:
    """Judge whether the models in use fit into the free memory."""
    total = sum(need.need_bytes for need in needs) + HEADROOM_BYTES
    parts = ", ".join(f"{need.name} {human_size(need.need_bytes)}" for need in needs)
    free = human_size(machine.ram_free_bytes)
    said = f"a service needs about {human_size(total)} ({parts}); {free} are free"
    if total <= machine.ram_free_bytes:
        return Verdict("memory", ok=True, message=f"{said}.")
    fix = "Close other programs, or choose smaller models."
    return Verdict("memory", ok=False, message=f"{said}.", fix=fix)


def judge_processor(machine: Machine) -> list[Verdict]:
    """Judge other programs' load; no verdict if it was too small to spoil the figures."""
    if machine.busy <= BUSY:
        return []
    ok = machine.busy <= TOO_BUSY
    message = f"other programs took {machine.busy:.0%} of it: the figures look worse than it is"
    if not ok:
        message += ", and cannot be compared"
    return [Verdict("processor", ok, f"{message}.", "Close what else runs, and repeat.")]


def judge_gpu(machine: Machine) -> list[Verdict]:
    """Return what keeps the engines from using a GPU that is there."""
    if not machine.gpus:
        return []
    verdicts = []
    if not machine.llama_gpu:
        verdicts.append(
            Verdict(
                "GPU",
                ok=True,
                message="llama.cpp was built without it, and the final translator cannot use it.",
                fix="With the CUDA toolkit installed: CMAKE_ARGS=-DGGML_CUDA=on pip install "
                "--force-reinstall --no-cache-dir --no-deps llama-cpp-python",
            )
        )
    if not machine.cuda:
        verdicts.append(
            Verdict(
                "GPU",
                ok=True,
                message="CTranslate2 finds no CUDA device, and the recognizer cannot use it.",
                fix="Check NVIDIA's driver; cuBLAS of CUDA 12 is needed too.",
            )
        )
    return verdicts


def find_smaller(
    role: Role, figures: Figures, size_bytes: int, settings: Settings, known: Sequence[Model]
) -> Model | None:
    """Return the largest known model expected to keep up when one of `size_bytes` does not.

    Work is taken to grow with the size of the file: each token reads all weights once.
    """
    share = max(
        figures.busy / BUDGETS[role],
        figures.slowest_s / settings.translate.final.deadline_s if role == "gemma" else 0.0,
    )
    fit = [
        model
        for model in known
        if model.role == role and model.size_bytes > 0 and model.size_bytes * share <= size_bytes
    ]
    return max(fit, key=lambda model: model.size_bytes, default=None)
