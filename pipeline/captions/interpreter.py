"""Find the sentences that an interpreter repeats in another language. Pure.

If two languages are spoken and read, an interpreter's sentence is already on screen, as the
translation of the speaker's. It is recognized by similar words, in order and soon after. A service
with two speakers is full of "Amen" and "God is good", so a text that is short, late or half new
counts as new. Then it is shown, even if it is a repetition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pipeline.protocol.caption import CaptionMessage
from pipeline.text.words import plain, words

_SHARE = 0.45
"""Share of its letter 4-grams that the translation also has (measured: docs/LANGUAGES.md)."""
_FEWEST = 3
"""Fewest words of a repetition: everybody says "Amen, Lord"."""
_WITHIN_S = 15.0
"""From the end of a caption to the start of its repetition."""
_LOOKS_AT = 3
"""Captions to compare with: an interpreter may join two sentences into one."""
_KNOWN = 64


class Interpreter:
    """Follows one service."""

    def __init__(self) -> None:
        # Lower than any id: at first any caption may be repeated.
        self._last = -1
        self._known: dict[int, tuple[str, int | None]] = {}

    def repeated(
        self, key: int, text: str, lang: str, start_s: float, shown: Sequence[CaptionMessage]
    ) -> int | None:
        """Return the id of the caption that `text`, spoken in `lang`, repeats; None: it is new.

        `shown` are the captions for readers of `lang`, oldest first. For the same text of an
        utterance, `key`, the result stays the same: each caption language asks.
        """
        known, found = self._known.get(key, ("", None))
        if known != text:
            found = self._find(key, text, lang, start_s, shown)
            self._known[key] = text, found
            self._last = self._last if found is None else found
            if len(self._known) > _KNOWN:
                # The oldest: a dict keeps the order of insertion.
                del self._known[next(iter(self._known))]
        return found

    def _find(
        self, key: int, text: str, lang: str, start_s: float, shown: Sequence[CaptionMessage]
    ) -> int | None:
        heard = _fours(text)
        theirs = {
            each.id: _fours(f"{each.target.text} {each.verse.text if each.verse else ''}")
            for each in shown
            # In order: nobody goes back to a sentence before the last one repeated.
            if self._last <= each.id < key
            # A speaker who repeats himself must not count as an echo of his interpreter.
            and self._known.get(each.id, ("", None))[1] is None
            and each.source.lang != lang == each.target.lang
            and start_s - each.end_s <= _WITHIN_S
        }
        recent = dict(list(theirs.items())[-_LOOKS_AT:])
        if len(words(text)) < _FEWEST or not recent:
            return None
        # Compared with all of them at once: one sentence may repeat two.
        together = sum(recent.values(), Counter[str]())
        if (heard & together).total() < _SHARE * heard.total():
            return None
        return max(recent, key=lambda each: (heard & recent[each]).total())


def _fours(text: str) -> Counter[str]:
    """Return the letter 4-grams of a text, with spaces: they tolerate different endings."""
    line = f" {' '.join(map(plain, words(text)))} "
    return Counter(line[at : at + 4] for at in range(len(line) - 3))
