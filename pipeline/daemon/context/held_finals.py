"""Doubtful finals that are held until an operator decides, or until `church.hold_s` is over.

Belongs to the event loop's thread. It has no timer: the supervisor asks which finals are due.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from pipeline.audio.file import wav
from pipeline.core.types import Caption, Utterance
from pipeline.daemon.context.state import DaemonState
from pipeline.protocol.caption import SourceText, TargetText
from pipeline.protocol.messages import DoubtfulMessage
from pipeline.server.operator_feed import OperatorFeed

_SOUNDS = 4
"""Doubtful finals whose sound an operator can hear: only in memory, whatever else is kept."""
_TICK_S = 0.25
"""The supervisor's interval, in seconds: finals are released that much earlier."""


@dataclass(frozen=True, slots=True)
class HeldFinal:
    """A final that waits for an operator."""

    caption: Caption
    since_s: float
    """Monotonic."""
    revision: int
    """The caption's revision when this final is shown."""


class HeldFinals:
    """Holds finals of one target language, by their ids.

    It holds nothing while no operator's page is open.
    """

    def __init__(self, facts: DaemonState, operators: OperatorFeed) -> None:
        self._facts = facts
        self._operators = operators
        self._held: dict[int, HeldFinal] = {}
        self._spoken: deque[Utterance] = deque(maxlen=_SOUNDS)

    def __contains__(self, caption_id: int) -> bool:
        return caption_id in self._held

    @property
    def _hold_s(self) -> float:
        return self._facts.settings.church.hold_s - _TICK_S

    @property
    def marks_doubt(self) -> bool:
        """Whether captions that are probably wrong are marked."""
        return self._facts.settings.church.hold_doubtful

    def is_marked(self, caption: Caption) -> bool:
        """Whether a caption is shown with a mark. A printed verse is always right."""
        is_doubtful = caption.final and caption.is_doubtful and caption.verse is None
        return self.marks_doubt and is_doubtful

    def wants(self, caption: Caption) -> bool:
        """Whether a final must be held now."""
        return self.is_marked(caption) and self._operators.is_watched

    def hold(self, caption: Caption, now_s: float, revision: int) -> None:
        """Hold a final, which will be `revision` of its caption, and notify operators."""
        self._held[caption.id] = held = HeldFinal(caption, now_s, revision)
        # The sound stays after the decision, until newer ones need its place.
        self._spoken.append(caption.transcript.utterance)
        self._operators.tell(_told(held, self._hold_s))

    def release(self, caption_id: int) -> HeldFinal | None:
        """Release a held final, and return it; None if it was not held."""
        held = self._held.pop(caption_id, None)
        if held is not None:
            # 0.0 seconds tells operators' pages that it is no longer held.
            self._operators.tell(_told(held, 0.0))
        return held

    def sound(self, caption_id: int) -> bytes:
        """Return the audio of one of the newest held finals as WAV, b"" for any other caption."""
        found = [each for each in self._spoken if each.id == caption_id]
        # The last one: a resumed utterance is held again, with more sound.
        return wav(found[-1].pcm) if found else b""

    def forget(self) -> None:
        """Release all held finals and drop all sound, because they are off the record."""
        for key in self.ids:
            self.release(key)
        self._spoken.clear()

    def due(self, now_s: float) -> list[int]:
        """Return the ids of the finals that have waited long enough, oldest first."""
        return [key for key, held in self._held.items() if now_s >= held.since_s + self._hold_s]

    @property
    def ids(self) -> list[int]:
        """The ids of all held finals, oldest first."""
        # A copy: the caller releases finals while it iterates.
        return list(self._held)

    def messages(self, now_s: float) -> tuple[DoubtfulMessage, ...]:
        """Return the messages for a page that connects late."""
        # Monotonic time means nothing to a browser, so it gets the time left.
        return tuple(
            # Above 0, because 0 would mean that it is no longer held.
            _told(held, max(0.01, held.since_s + self._hold_s - now_s))
            for held in self._held.values()
        )


def _told(held: HeldFinal, left_s: float) -> DoubtfulMessage:
    caption = held.caption
    return DoubtfulMessage(
        id=caption.id,
        source=SourceText(caption.transcript.lang, caption.transcript.text),
        target=TargetText(caption.lang, caption.text, caption.engine),
        left_s=round(left_s, 2),
        revision=held.revision,
    )
