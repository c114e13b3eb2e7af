"""Propose models for a machine on which nothing has been measured yet. Pure.

Calculated from the registry's sizes: `tune` measures afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.models.registry import STARTER, Model, Role, shipped
from pipeline.tuning.budget import (
    RAM_BANDWIDTH,
    TOKENS_NEEDED,
    Need,
    Place,
    Writing,
    fits,
    hearing_needs,
    known_gpu,
    level_of,
)
from pipeline.tuning.plan import Machine

_COST_PER_BYTE: Final = 0.41 / 147_882_941
"""Processor seconds for a second of speech, by a recognizer's size: Whisper base's, measured."""
_SHARE: Final = 0.55
"""Of the cores that the recognizer may keep busy: translators and displays need the others."""
_CORES_FOR_DRAFT = 4
_CORES_FOR_FINAL = 8
"""From here on a processor is quick enough for a 4B model (docs/MODELS.md)."""
_CONTEXT, _BATCH = 2048, 128


@dataclass(frozen=True, slots=True)
class Proposal:
    """Names of models by role; without a role for which none knows the languages."""

    models: Mapping[Role, str]
    on_gpu: bool = False
    """Whether recognizer and final translator are to use the GPU."""


def propose(
    known: Iterable[Model], source: str, targets: Sequence[str], machine: Machine
) -> Proposal:
    """Return the best models that probably fit and keep up with fluent speech on this machine.

    `known` are the registry's models; those that the starter was measured to beat are left out. A
    role for which none fits gets the starter, where that knows the languages.
    """
    usable = [
        model
        for model in known
        if not model.is_behind_starter and all(model.can(source, target) for target in targets)
    ]
    on_gpu = bool(machine.gpus) and machine.cuda and machine.llama_gpu
    gpu = max(machine.gpus, key=lambda each: each.free_bytes) if on_gpu else None
    of_gpu = known_gpu(gpu.name) if gpu else None
    bandwidth = (of_gpu.bandwidth if of_gpu else None) if gpu else RAM_BANDWIDTH
    free = gpu.free_bytes if gpu else 0
    place = Place("here", free, machine.ram_free_bytes, bandwidth, on_gpu)

    hears = max(
        (model for model in usable if model.role == "stt" and _can_hear(model, place, machine)),
        key=lambda model: model.size_bytes,
        default=None,
    )
    taken: list[Need] = list(_hearing(hears, place)) if hears else []
    drafts = (model for model in usable if model.role == "marian")
    draft = next(drafts, None) if machine.cores >= _CORES_FOR_DRAFT else None
    if draft:
        taken.append(Need(draft.name, draft.memory_bytes, "ram"))
    finals = list(_finals(usable, taken, place, machine, len(targets)))
    # A GPU has room and pace for the largest; a processor is doing well with the smallest.
    best = (max if on_gpu else min)(finals, key=lambda model: model.size_bytes, default=None)
    models: dict[Role, str] = {
        "stt": hears.name if hears else STARTER,
        "marian": draft.name if draft else starter("marian", source, targets),
        "gemma": best.name if best else starter("gemma", source, targets),
    }
    return Proposal({role: name for role, name in models.items() if name}, on_gpu)


def starter(role: Role, source: str, targets: Sequence[str]) -> str:
    """Return the name of the model that ships for this role, "" if it lacks the languages."""
    known = shipped(role, STARTER)
    wanted = {source} if role == "stt" else {f"{source}-{target}" for target in targets}
    return STARTER if known is not None and wanted <= set(known.languages) else ""


def _can_hear(model: Model, place: Place, machine: Machine) -> bool:
    keeps_up = place.has_gpu or model.size_bytes * _COST_PER_BYTE <= machine.cores * _SHARE
    return keeps_up and fits(
        _hearing(model, place), ram_bytes=place.ram_bytes, gpu_bytes=place.gpu_bytes
    )


def _hearing(model: Model, place: Place) -> Sequence[Need]:
    if place.has_gpu:
        return hearing_needs(model.name, model.size_bytes, "int8", on_gpu=True)
    return [Need(model.name, model.memory_bytes, "ram")]  # with what loading takes for a moment


def _finals(
    usable: Iterable[Model], taken: Sequence[Need], place: Place, machine: Machine, languages: int
) -> Iterator[Model]:
    """Yield the final translators that fit beside the other models and probably keep up."""
    if not place.has_gpu and machine.cores < _CORES_FOR_FINAL:
        return
    for model in usable:
        if model.role == "gemma":
            final = Writing(model.name, model.size_bytes, _CONTEXT, _BATCH, place.has_gpu)
            level = level_of(final, taken, place)
            # Of a GPU that nobody knows no pace can be told.
            least, most = level.tokens_per_second or (TOKENS_NEEDED * languages,) * 2
            pace = least if place.has_gpu else (least + most) / 2
            if level.fits and pace >= TOKENS_NEEDED * languages:
                yield model
