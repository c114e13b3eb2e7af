"""Runs the real program in real time and listens to it as a display does."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import orjson
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from pipeline.core.errors import ProtocolError
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.codec import parse_caption
from pipeline.records.utterance import UtteranceRecord
from pipeline.session.reader import Session
from scripts.bench.sightings import Sighting, at_the_glass
from scripts.support.command import progress
from scripts.support.program import started

_END_S = 900.0
"""A time limit that is longer than any recording here."""
_JOIN_S = 20.0


@dataclass(frozen=True, slots=True)
class LiveRun:
    """The results of one run."""

    folder: Path
    """The session's folder."""
    sightings: tuple[Sighting, ...]
    """Every version of every caption, in the recording's time."""
    cpu: float
    """CPU seconds of the program and its engines per second of audio, without loading."""
    painted: tuple[Sighting, ...] = ()
    """What a phone's page painted and when; empty if no page was open."""

    @property
    def session(self) -> Session:
        """The session's records."""
        return Session(self.folder)


def run_live(
    audio: Path, settings: Sequence[str], folder: Path, *, with_glass: bool = False
) -> LiveRun:
    """Play a recording to the program in real time. `settings` are KEY=VALUE.

    With `with_glass`, a phone's page is open in a browser during the run; the browser takes its
    own share of the machine.
    """
    children_before_s = _children_s()
    command = ["run", "--input", str(audio.resolve()), "--pace", "realtime"]
    command += ["--sessions", str(folder)]
    with ExitStack() as opened:
        program = opened.enter_context(started(*command, cwd=folder, **environment(settings)))
        display = Display(program.socket())
        phone = None
        if with_glass:
            from scripts.bench.glass import glass  # noqa: PLC0415 - only this needs a browser

            phone = opened.enter_context(glass(program.address))
        loaded_s = program.cpu_s
        program.end(_END_S)
        display.join(10)
        session = Session(program.folder)
        painted = phone.painted() if phone else []
        # Read before the browser ends, whose share is not the program's.
        used_s = _children_s() - children_before_s
    cpu = (used_s - loaded_s) / (session.heard_s or 1.0)
    seen = at_recording_time(display.got, session.shown)
    start_s = began_s(display.got, session.shown)
    return LiveRun(session.folder, seen, cpu, at_the_glass(seen, painted, start_s))


def run_in_turns(
    audio: Path,
    candidates: Mapping[str, Sequence[str]],
    runs: int,
    folder: Path,
    *,
    with_glass: bool = False,
) -> dict[str, list[LiveRun]]:
    """Return the runs of each candidate (its name, its settings), measured alternately."""
    found: dict[str, list[LiveRun]] = {name: [] for name in candidates}
    for name in progress([*candidates] * runs, f"running {audio.stem}"):
        found[name].append(run_live(audio, candidates[name], folder, with_glass=with_glass))
    return found


def environment(settings: Sequence[str]) -> dict[str, str]:
    """Return settings as environment variables; by default the starter, even with other models."""
    found = {"STARK_TRANSLATE__STT__MODEL": "starter"}
    for setting in settings:
        key, _, value = setting.partition("=")
        found["STARK_TRANSLATE__" + key.replace(".", "__").upper()] = value
    return found


class Display(threading.Thread):
    """Notes each caption and its arrival time until the program ends."""

    def __init__(self, address: str) -> None:
        super().__init__(name="display")
        self._address = address
        self.got: list[tuple[float, CaptionMessage]] = []
        """Captions with their arrival times (monotonic)."""
        self._joined = threading.Event()
        self.start()
        if not self._joined.wait(_JOIN_S):
            msg = f"No display could join {address}."
            raise SystemExit(msg)

    def run(self) -> None:
        """Take messages until the socket closes."""
        with connect(self._address, open_timeout=_JOIN_S, compression=None) as socket:
            try:
                for message in socket:
                    self._take(message)
                    self._joined.set()
            except ConnectionClosed:
                pass  # the program has ended

    def _take(self, message: str | bytes) -> None:
        at_s = time.monotonic()
        parsed = orjson.loads(message)
        captions = parsed.get("captions", []) if parsed["type"] == "hello" else [parsed]
        for caption in captions:
            try:
                self.got.append((at_s, parse_caption(orjson.dumps(caption))))
            except ProtocolError:
                continue  # of another type


def at_recording_time(
    got: Sequence[tuple[float, CaptionMessage]], shown: Sequence[UtteranceRecord]
) -> tuple[Sighting, ...]:
    """Return received captions (monotonic seconds) with times of the recording."""
    start_s = began_s(got, shown)
    return tuple(Sighting(at_s - start_s, message) for at_s, message in got)


def began_s(got: Sequence[tuple[float, CaptionMessage]], shown: Sequence[UtteranceRecord]) -> float:
    """Return when the recording began, monotonic seconds.

    Each final gives an estimate: its arrival, minus its delay, minus its position in the audio. A
    busy machine can only make the estimate later, so the earliest one is returned.
    """
    finals = {message.id: at_s for at_s, message in got if message.final}
    starts = [
        finals[each.id] - each.last_syllable_to_final_ms / 1000 - each.end_s
        for each in shown
        if each.id in finals and each.last_syllable_to_final_ms is not None
    ]
    return min(starts, default=0.0)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
