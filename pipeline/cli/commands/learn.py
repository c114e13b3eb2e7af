"""`learn`: every service makes the next one better. Each step is a subcommand."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

from rich.table import Table

from pipeline.church.fidelity.doubt import OWN, in_use
from pipeline.cli.commands.learn_models import add_model_steps, add_step, opened, progress
from pipeline.cli.commands.learn_training import add_training_steps
from pipeline.cli.console import Console
from pipeline.cli.options import Commands, Run, add_group, add_sessions, number, path
from pipeline.core.errors import LearningError
from pipeline.dictionary.store import Dictionary, common_words
from pipeline.learning.cycle import is_serving, keep_focus, plan, run
from pipeline.learning.data.collect import Collected, CollectSettings, collect, remove
from pipeline.learning.data.corpora import read_general
from pipeline.learning.data.folder import DataFolder
from pipeline.learning.fitting import fit_judge, reviewed, write_judge
from pipeline.learning.mix.mix import MixSettings
from pipeline.learning.mix.mix_files import Sources, mix
from pipeline.session.reader import find_session, sessions

_SAYS = "Learn from services: collect, train, compare, deploy, roll back."
_count = number(int, 0, 10_000_000)
_NOT_IN = "held-out pairs, which are kept out of the mix"
# Each % twice: argparse reads a single one as a placeholder.
_STAGE = "first: Bible 70, sermon 25, glossary 5 %%; later: 50, 40, 10 (%(default)s)"
_EPILOG = """\
steps, in the order of a month:
  stark-translate learn collect                 after each service: pairs, sound, what is doubtful
  stark-translate review last                   correct the doubtful ones, then collect again
  stark-translate learn judge                   mark doubtful captions as your reviews say
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
    steps = add_group(commands, "learn", _SAYS, _EPILOG, "step")
    says = "Collect training pairs, sound and new words from services."
    option = _add_reading(steps, "collect", _collect, says, "what would be kept").add_argument
    option("--speaker", default="", help="speaker of these sessions")
    says = "general pairs: source, tab, target per line"
    option("--general", type=path, metavar="FILE", help=says)
    option("--demos", action="store_true", help="include demos")
    says = "Fit the judge of doubtful captions to your reviews."
    _add_reading(steps, "judge", _judge, says, "how good it is")
    says = "Make a training mix of collected pairs, Bible, glossary and general pairs."
    option = add_step(steps, "mix", _mix, says).add_argument
    option("--out", type=path, metavar="DIR", help="folder to write (mix in the data folder)")
    option("--glossary", type=path, metavar="FILE", help="table: term, tab, translation")
    option("--general", type=path, metavar="FILE", help="general pairs (learn.general)")
    says = "use own pairs only, nothing that ships"
    option("--own-only", dest="ships", action="store_false", help=says)
    option("--not-in", type=path, nargs="*", default=[], metavar="FILE", help=_NOT_IN)
    option("--stage", choices=["first", "later"], default="first", help=_STAGE)
    says = "pairs without the general ones (%(default)s)"
    option("--pairs", type=_count, default=20_000, metavar="N", help=says)
    says = "general pairs (%(default)s)"
    option("--general-pairs", type=_count, default=5_000, metavar="N", help=says)
    option("--seed", type=int, default=1, help="%(default)s")
    option("--dry-run", action="store_true", help="only say what would be in it")
    add_training_steps(steps)
    add_model_steps(steps)
    says = "Say what to look at next: terms, a speaker, captions."
    add_sessions(add_step(steps, "focus", _focus, says))
    says = "Run the steps that are due: collect and focus; with --train also training."
    option = add_step(steps, "cycle", _cycle, says).add_argument
    option("--train", action="store_true", help="also train and compare; nothing is deployed")
    option("--if-quiet", action="store_true", help="do nothing while a service runs")
    option("--dry-run", action="store_true", help="only print the steps")
    step = add_step(steps, "remove", _remove, "Take sessions' pairs and sound out again.")
    step.add_argument("names", nargs="+", metavar="SESSION")


def _add_reading(
    steps: Commands, name: str, run: Run, says: str, dry: str
) -> argparse.ArgumentParser:
    """Add a step that reads sessions; with --dry-run it only says `dry`."""
    step = add_step(steps, name, run, says)
    step.add_argument("names", nargs="*", metavar="SESSION", help="sessions (all recorded ones)")
    add_sessions(step)
    step.add_argument("--dry-run", action="store_true", help=f"only say {dry}")
    return step


def _folders(arguments: argparse.Namespace, directory: Path) -> list[Path]:
    return [find_session(name, directory) for name in arguments.names] or sessions(directory)


def _collect(arguments: argparse.Namespace) -> int:
    settings, data = opened(arguments)
    directory = Path(settings.session.directory)
    folders = _folders(arguments, directory)
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
        lang=translate.source,
        everyday=common_words(translate.source),
        general=read_general(Path(general), translate.source, translate.target) if general else (),
        speaker=arguments.speaker,
        # A demo that is named is wanted.
        demos=arguments.demos or bool(arguments.names),
    )
    with progress() as bars:
        task = bars.add_task("sessions", total=len(folders))

        def looked(name: str) -> None:
            bars.update(task, advance=1, description=name)

        dry_run = arguments.dry_run
        # Without a lock against other steps where nothing is written: it makes the folder.
        with nullcontext() if dry_run else data.hold():
            made = collect(data, folders, given, dry_run=dry_run, on_session=looked)
    _tell(made, data, dry_run=dry_run)
    return 0


def _judge(arguments: argparse.Namespace) -> int:
    settings, _ = opened(arguments)
    directory = Path(settings.session.directory)
    decided = reviewed(
        _folders(arguments, directory),
        # As for `collect`: a demo that is named is wanted.
        demos=bool(arguments.names),
        on_skipped=lambda folder, why: print(f"{folder.name} was left out: {why}"),
    )
    fitted = fit_judge(decided, in_use(directory))
    print(f"{fitted.reviewed} reviewed finals, {fitted.wrong} of them wrong.")
    print(f"AUC on the third held out: {fitted.auc:.3f}; the judge in use {fitted.auc_in_use:.3f}.")
    if not fitted.is_better:
        print("The judge in use is as good: it stays.")
    elif not arguments.dry_run:
        file = directory / OWN
        write_judge(fitted.model, file)
        print(f"The next start uses {file}; delete it to go back to the one that ships.")
    return 0


def _tell(made: Collected, data: DataFolder, *, dry_run: bool) -> None:
    console = Console()
    text = f"{len(made.new)} sessions read, {made.unchanged} unchanged, {made.sessions} in all"
    console.print(f"{text}{'. Nothing is written (--dry-run).' if dry_run else '.'}")
    for each in made.skipped:
        console.print(f"  {each.session} was left out: {each.why}")
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
        console.print(f"\nNames that no rule knows: {words}")
    for rule in made.rules:
        said = f'hear = ["{rule.heard}"], write = "{rule.said}"'
        console.print(f"A rule for the dictionary? {said}  ({rule.count} times)")
    if not dry_run:
        console.print(f"\nAll is in {data.path}")


def _mix(arguments: argparse.Namespace) -> int:
    settings, data = opened(arguments)
    named = arguments.general or settings.learn.general
    general = Path(named) if named else None
    dictionary = Dictionary(settings)
    sources = Sources(
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
    # At least 1: an empty mix has no shares, which is not an error.
    total = max(1, of or sum(counts.values()))
    items = sorted(counts.items(), key=lambda each: -each[1])
    return ", ".join(f"{name} {count / total:.1%}" for name, count in items) or "none"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"


_SHOWN = 10


def _focus(arguments: argparse.Namespace) -> int:
    settings, data = opened(arguments)
    with data.hold():
        found = keep_focus(data, Path(settings.session.directory))
    console = Console()
    for each in found.terms:
        console.print(f"{each.term}: misheard {each.misheard} of {each.said} times")
    if who := found.speaker:
        average = f"confidence {who.confidence:.2f} on average"
        console.print(f"{who.speaker} is heard worst: {average}")
    console.print(f"To review: {len(found.review)} of {found.captions} captions")
    for worst in found.review[:_SHOWN]:
        line = f"  {worst.session_id} {worst.id} ({worst.score:.2f}) {worst.text}"
        console.print(line, overflow="ellipsis", no_wrap=True)
    return 0


def _cycle(arguments: argparse.Namespace) -> int:
    settings, data = opened(arguments)
    directory = Path(settings.session.directory)
    due = plan(settings, data.path, train=arguments.train)
    options = ["--config", str(arguments.config)] if arguments.config else []
    if arguments.dry_run:
        for step in due:
            print(shlex.join(("stark-translate", *step.words, *options)))
        return 0
    # A timer does not know about services, and training during one would delay captions.
    if arguments.if_quiet and is_serving(directory):
        print("A service is going on: nothing is done.")
        return 0
    failed = run(
        due,
        options,
        directory=directory,
        # At once: another process prints the next lines.
        on_step=lambda step: print(f"{' '.join(step.words)}", flush=True),
    )
    for step in failed:
        print(f"failed: stark-translate {shlex.join(step.words)}")
    # Each step that is due was tried: the exit code is for the timer's log.
    return 1 if failed else 0
