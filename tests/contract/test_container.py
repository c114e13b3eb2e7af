"""Dockerfile, compose.yaml and the workflow name existing files, commands and settings."""

from __future__ import annotations

import argparse
import re
import shlex

import pytest

from pipeline.cli.main import MODULES
from pipeline.config.schema import Settings
from tests.support.paths import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE = (ROOT / "compose.yaml").read_text("utf-8")
WORKFLOW = (ROOT / ".github" / "workflows" / "systems.yml").read_text("utf-8")


def test_what_the_image_copies_is_there_and_not_left_out() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    names = {name for line in copied for name in line.split()}
    left_out = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert names >= {"requirements.lock", "wheels", "."}
    assert [name for name in names if not (ROOT / name).exists() or name in left_out] == []
    # The image builds the wheel from these.
    carried = re.findall(
        r'^"([^"]+)" = "pipeline/bundle/',
        (ROOT / "pyproject.toml").read_text("utf-8"),
        re.MULTILINE,
    )
    assert [name for name in carried if name.split("/")[0] in left_out] == []
    assert re.search(
        r"^nats-py==", (ROOT / "requirements-dev.lock").read_text("utf-8"), re.MULTILINE
    )


def test_the_workflow_names_files_and_commands_that_there_are() -> None:
    assert "never run by us" in WORKFLOW
    named = re.findall(r"[\w./-]+\.(?:lock|html|flac)\b", WORKFLOW)
    assert [name for name in named if not (ROOT / name).is_file()] == []
    commands = re.findall(r"run: stark-translate (\w+)", WORKFLOW)
    assert set(commands) <= set(MODULES)


@pytest.mark.parametrize(
    "words", re.findall(r'(?:CMD|command:) (\["(?!python3)[^\]]+\])', DOCKERFILE + COMPOSE)
)
def test_commands_are_understood(words: str) -> None:
    command, *options = shlex.split(words.strip("[]").replace(",", " "))
    if command == "--jetstream":  # an option of the NATS server itself
        return
    from importlib import import_module

    parser = argparse.ArgumentParser()
    import_module(f"pipeline.cli.commands.{MODULES[command]}").add(parser.add_subparsers())
    assert parser.parse_args([command, *options]).host == "0.0.0.0"


def test_settings_of_the_containers_are_settings() -> None:
    keys = re.findall(r"STARK_TRANSLATE__(\w+)__(\w+): ", COMPOSE)
    assert keys
    settings = Settings()
    for section, key in keys:
        assert hasattr(getattr(settings, section.lower()), key.lower())
    assert f"EXPOSE {settings.server.port}" in DOCKERFILE
