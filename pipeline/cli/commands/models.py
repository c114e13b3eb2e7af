"""`models`: list, fetch, verify and remove models."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Self

import orjson
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text

from pipeline.cli import streams
from pipeline.cli.console import DESCRIPTION, Console
from pipeline.cli.options import Commands, Run, add_command, add_group, print_json, settings_of
from pipeline.config.schema import Settings
from pipeline.config.section import known_name
from pipeline.core import logs
from pipeline.core.errors import ModelError, UsageError
from pipeline.core.formats import human_size
from pipeline.core.resources import SHIPPED_MODELS, bundled
from pipeline.models import download
from pipeline.models.automatic import recognizer_name, translators_in_use
from pipeline.models.catalog import Row, State, rows, state
from pipeline.models.download import Order, Source
from pipeline.models.library import Manifest, ModelLibrary, PullProgress, again
from pipeline.models.registry import KEYS, Role, hub_id

_SAYS = "List, download and verify recognizers and translators."
_EPILOG = """\
examples:
  stark-translate models list                    what there is, and when to choose it
  stark-translate models pull whisper-base       fetch one, once, with internet
  stark-translate models pull --configured       fetch all that config.toml names
  stark-translate models verify                  is everything still as it was fetched?

A pull that was cut goes on where it stopped. Afterwards no internet is needed.
"""
_FOOT = """
for: stt = stt.model, marian = translate.partial.model, gemma = translate.final.model,
speech = speech.model, embedding = learn.embedding (whether two translations mean the same).
*: in use by the settings. The size of what is not here is cited, memory is estimated.
Fetched models are in {}; docs/MODELS.md says more about choosing."""
_SHIPS = "{} ships with the program."
_WIDE = 110
"""Terminal width, in columns, from which the list shows its last columns."""
_STYLES: Mapping[State, str] = {
    "ships": "green",
    "here": "green",
    "damaged": "bold red",
    "half": "yellow",
    "not here": "dim",
}


def add(commands: Commands) -> None:
    whats = add_group(commands, "models", _SAYS, _EPILOG, "what")
    listing = _add(whats, "list", _list, "List the models that can be named in the settings.")
    listing.add_argument("--json", action="store_true", help="print one JSON array")
    pull = _add(whats, "pull", _pull, "Fetch models: a name, owner/name, or a file.")
    option = pull.add_argument
    says = "model name; owner/name/file.gguf for a Gemma"
    option("names", type=known_name, nargs="*", metavar="NAME", help=says)
    option("--configured", action="store_true", help="download all models of the settings")
    option("--revision", default="", help="commit, branch or tag (the pinned commit)")
    option("--again", action="store_true", help="ask the hub even if the files are here")
    accept = "accept the terms of models that have some, without a question"
    option("--accept-terms", action="store_true", help=accept)
    verify = _add(whats, "verify", _verify, "Read every fetched file and compare it.")
    verify.add_argument("names", type=known_name, nargs="*", metavar="NAME", help="models (all)")
    path = _add(whats, "path", _path, "Print where a model is.")
    path.add_argument("name", type=known_name, metavar="NAME")
    remove = _add(whats, "remove", _remove, "Delete models that were fetched.")
    remove.add_argument("names", type=known_name, nargs="+", metavar="NAME")


def _add(whats: Commands, name: str, run: Run, says: str) -> argparse.ArgumentParser:
    parser = add_command(whats, name, run, says)
    parser.add_argument("--models", metavar="DIR", help="folder of downloaded models")
    return parser


def _list(arguments: argparse.Namespace) -> int:
    settings, store = _opened(arguments)
    found = list(rows(store, _used(settings)))
    if arguments.json:
        print_json([asdict(row) for row in found])
        return 0
    console = Console()
    # Long cells would be wrapped word by word: a narrow terminal shows them below the table.
    wide = console.width >= _WIDE
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("name", "for", "size", "memory", "state", "licence"):
        right = title in {"size", "memory"}
        table.add_column(title, no_wrap=True, justify="right" if right else "left")
    if wide:
        table.add_column("languages")
        table.add_column("when to choose it")
    for row in found:
        table.add_row(
            Text(f"{row.name} *" if row.in_use else row.name, "bold" if row.in_use else ""),
            row.role,
            human_size(row.size_bytes) if row.size_bytes else "",
            human_size(row.memory_bytes) if row.memory_bytes else "",
            Text(row.state, _STYLES[row.state]),
            row.licence,
            *((_languages(row), row.choose) if wide else ()),
        )
    console.print(table)
    if not wide:
        console.print("\nwhen to choose it", style="bold")
        # The starter has a row for each role; the dict keeps the last, which has the most pairs.
        for name, row in {row.name: row for row in found if row.choose}.items():
            console.print(f"{name} ({_languages(row)}): {row.choose}", soft_wrap=True)
    console.print(_FOOT.format(store.directory), style="dim", soft_wrap=True)
    return 0


def _languages(row: Row) -> str:
    """Return what a model hears or translates: "en", "en-es, en-fr", "many"."""
    return ", ".join(row.languages) or "many"


def _pull(arguments: argparse.Namespace) -> int:
    settings, store = _opened(arguments)
    names = list(arguments.names)
    if arguments.configured:
        used = [value for _, value in _used(settings)]
        # A path can look like a hub id: what exists here as a path is not fetched.
        names += [n for n in used if n in store.known or (hub_id(n) and not Path(n).exists())]
        if not names:
            print("The settings name no model that would have to be fetched.")
            return 0
    if not names:
        message = "Which model is to be fetched?"
        raise UsageError("model-unnamed", message, "`stark-translate models list` shows them.")
    code = 0
    # Each once: the settings may name a model twice, and the user may name it too.
    for name in dict.fromkeys(names):
        try:
            _pull_one(name, store, arguments)
        except ModelError as error:
            streams.say(f"stark-translate: {error}")
            # Continue with the others: an hour of fetching should not end at the first bad name.
            code = error.exit_code
    return code


def _pull_one(name: str, store: ModelLibrary, arguments: argparse.Namespace) -> None:
    if name in SHIPPED_MODELS:
        print(_SHIPS.format(name))
        return
    found, manifest = state(store, name)
    if found == "here" and manifest and not arguments.again and not arguments.revision:
        print(f"{name} is here already: {store.path(manifest)}")
        return
    with Download(accept_terms=arguments.accept_terms) as shown:
        manifest = shown.obtain(name, store, arguments.revision)
    # JSON and TOML quote alike: the line can be copied into config.toml.
    print(f"{name} is ready: {KEYS[manifest.role]} = {orjson.dumps(name).decode()}")


def _verify(arguments: argparse.Namespace) -> int:
    _, store = _opened(arguments)
    # A complete model that is being pulled again also has an incomplete copy.
    names = arguments.names or list(dict.fromkeys((*store.names(), *store.halves())))
    if not names:
        print(f"No model has been fetched into {store.directory}.")
    code = 0
    for name in names:
        if name in SHIPPED_MODELS:
            print(_SHIPS.format(name))
        elif faults := _faults(store, name):
            code = ModelError.exit_code
            print(f"{name}: {'; '.join(faults)}. {again(name)}")
        else:
            print(f"{name}: as it was fetched")
    return code


def _faults(store: ModelLibrary, name: str) -> list[str]:
    try:
        manifest = store.manifest(name)
    except ModelError as error:
        return [error.message.rstrip(".")]
    if manifest is None:
        return ["only half fetched" if store.partial(name).is_dir() else "not here"]
    with progress() as bars:
        task = bars.add_task(name, total=manifest.size_bytes)
        return store.faults(manifest, hashes=True, on_bytes=lambda count: bars.advance(task, count))


def _path(arguments: argparse.Namespace) -> int:
    _, store = _opened(arguments)
    if arguments.name in SHIPPED_MODELS:
        print(bundled("models", arguments.name))
        return 0
    manifest = store.manifest(arguments.name)
    if manifest is None:
        message = f"{arguments.name} is not in {store.directory}."
        raise ModelError("model-not-pulled", message, again(arguments.name))
    print(store.path(manifest))
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    _, store = _opened(arguments)
    for name in arguments.names:
        store.remove(name)
        print(f"{name} is deleted")
    return 0


def _opened(arguments: argparse.Namespace) -> tuple[Settings, ModelLibrary]:
    settings = settings_of(arguments).settings
    logs.configure(settings.log.level, settings.log.format)
    return settings, ModelLibrary.of(settings)


def _used(settings: Settings) -> list[tuple[Role, str]]:
    """Return the role and the value of each model that these settings load, rehearsals included."""
    compare = settings.translate.compare
    used: list[tuple[Role, str]] = [("stt", recognizer_name(settings))]
    for narrowed in settings.for_each_target():
        used += translators_in_use(narrowed).items()
    if settings.speech.enabled and settings.speech.engine == "kokoro":
        used.append(("speech", settings.speech.model))
    if compare.engine in ("gemma", "marian"):
        used.append((compare.engine, compare.model))
    if settings.learn.embedding:
        used.append(("embedding", settings.learn.embedding))
    return used


class Download:
    """Fetches models with a progress bar; a context manager, so that the bar is always removed.

    The user accepts terms with `accept_terms`, or by an answer on the terminal.
    """

    def __init__(self, *, accept_terms: bool = False) -> None:
        # The bars are not started yet: nothing is drawn before a source is asked.
        self._accept_terms = accept_terms
        self._bars = progress()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def obtain(self, name: str, store: ModelLibrary, revision: str = "") -> Manifest:
        """Pull a model from the first source that has it. Raises ModelError."""
        try:
            return download.obtain(
                name, store, revision, accept=self.accept, begin=self._begin, on_failure=self._fail
            )
        except KeyboardInterrupt:
            self._bars.stop()  # first: it redraws over printed lines
            streams.say(f"Stopped. The next pull of {name} goes on from here.")
            raise

    def accept(self, ordered: Order) -> bool:
        """Ask the user to accept terms; False if nobody can be asked."""
        # The question is on stderr and the answer on stdin: without both nobody can be asked.
        if self._accept_terms or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return self._accept_terms
        streams.say(f"{ordered.name} is under the {ordered.licence} terms: {ordered.terms}")
        streams.say("Type yes if you have read and accept them:")
        return sys.stdin.readline().strip().casefold() in {"y", "yes"}

    def _begin(self, ordered: Order) -> PullProgress:
        terms = f" (terms: {ordered.terms})" if ordered.terms else ""
        print(
            f"{ordered.name}: {human_size(ordered.fetched_bytes)}, "
            f"licence {ordered.licence}{terms}, from {ordered.origin}",
            flush=True,
        )
        # A source that failed leaves its bars behind; the next one has other sizes.
        self._bars.stop()
        self._bars = progress()
        self._bars.start()
        fetched = self._bars.add_task("fetching", total=ordered.fetched_bytes)
        checked = self._bars.add_task("checking", total=ordered.size_bytes)
        return PullProgress(
            on_bytes=lambda count: self._bars.advance(fetched, count),
            on_checked=lambda count: self._bars.advance(checked, count),
        )

    def _fail(self, error: ModelError, following: Source) -> None:
        self._bars.stop()
        streams.say(f"{error.message} Trying {following}.")


def progress() -> Progress:
    """Return a progress display on standard error; without a terminal it shows nothing."""
    console = Console(stderr=True)
    return Progress(
        DESCRIPTION,
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
