"""`demo`: play a recording through everything, and score the captions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Literal

from pipeline.audio.playlist import Playlist
from pipeline.cli import streams
from pipeline.cli.commands.run import SYNTHETIC, serve
from pipeline.cli.options import Commands, add_command, add_serving, settings_of
from pipeline.config.schema import Settings
from pipeline.core.errors import ModelError
from pipeline.core.resources import bundled
from pipeline.daemon.context.sinks import Screen
from pipeline.models.automatic import AUTO, FIRST, names_in_use, recognizer_name
from pipeline.models.catalog import state
from pipeline.models.library import ModelLibrary
from pipeline.models.shipped import STARTER as STARTER_MODEL

DEMO = {"translate.source": "en", "translate.target": "es", "audio.channel": 1}
"""Settings that the demo's recording and reference demand, whatever the church has set."""
STARTER = {
    "stt.engine": "whisper",
    "stt.model": "starter",
    "translate.partial.engine": "marian",
    "translate.partial.model": "starter",
    "translate.final.engine": "gemma",
    "translate.final.model": "starter",
    "translate.final.prompt": "auto",
}
"""Settings of --starter: the demo runs on the shipped models only."""


def add(commands: Commands) -> None:
    """Add `demo`."""
    says = "Play the demo sermon through everything and score the captions."
    demo = add_command(commands, "demo", _demo, says)
    add_serving(demo)
    demo.add_argument("--fast", action="store_true", help="as fast as the machine can")
    what = demo.add_mutually_exclusive_group()
    what.add_argument("--loop", action="store_true", help="again and again, until Ctrl-C")
    what.add_argument("--pauses", action="store_true", help="long sentences with pauses in them")
    what.add_argument("--voices", action="store_true", help="three recordings of people instead")
    starter = "fetch nothing, and run on the models that ship"
    demo.add_argument("--starter", action="store_true", help=starter)
    demo.add_argument("--offline", action="store_true", help="fetch nothing: what is here must do")


def _demo(arguments: argparse.Namespace) -> int:
    # Imported here: a service needs none of them.
    from pipeline.evaluation.score import score, table  # noqa: PLC0415
    from pipeline.evaluation.voices import (  # noqa: PLC0415
        read_voices,
        score_session,
        voices_table,
    )

    pace: Literal["fast", "realtime"] = "fast" if arguments.fast else "realtime"
    text = "pauses" if arguments.pauses else "sermon"
    forced = STARTER if arguments.starter else {}
    loaded = settings_of(
        arguments,
        DEMO | forced | {"audio.input": str(bundled("demo", f"{text}.flac")), "audio.pace": pace},
    )
    if loaded.settings.stt.model == AUTO and not arguments.offline:
        _have_real_recognizer(loaded.settings)
    voices = read_voices(bundled("demo", "voices")) if arguments.voices else {}

    def then(folder: Path, screen: Screen) -> None:
        models = names_in_use(loaded.settings)
        if voices:
            screen.show_summary(voices_table(score_session(folder, voices), models))
        else:
            screen.show_summary(table(score(folder, bundled("demo", f"{text}.json")), models))
        screen.show_summary(f"The session is kept in {folder}")

    source = Playlist(list(voices), name="voices", pace=pace) if voices else None
    return serve(loaded, "demo", loop=arguments.loop, then=then, source=source)


def _have_real_recognizer(settings: Settings) -> None:
    """Fetch the recognizer of human voices, once; without it the demo runs on the starter."""
    store = ModelLibrary.of(settings)
    if recognizer_name(settings) != STARTER_MODEL or state(store, FIRST)[0] == "here":
        return
    streams.say(f"Fetching {FIRST}, which hears real voices, once (--starter goes without it).")
    from pipeline.cli.download_screen import Download  # noqa: PLC0415 - seldom needed

    try:
        with Download() as shown:
            shown.obtain(FIRST, store)
    except ModelError as error:
        streams.say(f"{error.message} The demo goes on with the starter. {SYNTHETIC}")
