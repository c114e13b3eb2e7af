"""Causes of death of an engine's process, as errors that say what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from pipeline.config.loader import leaves
from pipeline.config.schema import Settings
from pipeline.engines.process.deaths import (
    OUT_OF_MEMORY_CODE,
    Cause,
    Decision,
    Supervision,
    crashed_before,
    crashes_always,
    died,
    without_memory,
)
from pipeline.engines.specification import FINAL, RECOGNIZER, EngineSpec, Kind
from pipeline.models.crash_history import LOAD_CRASHES, Crashes

SPEC = EngineSpec("gemma", "gemma", Path("/m/g.gguf"), {})
CAUSE = Cause("engine-crashed", "crashed (SIGSEGV: free(): invalid pointer)")


def test_a_death_names_engine_cause_and_model() -> None:
    loading = died(SPEC, FINAL, CAUSE, has_loaded=False)
    assert loading.code == "engine-crashed"
    assert loading.message == (
        "The final translator crashed (SIGSEGV: free(): invalid pointer) while it loaded /m/g.gguf."
    )
    assert "with /m/g.gguf" in died(SPEC, FINAL, CAUSE, has_loaded=True).message


def test_a_model_that_is_given_up_says_when_it_is_tried_again() -> None:
    now = crashes_always(SPEC, FINAL, CAUSE)
    assert "3 times in a row" in now.message
    assert "`stark-translate check`" in now.fix
    before = crashed_before(SPEC, Crashes(3, "2026-11-22T10:00:00+00:00", CAUSE.words))
    assert "/m/g.gguf is not loaded: on 2026-11-22" in before.message
    assert "free(): invalid pointer" in before.message
    assert (now.code, now.exit_code) == (before.code, before.exit_code) == ("model-crashes", 70)


def test_too_little_memory_says_what_there_is_what_is_needed_and_what_lowers_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "model.bin").write_bytes(bytes(20_000_000))
    spec = EngineSpec("whisper", "whisper", tmp_path, {}, "stt")
    cause = without_memory(Cause(OUT_OF_MEMORY_CODE, "got no more memory"), spec, 300_000_000)
    assert "0.30 GB were free" in cause.words
    assert "its model's files alone have 20 MB" in cause.words
    assert "stt.model" in cause.words
    error = crashes_always(spec, RECOGNIZER, cause)
    assert (error.code, error.exit_code) == ("engine-out-of-memory", 70)
    assert "other programs" in error.fix


def test_what_is_on_a_server_needs_no_smaller_model_here() -> None:
    spec = EngineSpec("openai", "openai", Path("church"), {}, "translate.final")
    words = without_memory(Cause(OUT_OF_MEMORY_CODE, "got no more memory"), spec, 10).words
    assert words.startswith("got no more memory (")
    assert words.endswith("were free; its model is on a server)")


def test_every_engine_names_settings_that_exist_and_are_its_own() -> None:
    every = {path for path, _ in leaves(Settings().model_dump())}
    engines: list[tuple[Kind, str]] = [
        ("whisper", "stt"),
        ("moonshine", "stt"),
        ("marian", "translate.partial"),
        ("marian", "translate.compare"),
        ("gemma", "translate.final"),
        ("gemma", "translate.compare"),
        ("kokoro", "speech"),
        ("espeak", "speech"),
    ]
    assert {kind for kind, _ in engines} == set(get_args(Kind)) - {"openai"}
    for kind, section in engines:
        spec = EngineSpec(kind, kind, Path("/nowhere"), {}, section)
        words = without_memory(Cause(OUT_OF_MEMORY_CODE, ""), spec, 0).words
        named = set(re.findall(r"(?:stt|translate|speech)\.[\w.]*\w", words))
        assert named
        assert named <= every
        assert all(name.startswith(f"{section}.") for name in named)


def serve(
    supervision: Supervision, from_s: float, to_s: float, *, on_gpu: bool = False
) -> Decision:
    supervision.loaded(from_s)
    return supervision.died(to_s, on_gpu=on_gpu)


def test_a_first_death_is_followed_by_a_new_process_at_once_and_more_by_longer_waits() -> None:
    supervision = Supervision()
    waits = [serve(supervision, n * 10.0, n * 10.0 + 1).delay_s for n in range(10)]
    assert waits == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_after_a_calm_time_earlier_deaths_no_longer_count() -> None:
    supervision = Supervision()
    assert [serve(supervision, 0.0, 1.0).delay_s for _ in range(3)] == [0, 1, 2]
    assert serve(supervision, 10.0, 200.0).delay_s == 0


def test_a_model_that_crashes_three_times_while_it_loads_is_given_up() -> None:
    supervision = Supervision()
    decisions = [supervision.died(float(n), on_gpu=False) for n in range(LOAD_CRASHES)]
    assert [d.delay_s for d in decisions] == [1, 2, 0]
    assert [d.given_up for d in decisions] == [False, False, True]


def test_only_load_crashes_in_a_row_count() -> None:
    supervision = Supervision()
    for _ in range(5):
        assert not supervision.died(0.0, on_gpu=False).given_up
        assert not supervision.died(0.0, on_gpu=False).given_up
        serve(supervision, 1.0, 2.0)


def test_on_a_gpu_the_same_is_tried_once_more_then_less_of_it_then_none() -> None:
    supervision = Supervision((1.0, 0.5, 0.0))
    seen = []
    for n in range(6):
        on_gpu = supervision.gpu_share > 0
        decision = serve(supervision, 10.0 * n, 10.0 * n + 1, on_gpu=on_gpu)
        seen.append((supervision.gpu_share, decision.less_gpu, decision.delay_s))
    assert seen == [
        *((1.0, False, 0), (0.5, True, 0), (0.5, False, 0), (0.0, True, 0)),
        *((0.0, False, 0), (0.0, False, 1)),
    ]


def test_a_calm_time_on_a_gpu_earns_another_try_but_no_layers_back() -> None:
    supervision = Supervision((1.0, 0.5, 0.0))
    serve(supervision, 0, 1, on_gpu=True)
    assert serve(supervision, 2, 3, on_gpu=True).less_gpu
    assert not serve(supervision, 10, 1000, on_gpu=True).less_gpu
    assert not serve(supervision, 1001, 2000, on_gpu=True).less_gpu
    assert supervision.gpu_share == 0.5


def test_a_model_that_crashes_as_it_is_loaded_onto_a_gpu_is_tried_without_in_the_end() -> None:
    supervision = Supervision((1.0, 0.5, 0.0))
    shares = []
    while not supervision.given_up:
        shares.append(supervision.gpu_share)
        supervision.died(0.0, on_gpu=supervision.gpu_share > 0)
    assert shares == [1.0, 1.0, 0.5, 0.5, 0.0, 0.0, 0.0]
