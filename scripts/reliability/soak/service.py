"""The program under the soak: the real App and engines, fed by the scenario instead of a device.

python -m scripts.reliability.soak.service --hours 8 --speed 16 --sessions DIR
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from pipeline.audio.silero_vad import Silero
from pipeline.audio.song_head import LinearSongDetector
from pipeline.cli.screens import LineScreen
from pipeline.config.loader import load
from pipeline.core import logs
from pipeline.core.resources import bundled
from pipeline.daemon.life.app import App
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process import factory
from pipeline.workers.base import Engines
from scripts.reliability.soak.scenario import Cable, scenario
from scripts.support.command import parser_of


def main() -> int:
    """Run until the scenario is over; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--hours", type=float, required=True)
    parser.add_argument("--speed", type=float, required=True)
    parser.add_argument("--sessions", type=Path, required=True)
    arguments = parser.parse_args()
    flags = {
        "session.directory": str(arguments.sessions),
        "server.port": 0,
        "stt.model": "starter",  # even if other models have been pulled
    }
    settings = load(flags=flags).settings
    logs.configure("warning", "json")
    dictionary = Dictionary(settings)
    parts = scenario(bundled("demo", "sermon.flac"))
    with factory.engine_processes(settings, compare=False) as processes:
        engines = Engines(
            source=Cable(parts, hours=arguments.hours, speed=arguments.speed),
            detector=Silero(),
            songs=LinearSongDetector(),
            recognizer=processes.recognizer,
            targets=processes.targets,
        )
        app = App(settings, engines, dictionary=dictionary, screen=LineScreen(), mode="live")
        return asyncio.run(app.run())


if __name__ == "__main__":
    sys.exit(main())
