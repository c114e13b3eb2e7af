"""What people write into config.toml that is no TOML, and how it is written instead. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from pipeline.config.publishing import PROGRAMS
from pipeline.config.secrets import SECRETS

_CURLY = re.compile("[“”„«»‘’]")
_SWITCH = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_SECRET = {*(path.rpartition(".")[2] for path in SECRETS), *PROGRAMS, "url"}
_LINE = re.compile(r"at line (\d+)")


def _straight(found: re.Match[str]) -> str:
    straight = _CURLY.sub('"', found.string)
    return f"write straight quotes, `{straight[:80]}`."


def _quoted(found: re.Match[str]) -> str:
    key, value = found[1], found[2]
    plain = _SWITCH.get(value.lower()) or (value.lower() if value in {"True", "False"} else "")
    return f"write `{key} = {plain}`." if plain else f'text has quotes: `{key} = "{value}"`.'


# Curly quotes first: to the patterns below a text in them has no quotes at all.
_CORRECTIONS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (_CURLY, _straight),
    (
        re.compile(r"=\s*-?(\d+),(\d+)\s*(?:#.*)?$"),
        lambda found: f"decimals have a point, {found[1]}.{found[2]}.",
    ),
    (
        re.compile(r'=\s*"[^"]*\\'),
        lambda _: "write / in names of folders, or single quotes around them.",
    ),
    (
        re.compile(r"^\[[^\]]*$"),
        lambda _: "a section ends with a bracket, such as [audio].",
    ),
    (
        re.compile(r"^([\w-]+)\s*:\s*(.+)$"),
        lambda found: f"write = for the colon: `{found[1]} = {found[2][:60]}`.",
    ),
    (re.compile(r"^([\w-]+)\s*=\s*([^\s\"'\[{#\d-][^#]*?)\s*(?:#.*)?$"), _quoted),
)
"""What a line looks like, the likeliest first, and what is said of it."""


def hint(content: str, problem: str) -> str:
    """Return how the line that `problem` ("... (at line 2, ...)") names should be written.

    "" where none of the usual mistakes is seen in it.
    """
    # Before Python 3.14 tomllib names the line in its sentence only.
    number = _LINE.search(problem)
    lines = content.splitlines()
    if number is None or not 0 < int(number[1]) <= len(lines):
        return ""
    line = lines[int(number[1]) - 1].strip()
    words = (word for word in re.findall(r"[\w-]+", line) if word in _SECRET)
    # Not the line itself: there may be a password in it.
    if name := next(words, "url" if "@" in line else ""):
        return f'Line {number[1]}: text has straight quotes, `{name} = "..."`.'
    found = ((pattern.search(line), say) for pattern, say in _CORRECTIONS)
    correct = next((say(match) for match, say in found if match), "")
    if not correct and ("overwrite" in problem or "twice" in problem):
        correct = "that is there already, above; keep one of them."
    return f"Line {number[1]} is `{line[:80]}`: {correct}" if correct else ""
