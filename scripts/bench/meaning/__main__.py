"""Count captions that say something else than the speaker, and how many of them are marked.

    python -m scripts.bench.meaning                                     all sentences, es and fr
    python -m scripts.bench.meaning --lang es --kind number --worst 45  one kind, all that is wrong
    python -m scripts.bench.meaning --set translate.final.model=translategemma-4b --json found.json
    python -m scripts.bench.meaning --spoken        half of them, said by Kokoro and recognized

Each sentence of scripts/bench/meaning/sentences.toml goes as recognized text through the program's
own parts: dictionary, references spelled out, quick translator (the draft), final translator with
that draft, church truth, glossary and judge. For each language the file lists what a caption must
say (`must`) and may not say (`never`).

wrong    sentences with a serious mistake: a `must` missed, or a `never` said
marked   of these, those that are marked for the operator: the judge or a check doubts them
false    right ones that are marked nevertheless
n        sentences
chrF     against one good translation of each, 0 to 100: how alike the letters are, not the meaning

A draft is counted as if there were no final translator: it is compared and judged like a final. No
engine has a deadline, so a busy machine changes no count. The settings come from config.toml, as
for the program itself; --set changes one for this run.

--spoken uses the sentences marked as spoken: Kokoro's English voice says each, the recognizer of
the settings (stt.model) hears it, and the recognized text goes the same way. It needs
kokoro-82m-int8.

--json keeps all data on each caption, with the judge's features for its next fit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.config.schema import Settings
from pipeline.core import logs
from pipeline.core.types import Recognition
from pipeline.evaluation import meaning
from pipeline.evaluation.meaning import Sentence
from scripts.bench.meaning import hearing
from scripts.bench.meaning.chain import Chain, settings_for
from scripts.bench.meaning.results import (
    ALL,
    STAGES,
    Count,
    Outcome,
    Stage,
    chosen,
    counts,
    outcomes,
    worst,
)
from scripts.bench.report_section import machine, made, write
from scripts.support.command import add_settings, parser_of, progress, says_errors, write_json

TITLE = "## Meaning"
SPOKEN = "## Meaning, spoken"
PREFACE = """
Made by `make bench-meaning` (`python -m scripts.bench.meaning --help` says more): n sentences of
preachers, as text, through dictionary, quick translator (draft), final translator, church truth,
glossary and judge. Wrong: captions that lack what they have to say, or say what they may not.
Marked: wrong ones that the judge or a check doubts. False: right ones that are marked. The machine
was busy, which changes no count.
"""
SPOKEN_PREFACE = """
Made by `python -m scripts.bench.meaning --spoken`: the sentences [above](#meaning) without digits
and signs, said by Kokoro (af_heart) and recognized.
"""
_SHORT = ("wrong", "marked", "false", "chrF")


@says_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Run, print and write; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--lang", nargs="+", default=["es", "fr"], metavar="LANG",
                        help="target languages (default es fr)")  # fmt: skip
    parser.add_argument("--kind", nargs="+", default=[], metavar="KIND",
                        help="kinds of sentences (default all)")  # fmt: skip
    parser.add_argument("--most", type=int, default=0, metavar="N",
                        help="the first so many of each kind (default 0: all)")  # fmt: skip
    parser.add_argument("--worst", type=int, default=10, metavar="N",
                        help="wrong finals to print, unmarked ones first (default 10)")  # fmt: skip
    parser.add_argument("--spoken", action="store_true", help="through sound and the recognizer")
    add_settings(parser, "a setting, such as translate.final.model=...")
    parser.add_argument("--sentences", type=Path, default=meaning.FILE, metavar="FILE",
                        help="other sentences, in the same form")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every caption to a file")
    parser.add_argument("--markdown", type=Path, metavar="FILE",
                        help="write the table into this file's section")  # fmt: skip
    arguments = parser.parse_args(argv)
    logs.configure("error", "auto")
    given = dict(each.partition("=")[::2] for each in arguments.set)
    asked = chosen(
        meaning.read(arguments.sentences), arguments.lang, kinds=arguments.kind, most=arguments.most
    )
    if arguments.spoken:
        asked = [each for each in asked if each.is_spoken]
    used = {lang: settings_for(lang, given) for lang in arguments.lang}
    # Make all chains first: a wrong setting is reported before anything is translated.
    chains = [Chain(each) for each in used.values()]
    heard = {each.id: Recognition(each.said) for each in asked}
    if arguments.spoken:
        heard = hearing.recognized(asked, used[arguments.lang[0]])
    found: list[Outcome] = []
    while chains:
        found += run(chains.pop(0), asked, heard)
    counted = counts(found)
    title, preface = (SPOKEN, SPOKEN_PREFACE) if arguments.spoken else (TITLE, PREFACE)
    show(title, counted, worst(found, arguments.worst))
    models = {lang: _models(each) for lang, each in used.items()}
    captions = [asdict(each) for each in found]
    write_json(arguments.json, {"machine": machine(), "models": models, "captions": captions})
    own = next(iter(models.values()))
    notes = [
        made("ctranslate2", "llama-cpp-python"),
        f"quick translator {own['partial']}, final translator {own['final']}",
    ]
    write(arguments.markdown, title, rows(counted), preface=preface, notes=notes)
    return 0


def run(
    chain: Chain, sentences: Sequence[Sentence], heard: Mapping[str, Recognition]
) -> Iterator[Outcome]:
    """Yield the draft and the final of each sentence. Raises StarkError."""
    chain.load()
    lang = chain.settings.translate.target
    bar = progress(sentences, f"translating, {lang}")
    for sentence in bar:
        said = chain.captions(heard[sentence.id], sentence.before)
        yield from outcomes(sentence, lang, said)
    for fault in chain.faults:
        print(f"{lang}: {fault.message} [{fault.code}]", file=sys.stderr)


def rows(counted: dict[tuple[str, str, Stage], Count]) -> list[list[str]]:
    """Return the rows of the table, the heading first."""
    heading = [
        f"{stage}: {name}" if name == "wrong" else name for stage in STAGES for name in _SHORT
    ]
    table = [["lang", "kind", "n", *heading]]
    for lang, kind in dict.fromkeys(key[:2] for key in counted):
        both = [counted[lang, kind, stage] for stage in STAGES]
        figures = [
            (each.wrong, each.marked, each.falsely, "-" if each.chrf is None else each.chrf)
            for each in both
        ]
        table.append([lang, kind, str(both[0].sentences), *(str(n) for f in figures for n in f)])
    return table


def show(title: str, counted: dict[tuple[str, str, Stage], Count], bad: Sequence[Outcome]) -> None:
    """Print the table, and the worst finals."""
    console = Console()
    head, *body = rows(counted)
    # As narrow as possible, to fit into 80 columns.
    printed = Table(
        title=title.removeprefix("## "), box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False
    )
    for name in head:
        printed.add_column(name.replace(": ", ":\n"), no_wrap=True)
    for row in body:
        printed.add_row(*row, style="bold" if row[1] == ALL else "", end_section=row[1] == ALL)
    console.print(printed)
    for each in bad:
        marked = "marked" if each.is_marked else "not marked"
        lines = [
            f"[bold]{each.id}[/bold], {each.lang}, {marked}: {escape('; '.join(each.mistakes))}",
            f"  said   {escape(each.said)}",
            *([f"  heard  {escape(each.heard)}"] if each.heard != each.said else ()),
            f"  shown  {escape(each.text)}",
        ]
        console.print(*lines, sep="\n", soft_wrap=True, highlight=False)


def _models(settings: Settings) -> dict[str, str]:
    partial, final = settings.translate.partial, settings.translate.final
    return {
        "partial": f"{partial.engine} {partial.model}",
        "final": f"{final.engine} {final.model}",
    }


if __name__ == "__main__":
    sys.exit(main())
