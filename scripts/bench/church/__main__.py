"""Measure church truth: references, church words and quoted verses, with it and without.

    python -m scripts.bench.church
    python -m scripts.bench.church --everyday talks.tsv --readings 400 --markdown docs/BENCHMARKS.md

Our own sets stand beside this file: spoken references with what they mean, and sentences in which
nothing may fire. `practice_en.tsv` was looked at while the reader was made; `unseen_en.tsv` was
written before it was measured for the first time. Readings are verses of the Bibles that ship, put
together by a fixed seed: one to three verses after and before everyday talk, in utterances of 8 to
15 words, with words replaced, left out and added. The index is built from the King James Version
alone: the New Heart English Bible is an edition that it does not know. `--everyday`: a file of
sentences, a line each (up to a tab), instead of ours. Times are processor time of this process.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from pipeline.church.fidelity.finals import checked
from pipeline.church.fidelity.given_text import given
from pipeline.church.scripture import editions, verse_index
from pipeline.church.scripture.books import Reference
from pipeline.church.scripture.editions import Edition
from pipeline.church.scripture.passages import Passages
from pipeline.church.scripture.references import find, printed
from pipeline.church.scripture.verse_index import VerseIndex, words_of
from pipeline.config.schema import Church
from pipeline.core.percentiles import spread
from pipeline.core.resources import bundled
from pipeline.engines.ctranslate2.marian import Marian
from scripts.bench.church.terms import term_rows
from scripts.bench.report_section import show, write
from scripts.support.command import parser_of, progress
from scripts.support.records import caption

HERE = Path(__file__).parent
TITLE = "## Church truth"
_PREFACE = """
Made by `python -m scripts.bench.church`: spoken references, sentences without any, and readings of
12 words or more (the New Heart English Bible is not in the index). "On air": shown by itself;
"known": on air or suggested.
"""
_KINDS = {
    "sentence": "references in sentences",
    "chapter": "chapters alone",
    "form": "forms of recognizers",
    "trap": "traps in which nothing is found",
}
_SEED = 20261122
_NOISE = (0.0, 0.15, 0.3)
_WORDS_A_SECOND = 2.4
_EVERYDAY_WORDS = 20_000


@dataclass
class Count:
    """Results for the verses that were read."""

    verses: int = 0
    aired: int = 0
    known: int = 0
    wrong_aired: int = 0
    wrong_suggested: int = 0
    readings: int = 0
    readings_known: int = 0
    ms: list[float] = field(default_factory=list)


def spoken(lang: str) -> list[tuple[str, str]]:
    """Return sentences, and the references in them in printed form."""
    lines = (HERE / f"references_{lang}.tsv").read_text(encoding="utf-8").splitlines()
    return [(text, wanted) for text, _, wanted in (line.partition("\t") for line in lines)]


def plain() -> list[str]:
    """Return sentences in which no reference may be found."""
    return (HERE / "plain_en.txt").read_text(encoding="utf-8").splitlines()


def reference_rows() -> Iterator[str]:
    """Yield notes on references: as read, and after the starter translator."""
    for lang, name in (("en", "English"), ("es", "Spanish"), ("fr", "French")):
        pairs = spoken(lang)
        right = sum(_found(text, lang) == wanted for text, wanted in pairs)
        yield f"{name} references read right: {right} of {len(pairs)}."
    fired = sum(bool(find(text, "en")) for text in plain())
    yield f"Sentences without a reference in which one was found: {fired} of {len(plain())}."
    for name in ("practice", "unseen"):
        read = Counter[str]()
        rows = [line.split("\t") for line in (HERE / f"{name}_en.tsv").read_text().splitlines()]
        read.update(kind for kind, text, *ref in rows if _found(text, "en") == "".join(ref))
        parts = (f"{_KINDS[k]} {read[k]} of {n}" for k, n in Counter(r[0] for r in rows).items())
        yield f"Sentences of the list `{name}` that are read right: {', '.join(parts)}."
    marian = Marian(bundled("models", "starter", "marian"))
    marian.load()
    for is_on in (False, True):
        outcomes: Counter[str] = Counter()
        for text, _ in progress(spoken("en"), "Translating"):
            target = marian.translate(given(text, "en") if is_on else text).text
            final = checked(caption(1, text, target, final=True), Church())
            outcomes.update(c.outcome for c in final.checks if c.kind == "reference")
        total = sum(outcomes.values())
        good = outcomes["right"] + (outcomes["written"] + outcomes["repaired"] if is_on else 0)
        says = "with church truth" if is_on else "without"
        more = f" ({dict(sorted(outcomes.items()))})" if is_on else ""
        yield f"References in captions of the starter Marian, {says}: {good} of {total}{more}."


def _found(text: str, lang: str) -> str:
    return "; ".join(printed(mention.reference, lang) for mention in find(text, lang))


def noisy(
    words: Sequence[str], share: float, others: Sequence[str], rng: random.Random
) -> list[str]:
    """Return the words with a share of errors: half replaced, the rest left out or added."""
    out: list[str] = []
    for word in words:
        chance = rng.random()
        if chance < share * 0.5:
            out.append(rng.choice(others))
        elif chance < share * 0.8:
            continue
        else:
            out += [word, rng.choice(others)] if chance < share else [word]
    return out


def read_out(
    index: VerseIndex,
    edition: Edition,
    noise: float,
    *,
    with_reference: bool,
    talk: Sequence[str],
    readings: int,
) -> Count:
    """Give passages of an edition to the program as speech, and count what it finds."""
    rng = random.Random(_SEED)
    places = sorted(edition.verses)
    others = words_of(" ".join(edition.verses[place] for place in rng.sample(places, 500)))
    count = Count()
    while count.readings < readings:
        first = rng.randrange(len(places) - 3)
        chosen = places[first : first + rng.choice((1, 2, 3))]
        if sum(len(words_of(edition.verses[place])) for place in chosen) < 12:
            continue
        utterances = [rng.choice(talk) for _ in range(3)]
        if with_reference:
            utterances.append(f"Let us read {printed(Reference(*chosen[0]), 'en')}.")
        for place in chosen:
            words = noisy(words_of(edition.verses[place]), noise, others, rng)
            while words:
                size = rng.randrange(8, 16)
                utterances.append(" ".join(words[:size]))
                words = words[size:]
        utterances += [rng.choice(talk) for _ in range(2)]
        read = {Reference(*place) for place in chosen}
        aired, suggested = _hear(index, utterances, count)
        known = read & (aired | suggested)
        count.readings += 1
        count.verses += len(read)
        count.aired += len(read & aired)
        count.known += len(known)
        count.readings_known += bool(known)
        count.wrong_aired += len(aired - read)
        count.wrong_suggested += len(suggested - read)
    return count


def _hear(
    index: VerseIndex, utterances: Sequence[str], count: Count
) -> tuple[set[Reference], set[Reference]]:
    passages = Passages(index, "en")
    aired, suggested, at_s = set[Reference](), set[Reference](), 0.0
    for text in utterances:
        at_s += len(text.split()) / _WORDS_A_SECOND
        began_s = time.process_time()
        heard = passages.push(text, at_s)
        count.ms.append((time.process_time() - began_s) * 1000)
        aired |= _each(heard.on_air)
        suggested |= _each(heard.suggested)
    return aired, suggested


def _each(reference: Reference | None) -> set[Reference]:
    if reference is None:
        return set()
    last = reference.last or reference.verse
    return {replace(reference, verse=v, last=0) for v in range(reference.verse, last + 1)}


def reading_rows(
    index: VerseIndex, talk: Sequence[str], readings: int
) -> tuple[list[list[str]], list[str]]:
    """Return the table of readings, the heading first, and notes on all of them."""
    rows = [["read from", "reference said", "wrong words", "on air", "known", "readings known",
             "wrong on air", "wrong suggested"]]  # fmt: skip
    counts = []
    kinds = product(map(editions.load, ("kjv", "nheb")), (True, False), _NOISE)
    for edition, is_said, noise in kinds:
        c = read_out(index, edition, noise, with_reference=is_said, talk=talk, readings=readings)
        counts.append(c)
        shares = (c.aired / c.verses, c.known / c.verses, c.readings_known / c.readings)
        rows.append([
            edition.title, "yes" if is_said else "no", f"{noise:.0%}",
            *(f"{share:.3f}" for share in shares), str(c.wrong_aired), str(c.wrong_suggested),
        ])  # fmt: skip
    aired, wrong = sum(c.aired for c in counts), sum(c.wrong_aired for c in counts)
    share = aired / max(1, aired + wrong)
    notes = [f"On air by itself and right: {aired} of {aired + wrong} verses ({share:.4f})."]
    if times := spread(ms for c in counts for ms in c.ms):
        notes.append(
            f"A look after a final: p50 {times.p50} ms, p95 {times.p95} ms of processor time."
        )
    return rows, notes


def everyday(index: VerseIndex, talk: Sequence[str]) -> str:
    """Return a note on everyday talk, in which no verse should be found."""
    rng = random.Random(_SEED)
    passages, at_s, said = Passages(index, "en"), 0.0, 0
    aired = suggested = 0
    while said < _EVERYDAY_WORDS:
        text = rng.choice(talk)
        said += len(text.split())
        at_s += len(text.split()) / _WORDS_A_SECOND
        heard = passages.push(text, at_s)
        aired += heard.on_air is not None
        suggested += heard.suggested is not None
    return (
        f"{at_s / 3600:.1f} hours of everyday sentences ({said} words, drawn from "
        f"{len(set(talk))}): {aired} verses on air, {suggested} suggested."
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print the section; with --markdown also write it into a document."""
    parser = parser_of(__doc__)
    parser.add_argument("--readings", type=int, default=100, help="passages in each row (100)")
    parser.add_argument("--everyday", type=Path, help="a file of sentences, a line each")
    parser.add_argument("--markdown", type=Path, help="document to put the section into")
    arguments = parser.parse_args(argv)
    talk = plain()
    if arguments.everyday:
        lines = arguments.everyday.read_text(encoding="utf-8").splitlines()
        talk = [line.partition("\t")[0] for line in lines if len(line.split()) > 5]
    with tempfile.TemporaryDirectory() as folder:
        index = verse_index.build([editions.load("kjv")], Path(folder) / "en")
        notes = [*reference_rows(), *term_rows()]
        rows, found = reading_rows(index, talk, arguments.readings)
        notes += [*found, everyday(index, talk)]
    show(rows, TITLE)
    print("\n".join(notes))
    write(arguments.markdown, TITLE, rows, preface=_PREFACE, notes=notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
