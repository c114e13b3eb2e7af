"""Kills the daemon at random moments of the demo sermon and starts it again, a display watching.

    python -m scripts.reliability.crash_recovery                20 kills, about eight minutes
    python -m scripts.reliability.crash_recovery --kills 3
    python -m scripts.reliability.crash_recovery --outside      also French, NATS, YouTube, vMix

After each kill -9: is every final that the displays showed still there, in the journals and in the
history that the next run sends, and how long until it serves and until it captions again? With
--outside: does the stream of the NATS server have every one in the end, and has YouTube got any
caption twice? Ends with code 1 when a final is missing or twice, or something took longer than
--limit seconds.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import nats
import nats.errors
import numpy as np
import orjson
from rich.console import Console
from rich.progress import track
from rich.table import Table
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from scripts.support.command import parser_of, write_json
from scripts.support.nats_server import NatsServer
from scripts.support.program import SERMON, Program, started
from scripts.support.web_recorder import WebRecorder

_SHORTEST_S = 0.5
_LAST_S = 5.0
"""At the end, until what the last run goes on with has arrived everywhere."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill and what followed."""

    after_s: float
    """Seconds after READY."""
    shown: int
    """Finals that the display had shown in this run."""
    history: int
    """Captions in the history that the next run sent."""
    missing: tuple[str, ...]
    """Finals that a display has shown and the history lacks, by language and caption."""
    serving_s: float
    """From the kill until the next run serves pages."""
    ready_s: float
    """... until it captions."""


class Display:
    """What a display shows: the newest final version of each caption."""

    def __init__(self) -> None:
        self.finals: dict[int, str] = {}

    def watch(self, address: str, until_s: float) -> int:
        """Show captions until then (monotonic); return how many messages were finals."""
        count = 0
        with connect(address) as socket:
            while (left_s := until_s - time.monotonic()) > 0:
                try:
                    message = orjson.loads(socket.recv(timeout=left_s))
                except TimeoutError:
                    break
                count += self.take(message)
        return count

    def take(self, message: dict[str, Any]) -> int:
        """Take a message in; return how many finals were in it."""
        captions = message["captions"] if message["type"] == "hello" else [message]
        finals = [c for c in captions if c["type"] == "caption" and c["final"]]
        self.finals.update({c["id"]: c["target"]["text"] for c in finals})
        return len(finals)


def history(program: Program, lang: str) -> dict[int, str]:
    """Return the finals that a new display of a language gets."""
    latecomer = Display()
    with connect(program.socket(f"?lang={lang}")) as socket:
        latecomer.take(orjson.loads(socket.recv(timeout=10)))
    return latecomer.finals


def kill_again_and_again(
    kills: int,
    folder: Path,
    draw: random.Random,
    *,
    longest_s: float = 20.0,
    more: Mapping[str, str] | None = None,
    langs: Sequence[str] = ("es",),
) -> tuple[list[Kill], dict[str, Display]]:
    """Run, kill, run; one session, and one display a language through all of it.

    `more` are settings, as variables of the environment. Returns what the displays show, too.
    """
    displays, found = {lang: Display() for lang in langs}, []
    arguments = ("run", "--input", str(SERMON), "--sessions", str(folder))
    own = {"STARK_TRANSLATE__STT__MODEL": "starter", **(more or {})}
    killed_s = after_s = 0.0
    shown = 0
    for number in track(range(kills + 1), "killing", console=Console(stderr=True)):
        with started(*arguments, cwd=folder, **own) as program:
            program.socket()
            serving_s = time.monotonic()
            if number:
                lost, kept = _missing(program, displays)
            program.wait_for("ready")
            ready_s = time.monotonic()
            if number:
                found.append(
                    Kill(
                        round(after_s, 1), shown, kept, lost,
                        round(serving_s - killed_s, 2), round(ready_s - killed_s, 2),
                    )
                )  # fmt: skip
            if number == kills:
                time.sleep(_LAST_S if more else 0)
                break
            after_s = draw.uniform(_SHORTEST_S, longest_s)
            shown = _watch(displays, program, ready_s + after_s)
            killed_s = time.monotonic()
            program.process.kill()
    return found, displays


def _missing(program: Program, displays: Mapping[str, Display]) -> tuple[tuple[str, ...], int]:
    """Return the finals that were shown and are gone, and how many the histories have."""
    lost: set[str] = set()
    count = 0
    for place, (lang, display) in enumerate(displays.items()):
        kept = history(program, lang)
        count += len(kept)
        lines = program.journal(lang if place else "")
        journal = {line["id"]: line["target"]["text"] for line in lines}
        gone = [key for key, text in display.finals.items() if journal.get(key) != text]
        gone += [key for key, text in display.finals.items() if kept.get(key, text) != text]
        # The history is bounded, as is what anybody could scroll back to; the journal not.
        newest = sorted(display.finals)[-len(kept) :] if kept else sorted(display.finals)
        gone += [key for key in newest if key not in kept]
        lost |= {f"{lang} {key}" for key in gone}
    return tuple(sorted(lost)), count


def _watch(displays: Mapping[str, Display], program: Program, until_s: float) -> int:
    def watch(lang: str) -> int:
        return displays[lang].watch(program.socket(f"?lang={lang}"), until_s)

    try:
        with ThreadPoolExecutor(len(displays)) as pool:
            return sum(pool.map(watch, displays))
    except ConnectionClosed as closed:
        raise SystemExit(f"The daemon left before it was killed: {closed}") from None


def kill_with_everything_on(
    kills: int, folder: Path, draw: random.Random, longest_s: float
) -> tuple[list[Kill], list[str]]:
    """Kill a service with three languages, a NATS server and two outputs; return what is wrong."""
    with NatsServer(folder / "nats") as broker, WebRecorder() as youtube, WebRecorder() as vmix:
        targets = [{"lang": "fr", "rest": False}]
        more = {
            "STARK_TRANSLATE__TRANSLATE__TARGETS": orjson.dumps(targets).decode(),
            "STARK_TRANSLATE__PUBLISH__NATS": broker.url,
            "STARK_TRANSLATE__OUTPUTS__YOUTUBE": f"{youtube.url}/closedcaption?cid=key",
            "STARK_TRANSLATE__OUTPUTS__VMIX": vmix.url,
        }
        found, displays = kill_again_and_again(
            kills, folder, draw, longest_s=longest_s, more=more, langs=("es", "fr")
        )
        stored = asyncio.run(_stream(broker.url))
        wrong = [
            f"the stream lacks {lang} {key}"
            for lang, display in displays.items()
            for key, text in display.finals.items()
            if stored.get((lang, key)) != text
        ]
        sent = Counter(each.body.decode().partition("\n")[2].strip() for each in youtube.sent)
        # The recording begins anew with each run, so that the same is rightly said again.
        final: dict[tuple[Path, int], str] = {}
        for journal in folder.glob("*/captions.jsonl"):
            for line in map(orjson.loads, journal.read_bytes().splitlines()):
                final[journal, line["id"]] = line["target"]["text"]
        said = Counter(final.values())
        wrong += [
            f"YouTube got {text!r} {count} times"
            for text, count in sent.items()
            if text and count > said[text]
        ]
        if not vmix.sent:
            wrong.append("vMix got nothing")
    return found, wrong


async def _stream(url: str) -> dict[tuple[str, int], str]:
    """Return the captions in the server's stream by language and id."""
    client = await nats.connect(url)
    try:
        stream = client.jetstream()
        subscription = await stream.subscribe("captions.church.*.*.*", ordered_consumer=True)
        found: dict[tuple[str, int], str] = {}
        with suppress(TimeoutError, nats.errors.TimeoutError):
            while True:
                message = await subscription.next_msg(timeout=2)
                caption = orjson.loads(message.data)
                found[message.subject.split(".")[3], caption["id"]] = caption["target"]["text"]
        return found
    finally:
        await client.close()


def main() -> int:
    """Kill, print, judge; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--longest", type=float, default=40.0, metavar="S",
                        help="seconds after READY, at most, that it is killed (40)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds until READY (10)")
    parser.add_argument("--outside", action="store_true",
                        help="with French, a NATS server, YouTube and vMix")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        draw, wrong = random.Random(arguments.seed), list[str]()
        count, place, longest_s = arguments.kills, Path(folder), arguments.longest
        if arguments.outside:
            kills, wrong = kill_with_everything_on(count, place, draw, longest_s)
        else:
            kills, _ = kill_again_and_again(count, place, draw, longest_s=longest_s)
    table = Table("killed after, s", "finals shown", "history", "missing", "serves, s", "ready, s")
    for kill in kills:
        table.add_row(*(str(value) for value in asdict(kill).values()))
    console = Console()
    console.print(table)
    ready = [kill.ready_s for kill in kills]
    missing = sum(len(kill.missing) for kill in kills)
    console.print(
        f"{len(kills)} kills, {sum(kill.shown for kill in kills)} finals shown, {missing} missing; "
        f"ready after p50 {np.median(ready):.1f} s, at most {max(ready):.1f} s"
    )
    for each in wrong:
        console.print(each)
    write_json(arguments.json, kills)
    return 1 if missing or wrong or max(ready) > arguments.limit else 0


if __name__ == "__main__":
    sys.exit(main())
