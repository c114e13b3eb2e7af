"""`tune` as a user runs it: a separate process on the real engines; and what it prints."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.cli.commands import tune
from pipeline.cli.console import Console
from pipeline.config.loader import changed, leaves, load
from pipeline.config.schema import Settings
from pipeline.core.resources import bundled
from pipeline.models.automatic import recognizer_name
from pipeline.tuning.plan import Figures, Gpu, Machine, Need, Trial, Verdict
from pipeline.tuning.trials import Tuned
from tests.support.cli import Cli
from tests.support.model_fixtures import pulled
from tests.support.needs import needs_file

MACHINE = Machine("a machine", 4, 8 << 30, 7 << 30, (Gpu("a GPU", 8 << 30, 6 << 30),))
TRIALS = (
    Trial("stt", {}, Figures(0.2, 0.4, 0.123, 0.1), tried={"stt.threads": 2}),
    Trial("stt", {}, Figures(0.6, 0.6, 1.5, 0.1), tried={"stt.threads": 1}),
    Trial("gemma", {}, problem="It [does] not fit.", tried={"translate.final.gpu_layers": -1}),
)
NEEDS = (Need("x [y]", "stt", 2 << 30),)


def tuned(*, ok: bool, complete: bool = True) -> Tuned:
    verdicts = [
        Verdict("stt", True, "all is well."),
        Verdict("memory", ok, "7 GB [b].", "Do this."),
    ]
    chosen = {"stt.threads": 2, "translate.final.draft": 4}
    changes = {"translate.final.draft": 4}
    return Tuned(complete, MACHINE, TRIALS, chosen, changes, verdicts, NEEDS)


def shown(result: Tuned) -> str:
    console = Console(width=120, file=StringIO())
    tune._show(console, result)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_everything_is_in_the_tables() -> None:
    text = shown(tuned(ok=False))
    for expected in (
        *("a machine, 4 cores", "threads 2", "20.0%", "123 ms", "chosen"),
        *("gpu_layers -1", "It [does] not fit."),
        *("NO", "7 GB [b].", "Do this.", "recognizer", "final translator"),
    ):
        assert expected in text
    assert text.count("chosen") == 1
    printed = tomllib.loads(text.split("For config.toml:")[1])
    assert dict(leaves(printed)) == tuned(ok=True).chosen
    assert "Ended early" in shown(tuned(ok=False, complete=False))


class TestWhatAutoMayTake:
    """The verdict on a recognizer is kept for `stt.model = "auto"` if it could be measured."""

    @pytest.fixture
    def settings(self, tmp_path: Path) -> Settings:
        pulled(tmp_path, "small.en", "stt", {"model.bin": b"12"})
        return load(flags={"models.directory": str(tmp_path)}).settings

    def test_one_that_keeps_up(self, settings: Settings) -> None:
        asked = changed(settings, {"stt.model": "small.en"})  # tune --stt small.en
        tune._remember(tuned(ok=False), asked)
        assert recognizer_name(settings) == "small.en"
        busy = replace(tuned(ok=True), verdicts=[Verdict("stt", False, "too slow.")])
        tune._remember(busy, asked)
        assert recognizer_name(settings) == "starter"

    @pytest.mark.parametrize(
        "result",
        [
            tuned(ok=True, complete=False),
            replace(tuned(ok=True), machine=replace(MACHINE, busy=0.6)),
        ],
        ids=["ended early", "a busy machine"],
    )
    def test_what_could_not_be_measured(self, settings: Settings, result: Tuned) -> None:
        tune._remember(result, changed(settings, {"stt.model": "small.en"}))
        assert recognizer_name(settings) == "starter"


@pytest.mark.parametrize(
    ("complete", "why"), [(True, "see NO above"), (False, "it was ended early")]
)
def test_what_does_not_keep_up_is_not_written(folder: Path, complete: bool, why: str) -> None:
    file = folder / "config.toml"
    before = file.read_text()
    console = Console(file=StringIO())
    written = tune._write(console, tuned(ok=False, complete=complete), {}, file, load(file))
    assert written == {}
    assert why in console.file.getvalue()  # type: ignore[attr-defined]
    assert [path.read_text() for path in folder.iterdir()] == [before]


def test_what_is_written_is_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__FINAL__DRAFT", "0")
    file, result = folder / "config.toml", tuned(ok=True)
    console = Console(width=200, file=StringIO())
    written = tune._write(console, result, result.changes, file, load(file))
    output = console.file.getvalue()  # type: ignore[attr-defined]
    assert "+draft = 4" in output
    assert written["copy"] in output
    assert "The environment sets translate.final.draft too, and wins." in output
    again = tune._write(console, result, result.changes, file, load(file))
    assert again == {}
    assert "has all of this already" in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a config.toml of one key, with comments."""
    needs_file(*(bundled("models", "starter", role) for role in ("stt", "marian", "gemma")))
    (tmp_path / "config.toml").write_text("# ours\n[stt]\nthreads = 1   # an old machine\n")
    return tmp_path


def start(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline", "tune", "--quick", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path.cwd()), "COLUMNS": "200"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_it_measures_and_writes(folder: Path) -> None:
    final = str(bundled("models", "tiny", "gemma") / "model.gguf")
    process = start(folder, "--json", "--write", "--gemma", final)
    out, err = process.communicate(timeout=280)
    report: dict[str, Any] = orjson.loads(out)
    assert "Traceback" not in err
    assert report["complete"] is True
    assert {trial["role"] for trial in report["trials"]} == {"stt", "marian", "gemma"}
    assert report["machine"]["cores"] >= 1
    for trial in report["trials"]:
        figures = trial["figures"]
        assert 0 < figures["finals_busy"] <= figures["busy"], trial["problem"]
        if trial["role"] == "stt":
            assert figures["finals_busy"] < figures["busy"], "partials were measured too"
    text = (folder / "config.toml").read_text()
    if not report["ok"]:  # the machine is too busy
        assert text == "# ours\n[stt]\nthreads = 1   # an old machine\n"
        return
    written = dict(leaves(tomllib.loads(text)))
    assert text.startswith("# ours\n[stt]\n")
    assert "# an old machine" in text
    assert written == {"stt.threads": 1} | report["changes"]
    assert written["translate.final.model"] == final, "as it was asked for"
    copies = list(folder.glob("config.toml.*.bak"))
    assert [copy.read_text() for copy in copies] == [
        "# ours\n[stt]\nthreads = 1   # an old machine\n"
    ]
    assert report["copy"] == str(copies[0])


@pytest.mark.slow
def test_ctrl_c_ends_it_with_what_it_has(folder: Path) -> None:
    process = start(folder, "--write", "--json", "--log-level", "debug")
    assert process.stderr is not None
    trials = (line for line in process.stderr if "trial" in line)
    assert next(trials)
    assert next(trials), "when the second is done, the first is known"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Traceback" not in err
    report = orjson.loads(out)
    assert (report["ok"], report["complete"]) == (False, False)
    assert report["trials"], "what was found by then"
    assert not list(folder.glob("*.bak"))


@pytest.mark.slow
def test_a_model_that_is_not_there(folder: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(os, "nice", lambda _: 0)  # the test process could not undo it
    out, err = cli("tune --marian opus-mt-en-ed", code=1)
    assert "translate.partial.model: " in err
    assert "opus-mt-en-es" in err, "the nearest name"
    assert "For config.toml" not in out
