"""`review`: approve or correct a session's doubtful captions in the browser."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from pipeline.cli.browser import add_browser, is_wanted, link_with, open_with_token
from pipeline.cli.options import Commands, add_command, add_session, session_of, settings_of
from pipeline.config import schema
from pipeline.config.schema import Settings
from pipeline.core import logs
from pipeline.core.errors import LearningError, ServerError
from pipeline.daemon.life.signals import ENDS, handle_signals
from pipeline.dictionary.store import Dictionary
from pipeline.learning.data.folder import DataFolder, last_lesson
from pipeline.review.server import ReviewServer
from pipeline.review.store import Review
from pipeline.server.operator_token import token_in_force, token_place

_SAYS = "Approve or correct doubtful captions of a session in the browser."
_MORE = """\
What is approved or corrected is added to the session's sermon_pairs.jsonl, from which the models
can learn. It is kept at once; stop and go on whenever you like. The page asks for the operator's
token and is reachable from this machine only, unless --host says otherwise.
"""
_HERE = "127.0.0.1"


def add(commands: Commands) -> None:
    parser = add_command(commands, "review", _review, _SAYS, _MORE)
    add_session(parser)
    parser.add_argument("--host", default=_HERE, help="address to serve on (127.0.0.1)")
    says = "port to serve on (server.port, or any free one)"
    parser.add_argument("--port", type=int, help=says)
    add_browser(parser)


def _review(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments).settings
    logs.configure(settings.log.level, settings.log.format)
    any_port = arguments.port is None  # a requested port that is taken is an error
    folder, host, browser = session_of(arguments), arguments.host, arguments.browser
    return review(folder, settings, host=host, any_port=any_port, browser=browser)


def review(
    folder: Path,
    settings: Settings,
    *,
    host: str = _HERE,
    any_port: bool,
    browser: bool | None = None,
) -> int:
    """Serve the review of a session to this machine until Ctrl-C. Raises SessionError, ServerError.

    `host` allows access from other machines. `any_port` allows another port if that of the
    settings is taken. `browser`: open the page here; None: only on a terminal.
    """
    directory = Path(settings.session.directory)
    # Created if it is missing: a review may come before this machine's first service.
    token = token_in_force(settings.operator.token, directory)
    server = settings.server.model_copy(update={"host": host})
    terms = [rule.write for rule in Dictionary(settings).lexicon.rules]
    with closing(Review(folder, terms)) as reviewed:
        if host != _HERE or not is_wanted(browser):
            kept = token_place(settings.operator.token, directory)
            print(f"The page will ask for the operator's token ({kept}).", file=sys.stderr)
        taught = ""
        with suppress(LearningError):  # a damaged data folder does not stop a review
            taught = last_lesson(DataFolder(Path(settings.learn.directory)))
        serving = partial(ReviewServer, reviewed, token=token, taught=taught)

        def begin(address: str) -> None:
            logs.serving(address, folder)
            says = f"{reviewed.left} captions of {folder.name} to review: {address} (Ctrl-C ends)"
            print(says, file=sys.stderr)
            if sys.stderr.isatty():  # a log must not contain the token
                print(f"With the token: {link_with(token, address)}", file=sys.stderr)
            open_with_token(token, address, directory, browser)

        asyncio.run(_serve(serving, server, begin, any_port=any_port))
        left, name = reviewed.left, folder.name
    again = f": stark-translate review {name}" if left else ""
    print(f"{name}: {left} left to review{again}", file=sys.stderr)
    return 0


async def _serve(
    serving: Callable[[schema.Server], ReviewServer],
    settings: schema.Server,
    begin: Callable[[str], None],
    *,
    any_port: bool,
) -> None:
    stop = asyncio.Event()
    handle_signals(dict.fromkeys(ENDS, stop.set))
    server = serving(settings)
    try:
        await server.start()
    except ServerError as error:
        if not any_port or error.code != "port-in-use":
            raise
        # The daemon may be running: it keeps the port that phones know.
        server = serving(settings.model_copy(update={"port": 0}))
        await server.start()
    try:
        begin(server.address)
        await stop.wait()
    finally:
        await server.close()
