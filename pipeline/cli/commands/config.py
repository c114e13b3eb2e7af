"""`config`: print the settings in force and their origins."""

from __future__ import annotations

import argparse

import orjson

from pipeline.cli.options import Commands, add_command, settings_of
from pipeline.config.loader import leaves
from pipeline.config.schema import Settings
from pipeline.config.secrets import shown


def add(commands: Commands) -> None:
    """Describe the command."""
    says = "Print the settings in force and their origins."
    parser = add_command(commands, "config", _config, says)
    parser.add_argument("--changed", action="store_true", help="only those that are no default")


def _config(arguments: argparse.Namespace) -> int:
    loaded = settings_of(arguments)
    section = ""
    default = dict(leaves(Settings().model_dump()))
    for path, value in leaves(loaded.settings.model_dump()):
        if arguments.changed and value == default[path]:
            continue
        table, key = path.rsplit(".", 1)
        if table != section:
            print(f"[{table}]")
            section = table
        # This output gets into mails and issues.
        setting = f"{key} = {orjson.dumps(shown(path, value)).decode()}"
        print(f"{setting:<32} # {loaded.origins[path]}")
    return 0
