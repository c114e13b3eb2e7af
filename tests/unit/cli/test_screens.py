"""Screens with and without a terminal, and the choice between them."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import struct
import sys
import termios
import textwrap
import threading
import time
from pathlib import Path

import pytest
import structlog
from rich.console import RenderableType

from pipeline.captions.redaction import Redaction
from pipeline.cli.console import Console
from pipeline.cli.screens import LineScreen, RichScreen, make_screen
from pipeline.core.reports import Fault, Level
from scripts.support.records import utterance_record
from tests.support.patience import wait_for
from tests.support.screens import RECORD, caption


def test_without_a_terminal_finals_and_states_are_log_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    screen = make_screen()
    assert isinstance(screen, LineScreen)
    with structlog.testing.capture_logs() as log_lines:
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
    events = [(line["event"], line.get("state"), line.get("target")) for line in log_lines]
    assert events == [
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


_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def rich_screen(width: int = 80, height: int = 24) -> tuple[RichScreen, io.StringIO]:
    file = io.StringIO()
    return RichScreen(Console(file=file, force_terminal=True, width=width, height=height)), file


def bottom(screen: RichScreen, width: int = 80, height: int = 24) -> list[str]:
    """Return the live lines as they are now."""
    console = Console(file=io.StringIO(), width=width, height=height)
    console.print(screen._render())
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def printed(file: io.StringIO) -> str:
    return _ESCAPES.sub("", file.getvalue())


def test_the_bottom_shows_speech_state_level_and_times() -> None:
    screen, _ = rich_screen()
    screen._address = "http://127.0.0.1:8765"
    screen.on_caption(caption(1, "The Lord is my", "El Señor es mi", stable=8), "es")
    screen.on_state("behind", "a little behind")
    screen.on_level(Level(-30.0, -12.0, clipped=False, speaking=True))
    screen.on_utterance(RECORD)
    screen.on_utterance(utterance_record(2, final=None))  # a filtered utterance has no times
    assert bottom(screen) == [
        "The Lord is my",
        "El Señor es mi",
        "─" * 80,
        "behind a little behind http://127.0.0.1:8765 live",
        "██████████··········  -30 dBFS",
        "final 812 ms after the last syllable: pause 402, stt 90, partial 8, rest 3",
    ]


def test_before_anything_happens() -> None:
    screen, _ = rich_screen()
    lines = bottom(screen)
    assert lines[1].startswith("starting")
    assert lines[2] == f"{'·' * 20}  -60 dBFS"
    assert lines[3] == "no final yet"


def test_clipping_and_the_latest_fault_are_shown() -> None:
    screen, _ = rich_screen()
    screen.on_level(Level(3.0, 0.0, clipped=True, speaking=True))
    screen.on_fault(Fault("stt", "stt-failed", "x"))
    screen.on_fault(Fault("translate", "final-unusable", "y"))
    lines = bottom(screen)
    assert lines[2] == f"{'█' * 20}    3 dBFS CLIPPED"
    assert "translate: final-unusable" in lines[1]
    assert "stt-failed" not in lines[1]


def test_only_the_newest_three_open_captions_are_shown() -> None:
    screen, _ = rich_screen()
    for number in (2, 1, 3, 4):
        screen.on_caption(caption(number, f"source {number}", f"target {number}"), "es")
    assert [line for line in bottom(screen) if line.startswith("target")] == [
        "target 2",
        "target 3",
        "target 4",
    ]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 10)])
def test_it_always_fits_and_shows_the_end_of_a_long_caption(width: int, height: int) -> None:
    screen, _ = rich_screen(width, height)
    screen.on_state("behind", "far behind: captions as spoken " * 3)
    screen.on_utterance(RECORD)
    for number in range(3):
        words = " ".join(f"w{n}" for n in range(200))
        screen.on_caption(caption(number, f"{words} source", f"{words} target"), "es")
    lines = bottom(screen, width, height)
    assert len(lines) < height
    assert all(len(line) <= width for line in lines)
    text = " ".join(lines)
    assert text.count("source") == text.count("target") == (3 if height == 24 else 1)
    assert "…" in text


def test_what_may_still_change_is_dim_wherever_the_text_is_cut() -> None:
    file = io.StringIO()
    console = Console(file=file, width=11, force_terminal=True, color_system="standard")
    screen = RichScreen(console)
    screen.on_caption(caption(1, "x", "0123456789 " * 5, stable=40), "es")
    console.print(screen._render())
    out = file.getvalue()
    assert "…" in out
    dim = "".join(re.findall(r"\x1b\[2;3m(.*?)\x1b\[0m", out))
    assert dim == "7" + "89" + "0123456789"


def test_finals_scroll_by_once_and_leave_the_bottom() -> None:
    screen, file = rich_screen()
    screen.show_address("http://127.0.0.1:8765/", "demo", Path("sessions/x"))
    screen.show_operator_page("http://127.0.0.1:8765/operator", "sessions/operator-token")
    screen.on_caption(caption(1, "The Lord", "El Señor"), "es")
    screen.on_caption(
        caption(1, "The Lord is my shepherd.", "El Señor es mi pastor.", final=True), "es"
    )
    screen.on_caption(caption(1, "", "", final=True), "es")  # hidden by the operator
    screen.on_caption(caption(2, "uh", "eh"), "es")
    screen.on_caption(caption(2, "", "", final=True), "es")  # filtered before it was final
    wait_for(lambda: "taken away" in printed(file))
    screen.close()
    text = printed(file)
    assert "at http://127.0.0.1:8765/ (phones), http://127.0.0.1:8765/projector (the wall)" in text
    assert "Ctrl-C ends it; then stark-translate report last shows how it went" in text
    assert "The desk is at http://127.0.0.1:8765/operator; stark-translate desk opens it" in text
    assert text.count("1:01 The Lord is my shepherd.\n     El Señor es mi pastor.  gemma\n") == 1
    assert text.count("caption 1 was taken away") == 1
    assert "caption 2" not in text
    assert screen._open == {}


def test_a_text_cannot_steer_the_terminal() -> None:
    screen, file = rich_screen()
    screen.show_address("", "live", Path())
    evil = "a\x1b[2Jb\x07[bold]c\u202e"
    screen.on_caption(caption(1, evil, evil, final=True), "es")
    screen.on_caption(caption(2, evil, evil), "es")
    screen.close()
    assert "\x1b[2J" not in file.getvalue()
    assert "\x07" not in file.getvalue()
    assert "a [2Jb [bold]c" in printed(file)


@pytest.mark.slow
def test_what_comes_before_close_is_printed_and_close_may_come_twice() -> None:
    screen, file = rich_screen()
    screen.show_address("", "live", Path())
    for number in range(500):
        screen.on_caption(caption(number, f"s{number}", f"t{number}", final=True), "es")
    screen.close()
    screen.close()
    assert [f"t{number}  gemma" in printed(file) for number in range(500)] == [True] * 500
    assert file.getvalue().endswith("\x1b[2K") or "\x1b[?25h" in file.getvalue()
    assert "screen" not in [thread.name for thread in threading.enumerate()]
    screen.show_summary("the end")
    assert printed(file).endswith("the end\n")


def test_close_without_start_is_harmless() -> None:
    screen, file = rich_screen()
    screen.close()
    assert file.getvalue() == ""


@pytest.mark.slow
def test_it_draws_at_most_eight_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, _ = rich_screen()
    drawn: list[float] = []
    render = screen._render

    def counted() -> RenderableType:
        drawn.append(time.monotonic())
        return render()

    monkeypatch.setattr(screen, "_render", counted)
    screen.show_address("", "live", Path())
    until_s = time.monotonic() + 1.0
    while time.monotonic() < until_s:
        screen.on_level(Level(-30.0, -12.0, clipped=False, speaking=True))
        time.sleep(0.001)
    screen.close()
    assert 4 <= len(drawn) <= 13  # one more at the start, two at the end


class _Blocked(io.StringIO):
    """A terminal whose user has pressed Ctrl-S."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    def write(self, text: str) -> int:
        self.go_on.wait(10)
        return super().write(text)


@pytest.mark.slow
def test_a_terminal_that_blocks_holds_nobody_up() -> None:
    file = _Blocked()
    screen = RichScreen(Console(file=file, force_terminal=True, width=80, height=24))
    began_s = time.monotonic()
    screen.show_address("", "live", Path())
    for number in range(1000):
        screen.on_caption(caption(number, "s", "t", final=True), "es")
        screen.on_level(Level(-30.0, -12.0, clipped=False, speaking=True))
    assert time.monotonic() - began_s < 0.5
    screen.close()  # gives up after a second
    assert time.monotonic() - began_s < 2.0
    file.go_on.set()
    screen._thread.join(5.0)
    assert not screen._thread.is_alive()


class _Gone(io.StringIO):
    """A terminal whose window was closed."""

    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")


def test_a_terminal_that_goes_away_ends_only_the_screen() -> None:
    screen = RichScreen(Console(file=_Gone(), force_terminal=True, width=80, height=24))
    screen.show_address("", "live", Path())
    screen._thread.join(5.0)
    assert not screen._thread.is_alive()
    screen.on_caption(caption(1, "s", "t", final=True), "es")
    screen.close()


SCRIPT = """
    import signal, sys, threading, time
    from pathlib import Path
    import structlog
    from pipeline.core import logs
    from pipeline.cli.screens import RichScreen, make_screen
    from tests.support.screens import caption

    log = structlog.get_logger("pipeline.x")
    screen = make_screen()
    assert isinstance(screen, RichScreen)
    logs.configure("info", "auto")
    screen.show_address("http://127.0.0.1:8765", "demo", Path("sessions/x"))
    try:
        for number in range(10_000):
            screen.on_caption(caption(1, f"word {number}", f"palabra {number}"), "es")
            if number < 20:
                log.info("line", number=number, text="x" * 30)
                said = caption(number + 2, f"said {number}", f"dicho {number}", True)
                screen.on_caption(said, "es")
            time.sleep(0.005)
    finally:
        screen.close()
        screen.show_summary("the end")
"""


def in_a_terminal(script: str, interrupt_after: str) -> str:
    """Run Python on a pseudo-terminal of 80x24; press Ctrl-C once it has shown some text."""
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - the child
        os.execve(
            sys.executable,
            [sys.executable, "-c", textwrap.dedent(script)],
            os.environ | {"TERM": "xterm-256color", "NO_COLOR": "", "COLUMNS": "80", "LINES": "24"},
        )
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    out, pressed = b"", False
    until_s = time.monotonic() + 30
    while time.monotonic() < until_s and select.select([terminal], [], [], 30)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the child has closed it
            break
        out += piece
        if not pressed and interrupt_after.encode() in out:
            os.write(terminal, b"\x03")
            pressed = True
    os.close(terminal)
    os.waitpid(pid, 0)
    return out.decode()


@pytest.mark.slow
def test_ctrl_c_on_a_real_terminal_leaves_it_whole() -> None:
    out = in_a_terminal(SCRIPT, "dicho 19")
    assert out.rindex("\x1b[?25h") > out.rindex("\x1b[?25l")  # the cursor is back
    assert "the end" in out[out.rindex("\x1b[?25h") :]
    # An erased line is a live line: the text after it begins on a clean line.
    text = _ESCAPES.sub("", out.replace("\x1b[2K", "\n")).replace("\r", "")
    for number in range(20):
        # Every log line and every final is whole, on its own line.
        pattern = rf"^\d\d:\d\d:\d\d Line: number {number}, text x{{30}}\.$"
        assert re.search(pattern, text, re.MULTILINE)
        assert re.search(rf"^ +dicho {number}  gemma$", text, re.MULTILINE)
    assert "KeyboardInterrupt" in text


def test_off_the_record_the_terminal_is_wiped_with_what_has_not_been_printed_yet() -> None:
    screen, file = rich_screen()
    screen._address = "http://127.0.0.1:8765/"
    screen.on_caption(caption(1, "Ludmila", "Ludmila", final=True), "es")
    screen._print()
    screen.on_caption(caption(2, "Ludmila again", "otra vez", final=True), "es")
    screen.on_caption(caption(3, "and Ludmila", "y Ludmila"), "es")
    screen.on_utterance(RECORD)
    screen.on_redaction(Redaction(0.0, 9.0), {})
    assert "Ludmila" not in "\n".join(bottom(screen))
    screen._print()
    before, _, after = file.getvalue().rpartition("\x1b[3J")
    assert before.endswith("\x1b[H\x1b[2J")
    assert "Ludmila" not in _ESCAPES.sub("", after)
    assert "http://127.0.0.1:8765/" in _ESCAPES.sub("", after)
    assert "off the record" in after
