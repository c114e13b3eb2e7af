"""A side of the quality gate: its settings and all its answers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import orjson
import psutil

from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.core.errors import EngineError, UsageError
from pipeline.core.percentiles import Spread, spread
from pipeline.engines.process.factory import final_translator, partial_translator
from pipeline.engines.process.gpu_use import gpu_use
from pipeline.engines.protocols import Translator
from pipeline.evaluation.sentences import Sentence

PRESETS = {
    "marian": {"translate.final.engine": "marian"},
    "gemma": {"translate.final.engine": "gemma"},
}
"""Short names for settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result for one sentence. An engine error leaves `text` empty."""

    source: str
    text: str
    tokens: int
    ms: float
    memory_mb: float
    """Resident memory of the process after the answer."""
    stopped: str
    error: str = ""
    gpu_memory_mb: float | None = None
    """GPU memory that the process holds after the answer; None without a GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One engine's answers. A round is all sentences once; `repeated` has the first ones again."""

    label: str
    engine: str
    settings: Mapping[str, Any]
    """The section [translate] that was used."""
    setback: str
    answers: tuple[Answer, ...]
    repeated: tuple[Answer, ...] = ()
    earlier: bool = False
    """Whether it was read from a file: its times are from another run."""

    @property
    def latency(self) -> Spread | None:
        """Milliseconds per sentence."""
        return spread(answer.ms for answer in self.answers if not answer.error)

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens generated per second of translation."""
        took_s = sum(answer.ms for answer in self.answers) / 1000
        return round(sum(a.tokens for a in self.answers) / took_s, 1) if took_s else None

    @property
    def lost(self) -> int:
        """Number of sentences without a translation: an error, or no text."""
        return sum(not answer.text for answer in self.answers)

    @property
    def cut(self) -> int:
        """Translations that ended at the token cap or at the repetition guard."""
        return sum(answer.stopped != "end" for answer in self.answers)

    def texts(self, sentences: Sequence[Sentence]) -> list[str]:
        """Return its translation of each sentence. Raises UsageError if one is missing."""
        by_source = {answer.source: answer.text for answer in self.answers}
        missing = [s.source for s in sentences if s.source not in by_source]
        if missing:
            raise UsageError(
                "sentences-differ",
                f"{self.label} was measured without {missing[0]!r} and {len(missing) - 1} others.",
                "Measure it again with these sentences.",
            )
        return [by_source[sentence.source] for sentence in sentences]


def settings_of(what: Sequence[str]) -> Settings:
    """Return config.toml with presets and KEY=VALUE applied. Raises StarkError."""
    flags: dict[str, Any] = {}
    for each in what:
        key, equals, value = each.partition("=")
        if equals:
            flags[key] = value
        elif each in PRESETS:
            flags |= PRESETS[each]
        else:
            raise UsageError(
                "side-unknown",
                f"{each!r} is no side.",
                f"Write KEY=VALUE, {', '.join(PRESETS)}, or the .json file of an earlier run.",
            )
    return load(flags=flags).settings


def engine(settings: Settings) -> Translator:
    """Return the translator that makes the finals. Raises ModelError, UsageError."""
    translator = final_translator(settings) or partial_translator(settings)
    if translator is None:  # the settings refuse this while they know only these two engines
        raise UsageError("side-empty", "These settings have no translator.")
    return translator


def ask(translator: Translator, sentences: Iterable[Sentence]) -> Iterable[Answer]:
    """Yield a loaded translator's answer to each sentence."""
    process = psutil.Process()
    for sentence in sentences:
        text, tokens, stopped, failed = "", 0, "end", ""
        began_s = time.perf_counter()
        try:
            translation = translator.translate(sentence.source)
            text, tokens, stopped = translation.text, translation.tokens, translation.stopped
        except EngineError as error:
            failed = str(error)
        took_ms = (time.perf_counter() - began_s) * 1000
        on_gpu = gpu_use(process.pid)
        yield Answer(
            source=sentence.source,
            text=text,
            tokens=tokens,
            ms=round(took_ms, 2),
            memory_mb=round(process.memory_info().rss / 1e6, 1),
            stopped=stopped,
            error=failed,
            gpu_memory_mb=round(on_gpu.memory_bytes / 1e6, 1) if on_gpu else None,
        )


def read(path: Path) -> Side:
    """Read the last side of an earlier run: `b` if it has one. Raises UsageError."""
    try:
        sides = orjson.loads(path.read_bytes())["sides"]
        saved = sides.get("b") or sides["a"]
        return Side(
            label=f"{path.name} ({saved['label']})",
            engine=saved["engine"],
            settings=saved["settings"],
            setback=saved["setback"],
            answers=tuple(Answer(**answer) for answer in saved["answers"]),
            repeated=tuple(Answer(**answer) for answer in saved["repeated"]),
            earlier=True,
        )
    except OSError as error:
        raise UsageError("run-unreadable", f"{path}: {error.strerror}.") from None
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            "run-unreadable", f"{path} is not what --json of this script writes: {error!r}."
        ) from None


GROWN_MB = 50.0
"""Most growth of memory under stress, also of GPU memory."""
SLOWER = 1.5
"""Most times as long that a sentence may take at the end of a stress run."""
SAME_WORK = 10
"""Sentences that begin a stress run and are repeated at its end: the same work is timed twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stress:
    """Medians over the ten sentences at the start of a run and the same ten at its end."""

    sentences: int
    memory_start_mb: float
    memory_end_mb: float
    start_ms: float
    end_ms: float
    slower: float
    """How many times as long a sentence took at the end."""
    gpu_start_mb: float | None = None
    """GPU memory at the start; None without a GPU."""
    gpu_end_mb: float | None = None

    @property
    def grown_mb(self) -> float:
        """Resident memory gained."""
        return round(self.memory_end_mb - self.memory_start_mb, 1)

    @property
    def gpu_grown_mb(self) -> float:
        """GPU memory gained, 0 without a GPU."""
        if self.gpu_start_mb is None or self.gpu_end_mb is None:
            return 0.0
        return round(self.gpu_end_mb - self.gpu_start_mb, 1)

    def complaints(self) -> list[str]:
        """Return a sentence for each limit that is exceeded."""
        found = []
        for what, grown_mb in (("memory", self.grown_mb),
                               ("the GPU's memory in use", self.gpu_grown_mb)):  # fmt: skip
            if grown_mb > GROWN_MB:
                found.append(f"{what} grew by {grown_mb:g} MB, more than {GROWN_MB:g}")
        if self.slower > SLOWER:
            found.append(f"a sentence took {self.slower:g} times as long, more than {SLOWER:g}")
        return found


def stress(side: Side) -> Stress | None:
    """Return the stress result of a side; None if no sentences were repeated at the end."""
    if not side.repeated:
        return None
    end = side.repeated
    start = side.answers[: len(end)]
    ratios = [last.ms / first.ms for first, last in zip(start, end, strict=True) if first.ms]
    return Stress(
        sentences=len(side.answers) + len(end),
        memory_start_mb=median(answer.memory_mb for answer in start),
        memory_end_mb=median(answer.memory_mb for answer in end),
        start_ms=round(median(answer.ms for answer in start), 1),
        end_ms=round(median(answer.ms for answer in end), 1),
        slower=round(median(ratios), 2),
        gpu_start_mb=_on_gpu(start),
        gpu_end_mb=_on_gpu(end),
    )


def _on_gpu(answers: Sequence[Answer]) -> float | None:
    values = [each.gpu_memory_mb for each in answers if each.gpu_memory_mb is not None]
    return median(values) if values else None
