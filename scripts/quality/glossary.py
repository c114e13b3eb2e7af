"""Compare the glossary with a printed Bible: is a church word said there as the entry says?

    python -m scripts.quality.glossary

A verse has the same number in both editions. For each entry the verses are counted whose source
has the word, and those of them whose target has the entry's rendering or one that is right as well.
A rendering that no verse has is not wrong for that (Bibles of 1909 say "Jehová" and "caridad"), but
it is worth a look; so is what the verses have in common instead, which stands beside it: words that
are in at least a third of them, and three times as often as in the whole Bible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from pipeline.church.scripture import editions
from pipeline.core.resources import bundled
from pipeline.dictionary.glossary import Glossary, compile_glossary, parse_terms, shown
from pipeline.text.words import WORD, plain
from scripts.bench.report_section import markdown
from scripts.support.command import parser_of

_BELOW, _LEAST = 0.2, 3
_SHARE = 1 / 3
_TIMES = 3.0
_MOST = 3
_SHORTEST = 4
"""The fewest letters of a word that may be another rendering; shorter ones are mostly articles."""

Verses = Mapping[tuple[int, int, int], str]


@dataclass(frozen=True, slots=True)
class Attested:
    """One entry and the verses that contain its word."""

    term: str
    write: str
    verses: int
    right: int
    instead: tuple[str, ...]
    """The words that the verses without the rendering have in common."""

    @property
    def share(self) -> float:
        """The share of the verses that have the rendering, 0..1; 1 if no verse has the word."""
        return self.right / self.verses if self.verses else 1.0


def attest(glossary: Glossary, source: Verses, target: Verses) -> list[Attested]:
    """Return each glossary entry with its counts in the verses that both editions have."""
    both = [(source[key], target[key]) for key in source if key in target]
    common = Counter(word for _, printed in both for word in _words(printed))
    right: Counter[str] = Counter()
    lacking: dict[str, list[str]] = {}
    for said, printed in both:
        for term in glossary.find(said):
            if shown(printed, term):
                right[term.term] += 1
            else:
                lacking.setdefault(term.term, []).append(printed)
    return [
        Attested(
            entry.id,
            entry.write[0],
            right[entry.id] + len(lacking.get(entry.id, ())),
            right[entry.id],
            _instead(lacking.get(entry.id, ()), common, len(both)),
        )
        for entry in glossary.terms
    ]


def doubtful(found: Iterable[Attested], *, below: float, least: int) -> list[Attested]:
    """Return entries of at least `least` verses with a share under `below`, lowest share first."""
    weak = [each for each in found if each.verses >= least and each.share <= below]
    return sorted(weak, key=lambda each: (each.share, -each.verses))


def table(found: Sequence[Attested]) -> list[list[str]]:
    """Return the rows of the table, the heading first."""
    return [
        ["said", "written", "verses", "have it", "others have"],
        *(
            [each.term, each.write, str(each.verses), str(each.right), ", ".join(each.instead)]
            for each in found
        ),
    ]


def _instead(lacking: Sequence[str], common: Counter[str], verses: int) -> tuple[str, ...]:
    there = Counter(word for printed in lacking for word in _words(printed))
    usual = [
        (count / len(lacking), word)
        for word, count in there.items()
        if count >= _SHARE * len(lacking)
        and count / len(lacking) >= _TIMES * common[word] / verses
        and count > 1
    ]
    return tuple(word for _, word in sorted(usual, reverse=True)[:_MOST])


def _words(text: str) -> set[str]:
    return {word for word in map(plain, WORD.findall(text)) if len(word) >= _SHORTEST}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the entries that the Bible does not confirm. Return an exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--every", type=int, default=1, help="look at every Nth verse only")
    chosen = parser.parse_args(arguments)
    source, target = editions.load("kjv"), editions.load("rv1909")
    file = bundled("dictionary", "glossary", f"{source.lang}-{target.lang}.toml")
    terms = parse_terms(file.read_text(encoding="utf-8"), file.name)
    verses = dict(islice(source.verses.items(), 0, None, chosen.every))
    found = attest(compile_glossary(terms, target.lang), verses, target.verses)
    said = [each for each in found if each.verses]
    rows = table(doubtful(found, below=_BELOW, least=_LEAST))
    total, right = sum(each.verses for each in said), sum(each.right for each in said)
    summary = (
        f"{len(said)} of {len(found)} entries are said in the Bible, {total} times in all; "
        f"{right / max(1, total):.1%} of these verses have the rendering."
    )
    print(f"{markdown(rows)}\n\n{summary}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
