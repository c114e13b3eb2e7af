"""`review` as a separate process, and at the end of a rehearsal."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import orjson
import pytest

from pipeline.review.store import Review
from pipeline.server.operator_token import FILE
from scripts.support.journal import reviewable
from scripts.support.program import SERMON, call, environment, started
from tests.support.cli import Cli
from tests.support.needs import needs_file

GOLDEN = SERMON.with_name("golden.flac")
QUICK = ("--input", str(GOLDEN), "--pace", "fast")
COMPARED = {"STARK_TRANSLATE__TRANSLATE__COMPARE__ENGINE": "marian"}


def known(address: str, token: str) -> bool:
    request = urllib.request.Request(f"{address.removesuffix('/review')}/review/enter")
    request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=10) as answer:
        is_known: bool = orjson.loads(answer.read())["known"]
    return is_known


@pytest.mark.slow
def test_it_serves_the_last_session_and_nobody_reads_the_token_anywhere(tmp_path: Path) -> None:
    folder = reviewable(tmp_path / "sessions")
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\ntr "\\0" " " < /proc/$$/cmdline > started\n')
    browser.chmod(0o755)
    with started("review", "--browser", cwd=tmp_path, BROWSER=str(browser)) as program:
        address = program.address
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith("/review")
        assert program.folder == folder
        token = (tmp_path / "sessions" / FILE).read_text().strip()
        assert known(address, token)
        argv = program.until(
            lambda: (tmp_path / "started").is_file() and (tmp_path / "started").read_text()
        )
        page = (tmp_path / "sessions" / "open-review.html").read_text()
        assert program.stop(signal.SIGTERM) == 0
    assert f"{address}#token={token}" in page
    assert "open-review.html" in argv
    output = "".join(program.noise)
    assert "3 left to review: stark-translate review 2026-11-22T09-30-00" in output
    assert token not in output + str(program.log) + argv


@pytest.mark.slow
def test_a_taken_port_is_left_to_who_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """The first process reports its decisions at its end."""
    monkeypatch.chdir(tmp_path)
    review = Review(reviewable(tmp_path / "a", 1))
    review.decide(2, "approved", source="Sentence 2.", target="Frase 2.", reviewer="Ana")
    review.close()
    reviewable(tmp_path / "b")
    with started("review", "--sessions", "a", cwd=tmp_path) as first:
        port = first.address.rsplit(":", 1)[1].split("/")[0]
        err = cli("review --sessions b --port", port, code=1).err
        assert "[port-in-use]" in err
        assert str(Path("b") / FILE) in err, "where there is no browser it says where the token is"
        command = [sys.executable, "-m", "pipeline", "review", "--sessions", "b"]
        env = environment(STARK_TRANSLATE__SERVER__PORT=port)
        with subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as other:
            assert other.stderr is not None
            serving = next(line for line in other.stderr if b'"serving"' in line)
            assert orjson.loads(serving)["address"] != first.address
            other.terminate()
            other.stderr.read()
        assert first.stop() == 0
    assert first.noise[-1] == "2026-11-22T09-30-00: 0 left to review\n"


@pytest.mark.slow
def test_a_rehearsal_without_a_terminal_ends_with_its_report(tmp_path: Path) -> None:
    needs_file(GOLDEN)
    done = call("dry-run", *QUICK, "--port", "0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (page,) = (tmp_path / "sessions").glob("*/report.html")
    assert "evil" in page.read_text(encoding="utf-8")
    assert "to review" not in done.stderr


@pytest.mark.slow
def test_at_a_terminal_it_goes_on_to_the_review_by_itself(tmp_path: Path) -> None:
    needs_file(GOLDEN)
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "pipeline", "dry-run", *QUICK, "--port", "0"]
    env = environment(TERM="dumb", COLUMNS="200", **COMPARED)
    process = subprocess.Popen(
        command, cwd=tmp_path, env=env, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    output = b""
    deadline = time.monotonic() + 120
    while b"(Ctrl-C ends)" not in output and time.monotonic() < deadline:
        output += os.read(master, 65536)
    found = re.search(rb"captions of 20\S+ to review: (\S+/review) \(Ctrl-C ends\)", output)
    assert found, output
    token = (tmp_path / "sessions" / FILE).read_text().strip()
    assert known(found[1].decode(), token)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    os.close(master)
    (records,) = (tmp_path / "sessions").glob("*/diagnostics.jsonl")
    kinds = [orjson.loads(line)["type"] for line in records.read_bytes().splitlines()]
    captions = records.with_name("captions.jsonl").read_text().splitlines()
    assert kinds.count("compare") == len(captions)
