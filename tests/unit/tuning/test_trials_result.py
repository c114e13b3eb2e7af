from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.config.loader import changed
from pipeline.config.schema import Settings
from pipeline.core.resources import bundled
from pipeline.models.registry import Role
from pipeline.models.resolve import resolve
from pipeline.tuning.plan import Figures, Machine, Trial, Values
from pipeline.tuning.trials import Tuned, Tuning, conclude
from tests.support.needs import needs_file

GIB = 1 << 30
MACHINE = Machine("a machine", cores=4, ram_bytes=16 * GIB, ram_free_bytes=12 * GIB)
CHOSEN: dict[Role, Values] = {
    "stt": {"stt.threads": 4},
    "marian": {"translate.partial.threads": 1},
    "gemma": {"translate.final.draft": 4},
}


def concluded(
    *,
    busy: float = 0.1,
    machine: Machine = MACHINE,
    complete: bool = True,
    roles: int = 3,
) -> Tuned:
    """Return the result of tuning the starter models, with every engine this busy."""
    needs_file(bundled("models", "tiny", "gemma"))
    done = Tuning(Settings(), machine, limit_s=1)
    for role in done.roles[:roles]:
        figures = Figures(busy, busy, 0.5, finals_busy=busy / 2)
        done.chosen[role] = Trial(role, CHOSEN[role], figures, tried=CHOSEN[role])
        done.trials.append(done.chosen[role])
        done.memory_bytes[role] = 5
    return conclude(done, Settings(), machine, complete=complete)


def test_all_is_well() -> None:
    tuned = concluded()
    assert tuned.ok
    assert [verdict.what for verdict in tuned.verdicts] == [
        *("stt", "marian", "gemma"),
        *("together", "memory"),
    ]
    assert tuned.chosen == {key: v for values in CHOSEN.values() for key, v in values.items()}
    assert tuned.changes == {"stt.threads": 4, "translate.final.draft": 4}
    assert changed(Settings(), tuned.changes).stt.threads == 4


@pytest.mark.parametrize(
    ("busy", "machine", "what"),
    [
        (0.3, MACHINE, "marian"),
        (0.2, replace(MACHINE, cores=0), "together"),
        (0.1, replace(MACHINE, ram_free_bytes=300_000_000), "memory"),
        (0.1, replace(MACHINE, busy=0.9), "processor"),
    ],
    ids=["one too slow", "too few cores", "too little memory", "a busy machine"],
)
def test_one_reason_spoils_it(busy: float, machine: Machine, what: str) -> None:
    tuned = concluded(busy=busy, machine=machine)
    assert not tuned.ok
    assert [verdict.what for verdict in tuned.verdicts if not verdict.ok] == [what]


def test_what_was_ended_early_is_never_well() -> None:
    tuned = concluded(complete=False, roles=1)
    assert not tuned.ok
    assert [verdict.what for verdict in tuned.verdicts] == ["stt"]
    assert tuned.chosen == CHOSEN["stt"]
    nothing = concluded(complete=False, roles=0)
    assert (nothing.chosen, nothing.verdicts, nothing.in_use) == ({}, [], [])


def test_a_model_needs_its_file_at_least() -> None:
    tuned = concluded()
    sizes = [need.need_bytes for need in tuned.in_use]
    assert sizes[2] == resolve("gemma", "starter").stat().st_size
    assert all(size > 10**6 for size in sizes)
    assert {need.name for need in tuned.in_use} == {"starter"}
