"""Fit the judge of finals (church.fidelity.doubt) to finals that were judged one by one.

    python -m training.train.train_doubt              writes models/doubt/weights.json, in seconds,
                                                      and models/starter/acceptance.json
    python -m training.train.train_doubt --check      only says how good the one there is
    python -m training.train.train_doubt --collect    has the translators in use make them all anew
    python -m training.train.train_doubt --words      counts the words that starters learn from:
                                                      models/doubt/words_en.txt

The comment at the top of training/data/judged_finals.tsv says what is in it. Half of the sentences,
drawn by a hash of the source, is held out: every figure that is printed is of these.

The bar of acceptance (learning.data.acceptance) is the lowest certainty from which on at most 1.5 %
of the finals that nobody marks are wrong. Each language of the model that ships has one.

After --collect a final that has changed has no label any more: write one in before the next fit,
which leaves out those without. Sentences of Tatoeba, of which the file has a hash alone, are made
anew only with --tatoeba FILE.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import takewhile
from pathlib import Path

from rich.progress import track

from pipeline.church.fidelity.doubt import (
    FEATURES,
    DoubtModel,
    Evidence,
    Judge,
    dumped,
    evidence_of,
    shipped,
)
from pipeline.church.fidelity.rarity import counted
from pipeline.church.scripture import editions
from pipeline.core.resources import bundled
from pipeline.core.types import Recognition
from pipeline.learning.data.acceptance import MOST_WRONG, SHIPPED, write_shipped
from pipeline.learning.data.pairs import certainty
from pipeline.learning.fitting import auc, fit, lowest_bar
from pipeline.learning.manifest import sha256 as sha256_of
from scripts.bench.meaning.chain import Chain, settings_for
from training.data.corpora import SPANISH, read_pairs, written_for_us

WEIGHTS = bundled("models", "doubt", "weights.json")
WORDS = bundled("models", "doubt", "words_en.txt")
JUDGED = Path(__file__).parents[1] / "data" / "judged_finals.tsv"
_TATOEBA = "tatoeba:"
_SERVICE = "service"
"""The kind whose sentences follow each other as in a service; other kinds are single sentences."""
_MOST_WRONG = MOST_WRONG / 2
"""Limit for the finals that a bar is chosen on: among other finals more are wrong."""
_GOOD = 0.75
"""Lowest AUC of a useful judge. AUC falls as translators improve: the remaining mistakes look like
right translations (.84 with 354 wrong finals of 1,255, .80 with 278; .80 of 2,445).
"""
_RIDGE = 10.0
"""L2 penalty that keeps weights small: a hundred wrong finals are few for so many features."""
_CALM = (0.10, 0.15)
"""Shares of the right finals that may be marked."""


@dataclass(frozen=True, slots=True)
class JudgedFinal:
    """A line of judged_finals.tsv."""

    source: str
    lang: str
    kind: str
    final: str
    label: str
    """"1": the meaning is wrong or not understandable; "0": it is right; "": not judged yet."""
    reason: str
    evidence: Evidence

    @property
    def is_wrong(self) -> bool:
        """Whether the mistake is serious."""
        return self.label == "1"

    @property
    def hash(self) -> bytes:
        """SHA-256 of the source."""
        return sha256(self.source.encode()).digest()

    @property
    def is_held_out(self) -> bool:
        """Whether it is held out for measuring."""
        return self.hash[0] % 2 == 1


_COLUMNS = ("source", "lang", "kind", "final", "label", "reason")


def read(file: Path) -> tuple[str, list[JudgedFinal]]:
    """Return the comment at the top of a file, and its finals."""
    lines = file.read_text(encoding="utf-8").splitlines()
    comment = list(takewhile(lambda line: line.startswith("#"), lines))
    table = csv.DictReader(lines[len(comment) :], delimiter="\t", quoting=csv.QUOTE_NONE)
    return "\n".join(comment), [_final(row) for row in table]


def _final(row: Mapping[str, str]) -> JudgedFinal:
    known = {name: float(row[name]) if row[name] else None for name in FEATURES if name in row}
    return JudgedFinal(**{name: row[name] for name in _COLUMNS}, evidence=Evidence(**known))


def write(file: Path, comment: str, finals: Iterable[JudgedFinal]) -> None:
    """Write finals to a file, without the features that a text alone does not have."""
    names = [name for name in FEATURES if name != "heard"]
    lines = [comment, "\t".join((*_COLUMNS, *names))]
    for each in finals:
        values = (getattr(each.evidence, name) for name in names)
        cells = ("" if value is None else f"{value:.4g}" for value in values)
        lines.append("\t".join((*(getattr(each, name) for name in _COLUMNS), *cells)))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def hidden(source: str) -> str:
    """Return the hash that replaces a Tatoeba sentence in the file."""
    return _TATOEBA + sha256(source.encode()).hexdigest()[:12]


def collected(finals: Sequence[JudgedFinal], sentences: Mapping[str, str]) -> list[JudgedFinal]:
    """Translate the sources with the current settings; `sentences` gives the text of hidden ones.

    A sentence of a service gets the sentence before it in the file as context.
    """
    chains = {lang: Chain(settings_for(lang, {})) for lang in {each.lang for each in finals}}
    for chain in chains.values():
        chain.load()
    made: list[JudgedFinal] = []
    before: dict[str, str] = {}
    for each in track(finals, description="translating"):
        source = sentences.get(each.source, each.source)
        if source.startswith(_TATOEBA):
            made.append(each)
            continue
        last = before.get(each.lang, "") if each.kind == _SERVICE else ""
        caption = chains[each.lang].captions(Recognition(source), last).final
        before[each.lang] = source if each.kind == _SERVICE else ""
        new = replace(each, final=caption.text, evidence=evidence_of(caption))
        made.append(new if new.final == each.final else replace(new, label="", reason=""))
    return made


def fitted(learnt: Sequence[JudgedFinal]) -> DoubtModel:
    """Fit a judge, and a second one for translators that give no log-probability."""
    wrong = [each.is_wrong for each in learnt]
    without = [replace(each.evidence, final_mean=None) for each in learnt]
    model = fit([each.evidence for each in learnt], wrong, _RIDGE)
    return replace(model, without_own=fit(without, wrong, _RIDGE))


def report(model: DoubtModel, held_out: Sequence[JudgedFinal]) -> float:
    """Print how well a judge tells right from wrong, by language and kind; return the total AUC.

    "A service": the share of these finals that is marked if they come in the order of their hashes.
    """
    blind = replace(model, without_own=None) if model.without_own is None else model.without_own
    groups = {"all": list(held_out)}
    for name in ("lang", "kind"):
        for value in sorted({getattr(each, name) for each in held_out}):
            groups[value] = [each for each in held_out if getattr(each, name) == value]
    for name, some in groups.items():
        print(f"{name}: {_told(model, some)}")
        if name == "all" or name in {each.lang for each in held_out}:
            print(f"  without its own log-probability: {_told(blind, some)}")
            judge = Judge(model)
            marked: dict[bool, list[bool]] = {False: [], True: []}
            for each in sorted(some, key=lambda each: each.hash):
                is_marked = judge.is_among_worst(model.probability(each.evidence))
                marked[each.is_wrong].append(is_marked)
            right, wrong = marked.values()
            print(
                f"  a service: {_share(wrong)} of the serious ones, {_share(right)} of the others"
            )
    return auc(*_scores(model, held_out))


def bars(model: DoubtModel, finals: Sequence[JudgedFinal]) -> dict[str, float]:
    """Return the bar of acceptance of each language, and print what passes it.

    Bars are used in services, so only sentences of services count. The figures that are printed for
    "others" are of the held-out half, with a bar chosen on the other half.
    """
    found: dict[str, float] = {}
    finals = [each for each in finals if each.kind == _SERVICE]
    for lang in sorted({each.lang for each in finals}):
        judge = Judge(model)
        mine = sorted((f for f in finals if f.lang == lang), key=lambda each: each.hash)
        sure = [(each, _certainty(each)) for each in mine
                if not judge.is_among_worst(model.probability(each.evidence))
                and not each.evidence.rules and not each.evidence.terms]  # fmt: skip
        bar = lowest_bar([(score, each.is_wrong) for each, score in sure], _MOST_WRONG)
        half = lowest_bar(
            [(score, each.is_wrong) for each, score in sure if not each.is_held_out], _MOST_WRONG
        )
        if bar is None or half is None:
            print(f"{lang}: no bar keeps wrong ones below {_MOST_WRONG:.1%}")
            continue
        found[lang] = bar
        passed = [each.is_wrong for each, score in sure if each.is_held_out and score >= half]
        right = sum(each.is_held_out and not each.is_wrong for each in mine)
        share = (len(passed) - sum(passed)) / max(1, right)
        print(f"{lang}: the bar is {bar:.4f}; of others {share:.0%} of the right ones pass, "
              f"and {sum(passed)} wrong ones among {len(passed)}")  # fmt: skip
    return found


def _certainty(final: JudgedFinal) -> float:
    mean = final.evidence.final_mean
    value = certainty(None if mean is None else math.exp(min(0.0, mean)), final.evidence.agreement)
    return value or 0.0


def _scores(model: DoubtModel, some: Sequence[JudgedFinal]) -> tuple[list[float], list[bool]]:
    return [model.probability(each.evidence) for each in some], [each.is_wrong for each in some]


def _share(marked: Sequence[bool]) -> str:
    return f"{sum(marked) / max(1, len(marked)):.0%}"


def _told(model: DoubtModel, some: Sequence[JudgedFinal]) -> str:
    scores, wrong = _scores(model, some)
    right = sorted(score for score, is_wrong in zip(scores, wrong, strict=True) if not is_wrong)
    bad = [score for score, is_wrong in zip(scores, wrong, strict=True) if is_wrong]
    text = f"{len(bad)} of {len(some)} serious"
    if not right or not bad:
        return text
    caught = [
        f"{_share([score >= right[int(len(right) * (1 - calm))] for score in bad])} at {calm:.0%}"
        for calm in _CALM
    ]
    return f"{text}, AUC {auc(scores, wrong):.2f}, {' and '.join(caught)} of the right ones marked"


def main(argv: Sequence[str] | None = None) -> int:
    """Fit, check or collect; return 0 if the judge is good enough."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--judged", type=Path, default=JUDGED, help="the judged finals")
    parser.add_argument("--check", action="store_true", help="only check the one that ships")
    parser.add_argument("--collect", action="store_true", help="make the finals anew")
    parser.add_argument("--tatoeba", type=Path, help="with --collect: pairs of Tatoeba")
    parser.add_argument("--words", action="store_true", help="count the words that are learnt")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="where it is written")
    parser.add_argument("--bars", type=Path, default=bundled(*SHIPPED), help="and the bars")
    arguments = parser.parse_args(argv)
    if arguments.words:
        learnt_from = [pair.en for pairs in written_for_us(SPANISH).values() for pair in pairs]
        verses = editions.load("nheb").verses.values()
        WORDS.write_text(counted(learnt_from, verses), encoding="utf-8")
        return 0
    comment, finals = read(arguments.judged)
    if arguments.collect:
        pairs = read_pairs(arguments.tatoeba, "tatoeba") if arguments.tatoeba else ()
        made = collected(finals, {hidden(pair.en): pair.en for pair in pairs})
        write(arguments.judged, comment, made)
        print(f"{sum(not each.label for each in made)} of {len(made)} have no label")
        return 0
    finals = [each for each in finals if each.label]
    learnt = [each for each in finals if not each.is_held_out]
    model = shipped() if arguments.check else fitted(learnt)
    whole = report(model, [each for each in finals if each.is_held_out])
    found = bars(model, finals)
    if not arguments.check:
        arguments.out.write_text(dumped(model), encoding="utf-8")
        translator = sha256_of(bundled("models", "starter", "gemma", "model.gguf"))
        write_shipped(arguments.bars, {f"{translator} {lang}": bar for lang, bar in found.items()})
        print(f"written: {arguments.out}, {arguments.bars}")
    return 0 if whole >= _GOOD else 1


if __name__ == "__main__":
    sys.exit(main())
