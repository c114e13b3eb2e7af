"""Give up quality by rungs when the machine falls behind, and never content.

Pure: lag in, rung out. Climbing takes one reading above a rung's limit; stepping back takes
`CALM_S` seconds below half of it, so that the rung does not flutter.
"""

from __future__ import annotations

from enum import IntEnum

CALM_S = 10.0


class Rung(IntEnum):
    """What is given up; each rung keeps what the ones before it gave up."""

    FULL = 0
    FEWER_PARTIALS = 1
    NO_PARTIALS = 2
    PARTIAL_ENGINE_FINALS = 3
    SOURCE_CAPTIONS = 4
    BEHIND = 5


LIMIT_S = {
    Rung.FEWER_PARTIALS: 2.0,
    Rung.NO_PARTIALS: 4.0,
    Rung.PARTIAL_ENGINE_FINALS: 6.0,
    Rung.SOURCE_CAPTIONS: 12.0,
    Rung.BEHIND: 20.0,
}
"""Age of the oldest utterance still without a final caption, in seconds, that leads to a rung.

The one that the final translator is at does not count: that takes seconds on a processor, when
nothing is behind.
"""

REASON = {
    Rung.FULL: "",
    Rung.FEWER_PARTIALS: "a little behind: fewer partial captions",
    Rung.NO_PARTIALS: "behind: no partial captions",
    Rung.PARTIAL_ENGINE_FINALS: "behind: the quick translator makes the finals",
    Rung.SOURCE_CAPTIONS: "far behind: captions in the spoken language",
    Rung.BEHIND: "too far behind: this machine is too slow for these models",
}


class Degradation:
    """Holds the rung. `observe` is called by one thread; `rung` may be read by any."""

    def __init__(self) -> None:
        self.rung = Rung.FULL
        self._calm_since: float | None = None

    def observe(self, lag_s: float, now_s: float) -> bool:
        """Take the lag at monotonic time `now_s`; return whether the rung changed."""
        before = self.rung
        reached = max((r for r, limit in LIMIT_S.items() if lag_s > limit), default=Rung.FULL)
        if reached > self.rung:
            self.rung = reached
            self._calm_since = None
        elif self.rung is Rung.FULL or lag_s > LIMIT_S[self.rung] / 2:
            self._calm_since = None
        elif self._calm_since is None:
            self._calm_since = now_s
        elif now_s - self._calm_since >= CALM_S:
            self.rung = Rung(self.rung - 1)
            # Every rung is earned by calm of its own.
            self._calm_since = now_s
        return self.rung != before
