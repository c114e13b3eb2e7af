"""Measure the glossary: how many church words get their approved rendering, with it and without.

Our own 243 sentences, with one or two church words each, are beside this file (`terms_en.txt`). The
sentences of the quality gate have references: their chrF++ tells whether repairs reduce quality.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sacrebleu.metrics.chrf import CHRF

from pipeline.core.percentiles import spread
from pipeline.core.resources import bundled
from pipeline.core.standing import Standing
from pipeline.core.terms import WantedTerm
from pipeline.core.types import Translation
from pipeline.dictionary.glossary import Glossary, compile_glossary, parse_terms, shown
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.llama_cpp.gemma import Gemma
from pipeline.engines.protocols import TranslationRequest
from pipeline.evaluation import sentences
from scripts.support.command import progress

SENTENCES = Path(__file__).with_name("terms_en.txt")
_CHRF = CHRF(word_order=2)

Translate = Callable[[str, tuple[WantedTerm, ...]], Translation]


@dataclass
class TermResult:
    """A translator's results on sentences without the glossary and with it."""

    terms: int = 0
    right_without: int = 0
    right_with: int = 0
    repaired: int = 0
    ms: list[float] = field(default_factory=list)
    """The processor time that the glossary added for each sentence with a missing rendering."""
    without: list[str] = field(default_factory=list)
    with_it: list[str] = field(default_factory=list)


def spoken() -> list[str]:
    """Return our own sentences with church words."""
    return SENTENCES.read_text(encoding="utf-8").splitlines()


def shipped_glossary() -> Glossary:
    """Return the glossary for English to Spanish as it ships."""
    file = bundled("dictionary", "glossary", "en-es.toml")
    return compile_glossary(parse_terms(file.read_text(encoding="utf-8"), file.name), "es")


def measure(translate: Translate, texts: Sequence[str], glossary: Glossary) -> TermResult:
    """Translate each text without the glossary and with it, and count renderings."""
    result = TermResult()
    for text in progress(texts, "Translating"):
        wanted = glossary.find(text)
        began_s = time.process_time()
        plain = translate(text, ())
        halfway_s = time.process_time()
        made = translate(text, wanted)
        added_s = time.process_time() - halfway_s - (halfway_s - began_s)
        missing = sum(shown(plain.text, term) is None for term in wanted)
        result.terms += len(wanted)
        result.right_without += len(wanted) - missing
        result.right_with += sum(shown(made.text, term) is not None for term in wanted)
        result.repaired += len(made.repairs)
        result.without.append(plain.text)
        result.with_it.append(made.text)
        if missing:
            result.ms.append(added_s * 1000)
    return result


def term_rows() -> Iterator[str]:
    """Yield notes on church words: the quick translator, and the final one after it."""
    glossary, gate = shipped_glossary(), sentences.read()
    yield f"The glossary has {len(glossary.terms)} entries; {len(spoken())} sentences are for it."
    marian = Marian(bundled("models", "starter", "marian"))
    gemma = Gemma(bundled("models", "starter", "gemma", "model.gguf"), threads=1, deadline_s=600.0)
    marian.load()
    gemma.load()

    def quick(text: str, wanted: tuple[WantedTerm, ...]) -> Translation:
        return marian.translate(text, TranslationRequest(wanted=wanted))

    def final(text: str, wanted: tuple[WantedTerm, ...]) -> Translation:
        draft = drafts[text, bool(wanted)]
        return gemma.translate(
            text, TranslationRequest(draft=draft, standing=Standing(), wanted=wanted)
        )

    texts = [*spoken(), *(sentence.source for sentence in gate)]
    drafts = {
        (text, is_on): quick(text, glossary.find(text) if is_on else ()).text
        for text in texts
        for is_on in (False, True)
    }
    for name, translate in (("Marian", quick), ("Gemma after Marian's draft", final)):
        result = measure(translate, spoken(), glossary)
        gated = measure(translate, [sentence.source for sentence in gate], glossary)
        references = [[sentence.target for sentence in gate]]
        before, after = (
            _CHRF.corpus_score(texts, references).score for texts in (gated.without, gated.with_it)
        )
        took = ""
        if times := spread(result.ms):
            took = (
                f" Where one was missing it took {times.p50} ms more (p50), {times.p95} ms (p95), "
                "of processor time."
            )
        yield (
            f"Approved renderings, starter {name}: {result.right_without / result.terms:.1%} of "
            f"{result.terms} without the glossary, {result.right_with / result.terms:.1%} with it "
            f"({result.repaired} put in). chrF++ on the {len(gate)} sentences of the quality gate: "
            f"{before:.1f} and {after:.1f}.{took}"
        )
