"""Kills the daemon at random moments of the demo sermon and starts it again, a display watching.

    python -m scripts.reliability.crash_recovery                20 kills, about eight minutes
    python -m scripts.reliability.crash_recovery --kills 3

After each kill -9 it checks that the journal, and the history that the next run sends, have every
final that the display showed. It measures how long the next run needs until it serves and until it
captions. Exit code 1 if a final is missing, or something took longer than ten seconds.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from scripts.bench import report_section
from scripts.support.command import parser_of, progress
from scripts.support.program import SERMON, Program, started

_SHORTEST_S = 0.5
_LIMIT_S = 10.0
"""Longest time from a kill until the next run captions."""


class Kill(NamedTuple):
    """One kill and its results."""

    after_s: float
    """Seconds after READY."""
    shown: int
    """Number of finals that the display showed in this run."""
    history: int
    """Number of captions in the history that the next run sent."""
    missing: tuple[int, ...]
    """Captions whose final the display showed, but the journal or the history lacks."""
    serving_s: float
    """From the kill until the next run serves pages."""
    ready_s: float
    """From the kill until the next run captions."""


class Display:
    """A display that keeps the newest final version of each caption."""

    def __init__(self) -> None:
        self.finals: dict[int, str] = {}

    def watch(self, address: str, until_s: float) -> int:
        """Show captions until `until_s` (monotonic); return how many messages were finals."""
        count = 0
        try:
            with connect(address) as socket:
                while (left_s := until_s - time.monotonic()) > 0:
                    count += self.take(orjson.loads(socket.recv(timeout=left_s)))
        except TimeoutError:
            pass  # there was no speech in the remaining time
        except ConnectionClosed as closed:
            raise SystemExit(f"The daemon left before it was killed: {closed}") from None
        return count

    def take(self, message: dict[str, Any]) -> int:
        """Apply a message; return how many finals were in it."""
        captions = message["captions"] if message["type"] == "hello" else [message]
        finals = [c for c in captions if c["type"] == "caption" and c["final"]]
        self.finals.update({c["id"]: c["target"]["text"] for c in finals})
        return len(finals)


def kill_again_and_again(
    kills: int,
    folder: Path,
    draw: random.Random,
    *,
    longest_s: float = 20.0,
) -> list[Kill]:
    """Run and kill again and again, with one session and one display throughout."""
    display, found = Display(), list[Kill]()
    arguments = ("run", "--input", str(SERMON), "--sessions", str(folder))
    killed_s = after_s = 0.0
    shown = 0
    for number in progress(range(kills + 1), "killing"):
        with started(*arguments, cwd=folder, STARK_TRANSLATE__STT__MODEL="starter") as program:
            program.socket()
            serving_s = time.monotonic()
            lost, kept = _missing(program, display) if number else ((), 0)
            program.wait_for("ready")
            ready_s = time.monotonic()
            if number:
                took_s = [round(at_s - killed_s, 2) for at_s in (serving_s, ready_s)]
                found.append(Kill(round(after_s, 1), shown, kept, lost, *took_s))
            if number == kills:
                program.stop()  # a clean stop: queued captions are still sent out
                break
            after_s = draw.uniform(_SHORTEST_S, longest_s)
            shown = display.watch(program.socket(), ready_s + after_s)
            killed_s = time.monotonic()
            program.process.kill()
    return found


def _missing(program: Program, display: Display) -> tuple[tuple[int, ...], int]:
    """Return the finals that were shown and are lost, and how many the history has."""
    latecomer = Display()
    with connect(program.socket()) as socket:
        latecomer.take(orjson.loads(socket.recv(timeout=10)))
    kept = latecomer.finals
    journal = {line["id"]: line["target"]["text"] for line in program.journal()}
    gone = {key for key, text in display.finals.items() if journal.get(key) != text}
    gone |= {key for key, text in display.finals.items() if kept.get(key, text) != text}
    # The history is bounded, as is the scroll-back of a display; the journal is not.
    newest = sorted(display.finals)[-len(kept) :] if kept else sorted(display.finals)
    gone |= {key for key in newest if key not in kept}
    return tuple(sorted(gone)), len(kept)


def main() -> int:
    """Kill, print, judge; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--longest", type=float, default=40.0, metavar="S",
                        help="seconds after READY, at most, that it is killed (40)")  # fmt: skip
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kills = kill_again_and_again(
            arguments.kills, Path(folder), random.Random(1), longest_s=arguments.longest
        )
    head = ["killed after, s", "finals shown", "history", "missing", "serves, s", "ready, s"]
    report_section.show([head, *(list(map(str, kill)) for kill in kills)])
    ready = [kill.ready_s for kill in kills]
    missing = sum(len(kill.missing) for kill in kills)
    print(
        f"{len(kills)} kills, {sum(kill.shown for kill in kills)} finals shown, {missing} missing; "
        f"ready after p50 {np.median(ready):.1f} s, at most {max(ready):.1f} s"
    )
    return 1 if missing or max(ready) > _LIMIT_S else 0


if __name__ == "__main__":
    sys.exit(main())
