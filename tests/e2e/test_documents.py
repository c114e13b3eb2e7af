"""Every command and setting that a document prints works as printed.

The program's own parsers parse the options, up to the start of the work. Commands that are short
and need nothing else also run. A command that is new in a document must be in `RUN` or `NOT_RUN`.
"""

from __future__ import annotations

import argparse
import os
import re
import runpy
import shlex
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import metadata
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pipeline.cli.main import Parser, main
from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.core.errors import ConfigError
from pipeline.models.library import ModelLibrary
from tests.support.cli import told
from tests.support.documents import Printed, blocks, commands, documents
from tests.support.needs import needs_train_extra
from tests.support.paths import ROOT
from tests.support.services import GOOD, NAME, UNSURE, WRONG, hold

pytestmark = pytest.mark.slow
COMMANDS = commands()
OURS = [each for each in COMMANDS if each.words[0] == "stark-translate"]

RUN = {
    "config": 0,
    "config --changed": 0,
    "status": "daemon-unreachable",
    "stop": "daemon-unreachable",
    "logs": 0,
    "sessions": 0,
    "models list": 0,
    "budget": 0,
    "glossary list covenant": 0,
    "glossary try 'The word gospel means good news.'": 0,
    "verses add rvr.xml --name rvr1960 --lang es --title 'Reina-Valera 1960' "
    "--licence 'by permission of ...'": 0,
    "verses list": 0,
    "notes add sermon.docx": 0,
    "notes show": 0,
    "report": 0,
    "report last": 0,
    "export --out sermon.srt": 0,
    "export --lang both --out sermon.srt": 0,
    "export --out sermon.html": 0,
    "export last --lang both --out sermon.srt": 0,
    "export last --summary --out draft.md": 0,
    "rules last": 0,
    "score last": 0,
    f"score {NAME} --estimator cometkiwi": "comet-missing",
    "learn collect": 0,
    "learn judge": "judge-too-few",
    "learn rollback": "nothing-deployed",
    "learn remove SESSION": 0,
    "dashboard": 0,
    "reload": "token-missing",
    "desk": "token-missing",
    "desk --revoke NAME": "unknown-volunteer",
    "desk --revoke 'Stream Deck'": "unknown-volunteer",
    "desk --buttons NAME": 0,
    "desk --buttons 'Stream Deck'": 0,
    "desk --buttons Companion --companion page.companionconfig": 0,
}
"""Run in a church's folder with one service: the exit code, or the error's code and its reason."""

NOT_RUN = {
    "run": "goes on until the service ends: test_program.py, test_microphone_run.py",
    "dry-run": "as run",
    "demo": "100 s, and opens a browser: tests/browser/test_demo.py",
    "replay": "as long as the service: tests/unit/cli/commands/test_replay.py",
    "review": "serves a page until it is closed: tests/browser/test_review.py",
    "setup": "asks for models of the hub: tests/unit/cli/commands/test_setup.py",
    "check": "a microphone, or half a minute: tests/unit/cli/commands/test_check.py",
    "devices": "a microphone: test_microphone_run.py",
    "tune": "minutes of measuring: tests/unit/cli/commands/test_tune.py",
    "models pull": "the hub: tests/unit/cli/commands/test_models.py",
    "verses build": "5 s: tests/unit/cli/commands/test_verses.py",
    "export last --out sermon.mp3": "a voice: tests/unit/cli/commands/test_export.py",
    "export last --target": "a service in French: tests/unit/cli/commands/test_export.py",
    "score SESSION": "as score last",
    "score last --embedding": "a model of the hub: tests/unit/cli/commands/test_score.py",
    "install": "an entry of the system: tests/unit/cli/commands/test_install.py",
    "uninstall": "as install",
    "serve-model": "a server: tests/unit/cli/commands/test_serve_model.py",
    "relay": "a NATS server: tests/unit/publish",
    "learn mix": "20 s: tests/e2e/test_learning.py",
    "learn cycle": "5 s: tests/unit/cli/commands/test_learn.py",
    "learn compare": "minutes: tests/e2e/test_learning.py",
    "learn deploy": "as compare",
    "learn translate": "trains: tests/e2e/test_learning.py; its steps are parsed below",
    "learn hear": "trains: tests/e2e/test_learning_to_hear.py; its steps are parsed below",
    "learn distill": "trains: tests/e2e/test_distilling.py; its steps are parsed below",
}
"""Commands that are parsed only, by their first words, and the reason."""


TRAININGS = [("learn", name) for name in ("translate", "hear", "distill")]
OSIS = '<osis><div type="book"><verse osisID="John.11.35">Y lloró Jesús.</verse></div></osis>'
WORD = (
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    "<w:p><w:r><w:t>A sermon on Bonhoeffer. Bonhoeffer wrote letters.</w:t></w:r></w:p>"
    "</w:body></w:document>"
)


_OF_MAKE = {"ARGS", "MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS"}


class _Accepted(BaseException):
    """A command line was parsed; the work would start now."""


@contextmanager
def parsing_only() -> Iterator[None]:
    """End every command when its options are parsed."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in (argparse.ArgumentParser, Parser):

            def parse(self: Any, args: Any = None, was: Any = kind.parse_args) -> NoReturn:
                was(self, args)
                raise _Accepted

            patch.setattr(kind, "parse_args", parse)
        yield


def refused(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the parser's complaint about a command's options, or ""."""
    capsys.readouterr()
    try:
        if words[0] == "stark-translate":
            main(words[1:])
        else:
            with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # module already imported
                patch.setattr(sys, "argv", ["", *words[3:]])
                runpy.run_module(words[2], run_name="__main__", alter_sys=True)
    except _Accepted:
        return ""
    except SystemExit as end:  # from --help
        out, err = capsys.readouterr()
        return "" if end.code == 0 else (err or out).strip().splitlines()[-1]
    except ImportError as error:
        return str(error)
    return "it began to work without parsing"


def objections(
    found: Iterable[tuple[Printed, Sequence[str]]], capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """Return the parsers' complaints. A sentence may omit required arguments."""
    with parsing_only():
        answers = ((each, words, refused(words, capsys)) for each, words in found)
        return [
            f"{each.where}: {shlex.join(words)}: {why}"
            for each, words, why in answers
            if why and (each.in_block or "are required:" not in why)
        ]


def modules() -> list[tuple[Printed, Sequence[str]]]:
    """Return our printed `python -m` commands, with those inside `make` targets."""
    found: list[tuple[Printed, Sequence[str]]] = [(each, each.words) for each in COMMANDS]
    for each in COMMANDS:
        if each.words[0] == "make":
            found += [(each, words) for words in steps(make(each).stdout)]
    ours = re.compile(r"(scripts|training)\.\w+(\.\w+)*$")
    return [
        (each, words)
        for each, words in found
        if words[:2] == ("python", "-m") and ours.match(words[2])
    ]


def steps(printed: str) -> list[tuple[str, ...]]:
    """Return the `python -m` commands among printed command lines."""
    lines = (
        tuple(shlex.split(line))
        for line in printed.replace("\\\n", "").splitlines()
        if " -m " in line
    )
    return [("python", *line[1:]) for line in lines if line[0].endswith("/python")]


def make(each: Printed) -> subprocess.CompletedProcess[str]:
    # Under `make test`, its ARGS would reach every target through MAKEFLAGS.
    env = {name: value for name, value in os.environ.items() if name not in _OF_MAKE}
    return subprocess.run(
        ["make", "--dry-run", "--no-print-directory", *each.words[1:]],
        cwd=ROOT, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_every_command_of_ours_has_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(OURS) > 60
    assert objections([(each, each.words) for each in OURS], capsys) == []


def test_every_target_of_make_is_there() -> None:
    found = [each for each in COMMANDS if each.words[0] == "make"]
    assert len(found) > 15
    assert [each.text for each in found if make(each).returncode] == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of transformers
def test_scripts_and_trainers_have_their_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Includes those that `learn` would start, as `--dry-run` prints them."""
    needs_train_extra()
    for name in ("cut", "translategemma-4b-it"):
        (tmp_path / name).mkdir()
    (tmp_path / "translategemma-4b-it" / "config.json").write_text("{}")
    found = modules()
    for each in OURS:
        if each.words[1:3] in TRAININGS:
            done = told(capsys, *each.words[1:], "--dry-run", cwd=tmp_path)
            if len(each.words) > 3 and not done.stdout:
                pytest.fail(f"{each.text}: {done.stderr}")
            found += [(each, words) for words in steps(done.stdout)]
    assert len(found) > 50
    with_parser = [
        (each, words) for each, words in found if len(words) > 3 or "parse_args" in source(words[2])
    ]
    assert objections(with_parser, capsys) == []


def source(module: str) -> str:
    """Return the text of a module, or of a package's `__main__`."""
    path = ROOT.joinpath(*module.split("."))
    return (path / "__main__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8")


def test_each_command_is_run_or_says_why_not() -> None:
    def listed(text: str) -> bool:
        return any(text == known or text.startswith(f"{known} ") for known in NOT_RUN)

    texts = {each.text.removeprefix("stark-translate ") for each in OURS}
    alone = {
        "export",
        "learn",
        "score",
        "verses add",
        "learn translate",
        "notes add",
        "export last --target fr",
    }
    assert {text for text in texts - RUN.keys() - alone if not listed(text)} == set()
    assert RUN.keys() - texts == set(), "no document prints it any more"
    tests = re.findall(r"(?:tests/[\w/]+)?test_\w+\.py", " ".join(NOT_RUN.values()))
    folders = (ROOT, ROOT / "tests" / "e2e")
    assert [name for name in tests if not any((each / name).is_file() for each in folders)] == []


def test_what_is_short_is_run_as_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hold(tmp_path / "sessions", [GOOD, UNSURE, WRONG])
    with zipfile.ZipFile(tmp_path / "sermon.docx", "w") as parts:
        parts.writestr("word/document.xml", WORD)
    (tmp_path / "rvr.xml").write_text(OSIS)
    wrong = []
    for text, expected in RUN.items():
        words = [NAME if word == "SESSION" else word for word in shlex.split(text)]
        # An added Bible must not affect the tests that follow.
        env = {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("CACHE", "DATA")}
        done = told(capsys, *words, cwd=tmp_path, env=env)
        good = (
            done.returncode == expected
            if isinstance(expected, int)
            else f"[{expected}]" in done.stderr
        )
        if not good or not (done.stdout or done.stderr):
            wrong.append(f"{text}: {done.returncode} {done.stderr[-300:]}")
    assert wrong == []


@pytest.mark.usefixtures("own_final_model")
def test_settings_are_as_printed(tmp_path: Path) -> None:
    """Each config.toml block loads, after the previous one or alone; its models exist."""
    sections = {f"[{name}" for name in Settings.model_fields}
    known = {*ModelLibrary(tmp_path).known, "auto", "starter", "tiny"}
    wrong, count = [], 0
    for path in documents():
        before = ""
        for number, lines in blocks(path.read_text("utf-8")) if path.suffix == ".md" else ():
            head = re.match(r"\[?(\[\w+)", lines[0])
            if not head or head[1] not in sections:
                continue
            count += 1
            text = "\n".join(lines)
            try:
                settings = taken(f"{before}\n{text}", tmp_path)
            except ConfigError:
                try:
                    settings = taken(text, tmp_path)
                except ConfigError as error:
                    wrong.append(f"{path.name}:{number}: {error}")
                    continue
            before = text
            finals = [each.translate.final for each in settings.for_each_target()]
            named = {final.model for final in finals if final.engine == "gemma"}
            wrong += [
                f"{path.name}:{number}: no model {name}" for name in named - known if name in text
            ]
    assert count > 7
    assert wrong == []


def taken(text: str, folder: Path) -> Settings:
    file = folder / "config.toml"
    file.write_text(text)
    return load(file).settings


def test_extras_are_there_as_printed() -> None:
    """They use the pip of the program's own environment: no index has the program."""
    known = metadata("stark-translate").get_all("Provides-Extra") or []
    found = [
        f"{each.where}: {each.text}"
        for each in COMMANDS
        if (named := re.search(r"^pip install '?stark-translate\[(\w+)\]", each.text))
        and (each.own_pip is False or named[1] not in known)
    ]
    assert found == []
