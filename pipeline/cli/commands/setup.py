"""`setup`: make a new machine ready, in one step."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import segno
from rich.prompt import Confirm, IntPrompt, Prompt
from rich.table import Table
from rich.text import Text

from pipeline.audio.devices import devices
from pipeline.church.scripture import verse_index
from pipeline.cli import streams
from pipeline.cli.commands.check import check_all
from pipeline.cli.commands.models import Download
from pipeline.cli.commands.run import TRIAL
from pipeline.cli.console import Console
from pipeline.cli.options import (
    Commands,
    add_command,
    add_hearing,
    languages,
    settings_of,
    some_languages,
)
from pipeline.config.editor import Tables, Value, write
from pipeline.config.loader import Loaded, file_in_force, leaves, load
from pipeline.config.schema import Settings
from pipeline.core import logs
from pipeline.core.errors import AudioError, ConfigError, ModelError, UsageError, VersesError
from pipeline.core.formats import human_size
from pipeline.models.automatic import FOR_PEOPLE, remember
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import CAPTION_ROLES, KEYS, STARTER, Role
from pipeline.server.addresses import public_address
from pipeline.tuning import budget
from pipeline.tuning.budget import Proposal
from pipeline.tuning.hardware import machine

_SAYS = "Set this machine up: languages, microphone, models, verses, config.toml, check."
_EPILOG = """\
examples:
  stark-translate setup                                ask for what is not in config.toml yet
  stark-translate setup --from en --to es,fr --yes     take the defaults for all else

It can be repeated at any time: what is there is kept, and what is set is not asked again.
exit codes: 0 ready, 1 something is missing or does not work yet
"""
_MANY_READERS = 500
_PLACES = {"models.directory", "session.directory"}
"""The keys that scripts/install.sh sets in the file that it makes."""
_DRAFT = "The quick translator makes the finals too."
_BETTER = "A better one needs 8 cores or a GPU, here or on another machine (docs/REMOTE.md)."


def add(commands: Commands) -> None:
    parser = add_command(commands, "setup", _setup, _SAYS, _EPILOG)
    parser.add_argument("--from", dest="spoken", metavar="LANG", help="spoken language (en)")
    parser.add_argument(
        "--to",
        type=some_languages,
        metavar="LANG,...",
        help="caption languages, the main one first",
    )
    add_hearing(parser)
    parser.add_argument(
        "--readers", type=int, metavar="N", help="people who read on phones; 0: this machine only"
    )
    parser.add_argument("--models", metavar="DIR", help="folder of downloaded models")
    parser.add_argument("--yes", action="store_true", help="ask nothing: defaults for all else")
    accept = "accept the terms of models that have some, without a question"
    parser.add_argument("--accept-terms", action="store_true", help=accept)
    parser.add_argument("--no-audio", action="store_true", help="do not test the microphone")


def _setup(arguments: argparse.Namespace) -> int:
    try:
        return _set_up(arguments)
    except EOFError:  # Ctrl-D at a question: as Ctrl-C
        return 1


def _set_up(arguments: argparse.Namespace) -> int:
    console = Console()
    file = arguments.config or file_in_force() or Path("config.toml")
    if arguments.config and not file.exists():
        # The file will be created. An empty one replaces it: otherwise the settings of the current
        # folder would count as answers, and would not be in the new file.
        arguments.config = Path(os.devnull)
    wanted = arguments.to
    arguments.to = None  # written with the answers: as a flag it would count as set already
    loaded = settings_of(arguments)
    logs.configure_quietly(loaded.settings.log.level, loaded.settings.log.format)
    changes: dict[str, Value | Tables] = dict(_typed(arguments))
    changes |= _Questions(loaded, console, ask=_may_ask(arguments)).answers(arguments, wanted)
    # Used from here on, as if they were flags: the file is written when everything is there.
    flags = {key: value for key, value in changes.items() if value != ""}
    settings = load(arguments.config, flags).settings

    source, targets = settings.translate.source, settings.translate.langs
    library, here = ModelLibrary.of(settings), machine()
    spoken = settings.translate.spoken
    # One recognizer hears all the spoken languages, so it must know each of them.
    known = [
        each
        for each in library.known.values()
        if each.role != "stt" or all(each.can(lang, "") for lang in spoken)
    ]
    proposed = budget.propose(known, source, targets, here)
    _show(console, proposed, library)
    # Nothing was written or fetched so far: a user who says no has changed nothing.
    if _may_ask(arguments) and not Confirm.ask("Go on?", default=True):
        return 1
    obtained = _obtain(proposed, library, source, targets, accept=arguments.accept_terms)
    for name in obtained.values():
        # Calculated, not measured: "auto" begins with these until `tune` has measured them.
        remember(settings, name, keeps_up=True)
    # A starter in place of a model that could not be fetched works, but was not proposed.
    complete = obtained == proposed.models and len(obtained) == len(CAPTION_ROLES)
    changes |= _chosen(obtained, on_gpu=proposed.on_gpu)
    complete &= _index(source)

    diff, copy = write(file, changes, datetime.now(UTC))
    before = f" As it was before: {copy}" if copy else ""
    was = "written" if diff else "as it was"
    console.print(f"Settings: {file}, {was}.{before}", soft_wrap=True)
    done = load(file, _typed(arguments))
    # Only now: the check must test the file that a service will read.
    code = check_all(done, audio=not arguments.no_audio)
    _conclude(console, done, obtained)
    return code if complete else max(code, 1)


def _may_ask(arguments: argparse.Namespace) -> bool:
    return not arguments.yes and sys.stdin.isatty()


def _typed(arguments: argparse.Namespace) -> dict[str, str]:
    return {"models.directory": arguments.models} if arguments.models else {}


class _Questions:
    """Asks for what neither the command line nor a file has set yet."""

    def __init__(self, loaded: Loaded, console: Console, *, ask: bool) -> None:
        self._loaded, self._console, self._ask = loaded, console, ask
        # config.toml as it ships names every key, and answers nothing.
        default, file = dict(leaves(Settings().model_dump())), str(loaded.file)
        answers = {
            path
            for path, value in leaves(loaded.settings.model_dump())
            if loaded.origins[path] == file and value != default[path]
        }
        self._unset = {"built-in default"} | (set() if answers - _PLACES else {file})

    def answers(
        self, arguments: argparse.Namespace, to: Sequence[str] | None
    ) -> dict[str, Value | Tables]:
        """Return the settings to write. Raises UsageError (setup-unanswered)."""
        translate = self._loaded.settings.translate
        given = arguments.yes or (arguments.spoken and to) or not self._is_open("translate.target")
        if not (self._ask or given):
            raise UsageError(
                "setup-unanswered",
                "There is no terminal to ask on.",
                "Give --from, --to, --device and --readers, and --yes for all else.",
            )
        changes: dict[str, Value | Tables] = {}
        spoken = arguments.spoken or self._answer(
            "translate.source", "Which language is spoken (two letters)", translate.source
        )
        if spoken:
            changes["translate.source"] = spoken
        question = "Into which languages (the main one first: es,fr)"
        default = ",".join(translate.langs)
        if shown := to or languages(self._answer("translate.target", question, default)):
            first, *others = shown
            # Both keys at once: languages of an earlier answer must not stay beside the new ones.
            changes["translate.target"] = first
            changes["translate.targets"] = [{"lang": lang} for lang in others]
        if arguments.device is not None:
            changes["audio.device"] = arguments.device
        elif self._ask and self._is_open("audio.device"):
            changes["audio.device"] = self._microphone()
        if arguments.channel is not None:
            changes["audio.channel"] = arguments.channel
        changes |= self._readers(arguments.readers)
        return changes

    def _is_open(self, key: str) -> bool:
        """Whether a key is not set yet, in a file, the environment or by a flag."""
        return self._loaded.origins[key] in self._unset

    def _answer(self, key: str, question: str, default: str) -> str:
        """Return the answer, the default if nobody is asked, "" if the key is set already."""
        if not self._is_open(key):
            return ""
        return Prompt.ask(question, default=default) if self._ask else default

    def _microphone(self) -> str:
        """Return the name of the chosen microphone, "" for the system's default."""
        try:
            # ALSA lists a dozen software devices for each card, and nobody could choose among them.
            found = [device for device in devices() if not device.is_virtual or device.is_default]
        except AudioError as error:
            streams.say(f"stark-translate: {error}")
            return ""
        for number, device in enumerate(found, 1):
            self._console.print(f"  {number}  {device.name}")
        if not found:
            self._console.print("No microphone is plugged in; the system's default is used later.")
            return ""
        # The default is the system's choice: a user who does not know presses Enter.
        default = next((n for n, device in enumerate(found, 1) if device.is_default), 1)
        choices = [str(number) for number in range(1, len(found) + 1)]
        chosen = IntPrompt.ask("Which microphone", choices=choices, default=default)
        device = found[chosen - 1]
        return "" if device.is_default else device.name

    def _readers(self, readers: int | None) -> Mapping[str, Value | Tables]:
        if readers is None:
            if not (self._ask and self._is_open("server.host")):
                return {}
            question = "How many people will read on phones (0: only this machine shows captions)"
            readers = IntPrompt.ask(question, default=50)
        if readers > _MANY_READERS:
            self._console.print(f"More than {_MANY_READERS} readers: see docs/SCALE.md.")
        return {"server.host": "0.0.0.0" if readers > 0 else "127.0.0.1"}  # noqa: S104 - for phones


def _show(console: Console, proposed: Proposal, library: ModelLibrary) -> None:
    table = Table(title="Models for this machine, calculated", title_justify="left")
    for title in ("for", "model", "download"):
        table.add_column(title)
    for role, name in proposed.models.items():
        known = library.known.get(name)
        size = human_size(known.size_bytes) if known else "ships with the program"
        there = known is not None and library.manifest(name) is not None
        table.add_row(FOR_PEOPLE[role], name, "is here" if there else size)
    console.print(table)


def _obtain(
    proposed: Proposal, library: ModelLibrary, source: str, targets: Sequence[str], *, accept: bool
) -> dict[Role, str]:
    """Pull the proposed models; the starter replaces a model that fails. Says why.

    Returns the models by role.
    """
    obtained = dict(proposed.models)
    for role, name in proposed.models.items():
        if name == STARTER or library.manifest(name):
            continue
        try:
            with Download(accept_terms=accept) as shown:
                shown.obtain(name, library)
        except ModelError as error:
            streams.say(f"stark-translate: {error}")
            obtained[role] = budget.starter(role, source, targets)
    return {role: name for role, name in obtained.items() if name}


def _chosen(obtained: Mapping[Role, str], *, on_gpu: bool) -> dict[str, Value | Tables]:
    """Return the settings that choose these models. Raises ConfigError (lang-unsupported)."""
    if not obtained.keys() & {"marian", "gemma"}:
        raise ConfigError(
            "lang-unsupported",
            "No translator that this machine can run knows these languages.",
            "Choose others, or translate on a server (docs/REMOTE.md).",
        )
    chosen: dict[str, Value | Tables] = {KEYS[role]: name for role, name in obtained.items()}
    if "gemma" not in obtained:
        # Without a final translator, the draft translator makes the finals too.
        chosen["translate.final.engine"] = "marian"
    if "marian" not in obtained:
        chosen["translate.partial.engine"] = "none"
    if on_gpu:
        chosen |= {"stt.device": "cuda", "translate.final.gpu_layers": -1}
    return chosen


def _index(source: str) -> bool:
    """Build the index of verses, unless it is there; return whether it is."""
    try:
        verse_index.load_built(source)
    except VersesError as missing:
        if missing.code not in verse_index.MENDED:
            return True  # no Bible of this language ships: there is nothing to recognize
        try:
            verse_index.build_index(source, streams.say)
        except VersesError as error:
            streams.say(f"stark-translate: {error}")
            return False
    return True


def _conclude(console: Console, loaded: Loaded, obtained: Mapping[Role, str]) -> None:
    settings = loaded.settings
    final = obtained.get("gemma")
    if final in (None, STARTER):
        console.print(Text(f"{TRIAL if final else _DRAFT} {_BETTER}", "yellow"))
    console.print("Next: `stark-translate tune --write` once, with nothing else running;")
    console.print("then `stark-translate dry-run` rehearses, and `stark-translate run` captions.")
    address = public_address(settings.server)
    console.print(f"Captions will be read at {address}")
    if sys.stdout.isatty():
        segno.make_qr(address, error="l").terminal(compact=True)
