"""Time an engine's jobs, and convert the times to work for each second of speech."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.captions.subtitles import Cue
from pipeline.evaluation.accuracy import word_error_rate
from pipeline.text.words import words
from pipeline.tuning.plan import Figures
from pipeline.tuning.workload import Hearing, Job, Work

_ROUNDS = 5
_LEAST = 4
"""Least number of jobs, however long they take."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The least time of each job, its text, and the cores that were busy."""

    seconds: tuple[float, ...]
    texts: tuple[str, ...]
    cores: float


def time_jobs(
    jobs: Sequence[Job],
    engine: object,
    limit_s: float,
    patience_s: float | None = None,
    cpu_s: Callable[[], float] = time.process_time,
) -> Timing:
    """Do the jobs repeatedly while there is time, and return the least time of each.

    The least, because disturbances only ever add time. Stops in the first round after `patience_s`
    (by default `limit_s`), in later ones after `limit_s`. `cpu_s` returns the processor time used
    by the engine's process. Raises EngineError.
    """
    seconds: list[float] = []
    texts: list[str] = []
    began_s, used_s = time.perf_counter(), cpu_s()
    for turn in range(_ROUNDS):
        done = len(seconds) if turn else len(jobs)  # later rounds repeat what the first one did
        for place, job in enumerate(jobs[:done]):
            spent_s = time.perf_counter() - began_s
            if turn and spent_s > limit_s:
                break
            if not turn and place >= _LEAST and spent_s > (patience_s or limit_s):
                break
            start_s = time.perf_counter()
            text = job.do(engine)
            took_s = time.perf_counter() - start_s
            if turn:
                seconds[place] = min(seconds[place], took_s)
            else:
                seconds.append(took_s)
                texts.append(text)
    wall_s = max(time.perf_counter() - began_s, 1e-9)
    return Timing(tuple(seconds), tuple(texts), (cpu_s() - used_s) / wall_s)


def figures_of(work: Work, timing: Timing) -> Figures:
    """Return the work for each second of speech, from a timing of the work's first jobs."""
    done = list(zip(work.jobs, timing.seconds, timing.texts, strict=False))

    def load(*, final: bool) -> float:
        """Return the seconds of work of all finals, or of all partials."""
        taken = [took_s for job, took_s, _ in done if job.final is final]
        # Not all jobs were done in the time: those that were stand for the others.
        return work.count(final=final) * sum(taken) / len(taken) if taken else 0.0

    finals_busy = load(final=True) / work.speech_s
    busy = finals_busy + load(final=False) / work.speech_s
    # Finals only: a partial may end in the middle of a word.
    heard = [(job.spoken, text) for job, _, text in done if isinstance(job, Hearing) and job.final]
    sentences = [sentence for spoken, _ in heard for sentence in spoken]
    return Figures(
        busy=busy,
        cores=busy * timing.cores,
        slowest_s=max((took_s for job, took_s, _ in done if job.final), default=0.0),
        finals_busy=finals_busy,
        word_error_rate=word_error_rate(sentences, [Cue(0, 0, text) for _, text in heard]),
        words=sum(len(words(sentence.source)) for sentence in sentences),
    )
