"""The result of a tuning: chosen values, verdicts, the memory that models need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.config.loader import leaves
from pipeline.config.schema import Settings
from pipeline.models.library import ModelLibrary
from pipeline.tuning.plan import Machine, Trial, Values
from pipeline.tuning.trials import Tuning, model_name, model_path
from pipeline.tuning.verdicts import (
    Need,
    Verdict,
    find_smaller,
    judge,
    judge_gpu,
    judge_memory,
    judge_processor,
    judge_together,
)


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result. Unless `complete` it was interrupted, and holds what was done by then."""

    complete: bool
    machine: Machine
    trials: Sequence[Trial]
    chosen: Values
    changes: Values
    """The chosen values that differ from the settings."""
    verdicts: Sequence[Verdict]
    in_use: Sequence[Need]
    """The measured memory of the models in use."""

    @property
    def ok(self) -> bool:
        """True if everything was tried, keeps up and fits."""
        return self.complete and all(verdict.ok for verdict in self.verdicts)


def conclude(done: Tuning, settings: Settings, machine: Machine, *, complete: bool) -> Tuned:
    """Return the result of the trials so far. Raises ModelError for the registry."""
    models = list(ModelLibrary.of(settings).known.values())
    flat = dict(leaves(settings.model_dump()))
    figures = {r: trial.figures for r, trial in done.chosen.items() if trial.figures is not None}
    chosen = {key: value for trial in done.chosen.values() for key, value in trial.values.items()}
    names = {role: model_name(role, settings) for role in figures}
    sizes = {role: _size_bytes(model_path(role, settings)) for role in figures}
    in_use = [
        # An engine may reuse memory that another one freed, so that little growth is measured: it
        # needs at least the size of its file.
        Need(names[role], role, max(done.memory_bytes[role], sizes[role]))
        for role in figures
    ]
    verdicts = [
        judge(
            role,
            each,
            settings,
            find_smaller(role, each, sizes[role], settings, models),
        )
        for role, each in figures.items()
    ]
    if complete:  # sums over engines that were not all measured would be too small
        verdicts += [
            judge_together(figures, machine),
            judge_memory(in_use, machine),
            *judge_gpu(machine),
        ]
    verdicts += judge_processor(machine)
    return Tuned(
        complete=complete,
        machine=machine,
        trials=tuple(done.trials),
        chosen=chosen,
        changes={key: value for key, value in chosen.items() if value != flat[key]},
        verdicts=verdicts,
        in_use=in_use,
    )


def _size_bytes(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files if file.is_file())
