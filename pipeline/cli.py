"""The command line: `stark-translate run | dry-run | demo | devices | config`."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pipeline import __version__, assembly, logs
from pipeline.app import App
from pipeline.bundled import bundled
from pipeline.config import Audio, Loaded, Settings, leaves, load
from pipeline.crew import Engines
from pipeline.devices import devices, meter
from pipeline.dictionary import Dictionary
from pipeline.engines.microphone import Microphone
from pipeline.errors import StarkError
from pipeline.scoring import score, table
from pipeline.terminal import Screen, level_bar, make_screen
from pipeline.wire import Mode

Run = Callable[[argparse.Namespace], int]

_EPILOG = """\
examples:
  stark-translate demo                       see it work, on a recorded sermon
  stark-translate devices --meter            find the microphone and check its level
  stark-translate run --device "USB Audio"   caption a service
  stark-translate run --input sermon.wav     caption a recording
  stark-translate dry-run                    rehearse: nothing reaches the audience

Settings come from config.toml, then STARK_TRANSLATE__SECTION__KEY variables, then flags;
`stark-translate config` shows what is in force.
exit codes: 0 clean, 1 something broke, 2 wrong usage, 78 wrong settings
"""

_DEVICE_HINT = '\nPut a part of a name into config.toml: [audio] device = "..."'

_FLAGS = {
    "device": "audio.device",
    "channel": "audio.channel",
    "input": "audio.input",
    "pace": "audio.pace",
    "host": "server.host",
    "port": "server.port",
    "sessions": "session.directory",
    "log_level": "log.level",
}
"""Command-line flags that set a key."""

STARTER = {
    "stt.model": "starter",
    "translate.source": "en",
    "translate.target": "es",
    "translate.partial.engine": "marian",
    "translate.partial.model": "starter",
    "translate.final.model": "starter",
    "translate.final.prompt": "auto",
}
"""The demo runs what ships, whatever the church has set."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        code: int = arguments.command(arguments)
    except StarkError as error:
        print(f"stark-translate: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stark-translate",
        description="Live sermon captions in another language.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(name: str, run: Run, help_text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help_text, description=help_text)
        sub.set_defaults(command=run)
        sub.add_argument(
            "--config", type=Path, metavar="FILE", help="settings instead of ./config.toml"
        )
        sub.add_argument("--log-level", choices=["debug", "info", "warning", "error"])
        return sub

    def serving(name: str, run: Run, help_text: str) -> argparse.ArgumentParser:
        sub = command(name, run, help_text)
        sub.add_argument("--host", help="address to serve on; 0.0.0.0 lets phones in")
        sub.add_argument(
            "--port", type=int, help="port to serve on; 0 picks a free one and prints it"
        )
        sub.add_argument("--sessions", metavar="DIR", help="where session folders are made")
        return sub

    def hearing(name: str, run: Run, help_text: str) -> None:
        sub = serving(name, run, help_text)
        sub.add_argument("--device", help="part of the microphone's name (see `devices`)")
        sub.add_argument("--channel", type=int, help="channel of the device or file; 0 mixes all")
        sub.add_argument("--input", metavar="FILE", help="an audio file instead of a microphone")
        sub.add_argument("--pace", choices=["realtime", "fast"], help="how fast a file is played")

    hearing("run", _run, "Caption a service.")
    hearing("dry-run", _dry_run, "Rehearse: captions reach operators and this terminal only.")
    demo = serving("demo", _demo, "Play the demo sermon through everything and score the captions.")
    demo.add_argument(
        "--fast", action="store_true", help="as fast as the machine can, not in real time"
    )
    demo.add_argument("--loop", action="store_true", help="play it again and again until Ctrl-C")
    listing = command("devices", _devices, "List microphones and other inputs.")
    listing.add_argument("--meter", action="store_true", help="show the level of one until Ctrl-C")
    listing.add_argument("--device", help="part of the name of the device to meter")
    listing.add_argument("--channel", type=int, help="channel of the device to meter; 0 mixes all")
    command("config", _config, "Print the settings in force and where each comes from.")
    return parser


def _load(arguments: argparse.Namespace, extra: dict[str, Any] | None = None) -> Loaded:
    given = vars(arguments)
    flags = {key: given[flag] for flag, key in _FLAGS.items() if given.get(flag) is not None}
    return load(arguments.config, flags | (extra or {}))


def _run(arguments: argparse.Namespace) -> int:
    return _serve(_load(arguments).settings, "live")[0]


def _dry_run(arguments: argparse.Namespace) -> int:
    return _serve(_load(arguments).settings, "dry-run")[0]


def _demo(arguments: argparse.Namespace) -> int:
    pace = "fast" if arguments.fast else "realtime"
    sermon = bundled("demo", "sermon.flac")
    settings = _load(
        arguments, STARTER | {"audio.input": str(sermon), "audio.pace": pace, "audio.channel": 1}
    ).settings
    code, folder, screen = _serve(settings, "demo", loop=arguments.loop)
    screen.summary(table(score(folder, bundled("demo", "sermon.json"))))
    screen.summary(f"The session is kept in {folder}")
    return code


def _serve(settings: Settings, mode: Mode, *, loop: bool = False) -> tuple[int, Path, Screen]:
    screen = make_screen()
    logs.configure(settings.log.level, settings.log.format)
    dictionary = Dictionary(settings)
    engines = Engines(
        source=assembly.audio_source(settings, loop=loop),
        detector=assembly.speech_detector(),
        recognizer=assembly.recognizer(settings, dictionary),
        partial=assembly.partial_translator(settings),
        final=assembly.final_translator(settings),
    )
    app = App(settings, engines, dictionary=dictionary, screen=screen, mode=mode)
    try:
        code = asyncio.run(app.run())
    finally:
        screen.close()
    if app.failure is not None:
        print(f"stark-translate: {app.failure}", file=sys.stderr)
    if app.stuck:
        # A thread inside a hung engine would hold up (or crash) the interpreter's own end.
        sys.stderr.flush()
        sys.stdout.flush()
        os._exit(code)
    return code, app.folder, screen


def _devices(arguments: argparse.Namespace) -> int:
    audio = _load(arguments).settings.audio
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
    console.print(Text(_DEVICE_HINT, style="dim"))
    return 0


def _meter(console: Console, audio: Audio) -> None:
    microphone = Microphone(audio.device, channel=audio.channel)
    with suppress(KeyboardInterrupt), Live(console=console, refresh_per_second=8) as live:
        for level in meter(microphone):
            live.update(level_bar(level))


def _config(arguments: argparse.Namespace) -> int:
    loaded = _load(arguments)
    section = ""
    for path, value in leaves(loaded.settings.model_dump()):
        table, key = path.rsplit(".", 1)
        if table != section:
            print(f"[{table}]")
            section = table
        shown = "set" if path == "operator.token" and value else value
        print(f"{key} = {orjson.dumps(shown).decode():<24} # {loaded.origins[path]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
