"""`reload`, end to end: a file is edited while the real program captions a sermon."""

from __future__ import annotations

import signal
from pathlib import Path

import orjson
import pytest

from pipeline.cli.main import main
from scripts.support.program import SERMON, Program, call, started

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
def test_a_service_takes_new_settings_from_a_command_and_at_a_hangup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "config.toml"
    file.write_text(SETTINGS)
    with started("run", "--input", str(SERMON), cwd=tmp_path) as program:
        program.wait_for("ready")
        reload = ["reload", "--port", port(program)]

        assert main(reload) == 0
        same = capsys.readouterr().out
        assert "No setting differs" in same
        assert "rules" in same

        file.write_text(BAD)
        assert main(reload) == 78
        bad = capsys.readouterr().err
        assert "Not reloaded: " in bad
        assert "vad.silence_ms" in bad
        assert "log.level" in bad

        text = SETTINGS.replace("400", "900").replace("100", "50")
        file.write_text(text.replace("[audio]", '[audio]\ndevice = "USB"'))
        good = call(*reload, cwd=tmp_path)
        assert good.returncode == 0, good.stderr
        rows = [line.split(maxsplit=1) for line in good.stdout.splitlines()[:3]]
        assert rows == [
            ["server.history", "in force now"],
            ["vad.silence_ms", "from the next utterance on"],
            ["audio.device", "needs a restart"],
        ]
        assert main([*reload, "--json"]) == 0
        answer = orjson.loads(capsys.readouterr().out)
        assert (answer["live"], answer["next_utterance"]) == ([], [])
        assert answer["restart"] == ["audio.device"]
        assert answer["rules"] > 100

        file.write_text(BAD)
        program.process.send_signal(signal.SIGHUP)
        (fault,) = program.until(  # on a busy machine a final is late as well
            lambda: [e for e in program.log if e.get("stage") == "settings"]
        )
        assert (fault["event"], fault["code"]) == ("fault", "config-bad-value")
        assert "vad.silence_ms" in fault["message"]
        assert "log.level" in fault["message"]
        file.write_text(text.replace("[vad]", "[log]\nlevel = 'debug'\n[vad]"))
        program.process.send_signal(signal.SIGHUP)
        program.until(
            lambda: any(
                e["event"] == "reloaded" and e["live"] == ["log.level"] for e in program.log
            )
        )
        count = len(program.records())
        program.until(lambda: len(program.records()) > count, 120)
        assert program.stop() == 0
        assert [e["next_utterance"] for e in program.records("event") if e["event"] == "reloaded"][
            1
        ] == ["vad.silence_ms"]


def test_without_a_daemon_or_its_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reload", "--sessions", str(tmp_path), "--port", "1"]) == 1
    said = capsys.readouterr().err
    assert "[token-missing]" in said
    assert str(tmp_path / "operator-token") in said
    assert list(tmp_path.iterdir()) == []  # none is made
    (tmp_path / "operator-token").write_text("secret")
    assert main(["reload", "--sessions", str(tmp_path), "--port", "1"]) == 1
    said = capsys.readouterr().err
    assert "[daemon-unreachable]" in said
    assert "secret" not in said
