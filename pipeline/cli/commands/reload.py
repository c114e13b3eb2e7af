"""`reload`: have the running daemon read its settings and dictionary again."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.text import Text

from pipeline.cli.console import Console
from pipeline.cli.control_client import ask
from pipeline.cli.options import Commands, add_command, add_reaching, print_json, settings_of
from pipeline.core.errors import ConfigError
from pipeline.server.operator_token import FILE, kept_token

_SAYS = "Reload settings and dictionary in the running service."
_MORE = f"""\
The daemon is asked on this machine, at the port and with the operator's token ({FILE} in the
sessions' folder) that these settings name: run this with the daemon's --config and as its user.
What cannot change while captions are made, such as models, microphone and port, is named as needing
a restart. A file with a mistake changes nothing. Environment variables and flags of the daemon are
those that it was started with. The signal SIGHUP does the same; its log has the answer then.
exit codes: 0 read again, 1 refused or no daemon there, 2 wrong usage, 78 wrong settings
"""
_EFFECTS = (
    ("live", "in force now", "green"),
    ("next_utterance", "from the next utterance on", "green"),
    ("restart", "needs a restart", "yellow"),
)


def add(commands: Commands) -> None:
    parser = add_command(commands, "reload", _reload, _SAYS, _MORE)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_reaching(parser)


def _reload(arguments: argparse.Namespace) -> int:
    try:
        # Read here too: they contain address and token, and a mistake is reported at once.
        settings = settings_of(arguments).settings
    except ConfigError as error:  # the daemon would say the same
        raise ConfigError(error.code, f"Not reloaded: {error.message}", error.fix) from None
    token = settings.operator.token or kept_token(Path(settings.session.directory))
    answer = ask(settings.server, token, {"type": "command", "name": "reload"}, "reloaded")
    if arguments.json:
        print_json({key: value for key, value in answer.items() if key != "type"})
    else:
        _show(Console(), answer)
    return 0


def _show(console: Console, answer: dict[str, Any]) -> None:
    rows = [(key, says, style) for kind, says, style in _EFFECTS for key in answer[kind]]
    # All rows at once, so that the effects are aligned.
    width = max((len(key) for key, _, _ in rows), default=0)
    for key, says, style in rows:
        console.print(Text.assemble(f"{key:<{width}}  ", (says, style)), soft_wrap=True)
    if not rows:
        console.print("No setting differs from those in force.")
    if answer["restart"]:
        console.print("Restart when nobody reads along; the session goes on afterwards.")
    console.print(f"The dictionary has {answer['rules']} rules.")
