"""Wrong settings, given to the real program: exit code 78, so that systemd does not try again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.cli.main import main
from pipeline.models.resolve import resolve
from scripts.support.program import SERMON

FILES = {
    "unknown key": ("[audio]\ndevise = 'x'\n", "Did you mean audio.device? [config-unknown-key]"),
    "out of range": ("[vad]\nsilence_ms = 9\n", "must be -1"),
    "not a number": ("[session]\ndrain_s = nan\n", "session.drain_s"),
    "not TOML": ("[audio\n", "[config-not-toml]"),
    "not text": ("\udcff\udcfe", "[config-not-toml]"),
}


@pytest.mark.parametrize(("text", "says"), FILES.values(), ids=FILES)
def test_a_wrong_file_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    file = tmp_path / "church.toml"
    file.write_bytes(text.encode(errors="surrogateescape"))
    sessions = tmp_path / "sessions"
    assert main(["run", "--config", str(file), "--sessions", str(sessions)]) == 78
    err = capsys.readouterr().err
    assert str(file) in err
    assert says in err
    assert not sessions.exists()


@pytest.mark.parametrize(
    ("variable", "says"),
    [
        ("AUDIO={", 'field "audio"'),  # a whole section, but not valid JSON
        ("AUDIO=[]", "audio"),
        ("SERVER__PORT=http", "server.port"),
        ("SEVER__PORT=1", "Did you mean server?"),
    ],
)
def test_a_wrong_variable_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text("[server]\nport = 8000\n")
    name, _, value = variable.partition("=")
    monkeypatch.setenv(f"STARK_TRANSLATE__{name}", value)
    assert main(["config"]) == 78
    err = capsys.readouterr().err
    assert err.startswith("stark-translate: environment: ")
    assert says in err


def test_a_name_that_is_not_utf_8_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on a disk from an old Windows machine: señor.wav in Latin-1."""
    name = os.fsdecode("señor.wav".encode("latin-1"))
    assert main(["run", "--sessions", str(tmp_path), "--input", str(tmp_path / name)]) == 78
    err = capsys.readouterr().err
    assert "Names must be UTF-8; rename the file" in err
    assert "se\\udcf1or.wav" in err
    assert err.endswith("[config-bad-value]\n")


@pytest.mark.slow
def test_a_language_that_no_model_can_name_is_a_wrong_setting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only an engine notices it, in its thread; the exit code is still 78."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__TARGET", "xx")
    # Given as paths, so that their languages are unknown.
    partial, final = resolve("marian", "starter"), resolve("gemma", "tiny")
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__PARTIAL__MODEL", str(partial))
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__FINAL__MODEL", str(final))
    assert main(["run", "--port", "0", "--input", str(SERMON)]) == 78
    error = capsys.readouterr().err.splitlines()[-1]
    assert "no language with the code 'xx'" in error
    assert error.endswith("[lang-unknown]")
