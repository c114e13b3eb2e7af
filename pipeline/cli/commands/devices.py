"""`devices`: list the recording devices, or meter one's level."""

from __future__ import annotations

import argparse
from contextlib import suppress

from rich.live import Live
from rich.table import Table

from pipeline.audio.devices import devices, meter
from pipeline.audio.microphone import Microphone
from pipeline.cli.console import Console
from pipeline.cli.options import Commands, add_command, add_hearing, settings_of
from pipeline.cli.screens import level_bar
from pipeline.config.schema import Audio

_NONE = "No recording device was found. Is the microphone plugged in and switched on?"
_HINT = '\nPut a part of a name into config.toml: [audio] device = "..."'


def add(commands: Commands) -> None:
    parser = add_command(commands, "devices", _devices, "List microphones and other inputs.")
    parser.add_argument(
        "--meter", action="store_true", help="show the level of one input until Ctrl-C"
    )
    add_hearing(parser)


def _devices(arguments: argparse.Namespace) -> int:
    audio = settings_of(arguments).settings.audio
    console = Console()
    if arguments.meter:
        _meter(console, audio)
        return 0
    rows = Table("name", "system", "channels", "rate", box=None, header_style="bold")
    for device in devices():
        mark = " (default)" if device.is_default else ""
        rate = f"{device.default_rate} Hz"
        rows.add_row(device.name + mark, device.host_api, str(device.input_channels), rate)
    if not rows.row_count:
        console.print(
            "No recording device was found. Is the microphone plugged in and switched on?"
        )
        return 1
    console.print(rows)
    console.print(_HINT, style="dim")
    return 0


def _meter(console: Console, audio: Audio) -> None:
    microphone = Microphone(audio.device, channel=audio.channel)
    # Ctrl-C is how a meter ends, and no failure.
    # As often as `meter` tells a level.
    with suppress(KeyboardInterrupt), Live(console=console, refresh_per_second=8) as live:
        for level in meter(microphone):
            live.update(level_bar(level))
