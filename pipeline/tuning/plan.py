"""Plan the settings to try on a machine, and choose the best by their measurements. Pure.

Work is counted in seconds for each second of speech, without pauses: captions must keep up with a
preacher who never stops, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pipeline.config.schema import Settings
from pipeline.core.formats import human_size
from pipeline.models.registry import KEYS, Model, Role

Value: TypeAlias = bool | int | float | str
Values: TypeAlias = Mapping[str, Value]
"""Settings by key path."""

_NEAR = 1.1
"""Trials within a tenth of the quickest count as equal: less is noise, or not worth its cost."""
_MOST_THREADS = 16
_BATCHES = (128, 512)
_DRAFTS = (0, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU and its memory."""

    name: str
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Machine:
    """The resources of a machine."""

    cpu: str
    cores: int
    """Physical cores that this process may use."""
    ram_bytes: int
    ram_free_bytes: int
    gpus: tuple[Gpu, ...] = ()
    cuda: bool = False
    """Whether CTranslate2 (Whisper) can use a GPU."""
    llama_gpu: bool = False
    """Whether llama.cpp (Gemma) was built for a GPU and finds one."""
    busy: float = 0.0
    """Share of the processor that other programs took before the measuring, 0..1."""


@dataclass(frozen=True, slots=True)
class Step:
    """Alternative values of the same keys, the cheapest first."""

    alternatives: tuple[Values, ...]
    on_cpu: bool = False
    """True if this matters only while the CPU does the work."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The measurements of a trial. `busy` and `cores` are for each second of speech."""

    busy: float
    """Seconds of work."""
    cores: float
    """Seconds of processor time: the number of cores kept busy during speech."""
    slowest_s: float
    """Seconds of the slowest final."""
    finals_busy: float = 0.0
    """Seconds of work for the finals only."""


@dataclass(frozen=True, slots=True)
class Trial:
    """An engine tried with certain settings. `figures` is None if a problem prevented it."""

    role: Role
    values: Values
    """All tuned settings of the role."""
    figures: Figures | None = None
    problem: str = ""
    tried: Values = field(default_factory=dict)
    """The settings that this trial varied."""


def steps(role: Role, settings: Settings, machine: Machine, layers: int = 0) -> list[Step]:
    """Return the steps to try for a role, in order. `layers` is the number of Gemma's layers."""
    final = settings.translate.final
    if role == "marian":
        now = settings.translate.partial.threads
        return [_threads("translate.partial.threads", machine.cores, now)]
    if role == "stt":
        stt = settings.stt
        if stt.local_engine != "whisper":
            # It runs on the CPU and chooses its threads itself: measured as it is set.
            return [Step(({"stt.threads": stt.threads},), on_cpu=True)]
        # A compute type for a GPU, such as float16, may be impossible on the processor.
        own = stt.compute_type if stt.device == "cpu" else "int8"
        places: list[Values] = [{"stt.device": "cpu", "stt.compute_type": own}]
        if machine.cuda:
            places.append({"stt.device": "cuda", "stt.compute_type": "int8_float16"})
        return [Step(tuple(places)), _threads("stt.threads", machine.cores, stt.threads)]
    # Half of the layers, for a GPU whose memory is too small for all.
    on_gpu = dict.fromkeys([0, layers // 2, -1]) if machine.llama_gpu else [0]
    # llama.cpp's threads wait by spinning, and the recognizer works at the same time.
    half = max(1, machine.cores // 2)
    # Without Marian there is no draft to guess tokens from.
    drafts = _DRAFTS if settings.translate.partial.engine == "marian" else (0,)
    return [
        _each("translate.final.gpu_layers", list(on_gpu)),
        _threads("translate.final.threads", half, final.threads),
        _each("translate.final.batch", sorted({*_BATCHES, final.batch})),
        _each("translate.final.draft", sorted({*drafts, final.draft} if len(drafts) > 1 else {0})),
    ]


def on_gpu(values: Values) -> bool:
    """Return whether these settings use a GPU."""
    return values.get("stt.device") == "cuda" or values.get("translate.final.gpu_layers", 0) != 0


def choose(trials: Sequence[Trial]) -> Trial | None:
    """Return the first trial that is nearly as quick as the quickest; None if none worked."""
    worked = [(trial, trial.figures) for trial in trials if trial.figures is not None]
    if not worked:
        return None
    # The cheapest come first, so the first that is quick enough is the best choice.
    quickest = min(figures.busy for _, figures in worked)
    return next(trial for trial, figures in worked if figures.busy <= quickest * _NEAR)


def quicker(one: Trial, other: Trial) -> Trial:
    """Return the quicker of two trials of the same settings, since disturbances only add time."""
    both = [trial for trial in (one, other) if trial.figures is not None]
    return min(both, key=lambda trial: trial.figures.busy if trial.figures else 0.0, default=one)


def _each(key: str, values: Sequence[Value]) -> Step:
    return Step(tuple({key: value} for value in values))


def _threads(key: str, most: int, now: int) -> Step:
    """Return doubling numbers of threads up to `most`, and the current setting."""
    most = min(most, _MOST_THREADS)
    # Doubled each time, since the gain of one more thread falls with their number.
    counts = {1 << power for power in range(most.bit_length()) if 1 << power <= most}
    return Step(tuple({key: count} for count in sorted(counts | {most, now})), on_cpu=True)


BUDGETS: Mapping[Role, float] = {"stt": 0.5, "marian": 0.2, "gemma": 0.7}
"""Limits of an engine's work, seconds for each second of speech.

A queue grows without limit as its server's busy share nears 1. At 0.7, random arrivals still wait
about one service time (Pollaczek and Khinchine, M/D/1: r / 2(1 - r)). Whisper and Marian share one
thread, so they share the 0.7; Gemma has its own thread.
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
    """A judgement. `fix` tells what to do about it; with `ok` it is only advice."""

    what: Role | str
    ok: bool
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    """A model's memory need."""

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
        # Work on partials is proportional to their number, which is proportional to 1 / partial_ms.
        needed_ms = partial_ms * partials / (budget - figures.finals_busy)
        # Rarer partials would be useless to readers.
        if needed_ms <= 4000:
            # Rounded up, since a smaller value would be too much work again.
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
    # Compared with free memory, since other programs keep theirs.
    total = sum(need.need_bytes for need in needs) + HEADROOM_BYTES
    parts = ", ".join(f"{need.name} {human_size(need.need_bytes)}" for need in needs)
    free = human_size(machine.ram_free_bytes)
    said = f"a service needs about {human_size(total)} ({parts}); {free} are free"
    if total <= machine.ram_free_bytes:
        return Verdict("memory", ok=True, message=f"{said}.")
    fix = "Close other programs, or choose smaller models."
    return Verdict("memory", ok=False, message=f"{said}.", fix=fix)


def judge_processor(machine: Machine) -> list[Verdict]:
    """Judge other programs' load; no verdict if it was too small to distort the figures."""
    if machine.busy <= BUSY:
        return []
    ok = machine.busy <= TOO_BUSY
    message = f"other programs took {machine.busy:.0%} of it: the figures look worse than it is"
    if not ok:
        message += ", and cannot be compared"
    return [Verdict("processor", ok, f"{message}.", "Close what else runs, and repeat.")]


def judge_gpu(machine: Machine) -> list[Verdict]:
    """Return the reasons why the engines cannot use an existing GPU."""
    if not machine.gpus:
        return []
    verdicts = []
    if not machine.llama_gpu:
        message = "llama.cpp was built without it, and the final translator cannot use it."
        fix = "Install a build for it: docs/MODELS.md, below `tune`, has the command."
        verdicts.append(Verdict("GPU", ok=True, message=message, fix=fix))
    if not machine.cuda:
        message = "CTranslate2 finds no CUDA device, and the recognizer cannot use it."
        fix = "Check NVIDIA's driver; cuBLAS of CUDA 12 is needed too."
        verdicts.append(Verdict("GPU", ok=True, message=message, fix=fix))
    return verdicts


def find_smaller(
    role: Role, figures: Figures, size_bytes: int, settings: Settings, known: Sequence[Model]
) -> Model | None:
    """Return the largest known model expected to keep up when one of `size_bytes` does not.

    It assumes that work grows with the file's size, since each token reads all weights once.
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
    # The largest one that keeps up is the best.
    return max(fit, key=lambda model: model.size_bytes, default=None)
