"""How captions address the congregation: `translate.address`, in a sentence before the text.

English "you" is "tú", "usted" or "ustedes". Translators keep to the address of the sentence before
(docs/decisions/084), so they get one that has the church's. God and the persons of a story are
addressed as the translators know it.
"""

from __future__ import annotations

from typing import Literal

from pipeline.config.schema import Translate
from pipeline.core.language_words import WORDS, AddressWords
from pipeline.core.types import Transcript
from pipeline.engines.protocols import SentencePair

_PRAYER_LASTS = 2
"""So many utterances after one that names God still belong to the prayer."""


class Addressing:
    """Belongs to one thread, which asks for every transcript that it translates."""

    def __init__(self) -> None:
        self._id = -1
        # How many utterances the prayer lasts, from the current one on and from the one before.
        self._prays = self._prayed = 0

    def before(self, transcript: Transcript, settings: Translate) -> SentencePair | None:
        """Return the sentence that shows who is meant by a transcript's "you", None for nobody."""
        words = _words(transcript.lang)
        pair = _pair(settings.address, transcript.lang, settings.target)
        if pair is None or words is None or words.you is None:
            return None
        text, utterance = transcript.text, transcript.utterance
        # A partial that names God may be followed by one of the same utterance that does not.
        if utterance.id != self._id:
            self._id, self._prayed = utterance.id, self._prays
        names_god = words.god is not None and words.god.search(text)
        self._prays = 1 + _PRAYER_LASTS if names_god else max(0, self._prayed - 1)
        is_prayer = self._prays > 0
        if words.amen is not None and words.amen.search(text):
            self._prays = 0
        you = words.you.search(text)
        quoted = words.quoted.search(text) if words.quoted else None
        if you is None or is_prayer or (quoted and quoted.start() < you.start()):
            return None
        return pair


def _words(lang: str) -> AddressWords | None:
    return WORDS[lang].address if lang in WORDS else None


def _pair(
    address: Literal["", "plural", "formal", "familiar"], source: str, target: str
) -> SentencePair | None:
    said, written = _words(source), _words(target)
    if not address or said is None or written is None:
        return None
    return SentencePair(getattr(said, address), getattr(written, address))
