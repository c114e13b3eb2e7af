"""The program's surroundings: unused GPUs, timers that do not run."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from pipeline.check.machine import (
    font_checks,
    judge_timers,
    machine_checks,
    parse_units,
    uses_of_gpu,
)
from pipeline.check.result import Result, results
from pipeline.config.loader import load
from tests.support.needs import needs_program, without
from tests.support.programs import put_program


def unit(name: str, **changes: str) -> str:
    shown = {
        "Id": f"stark-translate-{name}",
        "LoadState": "loaded",
        "ActiveState": "active" if name.endswith("timer") else "inactive",
        "UnitFileState": "enabled" if name.endswith("timer") else "static",
        "Result": "success",
        "NextElapseUSecRealtime": "Sun 2026-11-29 09:30:00 UTC",
    }
    return "\n".join(f"{key}={value}" for key, value in (shown | changes).items())


def told(*units: str) -> tuple[str, str]:
    passed = judge_timers(parse_units("\n\n".join(units) + "\n"))
    return passed.code, passed.advice or passed.message


def test_timers_that_are_on_are_told_with_their_time() -> None:
    both = unit("start.timer"), unit("stop.timer")
    code, message = told(*both, unit("learn.timer", UnitFileState="disabled"))
    assert code == ""
    assert message.startswith("Next: start Sun 2026-11-29 09:30:00 UTC, stop ")
    assert told(unit("start.timer", UnitFileState="disabled")) == ("", "No timer is on.")


def test_a_unit_that_is_not_installed_is_no_timer() -> None:
    assert parse_units(unit("start.timer", LoadState="not-found")) == []


@pytest.mark.parametrize(
    ("units", "code", "fix"),
    [
        (
            (unit("learn.timer", ActiveState="inactive"),),
            "timer-off",
            "start stark-translate-learn",
        ),
        ((unit("start.timer"),), "timer-off", "enable --now stark-translate-stop.timer"),
        (
            (unit("learn.timer"), unit("learn.service", Result="exit-code")),
            *("timer-failed", "journalctl -u stark-translate-learn"),
        ),
    ],
)
def test_a_timer_that_does_not_do_its_work_is_yellow(
    units: tuple[str, ...], code: str, fix: str
) -> None:
    told_code, advice = told(*units)
    assert told_code == code
    assert fix in advice


@pytest.mark.parametrize(
    ("flags", "users"),
    [
        ({}, []),
        ({"stt.device": "cuda"}, ["the recognizer"]),
        ({"translate.final.gpu_layers": -1}, ["the final translator"]),
        (
            {"translate.targets": [{"lang": "fr", "final": {"gpu_layers": -1}}]},
            ["the final translator"],
        ),
        ({"translate.final.engine": "marian", "translate.final.gpu_layers": -1}, []),
    ],
)
def test_what_is_to_use_a_gpu(flags: dict[str, Any], users: list[str]) -> None:
    assert uses_of_gpu(load(flags=flags).settings) == users


@pytest.mark.slow
def test_a_gpu_that_is_there_and_unused_is_yellow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(tmp_path, 'echo "NVIDIA RTX A2000, 6138, 5900"', monkeypatch)
    (unused,) = results([c for c in machine_checks(load().settings) if c.name == "gpu"])
    assert (unused.verdict, unused.code) == ("look", "gpu-unused")
    assert "RTX A2000 is there, and no engine uses it" in unused.message
    assert "stark-translate tune" in unused.fix
    on = load(flags={"stt.device": "cuda"}).settings
    (used,) = results([c for c in machine_checks(on) if c.name == "gpu"])
    assert (used.verdict, used.message) == ("ok", "NVIDIA RTX A2000: for the recognizer.")


def checked(*targets: str) -> list[Result]:
    first, *further = targets
    flags = {"translate.target": first, "translate.targets": [{"lang": each} for each in further]}
    return list(results(font_checks(load(flags=flags).settings)))


def alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let fontconfig see the fonts of one folder only."""
    config = folder / "fonts.conf"
    config.write_text(f"<fontconfig><dir>{folder}</dir><cachedir>{folder}</cachedir></fontconfig>")
    monkeypatch.setenv("FONTCONFIG_FILE", str(config))


def test_a_machine_without_type_for_a_language_is_told_which_package_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_program("fc-list")
    alone(tmp_path, monkeypatch)
    (result,) = checked("ko", "fr", "zh")
    assert (result.verdict, result.code) == ("look", "fonts-missing")
    assert result.message == "No type for Korean, Chinese: a browser on this machine shows boxes."
    assert result.fix.endswith("sudo apt install fonts-noto-cjk")
    (other,) = checked("hi", "ja")
    assert other.fix.endswith("sudo apt install fonts-noto-cjk fonts-noto-core")


def test_type_that_is_there_is_seen() -> None:
    needs_program("fc-list")
    here = [
        lang
        for lang in ("ar", "he", "ko", "zh", "ja", "hi", "th")
        if subprocess.run(["fc-list", f":lang={lang}"], capture_output=True, check=True).stdout
    ]
    if not here:
        without("no type of another script")
    (result,) = checked(*here)
    assert (result.verdict, result.message[:18]) == ("ok", "There is type for ")


def test_letters_that_are_everywhere_need_no_check(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checked("es", "ru", "el", "xx") == []
    monkeypatch.setenv("PATH", "")
    assert checked("ko") == []
