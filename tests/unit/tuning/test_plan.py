"""The choice of settings, on hand-written measurements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipeline.config.loader import changed, leaves
from pipeline.config.schema import Settings
from pipeline.models.registry import Role
from pipeline.tuning.plan import (
    Figures,
    Gpu,
    Machine,
    Step,
    Trial,
    Value,
    choose,
    on_gpu,
    quicker,
    steps,
)

LAPTOP = Machine("a laptop", cores=6, ram_bytes=16 << 30, ram_free_bytes=12 << 30)
WORKSTATION = replace(LAPTOP, gpus=(Gpu("a GPU", 24 << 30, 23 << 30),), cuda=True, llama_gpu=True)
SETTINGS = Settings()


def trial(busy: float | None, **values: Value) -> Trial:
    """Return a trial of `stt`; None for `busy`: it did not work."""
    keyed = {f"stt.{key}": value for key, value in values.items()}
    if busy is None:
        return Trial("stt", keyed, None, "it does not fit")
    return Trial("stt", keyed, Figures(busy, busy, 0.3))


def tried(step: Step) -> list[Value]:
    """Return the values that a step of one key tries."""
    return [value for each in step.alternatives for value in each.values()]


@pytest.mark.parametrize("role", ["stt", "marian", "gemma"])
@pytest.mark.parametrize("machine", [LAPTOP, WORKSTATION], ids=["laptop", "workstation"])
def test_everything_that_is_tried_is_a_setting(role: Role, machine: Machine) -> None:
    known = dict(leaves(SETTINGS.model_dump()))
    for step in steps(role, SETTINGS, machine, layers=34):
        assert len({frozenset(each) for each in step.alternatives}) == 1
        for values in step.alternatives:
            assert set(values) <= set(known)
            changed(SETTINGS, values)  # raises for a value that is not allowed


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stt.threads", 5),
        ("translate.final.batch", 300),
        ("translate.final.draft", 3),
    ],
)
def test_what_is_set_now_is_tried_too(key: str, value: Value) -> None:
    now = changed(SETTINGS, {key: value})
    roles: list[Role] = ["stt", "marian", "gemma"]
    every = [
        each for role in roles for step in steps(role, now, LAPTOP) for each in step.alternatives
    ]
    assert {key: value} in every


def test_threads_double_up_to_the_cores() -> None:
    assert tried(steps("stt", SETTINGS, LAPTOP)[1]) == [1, 2, 4, 6]
    assert tried(steps("marian", SETTINGS, LAPTOP)[0]) == [1, 2, 4, 6]
    assert tried(steps("stt", SETTINGS, replace(LAPTOP, cores=64))[1]) == [1, 2, 4, 8, 16]
    assert tried(steps("marian", SETTINGS, replace(LAPTOP, cores=1))[0]) == [1]


def test_the_final_translator_leaves_half_the_cores_to_the_recognizer() -> None:
    assert tried(steps("gemma", SETTINGS, LAPTOP)[1]) == [1, 2, 3]
    assert tried(steps("gemma", SETTINGS, replace(LAPTOP, cores=2))[1]) == [1]


def test_a_gpu_is_tried_only_where_there_is_one() -> None:
    def places(machine: Machine) -> tuple[Any, ...]:
        stt = [each["stt.device"] for each in steps("stt", SETTINGS, machine)[0].alternatives]
        return stt, tried(steps("gemma", SETTINGS, machine, layers=34)[0])

    assert places(LAPTOP) == (["cpu"], [0])
    assert places(WORKSTATION) == (["cpu", "cuda"], [0, 17, -1])
    assert on_gpu({"stt.device": "cuda"})
    assert on_gpu({"translate.final.gpu_layers": -1})
    assert not on_gpu({"stt.device": "cpu", "translate.final.gpu_layers": 0})


def test_threads_are_a_matter_of_the_cpu() -> None:
    alone = [step.on_cpu for step in steps("stt", SETTINGS, WORKSTATION)]
    assert alone == [False, True]


def test_a_draft_needs_a_quick_translator() -> None:
    without = changed(SETTINGS, {"translate.partial.engine": "none"})
    assert tried(steps("gemma", SETTINGS, LAPTOP)[-1]) == [0, 2, 4, 8]
    assert tried(steps("gemma", without, LAPTOP)[-1]) == [0]


def test_the_quickest_wins_but_more_is_not_taken_for_a_tenth() -> None:
    one, two, four = trial(0.4, threads=1), trial(0.25, threads=2), trial(0.2, threads=4)
    assert choose([one, two, four]) is four
    near = trial(0.21, threads=2)
    assert choose([one, near, four]) is near


def test_what_did_not_work_is_not_chosen() -> None:
    assert choose([trial(None), trial(0.4)]) == trial(0.4)
    assert choose([trial(None)]) is None
    assert choose([]) is None


def test_of_two_measurements_of_the_same_the_quicker_counts() -> None:
    assert quicker(trial(0.3), trial(0.2)) == trial(0.2)
    assert quicker(trial(0.3), trial(None)) == trial(0.3)
    assert quicker(trial(None), trial(0.3)) == trial(0.3)
    assert quicker(trial(None), trial(None)) == trial(None)


def test_a_streaming_recognizer_is_measured_as_it_is_set() -> None:
    (as_set,) = steps("stt", changed(SETTINGS, {"stt.engine": "moonshine"}), WORKSTATION)
    assert tried(as_set) == [SETTINGS.stt.threads]
