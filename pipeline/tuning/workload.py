"""The work on which engines are measured: the demo sermon, cut as the daemon would cut it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pipeline.audio.file import AudioFile
from pipeline.audio.segmenter import Segmenter, last_finals
from pipeline.audio.silero_vad import Silero
from pipeline.config.schema import Settings
from pipeline.core.resources import bundled
from pipeline.core.types import Utterance
from pipeline.evaluation.reference import Sentence, read_recording

T = TypeVar("T")

LANGS = ("en", "es")
"""Languages of the sermon. Engines for other languages get the same one, since their speed hardly
differs; only their recognition is not compared with the text.
"""


class Job(Protocol):
    """A piece of an engine's work."""

    @property
    def final(self) -> bool:
        """True for the last work on this speech, false for a partial."""

    def do(self, engine: Any) -> str:
        """Do the job with an engine; return the text."""


@dataclass(frozen=True, slots=True)
class Hearing:
    """Recognizing an utterance. `spoken` is the true text of a final."""

    utterance: Utterance
    spoken: tuple[Sentence, ...] = ()

    @property
    def final(self) -> bool:
        """Whether the utterance is at its end."""
        return self.utterance.is_whole

    def do(self, engine: Any) -> str:
        """Recognize it."""
        return str(engine.recognize(self.utterance.pcm, final=self.final).text)


@dataclass(frozen=True, slots=True)
class Translating:
    """Translating a text."""

    text: str
    final: bool = True
    draft: str = ""

    def do(self, engine: Any) -> str:
        """Translate it."""
        return str(engine.translate(self.text, None, self.draft).text)


@dataclass(frozen=True, slots=True)
class Work:
    """All jobs of one engine for some speech."""

    jobs: tuple[Job, ...]
    """In an order of which any prefix is an even sample."""
    speech_s: float
    """Length of the speech, without pauses."""

    def count(self, *, final: bool) -> int:
        """Return the number of finals, or of partials."""
        return sum(job.final is final for job in self.jobs)


def hearing(settings: Settings) -> Work:
    """Return the recognizer's work. Raises AudioError, ModelError for what ships with us."""
    detector, segmenter = Silero(), Segmenter(settings.vad)
    detector.load()
    # As fast as it goes: cutting into utterances counts samples, not time.
    source = AudioFile(bundled("demo", "sermon.flac"), pace="fast")
    source.open()
    utterances: list[Utterance] = []
    try:
        for block in source.blocks():
            utterances += segmenter.push(block, detector.probability(block.pcm))
    finally:
        source.close()
    utterances += segmenter.flush()
    sentences = sermon() if settings.translate.source == LANGS[0] else ()
    # Of an eager utterance its final is made as well, without more work.
    eager = {(each.id, each.revision + 1) for each in utterances if each.cause == "eager"}
    heard = [
        each
        for each in utterances
        if each.cause != "resumed" and (each.id, each.revision) not in eager
    ]
    last = {each.id: each.revision for each in heard if each.is_whole}
    jobs = [
        Hearing(
            each,
            tuple(
                sentence
                for sentence in sentences
                if each.revision == last[each.id]
                # By its middle: where a pause is cut, either side may have some of it.
                and each.start_s <= (sentence.start_s + sentence.end_s) / 2 < each.end_s
            ),
        )
        for each in heard
    ]
    speech_s = sum(each.end_s - each.start_s for each in last_finals(utterances))
    return Work(interleaved(jobs), speech_s)


def quick_translating(settings: Settings) -> Work:
    """Return the quick translator's work: each sentence as far as it is spoken, and whole."""
    sentences = sermon()
    jobs = [
        Translating(text, final=final)
        for sentence in sentences
        for text, final in growing(sentence, settings.vad.partial_ms / 1000)
    ]
    return Work(interleaved(jobs), _spoken_s(sentences))


def translating(drafts: Sequence[str] = ()) -> Work:
    """Return the final translator's work. `drafts` are the quick translator's, in order."""
    sentences = sermon()
    drafts = drafts or [""] * len(sentences)
    jobs = [Translating(s.source, draft=draft) for s, draft in zip(sentences, drafts, strict=True)]
    return Work(interleaved(jobs), _spoken_s(sentences))


def sermon() -> tuple[Sentence, ...]:
    """Return the sentences of the demo sermon. Raises SessionError."""
    return read_recording(bundled("demo", "sermon.json"), *LANGS).once


def growing(sentence: Sentence, partial_s: float) -> list[tuple[str, bool]]:
    """Return the texts translated while a sentence is spoken, each (text so far, is it whole)."""
    # As if words were spoken at an even pace, which is near enough for a measurement.
    words, took_s = sentence.source.split(), sentence.end_s - sentence.start_s
    partials = int(took_s / partial_s) if partial_s else 0
    heard = [round(len(words) * number * partial_s / took_s) for number in range(1, partials + 1)]
    return [(" ".join(words[:count]), False) for count in heard if count] + [
        (sentence.source, True)
    ]


def interleaved(jobs: Sequence[T]) -> tuple[T, ...]:
    """Order jobs by bit-reversed index, so that any prefix is an even sample.

    Finals and partials alternate as long as there are both.
    """
    finals = _spread([job for job in jobs if getattr(job, "final", True)])
    partials = _spread([job for job in jobs if not getattr(job, "final", True)])
    turns = [job for pair in zip(finals, partials, strict=False) for job in pair]
    both = len(turns) // 2
    return (*turns, *finals[both:], *partials[both:])


def _spread(jobs: Sequence[T]) -> list[T]:
    bits = len(jobs).bit_length()
    return [jobs[i] for i in sorted(range(len(jobs)), key=lambda i: f"{i:0{bits}b}"[::-1])]


def _spoken_s(sentences: Sequence[Sentence]) -> float:
    return sum(sentence.end_s - sentence.start_s for sentence in sentences)
