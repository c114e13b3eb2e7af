"""Kills the daemon at random moments of the demo sermon and starts it again, a display watching.

    python -m scripts.reliability.crash_recovery                20 kills, about eight minutes
    python -m scripts.reliability.crash_recovery --kills 3
    python -m scripts.reliability.crash_recovery --outside      also a NATS server and YouTube

After each kill -9 it checks that the journal, and the history that the next run sends, have every
final that the display showed. It measures how long the next run needs until it serves and until it
captions. With --outside it also checks that the stream of the NATS server has every final once in
the end, and that YouTube got none twice. Finals that YouTube lacks are only counted: it gets a
final when nothing more can be added to it, and after a kill the last one sent is unknown. Exit code
1 if a final is missing or doubled, or something took longer than ten seconds.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from rich.console import Console
from rich.table import Table
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from pipeline.publish.stream import StreamCaption, all_subjects, parse_stream
from scripts.support.command import parser_of, progress
from scripts.support.nats_server import NatsServer
from scripts.support.program import SERMON, Program, started
from scripts.support.web_recorder import WebRecorder

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
    display: Display | None = None,
    **more: str,
) -> list[Kill]:
    """Run and kill again and again, with one session and one display throughout.

    `more` are settings, as environment variables.
    """
    display, found = display or Display(), list[Kill]()
    arguments = ("run", "--input", str(SERMON), "--sessions", str(folder))
    more = {"STARK_TRANSLATE__STT__MODEL": "starter", **more}
    folder.mkdir(exist_ok=True)
    killed_s = after_s = 0.0
    shown = 0
    for number in progress(range(kills + 1), "killing"):
        with started(*arguments, cwd=folder, **more) as program:
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


def kill_with_others_listening(
    kills: int, folder: Path, draw: random.Random, longest_s: float
) -> tuple[list[Kill], list[str], int]:
    """Kill a service with a NATS server and a stand-in for YouTube.

    Returns the kills, the faults outside, and how many of the shown finals YouTube lacks.
    """
    display = Display()
    with NatsServer(folder / "nats") as broker, WebRecorder() as youtube:
        outputs = [{"program": "youtube", "url": f"{youtube.url}/closedcaption?cid=key"}]
        found = kill_again_and_again(
            kills,
            folder / "sessions",
            draw,
            longest_s=longest_s,
            display=display,
            STARK_TRANSLATE__PUBLISH__NATS=broker.url,
            STARK_TRANSLATE__OUTPUTS=orjson.dumps(outputs).decode(),
        )
        stored = asyncio.run(_stream(broker.url))
    texts = {caption.message.id: caption.message.target.text for caption in stored}
    wrong = [
        f"the stream lacks caption {key}: {text!r}"
        for key, text in display.finals.items()
        if texts.get(key) != text
    ]
    times = Counter(caption.message.id for caption in stored)
    wrong += [f"the stream has caption {key} {n} times" for key, n in times.items() if n > 1]
    sent = Counter(each.body.decode().partition("\n")[2].strip() for each in youtube.sent)
    # Each run plays the recording from its start, so the same text is correctly said again.
    versions = {
        (journal, line["id"], line["target"]["text"])
        for journal in (folder / "sessions").glob("*/captions.jsonl")
        for line in map(orjson.loads, journal.read_bytes().splitlines())
        if line["final"]
    }
    said = Counter(text for _, _, text in versions)
    wrong += [f"YouTube got {text!r} {n} times" for text, n in sent.items() if n > said[text]]
    lacking = Counter(display.finals.values()) - sent
    return found, wrong, lacking.total()


async def _stream(url: str) -> list[StreamCaption]:
    """Return the captions in the server's stream."""
    import nats  # noqa: PLC0415 - an extra
    from nats.errors import TimeoutError as SilenceError  # noqa: PLC0415

    client = await nats.connect(url)
    try:
        everything = await client.jetstream().subscribe(
            all_subjects("church"), ordered_consumer=True
        )
        found = []
        with suppress(SilenceError):
            while True:
                message = await everything.next_msg(timeout=2)
                item = parse_stream("church", message.subject, message.data)
                if isinstance(item, StreamCaption):
                    found.append(item)
        return found
    finally:
        await client.close()


def main() -> int:
    """Kill, print, judge; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--longest", type=float, default=40.0, metavar="S",
                        help="seconds after READY, at most, that it is killed (40)")  # fmt: skip
    parser.add_argument("--outside", action="store_true", help="with a NATS server and YouTube")
    arguments = parser.parse_args()
    wrong, lacking = list[str](), 0
    with tempfile.TemporaryDirectory() as folder:
        draw = random.Random(1)
        count, place, longest_s = arguments.kills, Path(folder), arguments.longest
        if arguments.outside:
            kills, wrong, lacking = kill_with_others_listening(count, place, draw, longest_s)
        else:
            kills = kill_again_and_again(count, place, draw, longest_s=longest_s)
    table = Table("killed after, s", "finals shown", "history", "missing", "serves, s", "ready, s")
    for kill in kills:
        table.add_row(*map(str, kill))
    console = Console()
    console.print(table)
    ready = [kill.ready_s for kill in kills]
    missing = sum(len(kill.missing) for kill in kills)
    console.print(
        f"{len(kills)} kills, {sum(kill.shown for kill in kills)} finals shown, {missing} missing; "
        f"ready after p50 {np.median(ready):.1f} s, at most {max(ready):.1f} s"
    )
    if arguments.outside:
        console.print(f"Outside: {len(wrong)} missing or twice; YouTube lacks {lacking} finals")
    for each in wrong:
        console.print(each, markup=False)
    return 1 if missing or wrong or max(ready) > _LIMIT_S else 0


if __name__ == "__main__":
    sys.exit(main())
