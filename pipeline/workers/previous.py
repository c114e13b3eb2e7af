"""The sentence before: what a pronoun or a short answer hangs on (docs/decisions/081)."""

from __future__ import annotations

from dataclasses import replace

from pipeline.church.fidelity.given_text import given
from pipeline.config.schema import Church
from pipeline.core.types import Caption, Transcript
from pipeline.engines.protocols import SentencePair
from pipeline.text.sentences import split
from pipeline.workers.queues import without_sound

_PAUSE_S = 6.0
"""Behind a longer silence a sentence has nothing to do with the one before."""
_LONGEST = 30
"""Words of a sentence before, at most: what it adds to the delay grows with it."""


class PreviousCaptions:
    """The captions that one thread has made last. Any thread may have them forgotten."""

    def __init__(self) -> None:
        # Of two utterances: the newest may come again, and then follows the other.
        self._made: tuple[Caption, ...] = ()

    def add(self, caption: Caption) -> None:
        """Take the caption of a whole utterance."""
        others = [made for made in self._made if made.id != caption.id]
        transcript = without_sound(caption.transcript)
        self._made = (*others[-1:], replace(caption, transcript=transcript))

    def forget(self) -> None:
        """Let nothing follow from what was said: words that are hidden now must not come back."""
        self._made = ()

    def before(self, transcript: Transcript, church: Church) -> SentencePair | None:
        """Return the sentence before a transcript and its translation; None where there is none.

        `church` has the settings with which translators were given it.
        """
        # What is kept back must not be guessed from what follows it.
        if church.hold_doubtful:
            return None
        now = transcript.utterance
        for caption in self._made:
            told = caption.transcript
            # Where this thread did not make the caption before, an older one would be wrong.
            follows = told.utterance.id == now.id - 1 and told.lang == transcript.lang
            if follows and now.start_s - told.utterance.end_s <= _PAUSE_S:
                return _last_sentence(given(told.text, told.lang, church), caption.text)
        return None


def _last_sentence(source: str, target: str) -> SentencePair | None:
    """Return the last sentence of a caption and its translation, None for a long one."""
    sources, targets = split(source), split(target)
    pair = SentencePair(source, target)
    if sources and len(sources) == len(targets):
        pair = SentencePair(sources[-1], targets[-1])
    longest = max(len(pair.source.split()), len(pair.target.split()))
    return pair if 0 < longest <= _LONGEST else None
