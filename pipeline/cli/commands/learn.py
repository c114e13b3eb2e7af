"""`learn`: every service makes the next one better. One step a subcommand."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pipeline.church.fidelity.doubt import OWN, in_use
from pipeline.cli.commands.learn_cycle import add_cycle_steps
from pipeline.cli.commands.learn_distill import add_distill_step
from pipeline.cli.commands.learn_models import add_model_steps, add_step, opened, progress
from pipeline.cli.commands.learn_training import add_training_steps
from pipeline.cli.options import Commands
from pipeline.core.errors import LearningError, UsageError
from pipeline.dictionary.store import Dictionary, common_words
from pipeline.learning.data.collect import Collected, CollectSettings, collect, remove
from pipeline.learning.data.corpora import read_general
from pipeline.learning.data.folder import DataFolder
from pipeline.learning.judge import fit_judge, reviewed, write_judge
from pipeline.learning.limits import OWN as LIMITS
from pipeline.learning.limits import (
    FittedLimit,
    fit_limits,
    limits_in_use,
    reviewed_measures,
    write_limits,
)
from pipeline.learning.mix.mix import MixSettings
from pipeline.learning.mix.mix_files import Sources, mix
from pipeline.session.reader import find_session, sessions

_SAYS = "Learn from services: collect, train, compare, deploy, roll back."
_NOT_IN = "held-out pairs, which are kept out of the mix"
# Each % twice: argparse fills in its own values behind a single one.
_STAGE = "first: Bible 70, sermon 25, glossary 5 %%; later: 50, 40, 10 (%(default)s)"
_EPILOG = """\
steps, in the order of a month:
  stark-translate learn collect                 after each service: pairs, sound, what is doubtful
  stark-translate review last                   correct the doubtful ones, then collect again
  stark-translate learn judge                   mark doubtful captions as your reviews say
  stark-translate learn limits                  flag and reject pairs as your reviews say
  stark-translate learn mix                     once a month: what the translators are trained on
  stark-translate learn translate               trains on it, on any machine with a checkout
  stark-translate learn hear                    trains the recognizer on the sound that is kept
  stark-translate learn distill                 the final translator teaches the quick one
  stark-translate learn compare OLD NEW         is a new model better, by chance or in fact?
  stark-translate learn deploy FILE NAME        the next start uses it; the old one is kept
  stark-translate learn rollback                the next start uses the old one again
  stark-translate learn cycle                   what a timer runs: collect, and what to look at next

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
    says = "Collect training pairs, sound and new words from services."
    step = add_step(steps, "collect", _collect, says)
    step.add_argument("names", nargs="*", metavar="SESSION", help="sessions (all recorded ones)")
    step.add_argument("--sessions", metavar="DIR", help="folder of the recorded sessions")
    step.add_argument("--speaker", default="", help="speaker of these sessions")
    step.add_argument(
        "--general", metavar="FILE", help="general pairs: source, tab, target per line"
    )
    step.add_argument("--demos", action="store_true", help="include demos")
    step.add_argument("--dry-run", action="store_true", help="only say what would be kept")
    says = "Fit the judge of doubtful captions to your reviews."
    step = add_step(steps, "judge", _judge, says)
    step.add_argument("names", nargs="*", metavar="SESSION", help="sessions (all recorded ones)")
    step.add_argument("--sessions", metavar="DIR", help="folder of the recorded sessions")
    step.add_argument("--dry-run", action="store_true", help="only say how good it is")
    says = "Fit the quality limits of training pairs to your reviews."
    step = add_step(steps, "limits", _limits, says)
    step.add_argument("names", nargs="*", metavar="SESSION", help="sessions (all recorded ones)")
    step.add_argument("--sessions", metavar="DIR", help="folder of the recorded sessions")
    step.add_argument("--dry-run", action="store_true", help="only say what they would be")
    says = "Make a training mix of collected pairs, Bible, glossary and general pairs."
    step = add_step(steps, "mix", _mix, says)
    step.add_argument(
        "--out", type=Path, metavar="DIR", help="folder to write (mix in the data folder)"
    )
    step.add_argument(
        "--bible", type=Path, metavar="FILE", help="table: book, chapter, verse, texts"
    )
    step.add_argument(
        "--versions",
        nargs="+",
        default=["en_nheb:es_rv1909", "en_bbe:es_rv1909", "en_asv:es_rv1909"],
        metavar="SOURCE:TARGET",
        help="columns of --bible, most modern first (%(default)s)",
    )
    step.add_argument("--glossary", type=Path, metavar="FILE", help="table: term, tab, translation")
    step.add_argument("--general", type=Path, metavar="FILE", help="general pairs (learn.general)")
    says = "use own pairs only, nothing that ships"
    step.add_argument("--own-only", dest="ships", action="store_false", help=says)
    step.add_argument("--not-in", type=Path, nargs="*", default=[], metavar="FILE", help=_NOT_IN)
    step.add_argument("--stage", choices=["first", "later"], default="first", help=_STAGE)
    step.add_argument(
        "--pairs", type=int, default=20_000, help="pairs without the general ones (%(default)s)"
    )
    step.add_argument(
        "--general-pairs", type=int, default=5_000, help="general pairs (%(default)s)"
    )
    step.add_argument("--seed", type=int, default=1, help="%(default)s")
    step.add_argument("--dry-run", action="store_true", help="only say what would be in it")
    add_training_steps(steps)
    add_distill_step(steps)
    add_model_steps(steps)
    add_cycle_steps(steps)
    step = add_step(steps, "remove", _remove, "Take sessions' pairs and sound out again.")
    step.add_argument("names", nargs="+", metavar="SESSION")


def _collect(arguments: argparse.Namespace) -> int:
    settings, data = opened(arguments)
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
        everyday=common_words(translate.source),
        general=read_general(Path(general), translate.source, translate.target) if general else (),
        speaker=arguments.speaker,
        # Who names a demo wants it.
        demos=arguments.demos or bool(named),
    )
    with progress() as bars:
        task = bars.add_task("sessions", total=len(folders))

        def looked(name: str) -> None:
            bars.update(task, advance=1, description=name)

        # Nothing is written, so no other step has to be kept out.
        if arguments.dry_run:
            made = collect(data, folders, given, dry_run=True, on_session=looked)
        else:
            with data.hold():
                made = collect(data, folders, given, on_session=looked)
    _tell(made, data, dry_run=arguments.dry_run)
    return 0


def _judge(arguments: argparse.Namespace) -> int:
    settings, _ = opened(arguments)
    directory = Path(settings.session.directory)
    folders = [find_session(name, directory) for name in arguments.names] or sessions(directory)
    fitted = fit_judge(reviewed(folders), in_use(directory))
    print(f"{fitted.reviewed} reviewed finals, {fitted.wrong} of them wrong.")
    print(f"AUC on the third held out: {fitted.auc:.3f}; the judge in use {fitted.auc_in_use:.3f}.")
    if not fitted.is_better:
        print("The judge in use is as good: it stays.")
    elif not arguments.dry_run:
        file = directory / OWN
        write_judge(fitted.model, file)
        print(f"The next start uses {file}; delete it to go back to the one that ships.")
    return 0


def _limits(arguments: argparse.Namespace) -> int:
    settings, _ = opened(arguments)
    directory = Path(settings.session.directory)
    folders = [find_session(name, directory) for name in arguments.names] or sessions(directory)
    fitted = fit_limits(reviewed_measures(folders), limits_in_use(directory))
    for each in fitted:
        print(_told(each))
    better = [each for each in fitted if each.is_better]
    if not better:
        print("The limits in use are as good: they stay.")
    elif not arguments.dry_run:
        write_limits(better, directory)
        print(f"`stark-translate score` uses {directory / LIMITS}; delete it to go back.")
    return 0


def _told(fitted: FittedLimit) -> str:
    return (
        f"{fitted.measure}: flag below {fitted.limit.flag:g}, reject below {fitted.limit.reject:g}"
        f" ({fitted.reviewed} reviewed, {fitted.wrong} wrong). Of the third held out it flags"
        f" {fitted.caught:.0%} of the wrong and {fitted.marked:.0%} of the right;"
        f" in use {fitted.caught_in_use:.0%} and {fitted.marked_in_use:.0%}."
    )


def _tell(made: Collected, data: DataFolder, *, dry_run: bool) -> None:
    console = Console(highlight=False)
    told = f"{len(made.new)} sessions read, {made.unchanged} unchanged, {made.sessions} in all"
    console.print(f"{told}{'. Nothing is written (--dry-run).' if dry_run else '.'}")
    for each in made.skipped:
        # No markup: what people said or named may have brackets of its own.
        console.print(f"  {each.session} was left out: {each.why}", markup=False)
    table = Table(show_header=False, box=None, pad_edge=False)
    rate = f" ({made.pairs_per_hour:g} an hour of speech)" if made.pairs_per_hour else ""
    rows: dict[str, str] = {
        "pairs to learn from": f"{made.pairs}, {_counted(made.by_tier)}{rate}",
        "vouched for by": _counted(made.by_source),
        "middling, for spot checks": str(made.moderate),
        "waiting for review": str(made.waiting),
    }
    for name, bar in made.bars.items():
        what, _, lang = name.partition(" ")
        rows |= {f"accepted, {what[:8]} {lang}": f"from {bar.accept:.2f}: {bar.reason}"}
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
    settings, data = opened(arguments)
    versions = [tuple(version.split(":")) for version in arguments.versions]
    if any(len(version) != 2 for version in versions):
        message = "--versions names columns in pairs."
        raise UsageError("versions-malformed", message, "Such as: en_nheb:es_rv1909")
    named = arguments.general or settings.learn.general
    general = Path(named) if named else None
    dictionary = Dictionary(settings)
    sources = Sources(
        bible=arguments.bible,
        versions=[(version[0], version[1]) for version in versions],
        glossary=arguments.glossary,
        general=general,
        rules=dictionary.lexicon.rules,
        terms=dictionary.glossaries.of(settings.translate.target).terms if arguments.ships else (),
        ships=arguments.ships,
        not_in=arguments.not_in,
    )
    asked = MixSettings(
        pairs=arguments.pairs,
        general=arguments.general_pairs,
        stage=arguments.stage,
        seed=arguments.seed,
    )
    langs = (settings.translate.source, settings.translate.target)
    out: Path = arguments.out or data.path / "mix"
    with Console(stderr=True).status("Mixing"):
        made, held_out = mix(data, out, sources, asked, langs, dry_run=arguments.dry_run)
    print(f"{len(made.examples)} pairs: {_counted(made.parts)}; {held_out} held out")
    print(f"treated: {_shares(made.treated, len(made.examples))}")
    asked_for = {part: n for part, n in made.parts.items() if part != "general"}
    print(f"of the {sum(asked_for.values())} that are not general: {_shares(asked_for)}")
    for part, count in made.lacking.items():
        print(f"{count} pairs of {part} are lacking: what there is was taken as often as it may be")
    print("Nothing is written (--dry-run)." if arguments.dry_run else f"All is in {out}")
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    _, data = opened(arguments)
    with data.hold():
        for name in arguments.names:
            there = remove(data, name)
            says = "is taken out" if there else "was not in it"
            print(f"{name} {says}; mixes and models made of it are as they were")
    return 0


def _shares(counts: Mapping[str, int], of: int = 0) -> str:
    total = max(1, of or sum(counts.values()))
    told = sorted(counts.items(), key=lambda each: -each[1])
    return ", ".join(f"{name} {count / total:.1%}" for name, count in told) or "none"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"
