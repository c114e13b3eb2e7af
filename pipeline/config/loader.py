"""Load the settings: the environment overrides config.toml, the command line overrides both.

Built on pydantic-settings, with two additions: an unknown environment variable is refused like an
unknown key, and every error names its origin and the nearest valid key.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource, SettingsError

from pipeline.config.publishing import PROGRAMS
from pipeline.config.schema import PREFIX, Settings
from pipeline.config.section import Applies, Secret, keys
from pipeline.config.spelling import (
    Renewed,
    drop_gone,
    inherit,
    merge,
    nest,
    renew_outputs,
    renew_servers,
    used_outputs,
    without_expert,
)
from pipeline.core.errors import ConfigError, quoted
from pipeline.core.files import read_at_most
from pipeline.core.languages import LANGUAGES

_NO_CODE = "string_pattern_mismatch"
_LANGS = ("translate.source", "translate.target")
_PLAIN = {
    "string_unicode": "Names must be UTF-8; rename the file or folder",
    "model_type": "this is a section, with keys of its own below it",
    _NO_CODE: 'a language code such as "en" is expected',
}
"""Plain sentences for pydantic error types whose own message only programmers understand."""
SYSTEM_FILE = Path("/etc/stark-translate/config.toml")
INSTALLED = "/opt/stark-translate/venv"
"""Where scripts/install.sh puts the program."""
_MOST_BYTES = 256_000
"""Thirty times the shipped file. tomllib needs seconds to read a megabyte of nested tables."""
_LONGEST_LINE = 4000
"""tomllib needs half a minute to read one key of 60,000 parts."""
_MOST_DEEP = 8
_LONGEST_NAME = 300
INHERITED_FROM = "as in [translate.final]"
"""The origin of keys that [translate.compare] inherits."""
_MOST_NAMED = 20
"""The most wrong keys that an error names. A file with more belongs to another program."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, and the origin of each value by key path such as `audio.device`."""

    settings: Settings
    origins: Mapping[str, str]
    file: Path | None
    """The file that was read, if any."""
    flags: Mapping[str, Any]
    advice: tuple[str, ...] = ()
    """A line for each setting in an old spelling: the setting works, and this is its new form."""

    def again(self) -> Loaded:
        """Load the same file, environment and flags again. Raises ConfigError."""
        return load(self.file, self.flags)


def load(file: Path | None = None, flags: Mapping[str, Any] | None = None) -> Loaded:
    """Merge file, environment and flags, and check the result.

    If `file` is None, that of `file_in_force` is read if it exists.
    `flags` has key paths: `{"server.port": 0}`. Raises ConfigError naming every wrong key.
    """
    chosen = file or file_in_force()
    layers: list[tuple[str, dict[str, Any]]] = []
    if chosen is not None:
        layers.append((str(chosen), _read(chosen)))  # first: later layers win
    layers.append(("environment", _environment()))
    layers.append(("command line", nest(flags or {})))
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    renewed, outputs = Renewed(), None
    for origin, layer in layers:
        drop_gone(layer, origin, renewed)
        merge(merged, layer)
        origins |= {path: origin for path, _ in leaves(layer)}
        if "outputs" in layer:
            outputs = renew_outputs(outputs, layer["outputs"], origin, renewed)
            origins["outputs"] = origin
    if outputs is not None:
        merged["outputs"] = used_outputs(outputs, renewed)
    renew_servers(merged, origins, renewed)
    inherited = inherit(merged)
    try:
        settings = Settings(**merged)
    except ValidationError as error:
        # From the original layers: `merged` has lost the origins and the old spellings.
        wrong = {path: origin for origin, layer in layers for path, _ in leaves(layer, empty=True)}
        raise _explain(error, wrong, renewed.old_paths) from None
    # Only a key that no layer set keeps this origin.
    paths = [path for path, _ in leaves(settings.model_dump())]
    known = dict.fromkeys(paths, "built-in default") | origins | renewed.origins
    known |= dict.fromkeys(inherited, INHERITED_FROM)
    if settings.translate.also_spoken:  # from `source = ["en", "es"]`
        known["translate.also_spoken"] = known["translate.source"]
    return Loaded(
        settings, {path: known[path] for path in paths}, chosen, flags or {}, tuple(renewed.advice)
    )


def file_in_force() -> Path | None:
    """Return the default file: ./config.toml, else the system file, else None."""
    # The service's own program: its administrator may type a command in the checkout, which has
    # another config.toml, or as the service's user in a home that is closed to it.
    others = [] if sys.prefix == INSTALLED else [Path("config.toml")]
    return next((file for file in (*others, SYSTEM_FILE) if file.is_file()), None)


def changed(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Return the settings with some values replaced, by key path. Raises ValidationError."""
    tree = settings.model_dump()
    merge(tree, nest(values))
    return Settings(**tree)


def leaves(
    tree: Mapping[str, Any], prefix: str = "", *, empty: bool = False
) -> Iterator[tuple[str, Any]]:
    """Yield (key path, value) for everything in a nested mapping that is not a table.

    With `empty`, empty tables are yielded as well.
    """
    for key, value in tree.items():
        path = f"{prefix}{key}"
        # The user chooses the names of servers: all servers together are one setting.
        if isinstance(value, Mapping) and (value or not empty) and path != "servers":
            yield from leaves(value, f"{prefix}{key}.", empty=empty)
        else:
            yield path, value


def _read(file: Path) -> dict[str, Any]:
    try:
        content = read_at_most(file, _MOST_BYTES)
        # --config may name a recording by mistake, which is not read to its end.
        if content is None:
            raise ConfigError(
                "config-too-large",
                f"{file} has more than {_MOST_BYTES // 1000} kB: that is no file of settings.",
                "Check the path given to --config.",
            )
        text = content.decode("utf-8-sig")  # Windows writes a byte order mark
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > _LONGEST_LINE:
                message = f"{file}: line {number} has more than {_LONGEST_LINE} characters."
                raise ConfigError("config-too-large", message, "Part a list into several lines.")
        tree = tomllib.loads(text)
    except OSError as error:
        fix = "Check the path given to --config."
        if isinstance(error, PermissionError):
            fix = "Run this as a user who may read it (sudo -u NAME)."
        raise ConfigError("config-unreadable", f"{file}: {error.strerror}.", fix) from None
    except UnicodeDecodeError as error:
        message = f"{file} is not valid TOML: {error}."
        raise ConfigError("config-not-toml", message, "Save it as plain text in UTF-8.") from None
    except (ValueError, RecursionError) as error:  # also for endless digits or brackets
        message = f"{file} is not valid TOML: {error}."
        raise ConfigError("config-not-toml", message, hint(text, str(error))) from None
    if _is_deeper(tree, _MOST_DEEP):
        raise ConfigError(
            "config-unknown-key",
            f"{file}: tables lie in tables, more than {_MOST_DEEP} deep.",
            "A setting is a section and a key, such as [server] and port.",
        )
    return without_expert(tree)


def _is_deeper(tree: Mapping[str, Any], most: int) -> bool:
    """Whether tables are nested deeper than `most`. The functions that merge them are recursive."""
    return most == 0 or any(
        _is_deeper(value, most - 1) for value in tree.values() if isinstance(value, dict)
    )


def _environment() -> dict[str, Any]:
    known = list(Settings.model_fields)
    ours = [name for name in os.environ if name.upper().startswith(PREFIX.rstrip("_"))]
    # Return early: pydantic would go through every variable for every section.
    if not ours:
        return {}
    for name in ours:
        # STARK_TRANSLATE_SERVER__PORT lacks an underscore and would be ignored silently.
        if not name.upper().startswith(PREFIX):
            raise ConfigError(
                "config-unknown-key",
                f"environment: {name}: variables of this program begin with {PREFIX}.",
                "Write two underscores there, and two between section and key.",
            )
        section = name[len(PREFIX) :].split("__")[0].lower()
        # pydantic checks the keys of known sections, and ignores other variables.
        if section not in known:
            raise ConfigError(
                "config-unknown-key",
                f"environment: {name}: there is no section [{section}].",
                _nearest(section, known),
            )
    try:
        # The only pydantic source that is used: it parses lists and numbers by their types.
        tree = EnvSettingsSource(Settings)()
    except (SettingsError, RecursionError) as error:  # a whole section that is not valid JSON
        reason = str(error).removesuffix(' from source "EnvSettingsSource"')
        fix = f"Set one variable for each key, such as {PREFIX}SERVER__PORT."
        raise ConfigError("config-bad-value", f"environment: {reason}.", fix) from None
    # It takes the type of `source` for plain text, and leaves `["en", "es"]` as it is.
    match tree.get("translate", {}):
        case {"source": str(source)} as translate if source.lstrip().startswith("["):
            with suppress(ValueError, RecursionError):  # then it is refused as it is
                translate["source"] = json.loads(source)
    return tree


def _nearest(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"Did you mean {close[0]}?" if close else f"Known: {', '.join(sorted(known))}."


def _code_of(value: object) -> str:
    """Return advice for a value that is "auto", a language name, a locale ("es-MX") or a list."""
    if value == "auto":
        return " (it is not guessed: name the one that is spoken)"
    given = value if isinstance(value, list) else str(value).split(",")
    match [code for each in given if (code := _code(str(each)))]:
        case [code]:
            return f' (here "{code}")'
        case [first, *more]:
            others = ", ".join(f'"{code}"' for code in more)
            return f' (here target = "{first}" and targets = [{others}])'
    return ""


def _code(text: str) -> str:
    meant = text.strip().casefold()
    for code, each in LANGUAGES.items():
        names = {code, each.name.casefold(), each.own.casefold()}
        if names & {meant, re.split("[-_]", meant)[0]}:
            return code
    return ""


def _explain(
    error: ValidationError, origins: Mapping[str, str], old_paths: Mapping[str, str]
) -> ConfigError:
    keys = [path for path, _ in leaves(Settings().model_dump())]
    lines = []
    code = "config-bad-value"
    details = error.errors(include_url=False)
    # All errors at once: otherwise the user restarts the program for each error.
    for detail in details[:_MOST_NAMED]:
        path = ".".join(str(part) for part in detail["loc"])
        path = old_paths.get(path, path)  # as it is written in the file
        if path not in origins:  # it comes from a list of spoken languages
            path = re.sub(r"translate\.also_spoken(\.\d+)?", "translate.source", path)
        # Keys below the path come first: a later layer has a table in place of a value.
        below = next((o for p, o in origins.items() if p.startswith(f"{path}.")), "")
        above = next((o for p, o in origins.items() if path.startswith(p)), "")
        origin = below or origins.get(path) or above
        where = f"{origin}: {path}".removeprefix(": ").removesuffix(": ")
        if detail["type"] == "extra_forbidden":
            code = "config-unknown-key"
            known = keys if "." in path else list(Settings.model_fields)
            lines.append(f"{where[:_LONGEST_NAME]}: unknown key. {_nearest(path, known)}")
        else:
            kind = detail["type"]
            if kind == "string_type" and path in _LANGS:
                kind = _NO_CODE  # a list in place of one code
            reason = _PLAIN.get(kind, detail["msg"].removeprefix("Value error, "))
            reason += _code_of(detail["input"]) if kind == _NO_CODE else ""
            if detail["type"] != "value_error" and not is_secret(path):
                reason += f", not {quoted(detail['input'], 200)}"
            # If two sections conflict, only the reason names the key.
            where = where or origins.get(reason.split()[0], "")
            lines.append(f"{where}: {reason}".removeprefix(": "))
    if len(details) > _MOST_NAMED:
        lines.append(f"... and {len(details) - _MOST_NAMED} more.")
    return ConfigError(code, "\n".join(lines))


Effect: TypeAlias = Literal["live", "next-utterance", "restart"]


# A key without a mark needs a restart, so a forgotten mark never causes half a change.
EFFECT: Mapping[str, Effect] = {
    path: next((mark.effect for mark in marks if isinstance(mark, Applies)), "restart")
    for path, marks in keys(Settings)
}
"""The time of effect by key path, from the marks in the schema."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The key paths whose values differ, sorted, by when the new value takes effect."""

    live: tuple[str, ...]
    next_utterance: tuple[str, ...]
    restart: tuple[str, ...]


def changes(in_force: Settings, wanted: Settings) -> Changes:
    """Return the keys that differ between the settings in force and the wanted ones."""
    old, new = dict(leaves(in_force.model_dump())), dict(leaves(wanted.model_dump()))
    differ = sorted(key for key in new if new[key] != old[key])

    def of(effect: Effect) -> tuple[str, ...]:
        return tuple(key for key in differ if EFFECT[key] == effect)

    return Changes(of("live"), of("next-utterance"), of("restart"))


SECRETS: Mapping[str, Secret] = {
    path: mark for path, marks in keys(Settings) for mark in marks if isinstance(mark, Secret)
}
"""The secrets by key path, from the marks in the schema."""


def shown(path: str, value: Any) -> Any:
    """Return the part of a valid setting's value that may be printed, logged or written."""
    secret = SECRETS.get(path)
    if secret is None or not value:
        return value
    if isinstance(value, list | tuple):  # [[outputs]]
        return [{**each, "url": _place(each["url"]) if each["url"] else ""} for each in value]
    return _place(value) if secret.is_address else "set"


def _place(value: str) -> str:
    parts = urlsplit(value)
    # Drop path and query too: YouTube and Zoom addresses have their key there.
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")


def is_secret(path: str) -> bool:
    """Whether a key path is a secret, or has a secret above or below it."""
    return any(f"{path}.".startswith(f"{each}.") or each.startswith(f"{path}.") for each in SECRETS)


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


# Curly quotes come first: the patterns below do not recognize them as quotes.
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
    (re.compile(r"^\[[^\]]*$"), lambda _: "a section ends with a bracket, such as [audio]."),
    (
        re.compile(r"^([\w-]+)\s*:\s*(.+)$"),
        lambda found: f"write = for the colon: `{found[1]} = {found[2][:60]}`.",
    ),
    (re.compile(r"^([\w-]+)\s*=\s*([^\s\"'\[{#\d-][^#]*?)\s*(?:#.*)?$"), _quoted),
)
"""A pattern for each usual mistake, and the advice for it. The likeliest comes first."""


def hint(content: str, problem: str) -> str:
    """Return how to write the line that `problem` ("... (at line 2, ...)") names.

    Returns "" if the line has none of the usual mistakes.
    """
    # Before Python 3.14 tomllib gives the line number only in its message.
    number = _LINE.search(problem)
    lines = content.splitlines()
    if number is None or not 0 < int(number[1]) <= len(lines):
        return ""
    line = lines[int(number[1]) - 1].strip()
    words = (word for word in re.findall(r"[\w-]+", line) if word in _SECRET)
    # The line itself is not shown: it may contain a password.
    if name := next(words, "url" if "@" in line else ""):
        return f'Line {number[1]}: text has straight quotes, `{name} = "..."`.'
    found = ((pattern.search(line), say) for pattern, say in _CORRECTIONS)
    correct = next((say(match) for match, say in found if match), "")
    if not correct and ("overwrite" in problem or "twice" in problem):
        correct = "that is there already, above; keep one of them."
    return f"Line {number[1]} is `{line[:80]}`: {correct}" if correct else ""
