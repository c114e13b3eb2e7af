"""`replay`: show a past session on the displays again."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from pipeline.captions.board import CaptionBoard
from pipeline.cli.options import (
    SESSION,
    Commands,
    add_command,
    add_serving,
    number,
    session_of,
    settings_of,
)
from pipeline.cli.screens import make_screen
from pipeline.config.schema import Settings
from pipeline.core import logs
from pipeline.core.errors import ProtocolError, SessionError
from pipeline.core.formats import utc_now
from pipeline.core.metrics import Metrics
from pipeline.core.types import Mode, State
from pipeline.daemon.context.screen import Screen
from pipeline.daemon.life.signals import ENDS, handle_signals
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.commands import CommandMessage
from pipeline.records.health import Dropped, HealthRecord, Queues
from pipeline.server.hub import Hub
from pipeline.session.reader import Session

_SAYS = "Show a recorded session on the displays again, with its own timing."


def add(commands: Commands) -> None:
    parser = add_command(commands, "replay", _replay, _SAYS)
    parser.add_argument("session", nargs="?", default="last", help=SESSION)
    says = "playing speed; 2 is twice as fast (1)"
    parser.add_argument("--speed", type=number(float, 0.01, 1000), default=1.0, help=says)
    add_serving(parser)


def _replay(arguments: argparse.Namespace) -> int:
    folder, settings = session_of(arguments), settings_of(arguments).settings
    screen = make_screen()
    logs.configure(settings.log.level, settings.log.format)
    try:
        replay = Replay(folder, settings, speed=arguments.speed, screen=screen)
        return asyncio.run(replay.run())
    finally:
        screen.close()


_MODE: Mode = "demo"
_LEAD_S = 1.0
"""Silence before the first caption, whatever it was in the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Health(HealthRecord):
    speed: float
    """Multiple of the pace of speech; /healthz reports it."""


class Replay:
    """One showing of a session's newest captions, at `speed` times the pace of speech."""

    def __init__(self, folder: Path, settings: Settings, *, speed: float, screen: Screen) -> None:
        """Read the session. Raises SessionError (session-unreadable, session-empty)."""
        session = Session(folder)
        captions = session.captions
        if not captions:
            raise SessionError("session-empty", f"{folder} holds no caption.", "Choose another.")
        self._folder = folder
        self._captions = [
            # As if each was made at once: the session's own seq counts partials too.
            replace(message, seq=seq, revision=1)
            for seq, message in enumerate(captions, 1)
        ]
        self._speed = speed
        self._shown: State = "starting"
        self._started_s = time.monotonic()
        self._screen = screen
        self._at_s = max(0.0, captions[0].start_s - _LEAD_S)
        self._board = CaptionBoard(
            # Not the session's own name: a display that followed it must not see this as a resume.
            f"replay-{folder.name}",
            session.langs["source"],
            session.langs["target"],
            settings.server.history,
        )
        self.hub = Hub(
            (self._board,),
            settings.server,
            mode=_MODE,
            # A random token that nobody knows is enough: a replay takes no commands.
            token=settings.operator.token or secrets.token_urlsafe(16),
            metrics=Metrics(),
            church=settings.church,
        )

    async def run(self) -> int:
        """Serve and show until SIGINT or SIGTERM, also after the end. Raises ServerError."""
        stop = asyncio.Event()
        handle_signals(dict.fromkeys(ENDS, stop.set))
        await self.hub.start(on_command=_refuse, health=self._health)
        try:
            logs.serving(self.hub.address, self._folder)
            self._screen.show_address(self.hub.address, _MODE, self._folder)
            await self._show(stop)
            await stop.wait()
        finally:
            await self.hub.close()
        return 0

    async def _show(self, stop: asyncio.Event) -> None:
        """Show every caption at its time, then the end; return early when asked to stop."""
        now_s = asyncio.get_running_loop().time
        first_s, began_s = self._at_s, now_s()
        self._state("listening")
        for at_s, message in _schedule(self._captions):
            due_s = began_s + (at_s - first_s) / self._speed
            with suppress(TimeoutError):
                # An absolute time, not a duration: delays of the steps do not add up.
                async with asyncio.timeout_at(due_s):
                    # The last captions stay on the screens until somebody ends the replay.
                    await stop.wait()
            if stop.is_set():
                break
            # /healthz reports it, as a service reports how much it has heard.
            self._at_s = at_s
            if message is None:
                self._state("speech")
                continue
            # `restore` keeps its seq; `show` would make a new revision.
            self._board.restore([message])
            self.hub.publish(message, self._board.target)
            self._screen.on_caption(message, self._board.target)
            self._state("listening")
        self._state("ended")

    def _state(self, state: State) -> None:
        self._shown = state
        self.hub.set_state(state)
        self._screen.on_state(state, "")

    def _health(self) -> _Health:
        """Return the health of the replay: no engine works in it and nothing is dropped."""
        return _Health(
            utc=utc_now(),
            state=self._shown,
            reason="",
            mode=_MODE,
            session=self._board.session,
            uptime_s=round(time.monotonic() - self._started_s, 1),
            audio_s=round(self._at_s, 1),
            lag_s=0.0,
            rung="full",
            source=self._folder.name,
            recognizer="",
            partial="",
            final="",
            setback="",
            queues=Queues(mailbox=0, drafts=0),
            dropped=Dropped(blocks=0, records=0, partials=0, drafts=0),
            memory_mb=round(psutil.Process().memory_info().rss / 1e6, 1),
            speed=self._speed,
        )


def _schedule(captions: Sequence[CaptionMessage]) -> list[tuple[float, CaptionMessage | None]]:
    """Return the steps with their seconds of audio: a caption is heard (None), then it is shown.

    In the order of the captions: one that begins before the last has ended waits for it.
    """
    steps: list[tuple[float, CaptionMessage | None]] = []
    for message in captions:
        last_s = steps[-1][0] if steps else 0.0
        start_s = max(message.start_s, last_s)
        steps += [(start_s, None), (max(message.end_s, start_s), message)]
    return steps


def _refuse(_: CommandMessage) -> None:
    raise ProtocolError("replay", "This is a past session shown again: it takes no commands.")
