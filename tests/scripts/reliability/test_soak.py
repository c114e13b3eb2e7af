"""The soak sees growth where there is some, and runs the real program."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import orjson
import pytest

from pipeline.core.errors import AudioLostError
from pipeline.core.resources import bundled
from scripts.reliability.soak.scenario import Cable, Part, scenario
from scripts.reliability.soak.verdict import Limit, growth, judge

HOURS = np.linspace(0, 8, 2000)
NOISE = np.random.default_rng(1).normal(0, 3, len(HOURS))


def test_a_leak_is_seen_through_noise_and_outliers() -> None:
    leak = 300 + 4 * HOURS + NOISE
    leak[::50] = 900
    seen = growth(list(HOURS), list(leak), Limit(0.03, 8.0))
    assert seen.grown == pytest.approx(4 * 8 * 0.85, rel=0.05)
    assert not seen.ok


def test_a_beginning_that_settles_is_no_leak() -> None:
    settles = 300 + 50 * np.minimum(1, HOURS) + NOISE
    assert growth(list(HOURS), list(settles), Limit(0.03, 8.0)).ok


@pytest.mark.slow
def test_each_figure_is_judged_by_its_own_limit() -> None:
    samples = [
        {"hours": hour, "memory_mb": 300.0, "threads": 12 + hour, "handles": 50.0} for hour in HOURS
    ]
    verdicts = judge(samples, [(hour, 500.0) for hour in HOURS])
    assert {name: verdict["ok"] for name, verdict in verdicts.items()} == {
        "memory_mb": True,
        "threads": False,
        "handles": True,
        "latency_ms": True,
    }


def test_a_loose_cable_jumps_and_the_scenario_begins_again() -> None:
    pcm = np.ones(16_000, np.float32)
    cable = Cable([Part("a", pcm, 1.0), Part("loose", None, 2.0)], hours=5 / 3600, speed=1e6)
    cable.open()
    starts = []
    for _ in range(3):
        with suppress(AudioLostError):
            for block in cable.blocks():
                starts.append(block.start_sample)  # noqa: PERF401 - the error ends it midway
    assert cable.loose == 2
    assert starts == sorted(starts)
    assert np.diff(starts).max() == 2 * 16_000 + 512


@pytest.mark.slow
def test_the_scenario_has_everything_that_a_church_sends() -> None:
    parts = scenario(bundled("demo", "sermon.flac"))
    assert {"sermon", "organ", "noise", "a quiet room", "muted", "unplugged"} <= {
        part.name for part in parts
    }
    assert 600 < sum(part.seconds for part in parts) < 1200


@pytest.mark.slow
def test_a_short_soak_of_the_real_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scripts.reliability.soak", "--hours", "0.012", "--speed", "8"]
    command += ["--staying", "4", "--changing", "2", "--unread", "1"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path)], capture_output=True, text=True, check=False, timeout=200
    )
    result = orjson.loads((tmp_path / "soak.json").read_bytes())
    assert result["exit_code"] == 0, done.stderr
    assert result["finals"] >= 5
    assert result["unfinished"] == 0
    assert result["captions_received"] > 4 * result["finals"]
    assert (tmp_path / "soak.png").read_bytes().startswith(b"\x89PNG")
    assert set(result["courses"]) == {"memory_mb", "threads", "handles", "latency_ms"}
