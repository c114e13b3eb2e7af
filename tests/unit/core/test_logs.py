"""Logs: what goes to standard error, in which form, and what libraries may say."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
import structlog

from pipeline.core import logs


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    root, own = logging.getLogger(), logging.getLogger("pipeline")
    before = root.level, own.level
    yield
    logs.divert(None)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()
    root.handlers = [each for each in root.handlers if each is not logs._handler]
    root.setLevel(before[0])
    own.setLevel(before[1])


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


def own_log() -> structlog.stdlib.BoundLogger:
    log: structlog.stdlib.BoundLogger = structlog.get_logger("pipeline.daemon.captions.coordinator")
    return log


def test_elsewhere_than_on_a_terminal_a_line_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "auto")
    own_log().info("command", name="edit", text="Señor", code=b"x")
    (line,) = said(capsys)
    record = json.loads(line)
    assert datetime.fromisoformat(record.pop("utc")).tzinfo is not None
    assert record == {
        "event": "command",
        "level": "info",
        "logger": "pipeline.daemon.captions.coordinator",
        "name": "edit",
        "text": "Señor",
        "code": "b'x'",
    }


def sentences(
    monkeypatch: pytest.MonkeyPatch, level: logs.Level = "info", no_color: str = "1"
) -> None:
    """Log as on a terminal."""
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    logs.configure(level, "auto")


def test_on_a_terminal_a_line_is_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences(monkeypatch)
    own_log().warning("song", held=True, by="detector", from_s=1.0, to_s=2.0)
    own_log().info("engine", engine="stt", name="whisper", pid=7, gpu_layers=0)
    logging.getLogger("PIL").warning("a library says %d", 7)
    song, library = said(capsys)
    assert datetime.strptime(song[:8], "%H:%M:%S")  # noqa: DTZ007 - a clock, without a day
    assert song[9:] == "Music or singing: captions are held."
    assert library[9:] == "A library says 7"


def break_worker() -> None:
    try:
        raise ValueError("broken")  # noqa: TRY301
    except ValueError as error:
        own_log().error("worker broken", worker="x", code="crash", error="broken", exc_info=error)


def test_a_mistake_of_ours_keeps_its_trace_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences(monkeypatch)
    break_worker()
    lines = said(capsys)
    assert lines[0][9:] == "Broken [crash]"
    assert lines[-1] == "ValueError: broken"


def test_who_asks_for_debug_gets_the_fields(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences(monkeypatch, "debug")
    own_log().info("engine", engine="stt", pid=7)
    assert "pid=7" in said(capsys)[0]


def test_console_has_no_colours_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "console")
    own_log().info("serving", address="http://127.0.0.1:1")
    (line,) = said(capsys)
    assert "\x1b" not in line
    assert "serving" in line
    assert "address=http://127.0.0.1:1" in line


def test_a_trace_stays_within_its_json_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "json")
    break_worker()
    (line,) = said(capsys)
    assert "ValueError: broken" in json.loads(line)["exception"]


@pytest.mark.parametrize(
    ("level", "own", "library"),
    [
        ("debug", ["debug", "info", "warning", "error"], ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"], ["warning", "error"]),
        ("error", ["error"], ["error"]),
    ],
)
def test_levels(
    capsys: pytest.CaptureFixture[str], level: logs.Level, own: list[str], library: list[str]
) -> None:
    logs.configure(level, "json")
    foreign = logging.getLogger("websockets.server")
    for name in ("debug", "info", "warning", "error"):
        getattr(own_log(), name)("mine")
        getattr(foreign, name)("theirs %d", 7)
    records = [json.loads(line) for line in said(capsys)]
    assert [record["level"] for record in records if record["event"] == "mine"] == own
    theirs = [record for record in records if record["event"] == "theirs 7"]
    assert [record["level"] for record in theirs] == library
    assert {record["logger"] for record in theirs} == {"websockets.server"}


def test_warnings_are_logged(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "json")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=False)
        logging.captureWarnings(capture=True)
        warnings.warn("old ways", DeprecationWarning, stacklevel=1)
        logging.captureWarnings(capture=False)
    (line,) = said(capsys)
    assert "old ways" in json.loads(line)["event"]


def test_configured_twice_a_line_comes_once(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "json")
    logs.configure("info", "json")
    own_log().info("once")
    assert len(said(capsys)) == 1


def test_diverted_lines_go_elsewhere_until_given_back(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "console")
    taken: list[str] = []
    logs.divert(taken.append)
    own_log().info("one")
    logs.divert(None)
    own_log().info("two")
    assert len(taken) == 1
    assert "one" in taken[0]
    assert not taken[0].endswith("\n")
    (line,) = said(capsys)
    assert "two" in line


def test_a_line_that_cannot_be_written_breaks_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    logs.configure("info", "json")

    def refuse(_: str) -> None:
        raise OSError("gone")

    logs.divert(refuse)
    own_log().info("unheard")
    assert said(capsys) == []


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_a_terminal_gets_colours_unless_told_otherwise(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    no_color: str,
    coloured: bool,
) -> None:
    sentences(monkeypatch, no_color=no_color)
    own_log().warning("session kept", folder="one")
    (line,) = said(capsys)
    assert ("\x1b[" in line) is coloured
    assert "The session is kept in one" in line
    assert "warning" not in line


def test_the_address_is_said_at_any_level(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    logs.configure("error", "json")
    logs.serving("http://127.0.0.1:8765/", tmp_path)
    (line,) = said(capsys)
    assert json.loads(line) | {"utc": ""} == {
        "event": "serving",
        "address": "http://127.0.0.1:8765/",
        "session": str(tmp_path),
        "level": "info",
        "logger": "pipeline.address",
        "utc": "",
    }
