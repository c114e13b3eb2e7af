"""Every mistake of docs/MISTAKES.md gets the documented answer from the program."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import soundfile

from scripts.support.journal import message, session
from scripts.support.program import call
from tests.support.cli import told
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "MISTAKES.md"
_UTF_16 = "(saved in UTF-16)"


@dataclass(frozen=True)
class Mistake:
    """A row of the table."""

    typed: str
    given: str
    says: str
    code: str
    exit: int


def _code(cell: str) -> list[str]:
    return re.findall(r"`([^`]*)`", cell)


def rows() -> list[Mistake]:
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if end := re.search(r"\| (?:`([a-z-]+)`, )?(\d+) \|$", line):
            _, typed, given, says = (cell.strip() for cell in line[1 : end.start()].split("|"))
            found.append(Mistake(typed.strip("`"), given, says, end[1] or "", int(end[2])))
    return found


MISTAKES = rows()
LATE = {"audio-device-missing", "port-in-use"}
"""Reported only after a session and engines have started."""
ALONE = {m.exit: m for m in sorted(MISTAKES, key=lambda m: m.code in LATE)}.values()
"""One for each exit code, run as the real command in its own process; so are those of LATE."""


def prepare(folder: Path) -> None:
    """Put the files that docs/MISTAKES.md names into a folder."""
    soundfile.write(folder / "speech.wav", np.zeros((16_000, 2)), 16_000)
    (folder / "letter.wav").write_text("Dear sound team, attached is the sermon.")
    (folder / "recordings").mkdir()
    session(folder / "sessions", [message(1, "Grace", "Gracia")])
    (folder / "sessions" / "2026-11-15T09-30-00").mkdir()
    (folder / "sessions" / "2026-11-15T09-30-00" / "captions.jsonl").touch()


def configure(folder: Path, given: str) -> dict[str, str]:
    """Write config.toml, or return the environment variable to set instead."""
    parts = _code(given)
    if given.startswith("`STARK_"):
        name, _, value = parts[0].partition("=")
        return {name: value}
    if parts:
        text = "".join(f"{part}\n" for part in parts)
        coded = text.encode("utf-16" if given.startswith(_UTF_16) else "utf-8")
        (folder / "config.toml").write_bytes(coded)
    return {}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: each.typed or "nothing")
def test_a_mistake_gets_the_documented_answer(
    mistake: Mistake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(tmp_path)
    env = configure(tmp_path, mistake.given) | {"COLUMNS": "200"}
    env["STARK_TRANSLATE__MODELS__DIRECTORY"] = str(tmp_path / "models")
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        ports = {"TAKEN": taken.getsockname()[1], "FREE": free.getsockname()[1]}
        words = [str(ports.get(word, word)) for word in mistake.typed.split()]
        if mistake in ALONE or mistake.code in LATE:
            done = call(*words, cwd=tmp_path, env=env)
        else:
            done = told(capsys, *words, cwd=tmp_path, env=env)
    answer = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == mistake.exit, answer
    assert mistake.says in answer
    assert "Traceback" not in answer
    if mistake.code:
        assert done.stderr.rstrip().endswith(f"[{mistake.code}]")
    if mistake.code not in LATE:
        kept = {folder.name for folder in (tmp_path / "sessions").iterdir()}
        assert kept == {"2026-11-22T09-30-00", "2026-11-15T09-30-00"}, "it left a session behind"


def test_no_mistake_has_got_lost() -> None:
    assert len(MISTAKES) >= 57
