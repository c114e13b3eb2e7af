"""The work for measuring engines (the demo sermon, cut as in a service), and its timing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.audio.file import fast_blocks
from pipeline.audio.segmenter import Segmenter, last_finals
from pipeline.audio.silero_vad import Silero
from pipeline.config.schema import Settings
from pipeline.core.resources import bundled
from pipeline.core.types import Utterance
from pipeline.engines.protocols import TranslationRequest
from pipeline.evaluation.reference import Sentence, read_recording
from pipeline.tuning.plan import Figures

LANGS = ("en", "es")
"""Languages of the sermon. Engines for other languages use it too: their speed hardly differs."""
_ROUNDS = 5
_LEAST = 4
"""Least number of jobs, however long they take."""


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of an engine's work."""

    do: Callable[[Any], object]
    """Does the job with an engine."""
    final: bool = True
    """True for the last work on this speech, false for a partial."""


@dataclass(frozen=True, slots=True)
class Work:
    """All jobs of one engine for some speech."""

    jobs: tuple[Job, ...]
    """In an order in which any prefix is an even sample."""
    speech_s: float
    """Length of the speech, without pauses."""

    def count(self, *, final: bool) -> int:
        """Return the number of finals, or of partials."""
        return sum(job.final is final for job in self.jobs)


def hearing(settings: Settings) -> Work:
    """Return the recognizer's work. Raises AudioError, ModelError for bundled files."""
    detector, segmenter = Silero(), Segmenter(settings.vad)
    detector.load()
    utterances: list[Utterance] = []
    # As fast as possible, since the segmenter counts samples, not time.
    for block in fast_blocks(bundled("demo", "sermon.flac")):
        utterances += segmenter.push(block, detector.probability(block.pcm))
    utterances += segmenter.flush()
    # An eager utterance's final needs no further work.
    eager = {(each.id, each.revision + 1) for each in utterances if each.cause == "eager"}
    jobs = [
        recognizing(each)
        for each in utterances
        if each.cause != "resumed" and (each.id, each.revision) not in eager
    ]
    speech_s = sum(each.end_s - each.start_s for each in last_finals(utterances))
    return Work(interleaved(jobs), speech_s)


def quick_translating(settings: Settings) -> Work:
    """Return the quick translator's work: the partials of each sentence, and the sentence."""
    sentences = sermon()
    jobs = [
        translating_of(text, final=final)
        for sentence in sentences
        for text, final in growing(sentence, settings.vad.partial_ms / 1000)
    ]
    return Work(interleaved(jobs), _spoken_s(sentences))


def translating(drafts: Sequence[str] = ()) -> Work:
    """Return the final translator's work. `drafts` are the quick translator's, in order."""
    sentences = sermon()
    drafts = drafts or [""] * len(sentences)
    pairs = zip(sentences, drafts, strict=True)
    jobs = [translating_of(sentence.source, draft=draft) for sentence, draft in pairs]
    return Work(interleaved(jobs), _spoken_s(sentences))


def sermon() -> tuple[Sentence, ...]:
    """Return the sentences of the demo sermon. Raises SessionError."""
    return read_recording(bundled("demo", "sermon.json"), *LANGS).once


def growing(sentence: Sentence, partial_s: float) -> list[tuple[str, bool]]:
    """Return the texts translated while a sentence is spoken, each (text so far, is it whole)."""
    # It assumes an even speaking rate, which is accurate enough for a measurement.
    words, took_s = sentence.source.split(), sentence.end_s - sentence.start_s
    # vad.partial_ms = 0 means finals only.
    partials = int(took_s / partial_s) if partial_s else 0
    heard = [round(len(words) * number * partial_s / took_s) for number in range(1, partials + 1)]
    return [(" ".join(words[:count]), False) for count in heard if count] + [
        (sentence.source, True)
    ]


def recognizing(utterance: Utterance) -> Job:
    """Return the job of recognizing an utterance."""
    is_whole = utterance.is_whole
    return Job(lambda engine: engine.recognize(utterance.pcm, final=is_whole), is_whole)


def translating_of(text: str, *, final: bool = True, draft: str = "") -> Job:
    """Return the job of translating a text."""
    return Job(lambda engine: engine.translate(text, TranslationRequest(draft=draft)), final)


def interleaved(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """Order jobs by bit-reversed index, so that any prefix is an even sample.

    Finals and partials alternate as long as there are both.
    """
    finals = _spread([job for job in jobs if job.final])
    partials = _spread([job for job in jobs if not job.final])
    turns = [job for pair in zip(finals, partials, strict=False) for job in pair]
    both = len(turns) // 2
    return (*turns, *finals[both:], *partials[both:])


def _spread(jobs: Sequence[Job]) -> list[Job]:
    # Of five jobs: 0, 4, 2, 1, 3.
    bits = len(jobs).bit_length()
    return [jobs[i] for i in sorted(range(len(jobs)), key=lambda i: f"{i:0{bits}b}"[::-1])]


def _spoken_s(sentences: Sequence[Sentence]) -> float:
    return sum(sentence.end_s - sentence.start_s for sentence in sentences)


@dataclass(frozen=True, slots=True)
class Timing:
    """The least time of each job, and the cores that were busy."""

    seconds: tuple[float, ...]
    cores: float


def time_jobs(
    jobs: Sequence[Job],
    engine: object,
    limit_s: float,
    patience_s: float | None = None,
    cpu_s: Callable[[], float] = time.process_time,
) -> Timing:
    """Do the jobs repeatedly while there is time, and return the least time of each.

    The least time counts because disturbances only add time. Stops in round one after `patience_s`
    (by default `limit_s`), in later ones after `limit_s`. `cpu_s` returns the processor time used
    by the engine's process. Raises EngineError.
    """
    seconds: list[float] = []
    began_s, used_s = time.perf_counter(), cpu_s()
    # In rounds: then a disturbance spoils only one of each job's times, and the least counts.
    for turn in range(_ROUNDS):
        done = len(seconds) if turn else len(jobs)  # later rounds repeat what the first one did
        for place, job in enumerate(jobs[:done]):
            spent_s = time.perf_counter() - began_s
            if turn and spent_s > limit_s:
                break
            if not turn and place >= _LEAST and spent_s > (patience_s or limit_s):
                break
            start_s = time.perf_counter()
            job.do(engine)
            took_s = time.perf_counter() - start_s
            if turn:
                seconds[place] = min(seconds[place], took_s)
            else:
                seconds.append(took_s)
    wall_s = max(time.perf_counter() - began_s, 1e-9)
    return Timing(tuple(seconds), (cpu_s() - used_s) / wall_s)


def figures_of(work: Work, timing: Timing) -> Figures:
    """Return the work for each second of speech, from a timing of the work's first jobs."""
    # The timing may have the first jobs only, which are an even sample of all (`interleaved`).
    done = list(zip(work.jobs, timing.seconds, strict=False))

    def load(*, final: bool) -> float:
        """Return the seconds of work of all finals, or of all partials."""
        taken = [took_s for job, took_s in done if job.final is final]
        # If the time was too short for all jobs, the finished ones represent the others.
        return work.count(final=final) * sum(taken) / len(taken) if taken else 0.0

    finals_busy = load(final=True) / work.speech_s
    busy = finals_busy + load(final=False) / work.speech_s
    return Figures(
        busy=busy,
        cores=busy * timing.cores,
        slowest_s=max((took_s for job, took_s in done if job.final), default=0.0),
        finals_busy=finals_busy,
    )
