"""The quality gate: is translator B as good as translator A? On 100 sentences with references.

    python -m scripts.quality.evaluate                         what config.toml translates with
    python -m scripts.quality.evaluate --a marian --b gemma    the quick one against the final one
    python -m scripts.quality.evaluate --a translate.final.model=/models/q8.gguf \\
                                       --b translate.final.model=/models/q4.gguf
    python -m scripts.quality.evaluate --a translate.final.model=old.gguf --json old.json
    python -m scripts.quality.evaluate --a old.json --b translate.final.model=new.gguf
    python -m scripts.quality.evaluate --a gemma --stress --rounds 10
    python -m scripts.quality.evaluate --set translate.target=fr --a translate.partial.model=...

A side is any number of KEY=VALUE as in config.toml, the words `marian` or `gemma` for
translate.final.engine, or the .json file of an earlier run: its side B, or A if it has no B.
Everything else comes from config.toml, the environment and --set; the program's engines translate.

Scores are BLEU, chrF++ (sacrebleu) and the share of the terms that must appear; this share decides
on the theological sentences. B is worse if a score falls by more than its limit and a paired
bootstrap (Koehn 2004) rules chance out. The result is "cannot tell" if the score falls as far but
chance may be the cause. Otherwise B is the same or better.

exit codes: 0 same or better, 1 worse or failed under stress, 2 could not be measured, 3 cannot tell
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from pipeline.core import logs
from pipeline.core.errors import UsageError
from pipeline.evaluation import paired_bootstrap as comparison
from pipeline.evaluation import sentences as data
from pipeline.evaluation.paired_bootstrap import MEASURES, Difference, Verdict
from pipeline.evaluation.sentences import Sentence
from scripts.bench.report_section import machine
from scripts.quality import sides
from scripts.quality.sides import SAME_WORK, Side, Stress, stress
from scripts.support.command import parser_of, progress, says_errors, write_json

EXITS = {"same": 0, "better": 0, "worse": 1, "cannot tell": 3}
_LANGS = ("source", "target")
_FOUR_BITS = re.compile(r"q4_(k_m|k_s|0|1)", re.IGNORECASE)
COLORS = {"same": "green", "better": "green", "worse": "bold red", "cannot tell": "yellow"}


@says_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Measure, compare, print; return the exit code."""
    arguments = _parser().parse_args(argv)
    logs.configure("warning", "auto")
    langs = _langs(arguments)
    sentences = data.read(arguments.sentences, *langs)
    if arguments.few:
        sentences = few(sentences, arguments.few)
    asked = {"a": arguments.a, "b": arguments.b}
    measured = {
        name: side(what, sentences, arguments) for name, what in asked.items() if what is not None
    }
    _require_langs(measured.values(), langs)
    texts = {name: each.texts(sentences) for name, each in measured.items()}
    found = None
    if arguments.b is not None:
        found = comparison.compare(texts["a"], texts["b"], sentences, comparison.LIMITS)
    held = {name: stress(each) for name, each in measured.items() if arguments.stress}
    console = Console()
    for name, each in measured.items():
        note = " (earlier)" if each.earlier else f" ({each.setback})" if each.setback else ""
        console.print(Text(f"{name.upper()}: {each.label}{note}"), soft_wrap=True)
    console.print(scores_table(measured, texts, sentences))
    if found:
        console.print(verdict_table(found, sentences))
        if advised := advice(found, measured.get("b")):
            console.print(Text(advised, "yellow"), soft_wrap=True)
        console.print(losses(texts, sentences, arguments.losses), soft_wrap=True)
    complaints = []
    for name, stressed in held.items():
        if stressed is not None:
            failed = stressed.complaints()
            complaints += [f"{name.upper()}: {complaint}" for complaint in failed]
            console.print(stress_line(name, stressed, failed), soft_wrap=True)
    write_json(arguments.json, report(measured, texts, sentences, found, held))
    if complaints:
        return 1
    return EXITS[overall(found)] if found else 0


def _langs(arguments: argparse.Namespace) -> tuple[str, str]:
    """Return the source and target language of the settings. Raises StarkError."""
    own = [each for each in arguments.a if "=" in each]
    translate = sides.settings_of([*arguments.set, *own]).translate
    return translate.source, translate.target


def _require_langs(measured: Iterable[Side], langs: tuple[str, str]) -> None:
    """Refuse a side with other languages: every file of sentences has the same English."""
    for each in measured:
        found = tuple(each.settings.get(at, lang) for at, lang in zip(_LANGS, langs, strict=True))
        if found != langs:
            raise UsageError(
                "sides-differ",
                f"{each.label} translates {'-'.join(found)}, the sentences are {'-'.join(langs)}.",
                f"Add --set translate.source={found[0]} translate.target={found[1]}.",
            )


def few(sentences: Sequence[Sentence], count: int) -> tuple[Sentence, ...]:
    """Return the first `count` sentences of each kind."""
    # Per kind: the first sentences of the file are all general ones.
    by_kind = {kind: [each for each in sentences if each.kind == kind] for kind in data.KINDS}
    return tuple(each for of_kind in by_kind.values() for each in of_kind[:count])


def overall(found: dict[str, Difference]) -> Verdict:
    """Return the verdict of all measures together: the worst one that occurs."""
    # Ranked, since a gain in one measure does not compensate for a loss in another.
    verdicts = {difference.verdict for difference in found.values()}
    ranking: tuple[Verdict, ...] = ("worse", "cannot tell", "better")
    return next((verdict for verdict in ranking if verdict in verdicts), "same")


def scores(texts: Sequence[str], sentences: Sequence[Sentence]) -> dict[str, float]:
    """Return every measure of one side."""
    return {
        measure.name: round(measure.score(measure.statistics(texts, sentences).sum(axis=0)), 2)
        for measure in MEASURES
    }


def losses_of(
    a: Sequence[str], b: Sequence[str], sentences: Sequence[Sentence]
) -> list[tuple[float, int]]:
    """Return (chrF++ gain of B over A, the sentence's index), the greatest loss first."""
    # chrF++, since BLEU needs four right words in a row, which a single sentence may lack.
    _, chrf, _ = MEASURES
    first, second = (chrf.statistics(texts, sentences) for texts in (a, b))
    gains = [chrf.score(y) - chrf.score(x) for x, y in zip(first, second, strict=True)]
    return sorted((round(gain, 1), index) for index, gain in enumerate(gains))


def advice(found: dict[str, Difference] | None, b: Side | None) -> str:
    """Return what to try if a four-bit model is not good enough, else ""."""
    if found is None or b is None or overall(found) not in {"worse", "cannot tell"}:
        return ""
    final = b.settings["final"]
    if final["engine"] != "gemma" or not (level := _FOUR_BITS.search(str(final["model"]))):
        return ""
    five = "q5_k_m" if level[0].islower() else "Q5_K_M"
    better = _FOUR_BITS.sub(five, str(final["model"]))
    return (
        f"Four bits may be too few: try {five} (translate.final.model = {better}), a sixth larger "
        "and a tenth slower."
    )


def side(what: Sequence[str], sentences: Sequence[Sentence], options: argparse.Namespace) -> Side:
    """Read or measure one side. Raises StarkError."""
    if any(each.endswith(".json") and "=" not in each for each in what):
        if len(what) > 1:
            raise UsageError("side-unknown", f"{' '.join(what)}: a .json file is a whole side.")
        return sides.read(Path(what[0]))
    label = " ".join(what) or "config.toml"
    settings = sides.settings_of([*options.set, *what])
    translator = sides.engine(settings)
    translator.load()
    work = list(sentences) * options.rounds
    count = len(work)
    work += sentences[:SAME_WORK] if options.stress else ()
    console = Console(stderr=True)
    answers = tuple(progress(sides.ask(translator, work), escape(label), len(work)))
    if failed := [answer.error for answer in answers if answer.error]:
        said = f"{label}: {len(failed)} sentences failed, the first with: {failed[0]}"
        console.print(Text(said), soft_wrap=True)
    return Side(
        label=label,
        engine=translator.name,
        settings=settings.translate.model_dump(mode="json"),
        setback=translator.degraded_reason,
        answers=answers[:count],
        repeated=answers[count:],
    )


def scores_table(
    measured: dict[str, Side], texts: dict[str, list[str]], sentences: Sequence[Sentence]
) -> Table:
    """Return the scores of each side."""
    table = Table(title=f"{len(sentences)} sentences")
    table.add_column("")
    for name in measured:
        table.add_column(name.upper(), justify="right")
    for kind, indices in _groups(sentences).items():
        of_kind = [sentences[index] for index in indices]
        columns = [scores([found[index] for index in indices], of_kind) for found in texts.values()]
        for measure in comparison.LIMITS:
            cells = [f"{column[measure]:.1f}" for column in columns]
            table.add_row(f"{measure}{kind and f', {kind}'}", *cells)
    table.add_section()
    every = measured.values()
    table.add_row("engine", *(each.engine for each in every))
    table.add_row("ms a sentence: p50 / p95 / p99", *(_latency(each) for each in every))
    table.add_row("tokens/s", *(f"{each.tokens_per_s or 0:g}" for each in every))
    table.add_row("without a translation", *(str(each.lost) for each in every))
    table.add_row("cut: token cap or loop", *(str(each.cut) for each in every))
    return table


def verdict_table(found: dict[str, Difference], sentences: Sequence[Sentence]) -> Table:
    """Return how B compares, measure by measure."""
    verdict = overall(found)
    table = Table(title=Text.assemble("B against A: ", (verdict, COLORS[verdict])))
    for heading in ("measure", "difference", "95 % of resamples", "limit", "verdict"):
        table.add_column(heading, justify="left" if heading in ("measure", "verdict") else "right")
    for name, each in found.items():
        part = len(comparison.judged_on(name, sentences)) < len(sentences)
        table.add_row(
            f"{name}, theological" if part else name,
            f"{each.difference:+.1f}",
            f"{each.low:+.1f} to {each.high:+.1f}",
            f"-{each.limit:g}",
            Text(each.verdict, COLORS[each.verdict]),
        )
    return table


def losses(texts: dict[str, list[str]], sentences: Sequence[Sentence], count: int) -> Text:
    """Return the sentences in which B loses most against A."""
    lines = Text()
    for gain, index in losses_of(texts["a"], texts["b"], sentences)[:count]:
        sentence, b = sentences[index], texts["b"][index]
        if gain >= 0:
            break
        lines.append(f"\n{gain:+.0f} chrF++  {sentence.source}\n", "bold")
        lines.append(f"  reference  {sentence.target}\n", "dim")
        lines.append(f"  A  {texts['a'][index]}\n  B  {b}\n")
        if missing := sentence.missing(b):
            lines.append(f"  B lacks    {', '.join(missing)}\n", "red")
    return lines


def stress_line(name: str, held: Stress, failed: Sequence[str]) -> Text:
    """Return the stress result of a side, in one line."""
    return Text.assemble(
        f"{name.upper()}, {held.sentences} sentences in a row: ",
        f"{held.memory_start_mb:.0f} MB at the start, {held.memory_end_mb:.0f} at the end; ",
        ""
        if held.gpu_start_mb is None
        else f"{held.gpu_start_mb:.0f} and {held.gpu_end_mb or 0:.0f} MB of the GPU; ",
        f"{held.start_ms:g} ms a sentence, {held.end_ms:g} at the end. ",
        ("; ".join(failed), "bold red") if failed else ("Steady.", "green"),
    )


def report(
    measured: dict[str, Side],
    texts: dict[str, list[str]],
    sentences: Sequence[Sentence],
    found: dict[str, Difference] | None,
    held: dict[str, Stress | None],
) -> dict[str, Any]:
    """Return all results, for --json and for later runs."""
    return {
        "machine": machine(),
        "sentences": len(sentences),
        "verdict": overall(found) if found else None,
        "advice": advice(found, measured.get("b")),
        "differences": found,
        "scores": {
            kind or "all": {
                name: scores([answers[i] for i in of], [sentences[i] for i in of])
                for name, answers in texts.items()
            }
            for kind, of in _groups(sentences).items()
        },
        "stress": held,
        "sides": measured,
    }


def _groups(sentences: Sequence[Sentence]) -> dict[str, list[int]]:
    """Return the indices of all sentences under "", and those of each kind under its name."""
    groups: dict[str, list[int]] = {"": list(range(len(sentences)))}
    for index, sentence in enumerate(sentences):
        groups.setdefault(sentence.kind, []).append(index)
    return groups


def _latency(each: Side) -> str:
    times = each.latency
    return f"{times.p50:.0f} / {times.p95:.0f} / {times.p99:.0f}" if times else "-"


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("--a", nargs="+", default=[], metavar="SIDE", help="what is held to be good (config.toml)")
    add("--b", nargs="+", metavar="SIDE", help="what is compared with it; without: A is scored")
    add("--set", nargs="+", default=[], metavar="KEY=VALUE", help="settings of both sides")
    add("--sentences", type=Path, metavar="FILE",
        help="own sentences, in the form of scripts/quality/sentences.toml")  # fmt: skip
    add("--few", type=_count, metavar="N", help="only the first N sentences of each kind")
    add("--rounds", type=_count, default=1, metavar="N", help="all sentences N times (1)")
    add("--losses", type=int, default=3, metavar="N", help="print where B loses most (3)")
    add("--stress", action="store_true",
        help="also check that memory and time do not grow; the first ten come again")  # fmt: skip
    add("--json", type=Path, metavar="FILE", help="write every figure and answer to this file")
    return parser


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"at least 1, not {count}")
    return count


if __name__ == "__main__":
    sys.exit(main())
