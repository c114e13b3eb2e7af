"""What keeps up and what does not, on hand-written measurements."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.config.loader import changed
from pipeline.config.schema import Settings
from pipeline.models.registry import Model, ModelFile, Role, read_registry
from pipeline.tuning.plan import (
    BUDGETS,
    Figures,
    Gpu,
    Machine,
    Need,
    find_smaller,
    judge,
    judge_gpu,
    judge_memory,
    judge_processor,
    judge_together,
)

SETTINGS = Settings()
GIB = 1 << 30
MACHINE = Machine("a laptop", cores=4, ram_bytes=16 * GIB, ram_free_bytes=8 * GIB)
KNOWN = list(read_registry().values())
SIZES = {model.name: model.size_bytes for model in KNOWN}


def figures(busy: float, slowest_s: float = 1.0, finals: float = 0.1) -> Figures:
    return Figures(busy, cores=2 * busy, slowest_s=slowest_s, finals_busy=finals)


@pytest.mark.parametrize("role", ["stt", "marian", "gemma"])
def test_up_to_the_budget_it_keeps_up(role: Role) -> None:
    at_it = judge(role, figures(BUDGETS[role]), SETTINGS)
    assert (at_it.ok, at_it.fix) == (True, "")
    above = judge(role, figures(BUDGETS[role] + 0.01, finals=BUDGETS[role]), SETTINGS)
    assert not above.ok
    assert "cannot keep up" in above.message
    assert above.fix


def test_whisper_and_marian_share_what_one_thread_may_do() -> None:
    assert BUDGETS["stt"] + BUDGETS["marian"] == pytest.approx(BUDGETS["gemma"])


def test_a_final_past_its_deadline_is_of_no_use() -> None:
    late = judge("gemma", figures(0.3, slowest_s=8.1), SETTINGS)
    assert not late.ok
    assert "translate.final.deadline_s is 8" in late.message
    patient = changed(SETTINGS, {"translate.final.deadline_s": 9})
    assert judge("gemma", figures(0.3, slowest_s=8.1), patient).ok
    assert judge("stt", figures(0.3, slowest_s=8.1), SETTINGS).ok, "only finals have one"


def test_a_model_that_is_too_large_names_the_one_that_is_not() -> None:
    slow = figures(1.4, slowest_s=6.0)
    size = SIZES["translategemma-12b-q4_k_m"]
    smaller = find_smaller("gemma", slow, size, SETTINGS, KNOWN)
    assert smaller is not None
    assert smaller.name == "translategemma-4b-q5_k_m", "half the work, the largest of those"
    verdict = judge("gemma", slow, SETTINGS, smaller)
    assert "models pull translategemma-4b-q5_k_m" in verdict.fix
    assert 'translate.final.model = "translategemma-4b-q5_k_m"' in verdict.fix


def test_a_recognizer_that_is_too_large() -> None:
    slow = figures(1.5, finals=0.7)
    smaller = find_smaller("stt", slow, SIZES["distil-large-v3"], SETTINGS, KNOWN)
    assert smaller is not None
    assert smaller.name == "small.en"
    assert "partial_ms" not in judge("stt", slow, SETTINGS, smaller).fix


def test_nothing_smaller_is_known() -> None:
    assert find_smaller("stt", figures(3.0), SIZES["base.en"], SETTINGS, KNOWN) is None
    fixes = {role: judge(role, figures(3.0, finals=2.0), SETTINGS).fix for role in BUDGETS}
    assert "quicker machine" in fixes["stt"]
    assert 'engine = "none"' in fixes["marian"]
    assert 'engine = "marian"' in fixes["gemma"]


def test_a_size_that_nobody_has_said_is_not_proposed() -> None:
    unknown = Model(name="x", role="stt", repository="a/b", files=(ModelFile(path="model.bin"),))
    assert find_smaller("stt", figures(3.0), 10**9, SETTINGS, [unknown]) is None


def test_fewer_partials_may_be_enough() -> None:
    verdict = judge("stt", figures(0.7, finals=0.2), SETTINGS)
    # Partials every 800 ms take 0.5. Only 0.3 is left, enough for one every 1334 ms.
    assert "vad.partial_ms = 1400" in verdict.fix
    again = 0.2 + 0.5 * 800 / 1400
    assert judge("stt", figures(again, finals=0.2), SETTINGS).ok
    hardly = judge("stt", figures(2.0, finals=0.45), SETTINGS)
    assert "partial_ms" not in hardly.fix, "one every half minute is none"


def test_the_cores_must_be_enough_for_all() -> None:
    enough: dict[Role, Figures] = {"stt": figures(0.5), "marian": figures(0.1)}
    assert judge_together(enough | {"gemma": figures(0.7)}, MACHINE).ok
    assert not judge_together(enough | {"gemma": figures(1.1)}, MACHINE).ok
    assert "3.00 of 4 cores" in judge_together({"gemma": figures(1.5)}, MACHINE).message
    assert judge_together({"gemma": figures(1.7)}, MACHINE).fix == (
        "Choose a smaller translate.final.model, which takes the most."
    )


def test_the_memory_must_be_enough_for_all() -> None:
    one = Need("x", "stt", 2 * GIB)
    assert judge_memory([one, one, one], MACHINE).ok
    short = judge_memory([one] * 4, MACHINE)
    assert not short.ok
    assert "8.89 GB (x 2.15 GB, " in short.message
    assert "smaller" in short.fix


def test_other_programs_spoil_the_figures() -> None:
    assert judge_processor(replace(MACHINE, busy=0.05)) == []
    (some,) = judge_processor(replace(MACHINE, busy=0.3))
    assert some.ok
    assert "30%" in some.message
    (many,) = judge_processor(replace(MACHINE, busy=0.9))
    assert not many.ok
    assert many.fix


def test_a_gpu_that_cannot_be_used_is_told() -> None:
    assert judge_gpu(MACHINE) == [], "there is none"
    gpus = (Gpu("a GPU", 8 * GIB, 6 * GIB),)
    good = replace(MACHINE, gpus=gpus, cuda=True, llama_gpu=True)
    assert judge_gpu(good) == []
    (for_gemma,) = judge_gpu(replace(good, llama_gpu=False))
    assert for_gemma.ok
    assert "docs/MODELS.md" in for_gemma.fix
    (for_whisper,) = judge_gpu(replace(good, cuda=False))
    assert "cuBLAS" in for_whisper.fix
