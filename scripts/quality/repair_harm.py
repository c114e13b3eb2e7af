"""Which right translations the glossary's repair would change: human-like pairs, put in as if ours.

    python -m scripts.quality.repair_harm es --show 100
    python -m scripts.quality.repair_harm fr

Of each pair of the trainers' data the translation stands for what the starter Marian has written;
its attention and its scores are those for this text. Whatever is changed then is to be looked at.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.progress import track

from pipeline.church.scripture.references import spelled
from pipeline.core.resources import bundled
from pipeline.core.terms import WantedTerm
from pipeline.core.types import Translation
from pipeline.dictionary.glossary import Glossary, compile_glossary, parse_terms, shown
from pipeline.engines.ctranslate2.marian import Marian

_DATA = Path(__file__).parents[2] / "training" / "data"
_BOTH = ("modern_speech.tsv", "church_talk.tsv")
_ONE = {"es": ("sermon_phrases.tsv",), "fr": ("sermon_phrases_fr.tsv",)}


class Given(Marian):
    """A translator that is given what it has written."""

    def repaired(self, text: str, target: str, wanted: Sequence[WantedTerm]) -> Translation:
        """Return a translation with the terms put in that it lacks. Raises EngineError."""
        pieces = self._target.encode(target, out_type=str)
        result = self._translator.translate_batch(
            [self._asked(self._source.encode(text, out_type=str))],
            target_prefix=[pieces],
            max_decoding_length=len(pieces) + 1,
            return_attention=True,
        )[0]
        made = Translation(target, self.name, avg_logprob=self.score(text, [target])[0][0])
        attention = self._attention(result)[: len(pieces)]
        return self._with_terms(text, made, attention, pieces, wanted)


def pairs(lang: str) -> Iterator[tuple[str, str]]:
    """Yield English and the translation of each pair."""
    for name in (*_BOTH, *_ONE[lang]):
        lines = (_DATA / name).read_text(encoding="utf-8").splitlines()
        at = ("en", "es", "fr").index(lang) if name in _BOTH else 1
        for line in lines[name in _BOTH :]:
            cells = line.split("\t")
            # Translators get references as they are printed.
            yield spelled(cells[0], "en"), cells[at]


def shipped(lang: str) -> Glossary:
    """Return the shipped glossary from English into a language."""
    file = bundled("dictionary", "glossary", f"en-{lang}.toml")
    return compile_glossary(parse_terms(file.read_text(encoding="utf-8"), file.name), lang)


def main() -> None:
    """Print how many terms are said, missing and put in, and what was changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lang", choices=list(_ONE))
    parser.add_argument("--show", type=int, default=0, help="of the changed ones, evenly spread")
    arguments = parser.parse_args()
    lang: str = arguments.lang
    glossary, marian = shipped(lang), Given(bundled("models", "starter", "marian"), target=lang)
    marian.load()
    said, missing, changed = 0, Counter[str](), list[str]()
    for english, target in track(list(pairs(lang)), description="Repairing"):
        wanted = glossary.find(english)
        said += len(wanted)
        lacking = [term.term for term in wanted if shown(target, term) is None]
        missing.update(lacking)
        for repair in marian.repaired(english, target, wanted).repairs if lacking else ():
            changed.append(
                f"{repair.term}: {repair.found!r} -> {repair.written!r}\n  {english}\n  {target}"
            )
    print(f"{lang}: {said} church words, {missing.total()} not found, {len(changed)} put in")
    print(
        "not found most:", ", ".join(f"{term} {count}" for term, count in missing.most_common(40))
    )
    step = max(1, len(changed) // max(1, arguments.show))
    print("\n".join(changed[::step][: arguments.show]))


if __name__ == "__main__":
    main()
