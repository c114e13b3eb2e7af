"""`config`: print the settings in force and their origins."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import Any

import orjson

from pipeline.cli.options import Commands, add_command, settings_of
from pipeline.config.loader import leaves, shown
from pipeline.config.schema import Settings

_BARE = re.compile(r"[A-Za-z0-9_-]+")
"""A key that TOML takes without quotes."""


def add(commands: Commands) -> None:
    says = "Print the settings and where each was set."
    parser = add_command(commands, "config", _config, says)
    parser.add_argument("--changed", action="store_true", help="print changed settings only")


def _config(arguments: argparse.Namespace) -> int:
    loaded = settings_of(arguments)
    section, printed = "", False
    # Against the defaults and not by origin: config.toml as it ships names every key.
    default = dict(leaves(Settings().model_dump()))
    for path, value in leaves(loaded.settings.model_dump()):
        if arguments.changed and value == default[path]:
            continue
        printed = True
        # This output gets into mails and issues.
        said, origin = shown(path, value), loaded.origins[path]
        if "." in path:
            table, key = path.rsplit(".", 1)
            section = _print_table(f"[{table}]", {key: said}, origin, section)
        elif path == "servers":
            # Their names are the user's own, so `leaves` hands all of them over as one value.
            for name, keys in said.items():
                named = name if _BARE.fullmatch(name) else orjson.dumps(name).decode()
                section = _print_table(f"[servers.{named}]", keys, origin, section)
        else:
            for keys in said:
                section = _print_table(f"[[{path}]]", keys, origin)
    if not printed:
        print("# Every setting has its default.")
    for line in loaded.advice:
        print(f"# {line}")
    return 0


def _print_table(head: str, keys: Mapping[str, Any], origin: str, before: str = "") -> str:
    if head != before:
        print(head)
    for key, value in keys.items():
        setting = f"{key} = {orjson.dumps(value).decode()}"
        print(f"{setting:<32} # {origin}")
    return head
