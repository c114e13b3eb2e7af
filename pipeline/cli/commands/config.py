"""`config`: print the settings in force and their origins."""

from __future__ import annotations

import argparse

import orjson

from pipeline.cli.options import Commands, add_command, settings_of
from pipeline.config.loader import leaves


def add(commands: Commands) -> None:
    """Describe the command."""
    add_command(commands, "config", _config, "Print the settings in force and their origins.")


def _config(arguments: argparse.Namespace) -> int:
    loaded = settings_of(arguments)
    section = ""
    for path, value in leaves(loaded.settings.model_dump()):
        table, key = path.rsplit(".", 1)
        if table != section:
            print(f"[{table}]")
            section = table
        # The token opens the operator's page, and this output gets into mails and issues.
        shown = "set" if path == "operator.token" and value else value
        setting = f"{key} = {orjson.dumps(shown).decode()}"
        print(f"{setting:<32} # {loaded.origins[path]}")
    return 0
