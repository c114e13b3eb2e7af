"""Closed streams and readers that have left, in a separate process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cli.streams import say, wrapped
from tests.support.paths import ROOT


def shell(script: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run `script`, in which $P runs the Python code."""
    env = os.environ | {"PYTHONPATH": str(ROOT), "CODE": code, "P": sys.executable}
    env.pop("PYTHONUNBUFFERED", None)  # output must wait for its flush
    return subprocess.run(
        ["bash", "-c", script], env=env, capture_output=True, text=True, timeout=60, check=False
    )


def test_words_are_wrapped_and_what_is_to_be_copied_stays_whole() -> None:
    path = "/var/lib/stark-translate/sessions/2026-11-22T09-30-00-0600/report.html"
    text = wrapped(f"The report of a half-hour service stands in {path} from now on.\nOpen it.", 40)
    lines = text.split("\n")
    assert lines[-1] == "Open it."
    assert path in lines
    assert all(len(line) <= 40 for line in lines if line != path)
    assert "half-hour" in text
    assert wrapped("", 40) == ""
    assert wrapped("As it is.", 3) == "As it is."


def test_what_a_terminal_would_obey_is_printed_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    say("\x1b]0;pwned\x07 \u202egnorw\u202c \x9b2J: unknown key.\nNiña\u00a0[server]")
    output = capsys.readouterr().err
    assert output == (
        "\\x1b]0;pwned\\x07 \\x202egnorw\\x202c \\x9b2J: unknown key.\nNiña\u00a0[server]\n"
    )


def test_a_closed_stream_leaves_its_number_to_nobody(tmp_path: Path) -> None:
    code = f"""
import os, sys
from pipeline.cli.streams import ensure, say
ensure()
with open({str(tmp_path / "captions")!r}, "w") as file:
    assert file.fileno() > 2, file.fileno()
    os.write(2, b"a C library speaks")
    print("a", file=sys.stdout, flush=True)
    say("b")
    assert sys.stdin.read() == ""
"""
    assert shell('"$P" -c "$CODE" <&- >&- 2>&-', code).returncode == 0
    assert (tmp_path / "captions").read_bytes() == b""


def test_open_streams_stay_as_they_are() -> None:
    code = """
import sys
from pipeline.cli.streams import ensure, say, settle
before = sys.stdin, sys.stdout, sys.stderr
ensure()
assert before == (sys.stdin, sys.stdout, sys.stderr)
print("out")
say("err")
settle()
"""
    done = shell('"$P" -c "$CODE"', code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "err\n")


@pytest.mark.parametrize("number", [1, 2])
def test_without_a_reader_the_end_is_clean(number: int) -> None:
    code = f"""
import sys
from pipeline.cli.streams import say, settle
sys.stdin.readline()
if {number} == 1:
    print("x")
else:
    say("x")
settle()
"""
    script = f"""
exec 3> >(exec sleep 0)   # a pipe whose reader ends at once
wait $!
echo | "$P" -c "$CODE" {number}>&3
"""
    assert shell(script, code).returncode == 0


@pytest.mark.slow
def test_a_terminal_shows_a_sign_before_anything_heavy_is_imported() -> None:
    """The sign is erased before the first line of the answer, and never sent to a pipe."""
    code = "import sys, pipeline.cli.main; print({'pydantic', 'rich', 'numpy'} & set(sys.modules))"
    assert shell('"$P" -c "$CODE"', code).stdout == "set()\n"
    terminal, end = os.openpty()
    with os.fdopen(terminal, "rb", buffering=0) as screen:
        env = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm"}
        done = subprocess.run(
            [sys.executable, "-m", "pipeline", "--version"], env=env, stderr=end,
            stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
        os.close(end)
        assert screen.read(100).decode() == "One moment ...\r\x1b[K"
    assert b"moment" not in done.stdout
    assert "moment" not in shell('"$P" -m pipeline --version', "").stderr
