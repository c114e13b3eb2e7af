"""`export`: write a session's captions as subtitles, text, a table or JSON."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pipeline.captions.export import FORMATS, WHICH, export
from pipeline.cli.options import Commands, add_command, add_session, session_of, write_out
from pipeline.session.reader import read_journal

_SAYS = "Write a session's captions as subtitles, text, a table or JSON."


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "export", _export, _SAYS)
    add_session(parser)
    parser.add_argument("--format", choices=FORMATS, help="default: FILE's ending, else srt")
    parser.add_argument(
        "--lang", choices=WHICH, default="target", help="what was said, its translation, or both"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")


def _export(arguments: argparse.Namespace) -> int:
    folder = session_of(arguments)
    out: Path | None = arguments.out
    ending = out.suffix.removeprefix(".").lower() if out else ""
    form = arguments.format or (ending if ending in FORMATS else "srt")
    text = export(read_journal(folder), form, arguments.lang)
    # The name goes to standard error, so that standard output stays empty or is the export.
    if out is not None:
        write_out(out, text)
        print(f"{folder.name} is in {out}", file=sys.stderr)
        return 0
    sys.stdout.write(text)
    return 0
