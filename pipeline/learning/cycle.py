"""The learning cycle: collect and choose captions for review every week, train every month.

A cycle runs the program's own commands in order, each in its own process at the lowest priority. It
does not start while a service is running, and stops when one starts: a checkpoint holds what was
trained so far, and the next cycle continues from it. Nothing is ever deployed automatically.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from pydantic import TypeAdapter

from pipeline.config.schema import Settings
from pipeline.config.section import Learn
from pipeline.core.errors import LearningError, ProtocolError, reading
from pipeline.core.formats import utc_now
from pipeline.learning.data.folder import FOCUS, DataFolder
from pipeline.learning.data.pairs import LearningPair
from pipeline.learning.data.terms import terms_in
from pipeline.models.automatic import recognizer_name, translator_name
from pipeline.protocol.codec import parse_json
from pipeline.session.reader import JOURNAL, sessions
from pipeline.session.resume import in_use

# Longer than a silent prayer or a long song, so that training does not start during either.
QUIET_S = 1800.0
"""Without a caption for this long, an open session (of a machine always on) is no service."""
# At the latest, a service gets the CPU back this many seconds after its first caption.
_LOOK_S = 5.0
_WORSE = 1
"""Exit status of `learn compare` if the new model should not be used."""


# Both counts: one misheard of two weighs less than ten of twenty, at the same share.
@dataclass(frozen=True, slots=True)
class TermFocus:
    """A church term and how often it was said and misheard."""

    term: str
    said: int
    misheard: int


@dataclass(frozen=True, slots=True)
class SpeakerFocus:
    """The speaker with the lowest mean confidence of the recognizer, 0..1."""

    speaker: str
    captions: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A caption to review."""

    session_id: str
    id: int
    score: float
    text: str


@dataclass(frozen=True, slots=True)
class Focus:
    """What the next cycle should look at; a part is empty if there is nothing to report."""

    utc: str
    terms: tuple[TermFocus, ...]
    speaker: SpeakerFocus | None
    """None without a labelled speaker."""
    review: tuple[Candidate, ...]
    captions: int
    """Number of captions from which the candidates are the worst."""


_FOCUS = TypeAdapter(Focus)


@dataclass(frozen=True, slots=True)
class Step:
    """A command of the cycle, as it is typed after the program's name."""

    words: tuple[str, ...]
    may_say_no: bool = False
    """Whether exit status 1 is an answer and not a failure."""


def plan(settings: Settings, data: Path, *, train: bool) -> list[Step]:
    """Return the steps of a cycle; with `train` also those of each role in `learn.train`."""
    learn, at = settings.learn, ("--data", str(data))
    # In this order: captions for review are chosen from those just collected.
    steps = [Step(("learn", "collect", *at)), Step(("learn", "focus", *at))]
    if not train:
        return steps
    if learn.train in ("marian", "both"):
        steps += [
            Step(("learn", "mix", *at)),
            Step(("learn", "translate", "--role", "marian", *at, *_minutes(learn))),
            _compare("marian", translator_name(settings, "marian"), data / "marian" / "model", at),
        ]
    if learn.train in ("stt", "both"):
        steps += [
            Step(("learn", "hear", *at, *_minutes(learn))),
            _compare("stt", recognizer_name(settings), data / "stt" / "model", at),
        ]
    return steps


def run(
    steps: Sequence[Step],
    options: Sequence[str],
    *,
    directory: Path,
    on_step: Callable[[Step], None],
) -> list[Step]:
    """Run the steps one after the other; return those that failed.

    `options` are added to each command; `directory` holds the sessions. A failed step does not
    stop the others. Raises LearningError `service-running` if a service is running or starts.
    """
    # Also before the first step: `collect` reads the files that a service writes.
    _require_quiet(directory)
    failed = []
    for step in steps:
        on_step(step)
        # A process for each step: a trainer's memory is released when its step ends.
        code = _run([sys.executable, "-m", "pipeline", *step.words, *options], directory)
        # "The old model is better" is a result, not a failure.
        if code and not (step.may_say_no and code == _WORSE):
            # Continue: a failed training of Marian does not affect the recognizer.
            failed.append(step)
    return failed


def is_serving(directory: Path) -> bool:
    """Whether a service is running: an open session has had a caption lately."""
    # Not only the newest: a rehearsal may begin and end meanwhile, or the clock be set back.
    for folder in sessions(directory):
        journal = folder / JOURNAL
        try:
            if time.time() - journal.stat().st_mtime < QUIET_S and in_use(journal):
                return True
        # The folder may be deleted between the listing and this check.
        except OSError:
            continue
    return False


def keep_focus(data: DataFolder, directory: Path) -> Focus:
    """Find what to look at next and write it to the data folder. Raises LearningError.

    `directory` holds the sessions.
    """
    pairs = [pair for each in data.harvests().values() for pair in each.pairs]
    found = find_focus(pairs, utc_now(), {folder.name for folder in sessions(directory)})
    data.write_json(FOCUS, asdict(found))
    return found


def read_focus(data: DataFolder) -> Focus | None:
    """Return the last focus, None before the first cycle. Raises LearningError."""
    path = data.path / FOCUS
    fix = "Delete it; the next cycle makes it anew."
    with reading(path, LearningError, "focus-unreadable", fix, (ProtocolError,)):
        return parse_json(_FOCUS, path.read_bytes()) if path.exists() else None


def _compare(role: str, old: str, new: Path, at: Sequence[str]) -> Step:
    return Step(("learn", "compare", old, str(new), "--role", role, *at), may_say_no=True)


def _minutes(learn: Learn) -> tuple[str, ...]:
    return ("--minutes", f"{learn.minutes:g}")


def _require_quiet(directory: Path) -> None:
    if is_serving(directory):
        raise LearningError(
            "service-running",
            "A service is going on; learning waits.",
            "Start it again afterwards; what was begun goes on.",
        )


def _run(command: Sequence[str], directory: Path) -> int:
    """Run a command at the lowest priority until it ends or a service starts; return its code."""
    process = subprocess.Popen(  # noqa: S603 - ourselves
        ["nice", "-n", "19", *command],  # noqa: S607 - of every Linux
        # Its own process group: the children of a command end with it.
        start_new_session=True,
        # Without this, the output of a step reaches the log only at its end.
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        # Check while it runs: people do not stop a training before they start a service.
        while True:
            try:
                return process.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                _require_quiet(directory)
    finally:
        if process.poll() is None:
            # Its children too: its pid is also the id of its process group.
            os.killpg(process.pid, signal.SIGTERM)
            # Wait: a trainer writes its checkpoint on SIGTERM, which takes time.
            process.wait()


LEAST_SHARE, MOST_SHARE = 0.05, 0.15
"""Smallest and largest share of the automatically scored captions that a person reviews."""
_TERMS = 8


def find_focus(pairs: Sequence[LearningPair], utc: str, kept: Collection[str]) -> Focus:
    """Return what to look at next, from all collected pairs; `kept` are the sessions on disk."""
    # Captions that a person has checked need no second review; those of a deleted session can have
    # none.
    scored = [pair for pair in pairs if pair.source == "auto" and pair.session_id in kept]
    return Focus(
        utc=utc,
        terms=_terms(pairs),
        speaker=_speaker(pairs),
        review=_candidates(scored),
        captions=len(scored),
    )


def terms_misheard(pairs: Iterable[LearningPair]) -> tuple[Counter[str], Counter[str]]:
    """Return how often each term was said, and how often it is missing in the recognized text."""
    said, misheard = Counter[str](), Counter[str]()
    for pair in pairs:
        said.update(pair.terms)
        # Compare with the recognized text: in the corrected text no term is ever missing.
        heard = set(terms_in(pair.heard, pair.terms))
        misheard.update(term for term in pair.terms if term not in heard)
    return said, misheard


def _terms(pairs: Iterable[LearningPair]) -> tuple[TermFocus, ...]:
    said, misheard = terms_misheard(pairs)
    ranked = sorted(
        misheard, key=lambda term: (-misheard[term], -misheard[term] / said[term], term)
    )
    return tuple(TermFocus(term, said[term], misheard[term]) for term in ranked[:_TERMS])


def _speaker(pairs: Iterable[LearningPair]) -> SpeakerFocus | None:
    by_speaker: dict[str, list[float]] = {}
    for pair in pairs:
        if pair.speaker and pair.stt_confidence is not None:
            by_speaker.setdefault(pair.speaker, []).append(pair.stt_confidence)
    speakers = [
        SpeakerFocus(name, len(each), round(fmean(each), 3)) for name, each in by_speaker.items()
    ]
    return min(speakers, key=lambda each: (each.confidence, each.speaker), default=None)


def _candidates(scored: Sequence[LearningPair]) -> tuple[Candidate, ...]:
    """Return the captions with the lowest scores, as many as wait for a review, within limits."""
    waiting = sum(pair.status == "review" for pair in scored)
    least, most = (round(share * len(scored)) for share in (LEAST_SHARE, MOST_SHARE))
    # 15 % of a few captions rounds to none: review at least one.
    count = min(max(waiting, least), max(most, 1 if scored else 0))
    ranked = sorted(scored, key=lambda pair: (pair.quality_score or 0.0, pair.session_id, pair.id))
    return tuple(
        Candidate(pair.session_id, pair.id, round(pair.quality_score or 0.0, 3), pair.text)
        for pair in ranked[:count]
    )
