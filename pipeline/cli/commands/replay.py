"""`replay`: show a past session on the displays again."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import suppress

from pipeline.cli.options import Commands, add_command, add_serving, session_of, settings_of
from pipeline.cli.replay_service import Replay
from pipeline.cli.screens import make_screen
from pipeline.core import logs

_SAYS = "Show a recorded session on the displays again, with its own timing."
_FASTEST = 1000.0


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "replay", _replay, _SAYS)
    parser.add_argument("session", help='a session\'s name or folder, or "last"')
    parser.add_argument(
        "--speed", type=_speed, default=1.0, help="playing speed; 2 is twice as fast (1)"
    )
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


def _speed(text: str) -> float:
    with suppress(ValueError):
        if 0 < (speed := float(text)) <= _FASTEST:
            return speed
    raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and up to {_FASTEST:g}")
