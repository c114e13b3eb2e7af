"""An hour of the church's voice on a phone's page, with the network cut for ten seconds twice.

    python -m scripts.reliability.listener
    python -m scripts.reliability.listener --minutes 5 --cuts 1 3 --set speech.engine=espeak

The real program captions and speaks a sermon in real time, over and over. A page in Chromium
listens through a proxy, which passes nothing while the network is cut. Every half second the test
asks the page's player what it has played. A break is a time in which it plays nothing. Only cuts
may cause breaks, and each may last 5 s longer than its cut. Needs what `[speech]` needs.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import soundfile
from playwright.sync_api import Page

from pipeline.audio.file import read_audio
from pipeline.core.types import SAMPLE_RATE
from scripts.support.browser import chromium
from scripts.support.command import add_settings, parser_of, progress
from scripts.support.loop_thread import LoopThread
from scripts.support.program import SERMON, started
from scripts.support.tcp_proxy import TcpProxy

_CUT_S, _AFTER_S = 10.0, 5.0
_EVERY_S = 0.5
_STILL_S = 1.0
"""Shortest time without sound that is a break; a busy machine may answer late."""
KEEP = "window.Audio = class extends Audio { constructor() { super(); window.sound = this; } };"
"""Page script that keeps the player as `window.sound`, so that the test can ask it."""
_ASK = "[sound.src, sound.currentTime, sound.buffered.length ? sound.buffered.end(0) : 0]"


@dataclass(frozen=True, slots=True)
class Break:
    """A time without sound, in seconds since listening began."""

    at_s: float
    length_s: float


class Line:
    """A proxy in front of the program's port, on its own event loop, that can be cut."""

    def __init__(self, address: str) -> None:
        self._proxy = TcpProxy(urlsplit(address).port or 80)
        self._loop = LoopThread("line")
        self._loop.start()
        self._loop.wait(self._proxy.__aenter__())

    @property
    def address(self) -> str:
        """The address that the page opens."""
        return f"http://127.0.0.1:{self._proxy.port}"

    def cut(self) -> None:
        """Let nothing pass for ten seconds."""
        self._loop.call(self._proxy.cut)
        self._loop.call(self._loop.loop.call_later, _CUT_S, self._proxy.mend)

    def close(self) -> None:
        """End the proxy."""
        self._loop.wait(self._proxy.__aexit__())
        self._loop.stop()


def main(argv: Sequence[str] | None = None) -> int:
    """Listen, print, return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="of listening (default 60)")
    parser.add_argument("--cuts", nargs="*", type=float, default=[20.0, 40.0], metavar="MINUTE",
                        help="when the network is cut (default 20 40)")  # fmt: skip
    add_settings(parser, "a setting of the program")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        found = listen(given.minutes * 60, given.cuts, given.set, Path(name))
    cuts_s = [60 * minute for minute in given.cuts]
    asked_s = given.minutes * 60
    print(f"played {found.played_s:.0f} s of {asked_s:.0f}; at most {found.ahead_s:.1f} s behind")
    bad = 0
    for each in found.breaks:
        is_cut = any(at_s <= each.at_s < at_s + _CUT_S for at_s in cuts_s)
        is_bad = not is_cut or each.length_s > _CUT_S + _AFTER_S
        bad += is_bad
        print(f"  silent at {each.at_s:.0f} s for {each.length_s:.1f} s" + " (bad)" * is_bad)
    return 1 if bad or len(found.breaks) < len(cuts_s) else 0


def listen(length_s: float, cuts: Sequence[float], changes: Sequence[str], folder: Path) -> Played:
    """Caption a sermon for `length_s` and listen to its voice."""
    sermon = read_audio(SERMON)
    rounds = int((length_s + 60) * SAMPLE_RATE / len(sermon)) + 1
    soundfile.write(folder / "hour.flac", np.tile(sermon, rounds), SAMPLE_RATE)
    options = [part for each in ("speech.enabled=true", *changes) for part in ("--set", each)]
    with (
        started("run", "--input", str(folder / "hour.flac"), *options, cwd=folder) as program,
        closing(Line(program.address)) as before,
        chromium() as browser,
    ):
        program.wait_for("caption")
        page = browser.new_page(locale="es")
        page.add_init_script(KEEP)
        page.goto(f"{before.address}/?lang=es")
        page.locator("#aloud").click()
        while page.evaluate("sound.currentTime") < 1:  # the page's CSP forbids waiting inside it
            page.wait_for_timeout(200)
        return heard(page, before, length_s, cuts)


@dataclass
class Played:
    """What a player has played, from its reports."""

    began_s: float
    played_s: float = 0.0
    ahead_s: float = 0.0
    """The most buffered sound that was not yet played."""
    breaks: list[Break] = field(default_factory=list)
    _source: str = ""
    _at: float = 0.0
    _moved_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._moved_s = self.began_s

    def take(self, now_s: float, source: str, position: float, end: float) -> None:
        """Add a report of the player: its address, its position and the end of its buffer."""
        # A new address is a new connection, which begins at zero.
        step_s = position - (self._at if source == self._source else 0.0)
        self._source, self._at = source, position
        self.ahead_s = max(self.ahead_s, end - position)
        if step_s <= 0:
            return
        # A break ended `step_s` ago, since the player has played that much since the last report.
        if now_s - self._moved_s - step_s > _STILL_S:
            self.breaks.append(Break(self._moved_s - self.began_s, now_s - self._moved_s - step_s))
        self.played_s, self._moved_s = self.played_s + step_s, now_s


def heard(page: Page, before: Line, length_s: float, cuts: Sequence[float]) -> Played:
    """Ask a page's player twice a second, and cut its line at some minutes."""
    played = Played(time.monotonic())
    waiting = sorted(60 * minute for minute in cuts)
    for _ in progress(range(int(length_s / _EVERY_S)), "listening"):
        page.wait_for_timeout(_EVERY_S * 1000)
        now_s = time.monotonic()
        if waiting and now_s - played.began_s >= waiting[0]:
            waiting.pop(0)
            before.cut()
        played.take(now_s, *page.evaluate(_ASK))
        if now_s - played.began_s >= length_s:
            break
    return played


if __name__ == "__main__":
    sys.exit(main())
