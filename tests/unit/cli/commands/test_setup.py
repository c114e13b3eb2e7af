"""`setup` on a terminal, with no model in reach; and a second run."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipeline.cli.commands.setup import _conclude
from pipeline.cli.console import Console
from pipeline.cli.main import main
from pipeline.config.loader import load
from pipeline.models.registry import Role
from tests.support.cli import Cli
from tests.support.paths import ROOT

COMMAND = (sys.executable, "-c", "from pipeline.cli.main import main; raise SystemExit(main())")

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("STARK_TRANSLATE__AUDIO__DEVICE", "the mixer")


def on_a_terminal(typed: bytes) -> tuple[int, str]:
    """Run `setup` on a terminal and type `typed`; return exit code and screen."""
    ours, theirs = pty.openpty()
    command = [*COMMAND, "setup", "--no-audio"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, typed)
    screen = b""
    while True:
        try:
            screen += os.read(ours, 4096)
        except OSError:  # the terminal's other end is closed
            break
    os.close(ours)
    return process.wait(), screen.decode()


def test_what_is_answered_is_set_what_cannot_be_had_is_said_and_nothing_is_asked_twice(
    tmp_path: Path,
) -> None:
    code, screen = on_a_terminal(b"en\nes, fr\n40\ny\n")
    assert code == 1  # no recognizer for real voices
    assert "http://127.0.0.1:9" in screen
    assert "not for a service" in screen
    assert ":8765/" in screen
    settings = tomllib.loads(Path("config.toml").read_text())
    translate: Mapping[str, object] = settings["translate"]
    assert (translate["target"], translate["targets"]) == ("es", [{"lang": "fr"}])
    assert settings["stt"]["model"] == "starter"
    assert settings["server"]["host"] == "0.0.0.0"

    before = Path("config.toml").read_text()
    code, again = on_a_terminal(b"n\n")
    assert code == 1
    assert "Which language" not in again
    assert "Go on?" in again
    assert Path("config.toml").read_text() == before


def test_who_makes_the_finals_is_said_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """The starter was once named although no starter was chosen."""
    said: dict[str, str] = {}
    for final in ("starter", "", "translategemma-4b-q4_k_m"):
        obtained: dict[Role, str] = {"stt": "whisper-base", "marian": "opus-mt-en-de"}
        _conclude(Console(width=200), load(), obtained | ({"gemma": final} if final else {}))
        said[final] = capsys.readouterr().out
    assert "translator that ships" in said["starter"]
    assert "translator that ships" not in said[""]
    assert "The quick translator makes the finals too. A better one needs" in said[""]
    assert "A better one" not in said["translategemma-4b-q4_k_m"]


def test_the_file_that_ships_answers_nothing() -> None:
    text = (ROOT / "config.toml").read_text()
    # With its places, as scripts/install.sh makes it.
    text = text.replace('directory = "sessions"', 'directory = "/var/lib/sessions"')
    Path("config.toml").write_text(text)
    code, screen = on_a_terminal(b"en\nfr\n40\nn\n")
    assert code == 1
    for question in ("Which language is spoken", "Into which languages", "How many people"):
        assert question in screen
    code, screen = on_a_terminal(b"\x04")
    assert (code, "Traceback" in screen) == (1, False), "Ctrl-D"


def test_without_a_terminal_nobody_is_asked(cli: Cli) -> None:
    # pytest's standard input is not a terminal.
    assert "[setup-unanswered]" in cli("setup --from en", code=2).err
    assert not Path("config.toml").exists()


def test_a_file_that_is_to_be_made_takes_nothing_from_the_one_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.cli.commands.setup.check_all", lambda _, **__: 0)
    Path("config.toml").write_text('[translate]\ntarget = "fr"\n')
    new = tmp_path / "etc" / "new.toml"
    new.parent.mkdir()
    main(["setup", "--config", str(new), "--yes", "--no-audio"])
    settings = tomllib.loads(new.read_text())
    assert settings["translate"]["source"] == "en"
    assert settings["translate"]["target"] == "es"
