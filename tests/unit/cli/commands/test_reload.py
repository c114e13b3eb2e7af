"""`reload`, end to end, in the real program; tests/unit/daemon/desk tests a hangup."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from scripts.support.program import SERMON, Program, started
from tests.support.cli import Cli

SETTINGS = """
[server]
history = 100
[vad]
silence_ms = 400
[audio]
pace = "realtime"
"""
BAD = '[vad]\nsilence_ms = 1\n[log]\nlevel = "loud"\n'


def port(program: Program) -> str:
    return program.address.rsplit(":", 1)[1]


@pytest.mark.slow
def test_a_service_takes_new_settings_from_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "config.toml"
    file.write_text(SETTINGS)
    with started("run", "--input", str(SERMON), cwd=tmp_path) as program:
        program.wait_for("ready")
        reload = ["reload", "--port", port(program)]

        same = cli(*reload).out
        assert "No setting differs" in same
        assert "rules" in same

        file.write_text(BAD)
        bad = cli(*reload, code=78).err
        assert "Not reloaded: " in bad
        assert "vad.silence_ms" in bad
        assert "log.level" in bad

        text = SETTINGS.replace("400", "900").replace("100", "50")
        file.write_text(text.replace("[audio]", '[audio]\ndevice = "USB"'))
        rows = [line.split(maxsplit=1) for line in cli(*reload).out.splitlines()[:3]]
        assert rows == [
            ["server.history", "in force now"],
            ["vad.silence_ms", "from the next utterance on"],
            ["audio.device", "needs a restart"],
        ]
        answer = orjson.loads(cli(*reload, "--json").out)
        assert (answer["live"], answer["next_utterance"]) == ([], [])
        assert answer["restart"] == ["audio.device"]
        assert answer["rules"] > 100

        assert program.stop() == 0


def test_without_a_daemon_or_its_token(tmp_path: Path, cli: Cli) -> None:
    output = cli("reload --sessions", str(tmp_path), "--port", "1", code=1).err
    assert "[token-missing]" in output
    assert str(tmp_path / "operator-token") in output
    assert list(tmp_path.iterdir()) == []  # no token is made
    (tmp_path / "operator-token").write_text("secret")
    output = cli("reload --sessions", str(tmp_path), "--port", "1", code=1).err
    assert "[daemon-unreachable]" in output
    assert "secret" not in output
