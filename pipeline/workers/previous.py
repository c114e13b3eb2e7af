"""The previous sentence: context for a pronoun or a short answer (docs/decisions/081)."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from pipeline.church.fidelity.given_text import given
from pipeline.config.schema import Church
from pipeline.core.types import Caption, Transcript
from pipeline.engines.protocols import SentencePair
from pipeline.text.sentences import split
from pipeline.workers.queues import without_sound

_PAUSE_S = 6.0
"""After a longer silence a sentence is unrelated to the previous one."""
_LONGEST = 30
"""Most words of a previous sentence; its length adds to the delay."""


class PreviousCaptions:
    """The latest captions of one thread. Any thread may call `forget`."""

    def __init__(self) -> None:
        # Of two utterances: if the newest comes again, the other one is its previous.
        self._made: tuple[Caption, ...] = ()
        self._since_s = -math.inf

    def add(self, caption: Caption) -> None:
        """Take the caption of a whole utterance."""
        others = [made for made in self._made if made.id != caption.id]
        transcript = without_sound(caption.transcript)
        self._made = (*others[-1:], replace(caption, transcript=transcript))

    def forget(self) -> None:
        """Forget all captions: words that are hidden now must not return in a translation."""
        self._made = ()
        # Captions of earlier speech may still be on their way: they are no context either.
        self._since_s = time.monotonic()

    def before(self, transcript: Transcript, church: Church) -> SentencePair | None:
        """Return the sentence before a transcript and its translation, None if there is none.

        `church` has the settings with which translators got it.
        """
        # Later captions must not reveal text that is held back.
        if church.hold_doubtful:
            return None
        now = transcript.utterance
        for caption in self._made:
            said = caption.transcript
            # If this thread did not make the previous caption, an older one would be wrong.
            follows = said.utterance.id == now.id - 1 and said.lang == transcript.lang
            is_kept = said.utterance.closed_s >= self._since_s
            if is_kept and follows and now.start_s - said.utterance.end_s <= _PAUSE_S:
                return _last_sentence(given(said.text, said.lang, church), caption.text)
        return None


def _last_sentence(source: str, target: str) -> SentencePair | None:
    """Return the last sentence of a caption and its translation, None for a long one."""
    sources, targets = split(source), split(target)
    pair = SentencePair(source, target)
    if sources and len(sources) == len(targets):
        pair = SentencePair(sources[-1], targets[-1])
    longest = max(len(pair.source.split()), len(pair.target.split()))
    return pair if 0 < longest <= _LONGEST else None
