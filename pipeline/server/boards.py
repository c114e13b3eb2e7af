"""The boards of a service, one a target language, and what of them a display has asked for.

A board's key is "" for the first target's, which holds the spoken words as well, and its language
for a further one's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from websockets.http11 import Request

from pipeline.captions.board import CaptionBoard
from pipeline.protocol.caption import CaptionMessage
from pipeline.server.event_stream import query_of
from pipeline.server.subscription import Subscription, parse_subscription


@dataclass(frozen=True, slots=True)
class History:
    """The captions that a display is sent first."""

    captions: tuple[CaptionMessage, ...]
    resumed: bool
    """They add to what the display has; otherwise they replace it."""
    earlier: tuple[CaptionMessage, ...] | None = None
    """Older ones, which follow in a message of their own; None if it asked for all at once."""


class Boards:
    """The boards of one session."""

    def __init__(self, first: CaptionBoard, further: Mapping[str, CaptionBoard]) -> None:
        """`first` is that of the first target, `further` are those of the others, by language."""
        self.first = first
        self.by_key: Mapping[str, CaptionBoard] = {"": first, **further}

    @property
    def session(self) -> str:
        """The session's name; "" at a relay that has not heard of one yet."""
        return self.first.session

    @property
    def targets(self) -> tuple[str, ...]:
        """The target languages, the first one first."""
        return tuple(board.target for board in self.by_key.values())

    @property
    def langs(self) -> tuple[str, ...]:
        """All languages that can be shown: the targets, then the spoken one."""
        return (*self.targets, self.first.source)

    def key_of(self, lang: str) -> str:
        """Return the key of the board that a display of a language gets."""
        return lang if lang in self.by_key else ""

    def subscription(self, request: Request | None, *, is_strict: bool = True) -> Subscription:
        """Return what a display has asked for.

        Raises ProtocolError (unknown-lang, bad-field). A language that there is not is an error
        only if `is_strict`, and not before a session is known: a relay learns the languages then.
        """
        is_known = is_strict and bool(self.session)
        query = query_of(request) if request else ""
        return parse_subscription(query, self.first.source, self.targets, is_known=is_known)

    def history(self, wanted: Subscription, *, is_secret: bool = False) -> History:
        """Return the captions that a display has asked for; none if they are secret to it."""
        # `since` counts changes of one session; of another one it means nothing.
        ours = wanted.session in ("", self.session)
        snapshot = self.by_key[self.key_of(wanted.lang)].since(wanted.since if ours else None)
        captions, resumed = ((), False) if is_secret else (snapshot.messages, snapshot.resumed)
        if wanted.history is None or resumed:
            return History(captions, resumed)
        # The newest first, in `hello`: a phone draws them while the rest is on its way.
        first = max(0, len(captions) - wanted.history)
        return History(captions[first:], resumed, captions[:first])
