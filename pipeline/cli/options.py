"""Options and helpers for all commands. Each command's module has `add`, which describes it."""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

import orjson

from pipeline.config.loader import Loaded, load
from pipeline.core.errors import SessionError, writing

Run = Callable[[argparse.Namespace], int]
N = TypeVar("N", int, float)


class Commands(Protocol):
    """The result of argparse's add_subparsers."""

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser:
        """Add a command."""


SESSION = 'a session\'s name or folder, or a day: 22.11.2026, "last sunday" (the last one)'
"""The help text for the session argument of a command."""
FLAGS = {
    "spoken": "translate.source",
    "recognizer": "stt.model",
    "device": "audio.device",
    "channel": "audio.channel",
    "input": "audio.input",
    "pace": "audio.pace",
    "host": "server.host",
    "port": "server.port",
    "sessions": "session.directory",
    "models": "models.directory",
    "log_level": "log.level",
}
"""Command-line flags that set a key."""


def path(text: str) -> Path:
    """Return the file or folder of an option. No shell expands the "~" in --out=~/x, so we do."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 - Path's own raises for nobody's home


def add_command(
    commands: Commands, name: str, run: Run, says: str, epilog: str = ""
) -> argparse.ArgumentParser:
    """Add a command that reads the settings.

    `says` is its one-sentence help. `epilog` follows the options and keeps its line breaks.
    """
    parser = commands.add_parser(name, **_help(says, epilog))
    # `Parser.parse_args` lets this parser refuse unknown arguments, with its own usage text.
    parser.set_defaults(run=run, parser=parser)
    parser.add_argument(
        "--config", type=path, metavar="FILE", help="read settings from here (./config.toml)"
    )
    levels = ["debug", "info", "warning", "error"]
    parser.add_argument("--log-level", choices=levels, help="lowest level to log (info)")
    return parser


def add_group(commands: Commands, name: str, says: str, epilog: str, of: str) -> Commands:
    """Add a command with subcommands, called `of` in the usage text; return the subcommands."""
    parser = commands.add_parser(name, **_help(says, epilog))
    return parser.add_subparsers(required=True, metavar=of)


def _help(says: str, epilog: str) -> dict[str, Any]:
    raw = argparse.RawDescriptionHelpFormatter
    texts = {"help": says, "description": says}
    return texts | ({"epilog": epilog, "formatter_class": raw} if epilog else {})


def add_sessions(parser: argparse.ArgumentParser) -> None:
    """Add the option for the sessions folder."""
    parser.add_argument("--sessions", metavar="DIR", help="folder of the recorded sessions")


def add_serving(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that serves displays."""
    parser.add_argument("--host", help="address to serve on (0.0.0.0 for phones)")
    parser.add_argument("--port", type=int, help="port to serve on (0: any free one)")
    parser.add_argument("--sessions", metavar="DIR", help="folder in which sessions are recorded")


def add_reaching(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that asks the running daemon."""
    parser.add_argument("--host", help="address of the daemon (that of --config)")
    parser.add_argument("--port", type=int, help="port of the daemon (that of --config)")
    parser.add_argument("--sessions", metavar="DIR", help="session folder of the daemon")


def add_hearing(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the audio input."""
    parser.add_argument("--device", help="part of the microphone's name (see `devices`)")
    parser.add_argument("--channel", type=int, help="input channel, from 1 (0: mix of all)")


def number(kind: Callable[[str], N], least: N, most: N) -> Callable[[str], N]:
    """Return the type of an option that takes a number of this range."""

    def parsed(text: str) -> N:
        with suppress(ValueError):
            if least <= (value := kind(text)) <= most:
                return value
        raise argparse.ArgumentTypeError(f"{text!r} is no number between {least} and {most}")

    return parsed


def some_file(text: str) -> str:
    """Return the name of an option's file; "" would mean the microphone."""
    if not text:
        raise argparse.ArgumentTypeError("no file was given")
    return text


def add_languages(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose languages and recognizer, and `--set` for all other keys."""
    more = "spoken language (en); several, the first one first: en,es"
    parser.add_argument("--from", dest="spoken", type=_spoken, metavar="LANG", help=more)
    more = "caption languages instead of those in the settings, the main one first: es,fr"
    parser.add_argument("--to", type=some_languages, metavar="LANG,...", help=more)
    more = "speech model (see `models list`)"
    parser.add_argument("--recognizer", metavar="MODEL", help=more)
    more = "any other setting: --set vad.hold_ms=0; may be repeated"
    parser.add_argument(
        "--set", dest="settings", type=assignment, action="append", metavar="KEY=VALUE", help=more
    )


def languages(text: str) -> list[str]:
    """Return the languages of an option such as `--to es,fr`."""
    return [lang for part in text.split(",") if (lang := part.strip())]


def some_languages(text: str) -> list[str]:
    """Return an option's languages; without any, those of the settings would be shown."""
    if not (langs := languages(text)):
        raise argparse.ArgumentTypeError("no language was given")
    return langs


def _spoken(text: str) -> str | list[str]:
    langs = languages(text)
    # One language stays a text: a list is only for several.
    return langs if len(langs) > 1 else text


def assignment(text: str) -> tuple[str, Any]:
    """Return key path and value of `KEY=VALUE`; a value that is not TOML is text."""
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is no KEY=VALUE such as vad.hold_ms=0")
    try:
        # Numbers, true and lists are TOML as typed. Words are not, because shells remove quotes.
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except ValueError:  # also a number of thousands of digits
        return key.strip(), value


def add_session(parser: argparse.ArgumentParser) -> None:
    """Add the session argument of a command, and the option for the sessions folder."""
    parser.add_argument("session", nargs="?", default="last", help=SESSION)
    add_sessions(parser)


def settings_of(arguments: argparse.Namespace, more: Mapping[str, Any] | None = None) -> Loaded:
    """Load the settings that the command line asks for. Raises ConfigError."""
    given = vars(arguments)
    # A flag that was not given is None, and does not override the file or the environment.
    flags = {key: given[flag] for flag, key in FLAGS.items() if given.get(flag) is not None}
    if langs := given.get("to"):
        # Set both keys: extra languages of the file must not be added to the typed ones.
        first, *others = langs
        flags |= {"translate.target": first, "translate.targets": [{"lang": x} for x in others]}
    flags |= dict(given.get("settings") or ())
    # The later one wins: a flag, then --set, then the command's own values.
    return load(arguments.config, flags | dict(more or {}))


def session_of(arguments: argparse.Namespace) -> Path:
    """Return the folder of the requested session. Raises ConfigError, SessionError."""
    # Imported here: half of the commands read no session, and the import takes half a second.
    from pipeline.captions.redaction import MARK  # noqa: PLC0415
    from pipeline.session.reader import find_session  # noqa: PLC0415
    from pipeline.session.redact import finish_purges  # noqa: PLC0415

    directory = Path(settings_of(arguments).settings.session.directory)
    finish_purges(directory)  # a killed daemon may have left text that must be purged
    folder = find_session(arguments.session, directory)
    if (folder / MARK).exists():
        text = f"What was said off the record may still be in {folder}."
        raise SessionError("session-unreadable", text, "Try again when no service writes to it.")
    return folder


def print_json(value: object) -> None:
    """Print a value as indented JSON, for --json."""
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def write_out(file: Path, content: bytes) -> None:
    """Write a file that the command line asks for. Raises SessionError (file-unwritable)."""
    with writing(file, SessionError, "file-unwritable", "Name another file."):
        file.write_bytes(content)


def require_writable(file: Path) -> None:
    """Raise SessionError (file-unwritable) if `write_out` would; what is in the file stays."""
    with writing(file, SessionError, "file-unwritable", "Name another file."), file.open("ab"):
        pass
