"""Doubtful finals that are kept off the screens until an operator decides, or `church.hold_s` ends.

Belongs to the event loop's thread. Time is told to it: the supervisor asks what is due.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from pipeline.audio.file import wav
from pipeline.core.types import Caption, Utterance
from pipeline.daemon.context.state import DaemonState
from pipeline.protocol.caption import SourceText, TargetText
from pipeline.protocol.messages import DoubtfulMessage
from pipeline.server.hub import Hub

_SOUNDS = 4
"""Doubtful finals whose sound an operator can hear: in memory only, whatever else is kept."""
_TICK_S = 0.25
"""The supervisor asks so often, seconds: what is due is let go that much earlier."""

Tell = Callable[[DoubtfulMessage], None]


@dataclass(frozen=True, slots=True)
class HeldFinal:
    """A final that waits for an operator."""

    caption: Caption
    since_s: float
    """Monotonic."""
    revision: int
    """The caption's, once it is shown."""


class HeldFinals:
    """Holds finals of one target language, by their ids.

    Nothing is held while no operator's page is open.
    """

    def __init__(self, facts: DaemonState, tell: Tell, is_watched: Callable[[], bool]) -> None:
        """`tell` shows operators what waits; `is_watched`: whether one of them has a page open."""
        self._facts = facts
        self._tell = tell
        self._is_watched = is_watched
        self._held: dict[int, HeldFinal] = {}
        self._spoken: deque[Utterance] = deque(maxlen=_SOUNDS)

    def __contains__(self, caption_id: int) -> bool:
        return caption_id in self._held

    @property
    def _hold_s(self) -> float:
        return self._facts.hold_s - _TICK_S

    def is_marked(self, caption: Caption) -> bool:
        """Whether a final is to be shown with a mark: a printed verse is right in any case."""
        return self._facts.hold_doubtful and caption.is_doubtful and caption.verse is None

    def wants(self, caption: Caption) -> bool:
        """Whether a final is to be kept back now."""
        return self.is_marked(caption) and self._is_watched()

    def hold(self, caption: Caption, now_s: float, revision: int) -> None:
        """Keep a final back that will be that revision of its caption, and tell operators."""
        self._held[caption.id] = held = HeldFinal(caption, now_s, revision)
        # It stays there after the decision, until newer ones need its place.
        self._spoken.append(caption.transcript.utterance)
        self._tell(_told(held, self._hold_s))

    def release(self, caption_id: int) -> HeldFinal | None:
        """Keep a final back no longer, and return it; None if it was not."""
        held = self._held.pop(caption_id, None)
        if held is not None:
            # By 0.0 seconds operators' pages know that it is kept back no longer.
            self._tell(_told(held, 0.0))
        return held

    def sound(self, caption_id: int) -> bytes:
        """Return what was said, as WAV: of one of the newest that were held, b"" of any other."""
        found = [each for each in self._spoken if each.id == caption_id]
        # The last one: an utterance that was resumed is held again, with more sound.
        return wav(found[-1].pcm) if found else b""

    def forget(self) -> None:
        """Keep nothing back and no sound: it is off the record."""
        for key in self.ids:
            self.release(key)
        self._spoken.clear()

    def due(self, now_s: float) -> list[int]:
        """Return the finals that have waited for long enough, oldest first."""
        return [key for key, held in self._held.items() if now_s >= held.since_s + self._hold_s]

    @property
    def ids(self) -> list[int]:
        """All that are kept back, oldest first."""
        # A copy: whoever goes through it lets them go.
        return list(self._held)

    def messages(self, now_s: float) -> tuple[DoubtfulMessage, ...]:
        """Return what a page needs that comes late."""
        # Monotonic time means nothing to a browser: it is told how long is left.
        return tuple(
            # Above 0, which would tell the page that it is kept back no longer.
            _told(held, max(0.01, held.since_s + self._hold_s - now_s))
            for held in self._held.values()
        )


def open_held_finals(facts: DaemonState, hub: Hub) -> HeldFinals:
    """Return those of a target language; the operators' pages are told of them."""
    return HeldFinals(facts, hub.operators.doubtful, lambda: hub.operators.is_watched)


def _told(held: HeldFinal, left_s: float) -> DoubtfulMessage:
    caption = held.caption
    return DoubtfulMessage(
        id=caption.id,
        source=SourceText(caption.transcript.lang, caption.transcript.text),
        target=TargetText(caption.lang, caption.text, caption.engine),
        left_s=round(left_s, 2),
        revision=held.revision,
    )
