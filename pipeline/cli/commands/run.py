"""`run`, `dry-run` and `demo`: the daemon itself."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from pipeline.cli import streams as standard_streams
from pipeline.cli.commands.review import review
from pipeline.cli.options import (
    Commands,
    add_command,
    add_hearing,
    add_serving,
    settings_of,
    write_out,
)
from pipeline.cli.screens import make_screen
from pipeline.config.loader import Loaded
from pipeline.core import logs
from pipeline.core.resources import bundled
from pipeline.core.types import Mode
from pipeline.daemon.app import App
from pipeline.daemon.screen import Screen
from pipeline.dictionary.store import Dictionary
from pipeline.engines import factory as assembly
from pipeline.evaluation.score import score, table
from pipeline.review.report import report
from pipeline.session.reader import read_journal
from pipeline.workers.group import Engines

log = structlog.get_logger()

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


@dataclass(frozen=True, slots=True)
class _Ended:
    """A daemon that has run."""

    code: int
    folder: Path
    screen: Screen
    stuck: bool


def add(commands: Commands) -> None:
    """Describe the three commands."""
    for name, run, says in (
        ("run", _run, "Caption a service."),
        ("dry-run", _dry_run, "Rehearse: captions reach operators and this terminal only."),
    ):
        parser = add_command(commands, name, run, says)
        add_serving(parser)
        add_hearing(parser)
        parser.add_argument("--input", metavar="FILE", help="an audio file, not a microphone")
        parser.add_argument("--pace", choices=["realtime", "fast"], help="how fast it is played")
        if name == "dry-run":
            more = "go on to the review at the end (default: where there is a terminal)"
            parser.add_argument("--review", action=argparse.BooleanOptionalAction, help=more)
    says = "Play the demo sermon through everything and score the captions."
    demo = add_command(commands, "demo", _demo, says)
    add_serving(demo)
    demo.add_argument("--fast", action="store_true", help="as fast as the machine can")
    demo.add_argument("--loop", action="store_true", help="again and again, until Ctrl-C")


def _run(arguments: argparse.Namespace) -> int:
    return _serve(settings_of(arguments), "live")


def _dry_run(arguments: argparse.Namespace) -> int:
    loaded = settings_of(arguments)
    wanted = arguments.review
    if wanted is None:
        wanted = sys.stdin.isatty() and sys.stderr.isatty()

    def then(folder: Path, _: Screen) -> None:
        page = folder / "report.html"
        write_out(page, report(folder))
        log.info("report", file=str(page))
        if not read_journal(folder):
            log.info("nothing to review", reason="no caption was made")
        elif wanted:
            review(folder, loaded.settings, any_port=True)

    return _serve(loaded, "dry-run", then=then)


def _demo(arguments: argparse.Namespace) -> int:
    pace = "fast" if arguments.fast else "realtime"
    sermon = bundled("demo", "sermon.flac")
    loaded = settings_of(
        arguments, STARTER | {"audio.input": str(sermon), "audio.pace": pace, "audio.channel": 1}
    )

    def then(folder: Path, screen: Screen) -> None:
        screen.summary(table(score(folder, bundled("demo", "sermon.json"))))
        screen.summary(f"The session is kept in {folder}")

    return _serve(loaded, "demo", loop=arguments.loop, then=then)


def _serve(
    loaded: Loaded,
    mode: Mode,
    *,
    loop: bool = False,
    then: Callable[[Path, Screen], None] | None = None,
) -> int:
    """Run the daemon to its end, and `then` if that was a good one; return the exit code."""
    ended = _caption(loaded, mode, loop=loop)
    gc.collect()  # of the models nothing is left: a review may be open while a service runs
    if then is not None and not ended.code:
        then(ended.folder, ended.screen)
    if ended.stuck:
        # A thread inside a hung engine would hold up (or crash) the interpreter's own end.
        standard_streams.settle()
        os._exit(ended.code)
    return ended.code


def _caption(loaded: Loaded, mode: Mode, *, loop: bool) -> _Ended:
    settings, screen = loaded.settings, make_screen()
    logs.configure(settings.log.level, settings.log.format)
    dictionary = Dictionary(settings)
    engines = Engines(
        source=assembly.audio_source(settings, loop=loop),
        detector=assembly.speech_detector(),
        recognizer=assembly.recognizer(settings, dictionary),
        partial=assembly.partial_translator(settings),
        final=assembly.final_translator(settings),
        compare=None if mode == "live" else assembly.compare_translator(settings),
    )
    if mode == "live" and settings.translate.compare.engine != "none":
        log.info("not compared", reason="translate.compare is for rehearsals: dry-run and demo")
    app = App(
        settings,
        engines,
        dictionary=dictionary,
        screen=screen,
        mode=mode,
        read=lambda: loaded.again().settings,
    )
    try:
        code = asyncio.run(app.run())
    finally:
        screen.close()
    if app.failure is not None:
        standard_streams.say(f"stark-translate: {app.failure}")  # and that is the last word
    elif mode != "demo":  # which says so below its table
        log.info("session kept", folder=str(app.folder))
    return _Ended(code, app.folder, screen, app.stuck)
