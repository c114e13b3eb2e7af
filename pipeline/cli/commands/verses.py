"""`verses`: list the Bibles, add one, and build the index that recognizes verses."""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Iterable
from pathlib import Path

from rich.table import Table

from pipeline.church.scripture import edition_files, editions, numbering, verse_index
from pipeline.church.scripture.books import PRINTED
from pipeline.church.scripture.editions import Edition
from pipeline.cli import streams
from pipeline.cli.console import Console
from pipeline.cli.options import Commands, add_command, add_group
from pipeline.core.errors import UsageError, VersesError

_SAYS = "List, add and index the Bibles whose verses are shown."
_EPILOG = """\
examples:
  stark-translate verses build                       once for a spoken language
  stark-translate verses list
  stark-translate verses add rvr1960.xml --name rvr1960 --lang es --title "Reina-Valera 1960" \\
      --licence "by permission of ..."               one that you may show

Formats: OSIS, Zefania, USFM, or lines of book, chapter, verse, text with tabs between; or a
SWORD module (zip archive, folder, or its mods.d/NAME.conf) that is not enciphered.
"""
# It becomes a file name.
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_NAMED_BOOKS = 8
_LANG = re.compile(r"[a-z]{2,3}")


def add(commands: Commands) -> None:
    whats = add_group(commands, "verses", _SAYS, _EPILOG, "what")
    add_command(whats, "list", _list, "List the Bibles and the indexes.")
    build = add_command(whats, "build", _build, "Build the index of a spoken language.")
    build.add_argument("--lang", default="en", help="spoken language (en)")
    adding = add_command(whats, "add", _add, "Take over a Bible that the church may show.")
    option = adding.add_argument
    option("files", nargs="+", metavar="FILE", help="Bible files; USFM has one per book")
    option("--name", required=True, help="its name in the settings: letters, digits, -")
    option("--lang", required=True, help="language code, such as es")
    option("--title", required=True, help='title on screen, such as "Reina-Valera 1960"')
    option("--licence", required=True, help="licence under which the church shows it")


def _list(_: argparse.Namespace) -> int:
    table, broken = Table(box=None, pad_edge=False), list[str]()
    for heading in ("name", "lang", "title", "licence", "verses", "from"):
        table.add_column(heading, justify="right" if heading == "verses" else "left")
    for name, file in sorted(editions.files().items()):
        try:
            edition = editions.read(file, name)
        except VersesError as error:
            broken.append(f"{name}: {error.message} {error.fix}".rstrip())
            continue
        place = "the church" if file.parent == editions.own_directory() else "the program"
        count = str(len(edition.verses))
        table.add_row(name, edition.lang, edition.title, edition.licence, count, place)
    Console(soft_wrap=True).print(table)
    for each in broken:
        print(f"\n{each}")
    built = sorted(path.parent for path in editions.cache_directory().glob("*/index.json"))
    for folder in built:
        print(f"\n{_described(folder)}")
    if not built:
        print("\nNo index yet: run `stark-translate verses build` once.")
    return 0


def _described(folder: Path) -> str:
    try:
        names = ", ".join(verse_index.load_built(folder.name).editions)
    except VersesError as error:
        return f"Index for spoken {folder.name}: {error.message} {error.fix}"
    return f"Index for spoken {folder.name}: {names} ({folder})"


def _build(arguments: argparse.Namespace) -> int:
    lang = _checked(_LANG, arguments.lang, "--lang")
    index = verse_index.build_index(lang, streams.say)
    names = ", ".join(index.editions)
    print(f"{len(index.verses)} verses of {names} in {verse_index.folder(lang)}.")
    return 0


def _add(arguments: argparse.Namespace) -> int:
    name = _checked(_NAME, arguments.name, "--name")
    lang = _checked(_LANG, arguments.lang, "--lang")
    # Both are in the first line of the edition's file, so they must be on one line.
    title, licence = (" ".join(text.split()) for text in (arguments.title, arguments.licence))
    if not (title and licence):
        raise UsageError("verses-no-licence", "--title and --licence must say something.")
    verses = asyncio.run(edition_files.read([Path(file) for file in arguments.files]))
    # The program uses one numbering, whichever one this Bible is printed in.
    verses, changed = numbering.renumbered(verses)
    edition = Edition(name, lang, title, licence, verses)
    file = editions.write(edition, editions.own_directory())
    print(f"{len(verses)} verses of {title} are in {file}.")
    if strange := editions.outside_numbering(edition):
        print(f"{strange} of them are numbered as in no other Bible here and will not be shown.")
    if changed:
        print(f"Numbered anew, as the King James Version counts: {_named(changed)}.")
    if lacking := editions.lacking(edition):
        books = _named(dict.fromkeys(book for book, _, _ in lacking))
        print(f"{len(lacking)} verses are lacking, in {books}.")
        print("If such a chapter counts otherwise, the verse beside the right one is shown.")
    print("Restart the service to show it.")
    # The index is for a spoken language: captions alone need only the edition.
    if not (verse_index.folder(lang) / "index.json").is_file():
        print(f"Where {lang} is spoken, run `stark-translate verses build --lang {lang}` as well.")
    return 0


def _named(books: Iterable[int]) -> str:
    names = [PRINTED["en"][book - 1] for book in books]
    more = f" and {len(names) - _NAMED_BOOKS} more books" if len(names) > _NAMED_BOOKS else ""
    return ", ".join(names[:_NAMED_BOOKS]) + more


def _checked(pattern: re.Pattern[str], value: str, option: str) -> str:
    if not pattern.fullmatch(value):
        message = f"{option} {value!r} is not like {'es' if pattern is _LANG else 'rvr1960'}."
        raise UsageError("verses-bad-name", message, "Use small letters, digits and hyphens.")
    return value
