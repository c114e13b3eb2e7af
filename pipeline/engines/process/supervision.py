"""Decide when an engine's process is started again, on what, and when it is given up. Pure.

A first death is followed by a new process at once, further ones by longer and longer waits. On a
GPU the same is tried once more, with the empty caches of a new process; then less of the GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.models.crash_history import LOAD_CRASHES

_FIRST_S, _MOST_S = 1.0, 60.0
_CALM_S = 120.0
"""After so long without a death, those before no longer count."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows a death."""

    delay_s: float = 0.0
    """Seconds until the next process is started."""
    less_gpu: bool = False
    """Whether that has less work on the GPU."""
    given_up: bool = False
    """There is no next process."""


class Supervision:
    """Counts one engine's deaths. Times are monotonic seconds."""

    def __init__(self, gpu_shares: Sequence[float] = (1.0,), *, load_crashes: int = 0) -> None:
        """Take the shares of the GPU work that may be tried, and earlier runs' load crashes."""
        self._shares = gpu_shares
        self._step = 0
        self._loaded_s: float | None = None
        self._deaths = 0
        self._gpu_deaths = 0
        self.load_crashes = load_crashes
        """Deaths in a row while loading."""

    @property
    def gpu_share(self) -> float:
        """The share of the GPU work that the next process gets, 0..1."""
        return self._shares[self._step]

    @property
    def given_up(self) -> bool:
        """Whether the model has crashed too often while it was loaded."""
        return self.load_crashes >= LOAD_CRASHES

    def loaded(self, now_s: float) -> None:
        """Note that a process has loaded its model."""
        self._loaded_s = now_s
        self.load_crashes = 0

    def died(self, now_s: float, *, on_gpu: bool) -> Decision:
        """Note a death, while loading unless `loaded` was noted; decide what follows."""
        loading = self._loaded_s is None
        if self._loaded_s is not None and now_s - self._loaded_s >= _CALM_S:
            self._deaths = self._gpu_deaths = 0
        self._loaded_s = None
        # With nothing of the GPU left to give up it is a death like any other.
        if on_gpu and self._step + 1 < len(self._shares):
            return self._died_on_gpu()
        if loading:
            self.load_crashes += 1
            if self.given_up:
                return Decision(given_up=True)
            return Decision(_wait_s(self.load_crashes))
        self._deaths += 1
        return Decision(_wait_s(self._deaths - 1))

    def _died_on_gpu(self) -> Decision:
        self._gpu_deaths += 1
        if self._gpu_deaths < 2:
            return Decision()
        self._gpu_deaths = 0
        self._step += 1
        return Decision(less_gpu=True)


def _wait_s(deaths: int) -> float:
    """Return 0 for none, then 1, 2, 4 ... seconds."""
    # The inner limit keeps the power from overflowing after days of deaths.
    return min(_MOST_S, _FIRST_S * 2.0 ** min(deaths - 1, 32)) if deaths > 0 else 0.0
