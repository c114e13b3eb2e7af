"""`check`, from the command line to its last line and exit code."""

from __future__ import annotations

import json
import socket
import sys
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from pipeline.check.result import Result, last_check
from pipeline.cli.commands.check import _show
from pipeline.cli.console import Console
from pipeline.cli.main import main
from tests.support.cli import Cli
from tests.support.paths import ROOT
from tests.support.pulse import pulse_here

SERMON = ROOT / "demo" / "sermon.flac"
PATIENCE = "STARK_TRANSLATE__TRANSLATE__FINAL__DEADLINE_S"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(PATIENCE, "120")


def reported(out: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the whole --json output, and its results by name."""
    whole = json.loads(out)
    return whole, {result["name"]: result for result in whole["results"]}


@pytest.mark.sound
def test_a_fresh_machine_with_a_microphone_that_hears_speech_lacks_real_models_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    with pulse_here(monkeypatch) as pulse:
        player = pulse.play(SERMON)
        try:
            time.sleep(1)
            code = main(["check", "--device", "church", "--port", "0"])
        finally:
            player.kill()
            player.wait()
    *lines, last = capsys.readouterr().out.splitlines()
    words = {line[7:23].strip(): line[:7].strip() for line in lines if line[0] != " "}
    lacking = {"verses": "look", "model-stt": "look", "model-marian": "look", "model-gemma": "look"}
    assert any("`stark-translate setup`" in line for line in lines)
    # On a busy machine Gemma may be slower than speech: that is only advice.
    assert words | {"golden-gemma": "ok"} == dict.fromkeys(words, "ok") | lacking
    assert len(words) == 17
    assert last.startswith("Ready")
    assert code == 0
    assert any("church" in line and "s of speech" in line for line in lines)
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


@pytest.mark.sound
def test_everything_wrong_at_once_is_told_at_once_each_with_its_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(1000))
    monkeypatch.setenv("STARK_TRANSLATE__STT__MODEL", "/srv/models/none")
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__FINAL__MODEL", "broken.gguf")
    with pulse_here(monkeypatch), socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        arguments = ["--json", "--device", "pulpit", "--port", port, "--sessions", "file/sessions"]
        assert main(["check", *arguments]) == 1
    whole, found = reported(capsys.readouterr().out)
    assert whole["ok"] is False
    red = {name: result["code"] for name, result in found.items() if not result["ok"]}
    assert red == {
        "port": "port-in-use",
        "sessions": "session-unwritable",
        "audio": "audio-device-missing",
        "model-stt": "model-missing",
        "model-gemma": "model-broken",
    }
    assert all(found[name]["fix"] for name in red)
    assert whole["left_out"] == ["level", "golden-stt", "golden-gemma"]
    assert set(found["port"]) == {"name", "ok", "message", "fix", "code", "took_ms"}


@pytest.mark.sound
def test_a_silent_microphone_is_red_in_one_line_with_the_fix_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sessions").mkdir()
    with pulse_here(monkeypatch):
        arguments = ["--device", "church", "--port", "0", "--seconds", "1"]
        assert main(["check", *arguments]) == 1
    lines = capsys.readouterr().out.splitlines()
    (at,) = (i for i, line in enumerate(lines) if line.startswith("FAILED"))
    assert "church gives nothing but silence. [audio-silent]" in lines[at]
    assert "unmute its channel" in lines[at + 1]
    assert lines[-1] == "Not ready: mend level."
    kept = last_check(tmp_path / "sessions")  # for the operator's page
    assert kept is not None
    assert not kept.ok
    (level,) = (result for result in kept.results if result.test == "level")
    assert level.verdict == "failed"
    assert "unmute" in level.fix


def test_on_a_narrow_terminal_no_word_is_cut_in_two() -> None:
    message = "Speech at -41 dBFS is quieter than a recognizer likes to have it."
    result = Result("level", True, message, "Turn the gain up a little.", "audio-quiet", 1.0)
    shown = StringIO()
    _show(Console(file=shown, force_terminal=True, width=60, color_system=None), result)
    lines = [line.rstrip() for line in shown.getvalue().splitlines()]
    assert max(map(len, lines)) <= 60
    assert lines[0].startswith("look   level           Speech at")
    text = " ".join(line[23:].strip() for line in lines)
    assert text == f"{message} [audio-quiet] Turn the gain up a little."


@pytest.mark.parametrize("is_terminal", [False, True])
@pytest.mark.parametrize("name", ["golden-marian-fr", "golden-server-partial"])
def test_a_long_name_is_whole_and_apart_from_what_it_says(name: str, is_terminal: bool) -> None:
    shown = StringIO()
    console = Console(file=shown, force_terminal=is_terminal, width=60, color_system=None)
    _show(console, Result(name, True, "'Amen.' in 12 ms.", "", "", 1.0))
    assert shown.getvalue().rstrip() == f"ok     {name} 'Amen.' in 12 ms."


@pytest.mark.parametrize("as_json", [False, True])
def test_wrong_settings_are_red_and_78(as_json: bool, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "config.toml").write_text('[vad]\nsilence_ms = 1\n"\\u001b[2J" = 1\n')
    out = cli("check", *(["--json"] if as_json else []), code=78).out
    if as_json:
        whole, found = reported(out)
        assert whole["ok"] is False
        assert list(found) == ["settings"]
        assert found["settings"]["code"] == "config-unknown-key"
        assert "vad.silence_ms" in found["settings"]["message"]
        assert found["settings"]["fix"]
    else:
        assert out.startswith("FAILED settings")
        assert "config.toml: vad.silence_ms" in out
        assert out.splitlines()[-1] == "Not ready: mend settings."
        assert "vad.\\x1b[2J: unknown key" in out, "nothing that a terminal would obey"


@pytest.mark.slow
def test_a_language_nobody_can_translate_is_a_wrong_setting(
    monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__TARGET", "xx")
    monkeypatch.setenv("STARK_TRANSLATE__STT__MODEL", "/nowhere")  # so no model loads
    _, found = reported(cli("check --no-audio --json --port 0", code=78).out)
    assert found["settings"]["code"] == "lang-unknown"


@pytest.mark.parametrize(
    ("ok", "fix", "word", "color"),
    [(True, "", "ok", "32"), (True, "Louder.", "look", "33"), (False, "Mend it.", "FAILED", "31")],
)
def test_on_a_terminal_it_is_green_yellow_or_red(
    ok: bool, fix: str, word: str, color: str, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Console(file=sys.stdout, force_terminal=True, color_system="standard", width=80)
    _show(console, Result("level", ok, "Heard.", fix, "", 1.0))
    first, *rest = capsys.readouterr().out.splitlines()
    assert word in first
    assert f"{color}m" in first.partition(word)[0]
    assert [fix in line for line in rest] == ([True] if fix else [])
