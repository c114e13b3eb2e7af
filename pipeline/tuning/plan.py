"""Plan the settings to try on a machine, and choose the best by their measurements. Pure.

Work is counted in seconds for each second of speech, without pauses: captions must keep up with a
preacher who never stops, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pipeline.config.schema import Settings
from pipeline.models.registry import Role

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
            # On the CPU, where it counts its threads by itself: measured as it is set.
            return [Step(({"stt.threads": stt.threads},), on_cpu=True)]
        own = stt.compute_type if stt.device == "cpu" else "int8"
        places: list[Values] = [{"stt.device": "cpu", "stt.compute_type": own}]
        if machine.cuda:
            places.append({"stt.device": "cuda", "stt.compute_type": "int8_float16"})
        return [Step(tuple(places)), _threads("stt.threads", machine.cores, stt.threads)]
    # Half of the layers, for a GPU whose memory is too small for all.
    on_gpu = dict.fromkeys([0, layers // 2, -1]) if machine.llama_gpu else [0]
    # llama.cpp's threads wait by spinning, and the recognizer works at the same time.
    half = max(1, machine.cores // 2)
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
    # The cheapest come first, so the first that is quick enough is the one to take.
    quickest = min(figures.busy for _, figures in worked)
    return next(trial for trial, figures in worked if figures.busy <= quickest * _NEAR)


def quicker(one: Trial, other: Trial) -> Trial:
    """Return the quicker of two trials of the same settings: disturbances only ever add time."""
    both = [trial for trial in (one, other) if trial.figures is not None]
    return min(both, key=lambda trial: trial.figures.busy if trial.figures else 0.0, default=one)


def _each(key: str, values: Sequence[Value]) -> Step:
    return Step(tuple({key: value} for value in values))


def _threads(key: str, most: int, now: int) -> Step:
    """Return doubling numbers of threads up to `most`, and what is set now."""
    most = min(most, _MOST_THREADS)
    counts = {1 << power for power in range(most.bit_length()) if 1 << power <= most}
    return Step(tuple({key: count} for count in sorted(counts | {most, now})), on_cpu=True)
