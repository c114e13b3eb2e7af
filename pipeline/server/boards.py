"""The boards of a service, one per target language, and what a display subscribes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs

from websockets.http11 import Request

from pipeline.captions.board import CaptionBoard
from pipeline.core.errors import ProtocolError, quoted
from pipeline.core.types import KINDS, Kind
from pipeline.protocol.caption import CaptionMessage
from pipeline.server.streams.event_stream import query_of


@dataclass(frozen=True, slots=True)
class Subscription:
    """The query of `/ws`."""

    lang: str
    kind: Kind
    since: int | None = None
    """The highest seq that the display has; None requests all captions."""
    session: str = ""
    """The session of `since`; empty if not given."""
    history: int | None = None
    """Number of captions wanted in `hello`; None for all."""


def parse_subscription(
    query: str, source: str, targets: Sequence[str], *, is_known: bool = True
) -> Subscription:
    """Parse the query of `/ws`.

    If no language is requested, it is the first one in `prefer` that is a target, else the first
    target. `is_known` says whether the languages of the service are known; until then, a request
    for an unknown language counts as no request.

    Raises ProtocolError (unknown-lang, bad-field).
    """
    # The first of two values counts: `query_of` puts that of a resumed stream first. Blank values
    # are kept, so that `since=` is an error and not a request for everything.
    given = {key: values[0] for key, values in parse_qs(query, keep_blank_values=True).items()}
    lang = given.get("lang")
    if lang is None or not (is_known or lang in (source, *targets)):
        lang = _preferred(given.get("prefer", ""), targets)
    if lang not in (source, *targets):
        shown = ", ".join((source, *targets))
        raise ProtocolError("unknown-lang", f"{quoted(lang)} is not shown: {shown} are.")
    wanted = given.get("kind", "audience")
    kind = next((kind for kind in KINDS if kind == wanted), None)
    if kind is None:
        raise ProtocolError("bad-field", f"kind is one of {', '.join(KINDS)}.")
    since, history = (_whole(key, given.get(key)) for key in ("since", "history"))
    return Subscription(lang, kind, since, given.get("session", ""), history)


def _preferred(tags: str, targets: Sequence[str]) -> str:
    """Return the target that a reader of these language tags ("fr-CA,en") prefers.

    The spoken language does not count: a phone set to it does not mean that its reader needs no
    translation.
    """
    for tag in tags.lower().split(","):
        for wanted in (tag, tag.partition("-")[0]):
            if found := next((lang for lang in targets if lang.lower() == wanted), ""):
                return found
    return targets[0]


def _whole(key: str, digits: str | None) -> int | None:
    if digits is None:
        return None
    # 16 digits hold every seq; a hostile query cannot cost a long conversion.
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 16):
        raise ProtocolError("bad-field", f"{key} is a whole number from 0.")
    return int(digits)


@dataclass(frozen=True, slots=True)
class History:
    """The captions that a display is sent first."""

    captions: tuple[CaptionMessage, ...]
    resumed: bool
    """Whether they add to what the display has; otherwise they replace it."""
    earlier: tuple[CaptionMessage, ...] | None = None
    """Older captions, which follow in a separate message; None if all are sent at once."""


class Boards:
    """The boards of one session, by target language."""

    def __init__(self, boards: Sequence[CaptionBoard]) -> None:
        """Take the boards; the first target's is first, and it also has the source text."""
        self.first = boards[0]
        self.by_lang: Mapping[str, CaptionBoard] = {board.target: board for board in boards}

    @property
    def session(self) -> str:
        """The session's name; "" at a relay that has not heard of one yet."""
        return self.first.session

    @property
    def targets(self) -> tuple[str, ...]:
        """The target languages, the first one first."""
        return tuple(self.by_lang)

    @property
    def langs(self) -> tuple[str, ...]:
        """All languages that can be shown: the targets, then the spoken one."""
        # Each once: if several languages are spoken, the source is also a target.
        return tuple(dict.fromkeys((*self.targets, self.first.source)))

    def target_of(self, lang: str) -> str:
        """Return the target whose board a display in this language gets."""
        return lang if lang in self.by_lang else self.first.target

    def subscription(self, request: Request | None, *, is_strict: bool = True) -> Subscription:
        """Return what a display subscribes to.

        Raises ProtocolError (unknown-lang, bad-field). An unknown language is an error only if
        `is_strict` and if a session is known: only then does a relay know the languages.
        """
        is_known = is_strict and bool(self.session)
        query = query_of(request) if request else ""
        return parse_subscription(query, self.first.source, self.targets, is_known=is_known)

    def history(self, wanted: Subscription, *, is_secret: bool = False) -> History:
        """Return the captions that a display requests; none if they are hidden from it."""
        # `since` counts changes of one session; for another session it means nothing.
        ours = wanted.session in ("", self.session)
        snapshot = self.by_lang[self.target_of(wanted.lang)].since(wanted.since if ours else None)
        captions, resumed = ((), False) if is_secret else (snapshot.messages, snapshot.resumed)
        if wanted.history is None or resumed:
            return History(captions, resumed)
        # The newest first, in `hello`: a phone draws them while the others are on their way.
        first = max(0, len(captions) - wanted.history)
        return History(captions[first:], resumed, captions[:first])
