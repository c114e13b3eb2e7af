"""`learn`: every service makes the next one better. One step a subcommand."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from pipeline.cli.options import Commands, Run, add_command, settings_of
from pipeline.config.schema import Settings
from pipeline.core.errors import LearningError, UsageError
from pipeline.dictionary.store import Dictionary
from pipeline.learning.collect import Collected, CollectSettings, collect, remove
from pipeline.learning.compare import (
    ModelComparison,
    compare_recognizers,
    compare_translators,
    keep,
    table_rows,
)
from pipeline.learning.corpora import read_general
from pipeline.learning.deploy import Deployment, deploy, rollback
from pipeline.learning.folder import DataFolder
from pipeline.learning.measuring import sentence_sets, sound_set
from pipeline.learning.mix import MixSettings
from pipeline.learning.mixing import Sources, mix
from pipeline.models.registry import KEYS, Role
from pipeline.session.reader import find_session, sessions

_SAYS = "Learn from services: collect pairs and sound, train, compare, deploy, go back."
_NOT_IN = "pairs to measure with: nothing of them gets in"
_SET = "more pairs to measure with: source, a tab, target"
_STAGE = "first: Bible 70, sermon 25, glossary 5 %%; later: 50, 40, 10 (%(default)s)"
_EPILOG = """\
steps, in the order of a month:
  stark-translate learn collect                 after each service: pairs, sound, what is doubtful
  stark-translate review last                   correct the doubtful ones, then collect again
  stark-translate learn mix                     once a month: what the translators are trained on
  stark-translate learn compare OLD NEW         is a new model better, by chance or in fact?
  stark-translate learn deploy FILE NAME        the next start uses it; the old one is kept
  stark-translate learn rollback                the next start uses the old one again

docs/LEARNING.md tells the whole way.
"""


def add(commands: Commands) -> None:
    """Describe the command and its steps."""
    parser = commands.add_parser(
        "learn",
        help=_SAYS,
        description=_SAYS,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    steps = parser.add_subparsers(required=True, metavar="step")
    says = "Keep what services teach: pairs to learn from, sound, new words, a threshold."
    step = _add(steps, "collect", _collect, says)
    step.add_argument("names", nargs="*", metavar="SESSION", help="default: all that are kept")
    step.add_argument("--sessions", metavar="DIR", help="where session folders are")
    step.add_argument("--speaker", default="", help="who spoke in these sessions")
    step.add_argument("--general", metavar="FILE", help="general sentences: source, a tab, target")
    step.add_argument("--demos", action="store_true", help="count demos as services")
    step.add_argument(
        "--dry-run", action="store_true", help="say what would be kept; write nothing"
    )
    says = "Make a training mix of what was collected, the Bible, a glossary and general pairs."
    step = _add(steps, "mix", _mix, says)
    step.add_argument("--out", type=Path, metavar="DIR", help="default: mix in the data folder")
    step.add_argument("--bible", type=Path, metavar="FILE", help="book, chapter, verse, texts")
    step.add_argument(
        "--versions",
        nargs="+",
        default=["en_nheb:es_rv1909", "en_bbe:es_rv1909", "en_asv:es_rv1909"],
        metavar="SOURCE:TARGET",
        help="its columns, the most modern first (%(default)s)",
    )
    step.add_argument("--glossary", type=Path, metavar="FILE", help="term, a tab, its translation")
    step.add_argument("--general", type=Path, metavar="FILE", help="modern pairs (learn.general)")
    step.add_argument("--not-in", type=Path, nargs="*", default=[], metavar="FILE", help=_NOT_IN)
    step.add_argument("--stage", choices=["first", "later"], default="first", help=_STAGE)
    step.add_argument("--pairs", type=int, default=20_000, help="but the general (%(default)s)")
    step.add_argument("--general-pairs", type=int, default=5_000, help="%(default)s")
    step.add_argument("--seed", type=int, default=1, help="%(default)s")
    step.add_argument("--dry-run", action="store_true", help="say what it would be; write nothing")
    says = "Measure a new model against the one in use; exits with 1 if anything got worse."
    step = _add(steps, "compare", _compare, says)
    step.add_argument("old", help="as the settings name it: a name, a path, starter")
    step.add_argument("new")
    _add_role(step)
    step.add_argument("--set", nargs="*", default=[], metavar="NAME=FILE", help=_SET)
    step.add_argument("--audio", type=Path, metavar="DIR", help="sound with metadata.jsonl (stt)")
    says = "Have the next start use a model that was compared; the one in use is kept."
    step = _add(steps, "deploy", _deploy, says)
    step.add_argument("model", type=Path, help="a .gguf file, or a folder of CTranslate2")
    step.add_argument("name", nargs="?", default="", help="default: ours-ROLE-DATE")
    _add_role(step)
    step.add_argument("--prompt", default="", help="how a Gemma is asked (translate.final.prompt)")
    step.add_argument("--force", action="store_true", help="also without a comparison that says so")
    step.add_argument("--dry-run", action="store_true", help="change nothing, say what would")
    says = "Have the next start use what was in use before the last deploy."
    step = _add(steps, "rollback", _rollback, says)
    _add_role(step)
    step = _add(steps, "remove", _remove, "Take sessions' pairs and sound out of what is learnt.")
    step.add_argument("names", nargs="+", metavar="SESSION")


def _add(steps: Commands, name: str, run: Run, says: str) -> argparse.ArgumentParser:
    parser = add_command(steps, name, run, says)
    parser.add_argument("--data", metavar="DIR", help="the data folder (learn.directory)")
    return parser


def _add_role(step: argparse.ArgumentParser) -> None:
    says = "what the model does: gemma finals, marian drafts, stt hears (%(default)s)"
    step.add_argument("--role", choices=get_args(Role), default="gemma", help=says)
    step.add_argument("--models", metavar="DIR", help="where fetched models are kept")


def _opened(arguments: argparse.Namespace) -> tuple[Settings, DataFolder]:
    more = {"learn.directory": arguments.data} if arguments.data else {}
    settings = settings_of(arguments, more).settings
    return settings, DataFolder(Path(settings.learn.directory))


def _collect(arguments: argparse.Namespace) -> int:
    settings, data = _opened(arguments)
    directory = Path(settings.session.directory)
    named = [find_session(name, directory) for name in arguments.names]
    folders = named or sessions(directory)
    if not folders:
        raise LearningError(
            "no-sessions",
            f"No session is kept in {directory}.",
            "Hold a service first, or name the folder with --sessions.",
        )
    general = arguments.general or settings.learn.general
    translate = settings.translate
    given = CollectSettings(
        rules=Dictionary(settings).lexicon.rules,
        general=read_general(Path(general), translate.source, translate.target) if general else (),
        speaker=arguments.speaker,
        demos=arguments.demos or bool(named),
    )
    with _bars() as bars:
        task = bars.add_task("sessions", total=len(folders))

        def looked(name: str) -> None:
            bars.update(task, advance=1, description=name)

        if arguments.dry_run:
            made = collect(data, folders, given, dry_run=True, on_session=looked)
        else:
            with data.hold():
                made = collect(data, folders, given, on_session=looked)
    _tell(made, data, dry_run=arguments.dry_run)
    return 0


def _bars() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _tell(made: Collected, data: DataFolder, *, dry_run: bool) -> None:
    console = Console(highlight=False)
    told = f"{len(made.new)} sessions read, {made.unchanged} unchanged, {made.sessions} in all"
    console.print(f"{told}{'. Nothing is written (--dry-run).' if dry_run else '.'}")
    for each in made.skipped:
        console.print(f"  {each.session} was left out: {each.why}", markup=False)
    table = Table(show_header=False, box=None, pad_edge=False)
    rate = f" ({made.pairs_per_hour:g} an hour of speech)" if made.pairs_per_hour else ""
    rows: Mapping[str, str] = {
        "pairs to learn from": f"{made.pairs}, {_counted(made.by_tier)}{rate}",
        "vouched for by": _counted(made.by_source),
        "middling, for spot checks": str(made.moderate),
        "waiting for review": str(made.waiting),
        "accepted from a score of": f"{made.calibration.accept:g}: {made.calibration.reason}",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    console.print(table)
    if made.new_terms:
        words = ", ".join(f"{word} ({count})" for word, count in made.new_terms)
        console.print(f"\nNames that no rule knows: {words}", markup=False)
    for rule in made.rules:
        said = f'hear = ["{rule.heard}"], write = "{rule.said}"'
        console.print(f"A rule for the dictionary? {said}  ({rule.count} times)", markup=False)
    if not dry_run:
        console.print(f"\nAll is in {data.path}", markup=False)


def _mix(arguments: argparse.Namespace) -> int:
    settings, data = _opened(arguments)
    versions = [tuple(version.split(":")) for version in arguments.versions]
    if any(len(version) != 2 for version in versions):
        message = "--versions names columns in pairs."
        raise UsageError("versions-malformed", message, "Such as: en_nheb:es_rv1909")
    named = arguments.general or settings.learn.general
    general = Path(named) if named else None
    sources = Sources(
        bible=arguments.bible,
        versions=[(version[0], version[1]) for version in versions],
        glossary=arguments.glossary,
        general=general,
        not_in=arguments.not_in,
    )
    asked = MixSettings(
        pairs=arguments.pairs,
        general=arguments.general_pairs if general else 0,
        stage=arguments.stage,
        seed=arguments.seed,
    )
    langs = (settings.translate.source, settings.translate.target)
    out: Path = arguments.out or data.path / "mix"
    with Console(stderr=True).status("Mixing"):
        made, held_out = mix(data, out, sources, asked, langs, dry_run=arguments.dry_run)
    print(f"{len(made.examples)} pairs: {_counted(made.parts)}; {held_out} held out")
    print(f"treated: {_counted(made.treated)}")
    for part, count in made.lacking.items():
        print(f"{count} pairs of {part} are lacking: what there is was taken as often as it may be")
    print("Nothing is written (--dry-run)." if arguments.dry_run else f"All is in {out}")
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    loaded, data = settings_of(arguments), _opened(arguments)[1]
    translate = loaded.settings.translate
    role: Role = arguments.role
    models = (arguments.old, arguments.new)
    with _bars() as bars:
        task = bars.add_task("answers", total=None)

        def answered() -> None:
            bars.update(task, advance=1)

        if role == "stt":
            sound = sound_set(data, arguments.audio)
            bars.update(task, total=len(sound))
            made = compare_recognizers(loaded, models, sound, on_answer=answered)
        else:
            split = (each.partition("=") for each in arguments.set)
            named = [(name, Path(file)) for name, _, file in split]
            sets = sentence_sets(data, (translate.source, translate.target), named)
            bars.update(task, total=sum(len(each.sentences) for each in sets))
            made = compare_translators(loaded, role, models, sets, on_answer=answered)
    keep(data, made)
    _show(made)
    return 0 if made.verdict == "deploy" else 1


def _show(made: ModelComparison) -> None:
    console = Console(highlight=False)
    table = Table(title=f"{made.new} against {made.old}", min_width=60)
    rows = table_rows(made)
    for name in rows[0]:
        left = name in ("set", "measure", "verdict")
        table.add_column(name, justify="left" if left else "right")
    for row in rows:
        table.add_row(*row.values())
    console.print(table)
    if made.old_ms and made.new_ms and made.old_ms.p50:
        ratio = made.new_ms.p50 / made.old_ms.p50
        console.print(f"An answer takes {ratio:.2f} times as long (median, in turns).")
    because = "; ".join(made.reasons) or "nothing changed that is more than chance"
    console.print(f"{made.verdict}: {because}", markup=False)


def _deploy(arguments: argparse.Namespace) -> int:
    loaded, data = settings_of(arguments), _opened(arguments)[1]
    role: Role = arguments.role
    name = arguments.name or f"ours-{role}-{datetime.now(UTC):%Y-%m-%d}"
    if arguments.dry_run:
        print(f"{KEYS[role]} would become {name!r}. Nothing is changed (--dry-run).")
        return 0
    with data.hold(), Console(stderr=True).status(f"Copying {arguments.model}"):
        made = deploy(
            loaded,
            data,
            role,
            arguments.model,
            name,
            prompt=arguments.prompt,
            force=arguments.force,
        )
    _say_switch(made, loaded.file)
    print(f"To go back: stark-translate learn rollback --role {role}")
    return 0


def _rollback(arguments: argparse.Namespace) -> int:
    loaded, data = settings_of(arguments), _opened(arguments)[1]
    with data.hold():
        made = rollback(loaded, data, arguments.role)
    _say_switch(made, loaded.file)
    return 0


def _say_switch(made: Deployment, file: Path | None) -> None:
    for key, value in made.after.items():
        print(f"{key} = {value!r} in {file}; it was {made.before[key]!r}")
    print("The next start uses it; a running service goes on as it is.")


def _remove(arguments: argparse.Namespace) -> int:
    _, data = _opened(arguments)
    with data.hold():
        for name in arguments.names:
            there = remove(data, name)
            says = "is taken out" if there else "was not in it"
            print(f"{name} {says}; mixes and models made of it are as they were")
    return 0


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"
