"""The results, sentence by sentence, and their counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from sacrebleu.metrics.chrf import CHRF

from pipeline.church.fidelity.doubt import evidence_of
from pipeline.core.errors import UsageError
from pipeline.core.types import Caption
from pipeline.evaluation.meaning import Sentence
from scripts.bench.meaning.chain import Captions

Stage = Literal["draft", "final"]
STAGES: tuple[Stage, ...] = get_args(Stage)
ALL = "all"
"""The name of the row for all kinds."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One caption of one sentence, and its mistakes."""

    id: str
    kind: str
    lang: str
    stage: Stage
    said: str
    heard: str
    """The recognized text after the dictionary's corrections, which was translated."""
    text: str
    ref: str
    mistakes: tuple[str, ...]
    is_marked: bool
    """Whether the judge or a check tells the operator that it may be wrong."""
    chrf: float
    engine: str
    doubt: float | None
    is_doubtful: bool
    checks: tuple[Mapping[str, Any], ...]
    evidence: Mapping[str, float | None]
    """The judge's features."""

    @property
    def is_wrong(self) -> bool:
        """Whether it has a serious mistake."""
        return bool(self.mistakes)


@dataclass(frozen=True, slots=True)
class Count:
    """Counts of some captions."""

    sentences: int
    wrong: int
    marked: int
    """The number of wrong ones that are marked."""
    falsely: int
    """The number of right ones that are marked."""
    chrf: float | None
    """chrF of all of them as one text, 0..100; None without sentences."""


def outcomes(sentence: Sentence, lang: str, captions: Captions) -> Iterator[Outcome]:
    """Yield the outcomes of a sentence: its draft, then its final."""
    for stage in STAGES:
        caption: Caption = getattr(captions, stage)
        meaning = sentence.meanings[lang]
        yield Outcome(
            id=sentence.id,
            kind=sentence.kind,
            lang=lang,
            stage=stage,
            said=sentence.said,
            heard=caption.transcript.text,
            text=caption.text,
            ref=meaning.ref,
            mistakes=meaning.mistakes(caption.text),
            is_marked=is_marked(caption),
            chrf=round(float(CHRF().sentence_score(caption.text, [meaning.ref]).score), 1),
            engine=caption.engine,
            doubt=caption.doubt,
            is_doubtful=caption.is_doubtful,
            checks=tuple(asdict(each) for each in caption.checks),
            evidence=asdict(evidence_of(caption)),
        )


def is_marked(caption: Caption) -> bool:
    """Whether the operator sees that a final may be wrong."""
    return caption.is_doubtful or any(each.outcome == "doubtful" for each in caption.checks)


def count(found: Sequence[Outcome]) -> Count:
    """Return the counts of some captions."""
    wrong = [each for each in found if each.is_wrong]
    texts, references = [each.text for each in found], [each.ref for each in found]
    chrf = float(CHRF().corpus_score(texts, [references]).score) if found else None
    return Count(
        sentences=len(found),
        wrong=len(wrong),
        marked=sum(each.is_marked for each in wrong),
        falsely=sum(each.is_marked and not each.is_wrong for each in found),
        chrf=None if chrf is None else round(chrf, 1),
    )


def counts(found: Sequence[Outcome]) -> dict[tuple[str, str, Stage], Count]:
    """Return counts by language, kind (and for all kinds) and stage, in their order."""
    langs = dict.fromkeys(each.lang for each in found)
    kinds = dict.fromkeys(each.kind for each in found)
    return {
        (lang, kind, stage): count(
            [each for each in found
             if (each.lang, each.stage) == (lang, stage) and kind in {each.kind, ALL}]
        )
        for lang in langs
        for kind in (*kinds, ALL)
        for stage in STAGES
    }  # fmt: skip


def worst(found: Iterable[Outcome], most: int) -> list[Outcome]:
    """Return the worst finals with a serious mistake, unmarked ones first.

    Among these, the order is by most mistakes, then by distance from the reference.
    """
    wrong = [each for each in found if each.stage == "final" and each.is_wrong]
    return sorted(wrong, key=lambda each: (each.is_marked, -len(each.mistakes), each.chrf))[:most]


def chosen(
    sentences: Sequence[Sentence], langs: Sequence[str], *, kinds: Sequence[str], most: int
) -> list[Sentence]:
    """Return the sentences of some kinds: the first `most` of each kind, or all for 0.

    Raises UsageError if a kind does not exist, or a sentence has nothing for a language.
    """
    there = list(dict.fromkeys(each.kind for each in sentences))
    for kind in kinds:
        if kind not in there:
            message = f"There is no sentence of the kind {kind!r}."
            raise UsageError("kind-unknown", message, f"There are: {', '.join(there)}.")
    found: list[Sentence] = []
    for kind in kinds or there:
        alike = [each for each in sentences if each.kind == kind]
        found += alike[:most] if most else alike
    for lang in langs:
        lacking = [each.id for each in found if lang not in each.meanings]
        if lacking:
            message = (
                f"{len(lacking)} sentences say nothing of {lang!r}, the first is {lacking[0]}."
            )
            raise UsageError("language-unknown", message, "Add it to them, or leave it out.")
    return found
