"""The real program never prints, writes or serves the secrets of its settings."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest
import soundfile

from scripts.support.program import SERMON, started
from tests.support.cli import told

pytestmark = pytest.mark.slow

SETTINGS = """
[operator]
token = "hush-token"
[publish]
nats = "nats://church:hush-nats@127.0.0.1:9"
[[outputs]]
program = "youtube"
url = "http://127.0.0.1:9/closedcaption?cid=hush-youtube"
[[outputs]]
program = "vmix"
url = "http://me:hush-vmix@127.0.0.1:9"
[[outputs]]
program = "propresenter"
url = "http://me:hush-propresenter@127.0.0.1:9"
[[outputs]]
program = "freeshow"
url = "http://me:hush-freeshow@127.0.0.1:9"
[translate.final]
engine = "marian"
[log]
level = "debug"
format = "json"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.toml").write_text(SETTINGS)
    (tmp_path / "sessions").mkdir()
    samples, rate = soundfile.read(SERMON, frames=7 * 16_000)
    soundfile.write(tmp_path / "short.wav", samples, rate)
    return tmp_path


def test_no_secret_is_printed_written_or_served(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = {}
    for arguments in (["config"], ["config", "--changed"], ["check", "--input", "short.wav"]):
        done = told(capsys, *arguments, cwd=folder)
        seen[" ".join(arguments)] = done.stdout + done.stderr
    assert 'token = "set"' in seen["config --changed"]
    assert 'url = "http://127.0.0.1:9"' in seen["config --changed"]
    with started("run", "--input", "short.wav", cwd=folder) as program:
        program.until(lambda: [r for r in program.log if r.get("event") == "caption"], 90)
        for path in ("healthz", "metrics", "address"):
            with urllib.request.urlopen(f"{program.address}/{path}", timeout=10) as answer:
                seen[path] = answer.read().decode()
        seen["command lines"] = command_lines(program.process.pid)
        assert program.end() == 0
        seen["log"] = f"{program.log} {program.noise}"
        faults = {r.get("code") for r in program.log}
        assert {"output-unreachable"} & faults, "the secrets have been used"
    seen["report"] = told(capsys, "report", cwd=folder).stdout
    for file in (folder / "sessions").rglob("*"):
        if file.is_file():
            seen[str(file)] = file.read_bytes().decode("utf-8", "replace")
    assert len(seen) > 12
    assert [place for place, text in seen.items() if "hush" in text] == []


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        (line, mistake)
        for line in SETTINGS.splitlines()
        for mistake in ("no quote", "list", "table", "address")
        # Any text is a valid token.
        if "hush" in line and not (mistake == "address" and "://" not in line)
    ],
)
def test_an_error_in_its_own_line_does_not_tell_a_secret(
    tmp_path: Path, line: str, mistake: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key, _, value = line.partition(" = ")
    section = SETTINGS.partition(line)[0].rpartition("[")[2].partition("]")[0]
    wrong = {
        "no quote": value.strip('"'),
        "list": f"[{value}]",
        "table": f"{{ a = {value} }}",
        "address": value.replace("://", ":/"),
    }[mistake]
    (tmp_path / "config.toml").write_text(f"[{section}]\n{key} = {wrong}\n")
    done = told(capsys, "config", cwd=tmp_path)
    assert done.returncode == 78
    assert key in done.stderr
    assert "hush" not in done.stdout + done.stderr


def command_lines(parent: int) -> str:
    """Return the command lines of a process and of all its descendants."""
    children = [
        int(child)
        for task in Path(f"/proc/{parent}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]
    own = Path(f"/proc/{parent}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return " | ".join([own, *map(command_lines, children)])
