"""Find the sentences that an interpreter says again in another language. Pure.

Where two languages are spoken and read, what an interpreter says is on screen already: as the
translation of what was said before. It is known by its words, in order and soon after. A service
where two people speak in turns is full of "Amen" and "God is good", so whatever is short, late or
new by half counts as new: then it is shown, and is there twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pipeline.protocol.caption import CaptionMessage
from pipeline.text.words import plain, words

_SHARE = 0.45
"""Of its letters, in fours, those that the translation has too (measured: docs/LANGUAGES.md)."""
_FEWEST = 3
"""Words below which nothing is said again: "Amen, Lord" is everybody's."""
_WITHIN_S = 15.0
"""From the end of what was said to its being said again."""
_LOOKS_AT = 3
"""Captions: an interpreter may put two sentences into one."""
_KNOWN = 64


class Interpreter:
    """Follows one service."""

    def __init__(self) -> None:
        # No caption has this id: before the first repetition any caption may be the one.
        self._last = -1
        self._known: dict[int, tuple[str, int | None]] = {}

    def repeated(
        self, key: int, text: str, lang: str, start_s: float, shown: Sequence[CaptionMessage]
    ) -> int | None:
        """Return the caption that `text`, spoken in `lang`, says again; None: it is new.

        `shown` are the captions for readers of `lang`, oldest first. Of the same text of an
        utterance, by its `key`, the answer stays: each caption language asks.
        """
        known, found = self._known.get(key, ("", None))
        if known != text:
            found = self._find(key, text, lang, start_s, shown)
            self._known[key] = text, found
            self._last = self._last if found is None else found
            if len(self._known) > _KNOWN:
                # The oldest: a dict keeps the order in which its keys came.
                del self._known[next(iter(self._known))]
        return found

    def _find(
        self, key: int, text: str, lang: str, start_s: float, shown: Sequence[CaptionMessage]
    ) -> int | None:
        heard = _fours(text)
        theirs = {
            each.id: _fours(f"{each.target.text} {each.verse.text if each.verse else ''}")
            for each in shown
            # In order: nobody goes back to a sentence before the one that was said again last.
            if self._last <= each.id < key
            # Who says his own sentence twice must not be taken for an echo of his interpreter.
            and self._known.get(each.id, ("", None))[1] is None
            and each.source.lang != lang == each.target.lang
            and start_s - each.end_s <= _WITHIN_S
        }
        recent = dict(list(theirs.items())[-_LOOKS_AT:])
        if len(words(text)) < _FEWEST or not recent:
            return None
        # Against all of them at once: two sentences may be said again in one.
        together = sum(recent.values(), Counter[str]())
        if (heard & together).total() < _SHARE * heard.total():
            return None
        return max(recent, key=lambda each: (heard & recent[each]).total())


def _fours(text: str) -> Counter[str]:
    """Return the letters of a text by fours, with the spaces: they forgive another ending."""
    line = f" {' '.join(map(plain, words(text)))} "
    return Counter(line[at : at + 4] for at in range(len(line) - 3))
