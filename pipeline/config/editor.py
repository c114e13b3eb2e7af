"""Edit keys of a config.toml in place; comments, order and everything else stay.

The text is edited line by line, then parsed. It is written only if it has the old settings plus the
new values.
"""

from __future__ import annotations

import difflib
import json
import re
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Any, TypeAlias

from pipeline.config.spelling import EXPERT, merge, nest, without_expert
from pipeline.core.errors import ConfigError, reading, writing
from pipeline.core.files import sync, write_whole

Value: TypeAlias = bool | int | float | str
Tables: TypeAlias = Sequence[Mapping[str, str]]
"""A list of tables on one line, such as `translate.targets`."""

# Only the usual spelling. A person must edit quoted keys and blanks within brackets.
_TABLE = re.compile(r"\s*\[{1,2}([A-Za-z0-9_.\-]+)\]{1,2}\s*(?:#.*)?$")
_KEY = re.compile(
    r"""(?P<before>\s*(?P<key>[A-Za-z0-9_.\-]+)\s*=\s*)
        (?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]\#]*\]|[^\s\#"']+)
        (?P<space>\s*?)(?P<after>(?:\s\#.*)?)$""",
    re.VERBOSE,
)


def edit(text: str, changes: Mapping[str, Value | Tables]) -> str:
    """Return TOML `text` with keys such as `stt.threads` set to new values.

    A missing key is added at the end of its table, a missing table at the end of the text. Raises
    ConfigError (config-not-edited) for keys in a form not handled here, such as an inline table.
    """
    lines = text.removesuffix("\n").removesuffix("\r").split("\n") if text else []
    lines = [line.removesuffix("\r") for line in lines]
    for path, value in changes.items():
        table, _, key = path.rpartition(".")
        _set(lines, table, key, toml(value))
    end = "\r\n" if "\r\n" in text else "\n"  # a file from Windows keeps its line ends
    edited = end.join([*lines, ""])
    # Lines are matched by patterns, which fail on inline tables and long strings: check the result.
    wanted = without_expert(tomllib.loads(text))
    merge(wanted, nest(changes))
    if not _says(edited, wanted):
        by_hand = ", ".join(f"{path} = {toml(value)}" for path, value in changes.items())
        raise ConfigError(
            "config-not-edited",
            "The settings are written in a way that only a person can edit.",
            f"Put in by hand: {by_hand}.",
        )
    return edited


def write(
    file: Path, changes: Mapping[str, Value | Tables], now: datetime
) -> tuple[str, Path | None]:
    """Change keys of a file; return the diff and the path of a backup copy.

    At any moment, also after a power cut, the file is the old one or the new one. A missing file is
    created and has no copy. If nothing changes, nothing is written and the copy is None. Raises
    ConfigError: config-unreadable, config-not-toml, config-not-edited, config-unwritable.
    """
    file = file.resolve()  # a symbolic link stays a link
    with reading(file, ConfigError, "config-unreadable"):
        content = file.read_bytes() if file.exists() else b""
    try:
        # As in the loader: Notepad writes a byte order mark. It is not written again.
        old = content.decode("utf-8-sig")
        tomllib.loads(old)
    except ValueError as error:  # also of UTF-8, and a number of thousands of digits
        raise ConfigError("config-not-toml", f"{file} is not valid TOML: {error}.") from None
    new = edit(old, changes)
    diff = "\n".join(
        difflib.unified_diff(
            old.splitlines(), new.splitlines(), str(file), str(file), n=0, lineterm=""
        )
    )
    if not diff:
        return "", None
    # With the time in its name: a later copy must not replace an earlier one.
    copy = _unused(file.with_name(f"{file.name}.{now:%Y%m%d-%H%M%S}.bak")) if old else None
    fix = "Run it as the user that owns the file, or put the lines in by hand."
    with writing(file, ConfigError, "config-unwritable", fix):
        if copy is not None:
            shutil.copy2(file, copy)
            sync(copy)  # the copy is on the disk before the file is replaced
        write_whole(file, new.encode(), like=file.stat() if file.exists() else None)
    return diff, copy


def _unused(file: Path) -> Path:
    """Return a name that no file has: two copies of one second, or of a clock set back, differ."""
    names = (file.with_suffix(f".{number}{file.suffix}") for number in count(2))
    return next(path for path in chain([file], names) if not path.exists())


def toml(value: Value | Tables) -> str:
    """Return a value in TOML's notation."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        tables = (
            ", ".join(f"{key} = {toml(text)}" for key, text in each.items()) for each in value
        )
        return f"[{', '.join(f'{{ {table} }}' for table in tables)}]"
    # For the other types JSON notation is valid TOML.
    return json.dumps(value, ensure_ascii=False)


def section(values: Mapping[str, Value]) -> str:
    """Return the TOML text that sets these keys and nothing else."""
    return edit("", values).strip()


def _set(lines: list[str], table: str, key: str, value: str) -> None:
    here, last = "", None
    for index, line in enumerate(lines):
        if match := _TABLE.match(line):
            here = match[1]
            if here == table:
                last = index
        elif here in (table, EXPERT) and (match := _KEY.match(line)):
            last = index if here == table else last
            if match["key"] == (key if here == table else f"{table}.{key}"):
                # The comment keeps its column if there is room.
                width = len(match["value"] + match["space"])
                after = match["after"]
                padded = value.ljust(width) if after else value
                lines[index] = f"{match['before']}{padded}{after}"
                return
    if last is None:
        lines += [*([""] if lines else []), f"[{table}]"]
        last = len(lines) - 1
    # Directly after the table's last key: later comments belong to the next table.
    lines.insert(last + 1, f"{key} = {value}")


def _says(text: str, tree: dict[str, Any]) -> bool:
    try:
        # With the keys of [expert] moved to their tables: an edit may find a key in either place.
        return without_expert(tomllib.loads(text)) == tree
    except tomllib.TOMLDecodeError:
        return False
