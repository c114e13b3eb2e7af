"""`export`: write a session's captions as subtitles, text, a page, a table, JSON or speech."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from pipeline.captions.export import DOCX, FORMATS, WHICH, Which, export_file, summary
from pipeline.captions.subtitles import Side, languages
from pipeline.cli.options import (
    Commands,
    add_command,
    add_session,
    path,
    session_of,
    settings_of,
    write_out,
)
from pipeline.config.loader import changed
from pipeline.config.schema import Settings
from pipeline.core.errors import SessionError, UsageError
from pipeline.protocol.caption import CaptionMessage
from pipeline.session.past_services import title_of
from pipeline.session.reader import extra_targets, read_journal

MP3 = "mp3"
"""Spoken by the church's voice."""
_SAME = {"htm": "html", "markdown": "md"}
_SAYS = "Export a session as subtitles, text, web page, table, JSON or speech."


def add(commands: Commands) -> None:
    parser = add_command(commands, "export", _export, _SAYS)
    add_session(parser)
    option = parser.add_argument
    option(
        "--format",
        choices=[*FORMATS, DOCX, MP3],
        help="file format (from the ending of FILE, else srt)",
    )
    says = "source, target or both, or the code of one of the service's languages (%(default)s)"
    option("--lang", default="target", help=says)
    says = (
        "write a draft of a summary instead, in Markdown: sentences of the captions, and the verses"
    )
    option("--summary", action="store_true", help=says)
    option("--target", default="", help="language of the translation (the first one)")
    option("--out", type=path, metavar="FILE", help="file to write (standard output)")


def _export(arguments: argparse.Namespace) -> int:
    folder = session_of(arguments)
    out: Path | None = arguments.out
    ending = out.suffix.removeprefix(".").lower() if out else ""
    form = arguments.format or _form_of(out, ending, "md" if arguments.summary else "srt")
    if arguments.summary and form not in ("md", "txt"):
        message = f"A summary is Markdown, and no {form}."
        raise UsageError("export-format", message, "End the name in .md or .txt.")
    which, journal = _text_of(folder, arguments.lang, arguments.target)
    captions = read_journal(folder, journal)
    if not captions:
        message = f"Nothing was said in {folder.name}: there is nothing to export."
        fix = "`stark-translate sessions` lists the services; name another one."
        raise SessionError("session-empty", message, fix)
    if arguments.summary:
        side: Side = "source" if which == "source" else "target"
        content = summary(captions, side, title_of(folder.name)).encode(errors="replace")
    elif form == MP3:
        if which != "target":
            hint = "The voice says translations: leave --lang out, or name a language."
            raise UsageError("export-format", hint)
        lang = languages(captions)["target"]
        content = _spoken(settings_of(arguments).settings, captions, lang)
    else:
        content = export_file(captions, form, which, title_of(folder.name))
    # The name goes to standard error, so that standard output stays empty or is the export.
    if out is not None:
        write_out(out, content)
        print(f"{folder.name} is in {out}", file=sys.stderr)
        return 0
    # Bytes: as text, Windows would change the line ends, and docx and mp3 are no text at all.
    sys.stdout.buffer.write(content)
    return 0


def _spoken(settings: Settings, captions: Sequence[CaptionMessage], lang: str) -> bytes:
    """Return captions spoken by the church's voice, or raise the error that prevents it."""
    # Imported here: no other format needs an engine.
    from pipeline.engines.process.factory import speaker_process  # noqa: PLC0415
    from pipeline.voice.voice import recorded  # noqa: PLC0415

    # Whatever the settings of the live voice are: the user asked for this recording.
    wanted = changed(settings, {"speech.enabled": True, "speech.languages": (lang,)})
    speaker = speaker_process(wanted, restarts=False)
    assert speaker is not None  # noqa: S101 - it is enabled
    with closing(speaker):
        speaker.load()
        return b"".join(recorded(captions, lang, speaker))


def _text_of(folder: Path, lang: str, target: str) -> tuple[Which, str]:
    """Return which text is wanted, and the language of its journal: "" for the first language.

    Raises SessionError if the session has no such language.
    """
    extra, known = extra_targets(folder), languages(read_journal(folder))
    which: Which = "target"
    if lang in WHICH:
        which = lang
    elif lang == known.get("source") and lang not in extra:
        # If several languages are spoken, one of them may be a target language too.
        which = "source"
    else:
        target = lang
    if not target or target in extra:
        return which, target
    if target == known.get("target"):
        return which, ""
    message = f"{folder.name} was not translated into {target}."
    there = ", ".join(filter(None, [*known.values(), *extra]))
    raise SessionError("session-lang", message, f"There is: {there}.")


def _form_of(out: Path | None, ending: str, default: str) -> str:
    form = _SAME.get(ending, ending) if out else default
    if form not in {*FORMATS, DOCX, MP3}:
        message = (
            f"{out}: there is no format called {ending!r}." if ending else f"{out}: no ending."
        )
        known = ", ".join(f".{name}" for name in (*FORMATS, DOCX, MP3))
        raise UsageError("export-format", message, f"End it in {known}, or give --format.")
    return form
