"""The command line of stark-translate."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from pipeline import __version__
from pipeline.cli import streams
from pipeline.core.errors import ResourceError, StarkError, without_resources

_EPILOG = """\
try it:
  stark-translate demo                       a recorded service, with wall, phone and operator page
  stark-translate run --input sermon.wav     caption a recording; --from en --to es,fr
before a service:
  stark-translate setup                      once: languages, microphone, models, check
  stark-translate devices --meter            find the microphone and test its level
  stark-translate models pull whisper-base   download a model; `models list` shows all
  stark-translate budget                     which models fit this machine
  stark-translate tune --write               once: measure the best settings for this machine
  stark-translate notes add sermon.docx      names and verses of the next service
  stark-translate check                      will it work?
  stark-translate dry-run                    rehearse: nothing reaches the audience
  stark-translate install                    start it by itself at login
during a service:
  stark-translate run --device "USB Audio"   caption it
  stark-translate desk                       open the operator page, or pair a tablet
  stark-translate status                     is it running, and how late? also: stop, logs
  stark-translate open wall                  open one of its pages in the browser
  stark-translate reload                     apply changed settings
after a service:
  stark-translate report                     one page about it (the last one, or a day's)
  stark-translate review                     correct doubtful captions
  stark-translate rules                      keep the rules that operators added
  stark-translate export --out sermon.srt
  stark-translate learn collect              collect what it teaches
on other machines:
  stark-translate serve-model                translate for several rooms
  stark-translate relay --nats nats://host   serve displays at another place

Settings come from config.toml, then STARK_TRANSLATE__SECTION__KEY variables, then flags;
`stark-translate config` shows what is in force.
exit codes: 0 clean, 1 something broke, 2 wrong usage, 70 a model that crashes, 78 wrong settings
"""

MODULES = {
    **dict.fromkeys(("run", "dry-run"), "run"),
    **dict.fromkeys(("status", "stop", "logs", "open"), "service"),
    "demo": "demo",
    "setup": "setup",
    **dict.fromkeys(("install", "uninstall"), "install"),
    "serve-model": "serve_model",
    **{
        name: name
        for name in (
            *("desk", "reload", "relay", "devices", "models", "verses", "notes", "glossary"),
            *("tune", "budget", "config", "check", "export", "replay", "review"),
            *("score", "report", "sessions", "rules", "learn"),
        )
    },
    "dashboard": "report",
}
"""The module of pipeline.cli.commands that each command is in, in the order of --help."""


_FIRST = "`stark-translate --help` lists them; `stark-translate demo` is the one to begin with."
_INSTEAD = {
    "start": "`stark-translate run` starts a service.",
    "list": "`stark-translate sessions` lists services, `stark-translate models list` models.",
    **dict.fromkeys(
        ("update", "upgrade"), "`git pull`, then `sudo scripts/install.sh` again (docs/MOVING.md)."
    ),
}
"""Hints for words that are commands of other programs."""
_CALLED = {
    **dict.fromkeys(("--lang", "--language"), "--to (captions) or --from (spoken)"),
    **dict.fromkeys(("--target", "--targets"), "--to"),
    **dict.fromkeys(("--source", "--spoken"), "--from"),
    **dict.fromkeys(("--model", "--whisper"), "--recognizer"),
    **dict.fromkeys(("--mic", "--microphone"), "--device"),
    **dict.fromkeys(("--file", "--audio"), "--input"),
    **dict.fromkeys(("--output", "--output-file"), "--out"),
}
"""Options of similar programs, and their names here."""


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose error messages name the nearest command, choice or option."""

    def error(self, message: str) -> NoReturn:
        """Print usage and message, and exit with code 2."""
        super().error(f"{message}{_hint(message, self.format_help())}")

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: None = None
    ) -> argparse.Namespace:
        """Parse; the command's own parser refuses its unknown arguments."""
        # By default the top parser refuses them, and it does not know the command's options.
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            getattr(found, "parser", self).error(f"unrecognized arguments: {' '.join(unknown)}")
        return found


def _hint(message: str, help_text: str) -> str:
    """Return the end of an error message: what was probably meant, or ""."""
    # Matched by argparse's text: nothing else says what was wrong.
    if wrong := re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message):
        # Some versions of Python quote the choices, others do not: the pattern fits both.
        word, known = wrong[1], re.findall(r"[\w.-]+", wrong[2])
        if word in _INSTEAD and "run" in known:
            return f"\n{_INSTEAD[word]}"
    elif wrong := re.search(r"unrecognized arguments: .*?(--[\w-]+)", message):
        word, known = wrong[1], sorted(set(re.findall(r"--[\w-]+", help_text)) - {"--help"})
        meant = _CALLED.get(word, "")
        if meant.partition(" ")[0] in known:
            return f"\nDid you mean {meant}?"
    elif (wrong := re.search(r"unrecognized arguments: (\S+)$", message)) and Path(wrong[1]).suffix:
        into = next((each for each in ("--input", "--out") if each in help_text), "")
        return f"\nDid you mean {into} {wrong[1]}?" if into else ""
    elif "are required: command" in message:
        return f"\n{_FIRST}"
    else:
        return ""
    # One at most: a list of guesses would be longer than the help that it replaces.
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"\nDid you mean {near[0]}?" if near else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    # Before anything opens a file: it would get the number of a closed standard stream.
    streams.ensure()
    parser = Parser(
        prog="stark-translate",
        description="Live sermon captions in another language.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["help"]:  # as in many programs
        given = [*given[1:], "--help"]
    with streams.moment():
        for module in _needed(given):
            import_module(f"pipeline.cli.commands.{module}").add(commands)
    arguments = parser.parse_args(given)
    # Until a command changes it: a result on standard output must have no log in it.
    # Imported here: the terminal must show a sign before anything slow.
    from pipeline.core import logs  # noqa: PLC0415

    logs.configure_quietly("info", "auto")
    # A command that answers with 1 has another code for errors.
    broken: int = getattr(arguments, "broken", 1)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()  # here, where a closed pipe can still be handled
    # Without a traceback: a user who pressed Ctrl-C knows why it ended.
    except KeyboardInterrupt:
        return broken
    except Exception as error:  # noqa: BLE001 - one without a message is raised again
        if isinstance(error, OSError) and error.errno in streams.GONE:
            return broken  # the reader of the result is gone
        return _say(error, broken)
    else:
        return code
    finally:
        streams.settle()


def _say(error: Exception, broken: int) -> int:
    """Print the message of an error and return its exit code. Raises an error without a message.

    `broken` is returned instead of 1.
    """
    shown = without_resources(error) or error
    if not isinstance(shown, StarkError):
        raise error
    streams.say(f"stark-translate: {shown}")
    code = broken if shown.exit_code == 1 else shown.exit_code
    if isinstance(shown, ResourceError):
        # A library that a thread has half loaded would crash at the interpreter's exit.
        streams.settle()
        os._exit(code)
    return code


def _needed(argv: Sequence[str]) -> list[str]:
    """Return the modules that a command line needs: one, or all for --help and unknown commands.

    Importing all of them takes seconds, and the screen would be empty meanwhile.
    """
    first = next(iter(argv), "")
    if first == "--version":
        return []
    return [MODULES[first]] if first in MODULES else list(dict.fromkeys(MODULES.values()))
