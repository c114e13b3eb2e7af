"""A sentence before the text that shows who is addressed.

English "you" is "tú", "usted" or "ustedes". Translators keep to the address of the sentence before
(docs/decisions/085): in a prayer they get one to God, elsewhere one with the church's way to
address the congregation, `translate.address`. The persons of a story are addressed as the
translators know it.
"""

from __future__ import annotations

from typing import Literal

from pipeline.config.schema import Translate
from pipeline.core.language_words import WORDS, AddressWords
from pipeline.core.types import Transcript
from pipeline.engines.protocols import SentencePair

_CRY, _PRAYER = 2, 12
"""So many utterances after one that names God still belong to the prayer: the first after God's
name alone, the second after "Let us pray", until "amen"."""


class Addressing:
    """Belongs to one thread, which asks for every transcript that it translates."""

    def __init__(self) -> None:
        self._id = -1
        # How many utterances the prayer lasts, from the current one on and from the one before.
        self._prays = self._prayed = 0
        self._lasts = _CRY

    def before(self, transcript: Transcript, settings: Translate) -> SentencePair | None:
        """Return the sentence that shows who is addressed; None if nothing is known."""
        words = _words(transcript.lang)
        if words is None or words.god is None:
            return None
        text, utterance = transcript.text, transcript.utterance
        # A partial that names God may be followed by one of the same utterance that does not.
        if utterance.id != self._id:
            self._id, self._prayed = utterance.id, self._prays
        you = words.you.search(text) if words.you else None
        quoted = words.quoted.search(text) if words.quoted else None
        god = words.god.search(text)
        if god and not (quoted and quoted.start() < god.start()):
            self._prays = 1 + self._lasts
        else:
            self._prays = max(0, self._prayed - 1)
        prays = self._prays > 0
        if words.amen and words.amen.search(text):
            self._prays, self._lasts = 0, _CRY
        elif words.begins and words.begins.search(text):
            self._prays = self._lasts = _PRAYER
        if prays:
            # With God's name the translators know it by themselves.
            return None if god else _pair("prayer", transcript.lang, settings.target)
        if you is None or (quoted and quoted.start() < you.start()):
            return None
        return _pair(settings.address, transcript.lang, settings.target)


def _words(lang: str) -> AddressWords | None:
    return WORDS[lang].address if lang in WORDS else None


def _pair(
    address: Literal["", "plural", "formal", "familiar", "prayer"], source: str, target: str
) -> SentencePair | None:
    said, written = _words(source), _words(target)
    if not address or said is None or written is None:
        return None
    return SentencePair(getattr(said, address), getattr(written, address))
