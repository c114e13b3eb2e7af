"""Compare captions with the reference text of a recording: WER, chrF, BLEU, terms.

Words are compared in lower case without punctuation (WER by jiwer, terms); chrF and BLEU are
sacrebleu's with its defaults, on the text as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from pipeline.captions.subtitles import SIDES, Cue, Side
from pipeline.evaluation import word_errors
from pipeline.evaluation.reference import Sentence
from pipeline.text.words import words


@dataclass(frozen=True, slots=True)
class Found:
    """Number of the reference's terms that are in the captions."""

    found: int
    of: int

    def __str__(self) -> str:
        return f"{self.found} of {self.of}"


def word_error_rate(sentences: Sequence[Sentence], heard: Iterable[Cue]) -> float | None:
    """Return the WER of all captions as one text, 0..1 and above; None if nothing was said."""
    if not sentences:
        return None
    spoken = " ".join(sentence.source for sentence in sentences)
    # As one text: a segmentation error is not a recognition error.
    rate = word_errors.word_error_rate([(spoken, " ".join(cue.text for cue in heard))])
    return None if rate is None else round(rate, 4)


def chrf_and_bleu(
    sentences: Sequence[Sentence], read: Iterable[Cue]
) -> tuple[float, float] | tuple[None, None]:
    """Return corpus chrF and BLEU, 0..100, of the captions; Nones if nothing was said.

    A segment is a section of the recording, not a sentence, because captions and sentences need not
    begin and end together. A caption belongs to the section that contains its middle.
    """
    if not sentences:
        return None, None
    hypotheses, references = _sections(sentences, read)
    return (
        round(float(CHRF().corpus_score(hypotheses, [references]).score), 1),
        round(float(BLEU().corpus_score(hypotheses, [references]).score), 1),
    )


def uncovered(sentences: Iterable[Sentence], heard: Sequence[Cue]) -> list[str]:
    """Return the sentences that captions cover by less than half."""
    return [
        sentence.source
        for sentence in sentences
        if sum(max(0.0, sentence.overlap_s(cue.start_s, cue.end_s)) for cue in heard)
        < (sentence.end_s - sentence.start_s) / 2
    ]


def terms(sentences: Iterable[Sentence], captions: Sequence[Cue], side: Side) -> Found:
    """Count the sentences' terms that are in the captions shown while they were spoken."""
    found = of = 0
    for sentence in sentences:
        # Only near its sentence: a later repetition does not replace a lost term.
        near = [cue.text for cue in captions if sentence.overlap_s(cue.start_s, cue.end_s) > 0]
        # With spaces on both sides, "sin" is not found in "single".
        text = f" {' '.join(words(' '.join(near)))} "
        for term in sentence.terms:
            of += 1
            # At most once per sentence: a caption that repeats a term is no better.
            found += f" {' '.join(words(term[SIDES.index(side)]))} " in text
    return Found(found, of)


def _sections(sentences: Iterable[Sentence], read: Iterable[Cue]) -> tuple[list[str], list[str]]:
    """Return each section's captions and its reference, each joined to one text."""
    starts: dict[tuple[int, str], float] = {}
    references: dict[tuple[int, str], list[str]] = {}
    for sentence in sentences:
        # With the lap: in a loop the same section is played and captioned again.
        section = (sentence.lap, sentence.section)
        starts.setdefault(section, sentence.start_s)
        references.setdefault(section, []).append(sentence.target)
    # A section without captions stays as an empty text, so that missed speech lowers the score.
    hypotheses: dict[tuple[int, str], list[str]] = {section: [] for section in references}
    for cue in read:
        middle_s = (cue.start_s + cue.end_s) / 2
        # The last section that has begun by then: a pause belongs to the section before it.
        begun = [section for section, start_s in starts.items() if start_s <= middle_s]
        # Captions before the first section come from noise and count against that section.
        hypotheses[begun[-1] if begun else next(iter(starts))].append(cue.text)
    return [" ".join(t) for t in hypotheses.values()], [" ".join(t) for t in references.values()]
