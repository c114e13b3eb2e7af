"""`run` and `dry-run`: start the daemon."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from pipeline.audio.silero_vad import Silero
from pipeline.audio.song_head import LinearSongDetector
from pipeline.cli import streams
from pipeline.cli.options import (
    Commands,
    add_command,
    add_hearing,
    add_languages,
    add_serving,
    settings_of,
    some_file,
    write_out,
)
from pipeline.cli.screens import make_screen
from pipeline.config.loader import Loaded
from pipeline.config.schema import Settings
from pipeline.core import logs
from pipeline.core.errors import ModelCrashError, StarkError
from pipeline.core.resources import SHIPPED_MODELS
from pipeline.core.threads import Thread
from pipeline.core.types import Mode
from pipeline.daemon.context.screen import Screen
from pipeline.daemon.life.app import App
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process import factory
from pipeline.models.automatic import FIRST, names_in_use, recognizer_name
from pipeline.models.registry import STARTER as STARTER_MODEL
from pipeline.session.reader import read_journal, start_utc
from pipeline.session.retention import discard_failed_start, discard_if_empty, give_back_notes
from pipeline.workers.base import Engines

log = structlog.get_logger()

SYNTHETIC = "The starter recognizer knows synthetic voices only."
_TRY = timedelta(minutes=10)
"""A shorter run without speech leaves no session. The records of a longer one show why nothing was
heard."""
TRIAL = "The translator that ships is for trying things out, not for a service."


@dataclass(frozen=True, slots=True)
class _Ended:
    code: int
    folder: Path
    screen: Screen
    is_stuck: bool
    has_other_recognizer: bool
    """The recognizer that "auto" chose could not be loaded, and there is another one."""


def add(commands: Commands) -> None:
    for name, run, says in (
        ("run", lambda arguments: serve(settings_of(arguments), "live"), "Caption a service."),
        ("dry-run", _dry_run, "Rehearse: captions reach operators and this terminal only."),
    ):
        parser = add_command(commands, name, run, says)
        add_serving(parser)
        add_hearing(parser)
        add_languages(parser)
        more = "caption a recording instead of a microphone"
        parser.add_argument("--input", type=some_file, metavar="FILE", help=more)
        more = "speed at which a recording is played"
        parser.add_argument("--pace", choices=["realtime", "fast"], help=more)
    says = "go on to the review at the end (default: where there is a terminal)"
    parser.add_argument("--review", action=argparse.BooleanOptionalAction, help=says)


def _dry_run(arguments: argparse.Namespace) -> int:
    loaded = settings_of(arguments)
    wanted = arguments.review
    if wanted is None:
        # Without a terminal nobody would end the review, and the program would wait for ever.
        wanted = sys.stdin.isatty() and sys.stderr.isatty()

    def then(folder: Path, _: Screen) -> None:
        # Imported after the service: its start must not wait for them.
        from pipeline.cli.commands.review import review  # noqa: PLC0415
        from pipeline.review.report import report  # noqa: PLC0415

        page = folder / "report.html"
        write_out(page, report(folder).encode())
        log.info("report", file=str(page))
        if not read_journal(folder):
            log.info("nothing to review", reason="no caption was made")
        elif wanted:
            review(folder, loaded.settings, any_port=True)

    return serve(loaded, "dry-run", then=then)


def _say_models(settings: Settings, mode: Mode) -> None:
    """Log the models in use, and which are better than the starter."""
    names = names_in_use(settings)
    log.info("models", **{engine.replace(" ", "_"): name for engine, name in names.items()})
    if settings.stt.engine == "openai":
        log.info("sound is sent", server=urlsplit(settings.server_of(settings.stt).url).netloc)
    if names["recognizer"] == STARTER_MODEL:
        log.warning("starter", reason=SYNTHETIC, better=f"stark-translate models pull {FIRST}")
    # A user who plays a recording knows that it is a trial.
    live = mode == "live" and not settings.audio.input
    if live and names.get("final translator") in SHIPPED_MODELS:
        log.warning("starter", reason=TRIAL, better="stark-translate setup")


def serve(
    loaded: Loaded,
    mode: Mode,
    *,
    loop: bool = False,
    then: Callable[[Path, Screen], None] | None = None,
    at_desk: Callable[[str], None] | None = None,
) -> int:
    """Run the daemon to its end, and call `then` if it succeeded; return the exit code.

    `at_desk` is called on the event loop with the address of the operator's page once it is up.
    """
    ended = _caption(loaded, mode, loop=loop, at_desk=at_desk)
    # Crashed models are remembered, so that each turn takes another one: there are few.
    while ended.has_other_recognizer:
        log.warning("recognizer given up", goes_on_with=recognizer_name(loaded.settings))
        ended = _caption(loaded, mode, loop=loop, at_desk=at_desk)
    gc.collect()  # frees the models: a review may be open while a service runs
    if then is not None and not ended.code and ended.folder.exists():
        then(ended.folder, ended.screen)
    if ended.is_stuck:
        # A thread inside a hung engine would block (or crash) the interpreter's exit.
        streams.settle()
        os._exit(ended.code)
    return ended.code


def _caption(
    loaded: Loaded, mode: Mode, *, loop: bool, at_desk: Callable[[str], None] | None
) -> _Ended:
    settings, screen = loaded.settings, make_screen(at_desk)
    recognizer = recognizer_name(settings)
    logs.configure(settings.log.level, settings.log.format)
    _say_models(settings, mode)
    for line in loaded.advice:
        log.warning("old setting", advice=line)
    if mode == "live" and settings.translate.compare.engine != "none":
        log.info("not compared", reason="translate.compare is for rehearsals: dry-run and demo")
    for pair in factory.missing_pairs(settings):
        message, fix = factory.what_stands_in(settings, pair)
        log.warning("no translator", message=message, fix=fix)
    live = mode == "live"
    # Only rehearsals need the comparison, and only an audience the voice: both take memory.
    made = factory.engine_processes(settings, compare=not live, speech=live)
    if settings.audio.input:
        # Before models load and a session begins: most mistakes of a first try are here.
        factory.audio_file(settings).check()
    # First: while the models load, the rest of the program is built.
    with made as processes:

        def session(settings: Settings) -> App:
            engines = Engines(
                source=factory.audio_source(settings, loop=loop),
                detector=Silero(),
                songs=LinearSongDetector(),
                recognizer=processes.recognizer,
                targets=processes.targets,
                compare=processes.compare,
                speaker=processes.speaker,
            )
            return App(
                settings,
                engines,
                dictionary=Dictionary(settings),
                screen=screen,
                mode=mode,
                read=lambda: loaded.again().settings,
            )

        try:
            app, code = _hold_sessions(session, settings)
        finally:
            screen.close()
    if app.failure is not None:
        streams.say(f"stark-translate: {app.failure}")  # and that is the last message
    elif mode != "demo" and app.folder.exists():  # a demo says so below its table
        was_try = mode == "live" and not (code or app.is_stuck) and _is_short(app.folder)
        if was_try and discard_if_empty(app.folder):
            log.warning("nothing was said", advice="`stark-translate check` listens, and says why")
        else:
            log.info("session kept", folder=str(app.folder))
    has_other = isinstance(app.failure, ModelCrashError) and recognizer_name(settings) != recognizer
    return _Ended(code, app.folder, screen, app.is_stuck, has_other)


def _is_short(folder: Path) -> bool:
    """Whether a session that ends now is a short try, not a service in which nothing was heard."""
    began = start_utc(folder.name)
    return began is not None and datetime.now(UTC) - began < _TRY


def _hold_sessions(session: Callable[[Settings], App], settings: Settings) -> tuple[App, int]:
    """Run one session after another, with the same engines, until no new one is wanted.

    Returns the last one and its exit code.
    """
    while True:
        app = session(settings)
        try:
            code = asyncio.run(app.run())
        finally:
            # Before the next session is created, because it takes the notes.
            if app.has_begun:
                give_back_notes(app.folder)
            else:
                discard_failed_start(app.folder)
        if not app.wants_new_session or app.is_stuck:
            return app, code
        # The settings at its end: those that operators reloaded also hold in the next session.
        settings = app.settings
        # In a thread: the report draws plots, and the next session must not wait for it.
        Thread(partial(_finish, app.folder), "report", failed=lambda _: None).start()


def _finish(folder: Path) -> None:
    """Write a session's report into its folder; delete a session in which nothing happened."""
    from pipeline.review.report import report  # noqa: PLC0415 - as above

    try:
        if not discard_if_empty(folder):
            write_out(folder / "report.html", report(folder).encode())
    except StarkError as error:
        log.warning("no report", session=str(folder), reason=str(error))
