"""`export`: write a session's captions as subtitles, text, a page, a table or JSON."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pipeline.captions.export import DOCX, FORMATS, WHICH, export, export_docx
from pipeline.captions.subtitles import languages
from pipeline.cli.options import Commands, add_command, add_session, session_of, write_bytes_out
from pipeline.core.errors import SessionError, UsageError
from pipeline.session.past_services import title_of
from pipeline.session.reader import extra_targets, read_journal

_SAME = {"htm": "html", "markdown": "md"}
_SAYS = "Export a session as subtitles, text, web page, table or JSON."


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "export", _export, _SAYS)
    add_session(parser)
    option = parser.add_argument
    option(
        "--format", choices=[*FORMATS, DOCX], help="file format (from the ending of FILE, else srt)"
    )
    option(
        "--lang",
        choices=WHICH,
        default="target",
        help="spoken language, translation or both (%(default)s)",
    )
    option("--target", default="", help="language of the translation (the first one)")
    option("--out", type=Path, metavar="FILE", help="file to write (standard output)")


def _export(arguments: argparse.Namespace) -> int:
    folder = session_of(arguments)
    out: Path | None = arguments.out
    ending = out.suffix.removeprefix(".").lower() if out else ""
    form = arguments.format or _form_of(out, ending)
    captions = read_journal(folder, _journal_of(folder, arguments.target))
    if not captions:
        message = f"Nothing was said in {folder.name}: there is nothing to export."
        fix = "`stark-translate sessions` lists the services; name another one."
        raise SessionError("session-empty", message, fix)
    if form == DOCX:
        content = export_docx(captions, arguments.lang, title_of(folder.name))
    else:
        # Half of a surrogate pair, from a damaged journal, has no UTF-8.
        content = export(captions, form, arguments.lang).encode(errors="replace")
    # The name goes to standard error, so that standard output stays empty or is the export.
    if out is not None:
        write_bytes_out(out, content)
        print(f"{folder.name} is in {out}", file=sys.stderr)
        return 0
    sys.stdout.buffer.write(content)
    return 0


def _journal_of(folder: Path, target: str) -> str:
    """Return the language of the journal with a translation, "" for the first one's.

    Raises SessionError where the session has none.
    """
    extra = extra_targets(folder)
    if not target or target in extra:
        return target
    first = languages(read_journal(folder)).get("target", "")
    if target == first:
        return ""
    message = f"{folder.name} was not translated into {target}."
    known = ", ".join(filter(None, [first, *extra]))
    raise SessionError("session-lang", message, f"There is: {known}.")


def _form_of(out: Path | None, ending: str) -> str:
    """Return the format of a file's ending. Raises UsageError for one that is not what it says."""
    form = _SAME.get(ending, ending) if out else "srt"
    if form not in {*FORMATS, DOCX}:
        message = (
            f"{out}: there is no format called {ending!r}." if ending else f"{out}: no ending."
        )
        known = ", ".join(f".{name}" for name in (*FORMATS, DOCX))
        raise UsageError("export-format", message, f"End it in {known}, or give --format.")
    return form
