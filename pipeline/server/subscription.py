"""Parse the query of `/ws`: language, kind and starting point of a display. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs

from pipeline.core.errors import ProtocolError, quoted
from pipeline.core.types import KINDS, Kind


@dataclass(frozen=True, slots=True)
class Subscription:
    """The query of `/ws`."""

    lang: str
    kind: Kind
    since: int | None = None
    """The highest seq that the display has; None asks for all captions."""
    session: str = ""
    """The session of `since`; empty if not given."""
    history: int | None = None
    """Number of captions wanted in `hello`; None for all."""


def parse_subscription(
    query: str, source: str, targets: Sequence[str], *, is_known: bool = True
) -> Subscription:
    """Parse the query of `/ws`.

    Where no language is asked for, it is the first of `prefer` that is translated into, else the
    first target. `is_known`: whether the languages of the service are known; until they are, asking
    for any other is as if none had been asked for.

    Raises ProtocolError (unknown-lang, bad-field).
    """
    # Of two values the first: `query_of` puts that of a stream which goes on in front.
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
    """Return the target that a reader of these language tags ("fr-CA,en") wants most.

    The spoken language is none of them: a phone set to it is no sign that its reader needs no
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
    # 16 digits hold every seq, and keep a hostile query from costing a conversion.
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 16):
        raise ProtocolError("bad-field", f"{key} is a whole number from 0.")
    return int(digits)
