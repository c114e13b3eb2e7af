"""Protect the program from closed standard streams and from readers that go away.

A closed stream is dangerous: the next opened file gets its number, and a C library's messages to
standard error then go into that file, in the middle of the captions.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_MOMENT, _WIPED = "One moment ...", "\r\x1b[K"
_NARROWEST = 20
_COMMANDS = {
    code: f"\\x{code:02x}"
    # The last two ranges are invisible, and change the direction of the text around them.
    for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    if chr(code) not in "\n\t"
}
"""Control characters for a terminal, which may be in a file's name or key."""
GONE = {errno.EPIPE, errno.EIO}
"""Write errors when the reader or the terminal is gone."""


def ensure() -> None:
    """Open /dev/null in place of closed streams. Call before any file is opened."""
    # In the order of their numbers, so that the lowest free number is the missing one.
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # in a pipe Windows uses its own encoding
            stream.reconfigure(errors="backslashreplace")


def say(line: str) -> None:
    """Print a line on standard error, if anybody reads it; a terminal gets no broken words.

    Control characters are printed as "\\x1b".
    """
    line = printable(line)
    with suppress(OSError):
        # The width is that of standard output; it is 80 if standard output is a pipe.
        shown = wrapped(line, shutil.get_terminal_size().columns) if sys.stderr.isatty() else line
        print(shown, file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """Return a text in which a terminal finds nothing to obey."""
    return text.translate(_COMMANDS)


def wrapped(text: str, width: int) -> str:
    """Return a text in lines of at most `width` columns, broken at spaces only.

    A longer word, such as a path, stays whole, so that it can be copied.
    """
    return "\n".join(
        textwrap.fill(line, max(width, _NARROWEST), break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


@contextmanager
def moment() -> Iterator[None]:
    """Show on a terminal that the program has started, until it has other output.

    A slow machine needs a second to import a command's modules.
    """
    # A dumb terminal would print the control code that clears the line.
    shown = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"

    def write(text: str) -> None:
        with suppress(OSError):
            if shown:
                print(text, end="", file=sys.stderr, flush=True)

    write(_MOMENT)
    try:
        yield
    finally:
        write(_WIPED)


def settle() -> None:
    """Flush standard output and error; drop unread output, so that the program ends cleanly."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # Python flushes again at exit, and the failure would become exit code 120.
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)
