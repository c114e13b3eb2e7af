"""What stands in for a terminal, and which of the two is taken."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
import structlog

from pipeline.captions.redaction import Redaction
from pipeline.cli.screens import LineScreen, RichScreen, make_screen
from pipeline.core.reports import Fault, Level
from tests.support.screens import RECORD, caption


@pytest.fixture
def log_lines() -> Iterator[list[MutableMapping[str, Any]]]:
    with structlog.testing.capture_logs() as lines:
        yield lines


def test_without_a_terminal_finals_and_states_are_log_lines(
    log_lines: list[MutableMapping[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    screen = make_screen()
    assert isinstance(screen, LineScreen)
    screen.show_address("http://127.0.0.1:8765", "live", Path())
    screen.show_operator_page("http://127.0.0.1:8765/operator", "sessions/operator-token")
    screen.on_state("listening", "")
    screen.on_state("speech", "")
    screen.on_state("no-audio", "microphone lost")
    screen.on_state("listening", "a little behind")
    screen.on_level(Level(-30.0, -12.0, clipped=False, speaking=True))
    screen.on_caption(caption(1, "Grace", "Gra"), "es")
    screen.on_caption(caption(1, "Grace", "Gracia", final=True), "es")
    screen.on_utterance(RECORD)
    screen.on_fault(Fault("stt", "stt-failed", "x"))
    screen.close()
    screen.on_redaction(Redaction(0.0, 9.0), {})
    told = [(line["event"], line.get("state"), line.get("target")) for line in log_lines]
    assert told == [
        ("operator", None, None),
        ("state", "no-audio", None),
        ("state", "listening", None),
        ("caption", None, None),
        ("caption text", None, "Gracia"),
    ]
    kept = [line for line in log_lines if line["log_level"] != "debug"]
    assert "Gracia" not in str(kept), "logs are kept by others, who forget nothing"
    assert capsys.readouterr().out == ""
    screen.show_summary("all well")
    assert capsys.readouterr().out == "all well\n"


@pytest.mark.parametrize(("term", "kind"), [("xterm", RichScreen), ("dumb", LineScreen)])
def test_a_terminal_that_can_be_drawn_on_gets_the_live_view(
    monkeypatch: pytest.MonkeyPatch, term: str, kind: type
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert isinstance(make_screen(), kind)
