"""Give up quality by rungs when the machine falls behind, but never content.

Pure: waits in, rungs out. Each stage has its own ladder: a text that waits for the recognizer is no
reason to give up its translation. One reading above a rung's limit climbs to it; `CALM_S` seconds
below half of the limit lead one rung back, so that the rung does not oscillate.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

CALM_S = 10.0


class Rung(IntEnum):
    """What is given up; each rung of a ladder also includes the rungs before it."""

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
"""Wait for a stage, in seconds, above which a rung is reached."""

REASON = {
    Rung.FULL: "",
    Rung.FEWER_PARTIALS: "a little behind: fewer partial captions",
    Rung.NO_PARTIALS: "behind: no partial captions",
    Rung.PARTIAL_ENGINE_FINALS: "behind: the quick translator makes the finals",
    Rung.SOURCE_CAPTIONS: "far behind: captions in the spoken language at first",
    Rung.BEHIND: "too far behind: captions come late",
}


@dataclass(frozen=True, slots=True)
class Waits:
    """How long the oldest text or sound has waited for each stage, in seconds; 0.0: none waits.

    The final translator's current text does not count, since it takes seconds on a processor even
    if nothing is behind.
    """

    recognizer_s: float = 0.0
    quick_s: float = 0.0
    final_s: float = 0.0

    @property
    def longest_s(self) -> float:
        """The longest of them."""
        return max(self.recognizer_s, self.quick_s, self.final_s)

    @property
    def are_short(self) -> bool:
        """Whether no stage is behind."""
        return self.longest_s < LIMIT_S[Rung.FEWER_PARTIALS]


class _Ladder:
    """Holds the rung of one stage."""

    def __init__(self, name: str, *rungs: Rung) -> None:
        self.name = name
        self.rung = Rung.FULL
        self._rungs = (Rung.FULL, *rungs)
        self._calm_since: float | None = None

    def observe(self, lag_s: float, now_s: float) -> None:
        # FULL has no limit: every wait is above -1.
        reached = max(each for each in self._rungs if lag_s > LIMIT_S.get(each, -1.0))
        if reached > self.rung:
            self.rung = reached
            self._calm_since = None
        elif self.rung is Rung.FULL or lag_s > LIMIT_S[self.rung] / 2:
            self._calm_since = None
        elif self._calm_since is None:
            self._calm_since = now_s
        elif now_s - self._calm_since >= CALM_S:
            self.rung = self._rungs[self._rungs.index(self.rung) - 1]
            # Each rung back needs its own calm time.
            self._calm_since = now_s


class Degradation:
    """Holds the rungs. `observe` is called by one thread; the rest may be read by any."""

    def __init__(self) -> None:
        partials = (Rung.FEWER_PARTIALS, Rung.NO_PARTIALS)
        # Each ladder gives up what makes its own stage faster. Partials cost all stages time.
        # BEHIND gives nothing up, since only the recognizer turns sound into words.
        self._recognizer = _Ladder("the recognizer", *partials, Rung.BEHIND)
        self._quick = _Ladder("the quick translator", *partials, Rung.SOURCE_CAPTIONS)
        self._final = _Ladder("the final translator", *partials, Rung.PARTIAL_ENGINE_FINALS)
        self._ladders = (self._recognizer, self._quick, self._final)

    def observe(self, waits: Waits, now_s: float) -> bool:
        """Take the waits at monotonic time `now_s`; return whether the highest rung changed."""
        before = self.rung
        self._recognizer.observe(waits.recognizer_s, now_s)
        self._quick.observe(waits.quick_s, now_s)
        self._final.observe(waits.final_s, now_s)
        return self.rung != before

    @property
    def rung(self) -> Rung:
        """The highest rung of all stages."""
        return max(each.rung for each in self._ladders)

    def spares_partial(self, number: int) -> bool:
        """Whether to leave out a partial; `number` counts them, as every second one may be kept."""
        # The rung of all stages, since partials cost the processor that they share.
        rung = self.rung
        return rung >= Rung.NO_PARTIALS or (rung is Rung.FEWER_PARTIALS and number % 2 == 1)

    @property
    def spares_quick(self) -> bool:
        """Whether the quick translator makes no captions of current speech."""
        return self._quick.rung >= Rung.SOURCE_CAPTIONS

    @property
    def spares_final(self) -> bool:
        """Whether the final translator makes no finals of current speech."""
        return self._final.rung >= Rung.PARTIAL_ENGINE_FINALS

    @property
    def reason(self) -> str:
        """What is given up and which stages are late, for operators; "" if nothing is given up."""
        rung = self.rung
        if rung is Rung.FULL:
            return ""
        late = [each.name for each in self._ladders if each.rung is rung]
        return f"{REASON[rung]} ({' and '.join(late)} {'are' if len(late) > 1 else 'is'} late)"
