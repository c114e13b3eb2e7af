"""Does an engine grow or slow down while it works? The end of a long run against its beginning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from scripts.quality.sides import Answer, Side

SAME_WORK = 10
"""So many sentences begin a stress run, and end it again: the same work is timed twice."""


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
    """On GPUs; None on none."""
    gpu_end_mb: float | None = None

    @property
    def grown_mb(self) -> float:
        """Resident memory gained."""
        return round(self.memory_end_mb - self.memory_start_mb, 1)

    @property
    def gpu_grown_mb(self) -> float:
        """Memory of GPUs gained, 0 on none."""
        if self.gpu_start_mb is None or self.gpu_end_mb is None:
            return 0.0
        return round(self.gpu_end_mb - self.gpu_start_mb, 1)

    def complaints(self, *, grown_mb: float, slower: float) -> list[str]:
        """Return what is beyond these limits, as sentences."""
        found = []
        if self.grown_mb > grown_mb:
            found.append(f"memory grew by {self.grown_mb:g} MB, more than {grown_mb:g}")
        if self.gpu_grown_mb > grown_mb:
            grown = f"{self.gpu_grown_mb:g} MB, more than {grown_mb:g}"
            found.append(f"the GPU's memory in use grew by {grown}")
        if self.slower > slower:
            found.append(f"a sentence took {self.slower:g} times as long, more than {slower:g}")
        return found


def stress(side: Side) -> Stress | None:
    """Return how the side held out; None where no sentences were repeated at the end."""
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
    told = [each.gpu_memory_mb for each in answers if each.gpu_memory_mb is not None]
    return median(told) if told else None
