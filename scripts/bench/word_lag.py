"""How long after it was spoken each word was stable on screen.

Recognized words are aligned to the reference with the fewest edits (jiwer). A word that was
recognized as another one has no lag; it counts in the word error rate.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.text.words import words
from scripts.bench.recordings import SpokenWord
from scripts.bench.sightings import History, StandingWord, recognized, standing
from scripts.support.voice_score import partners

_EARLY_S = 0.5
"""How long before a last faint sound the voice detector may end an utterance."""


def word_lags_s(shown: Sequence[StandingWord], spoken: Sequence[SpokenWord]) -> list[float]:
    """Return the lag of every correctly recognized word, seconds.

    It is the time from the word's end in the recording until the word was stable on screen. A word
    of several parts (`neighbor's-house`) counts once, by its last part.
    """
    expected = [(part, place) for place, word in enumerate(spoken) for part in words(word.text)]
    read = [(part, place) for place, word in enumerate(shown) for part in words(word.text)]
    if not expected or not read:
        return []
    places = partners([part for part, _ in expected], [part for part, _ in read], alike=True)
    found = {expected[a][1]: read[b][1] for a, b in places.items()}
    return [shown[at].at_s - spoken[place].end_s for place, at in found.items()]


def recognized_words(captions: Sequence[History]) -> list[StandingWord]:
    """Return all recognized words that remained, in order."""
    return [word for caption in captions for word in standing(caption, recognized)]


def final_delays_s(captions: Sequence[History], spoken: Sequence[SpokenWord]) -> list[float]:
    """Return each utterance's delay from the true end of its last word to its last final, seconds.

    Utterances that end within a word, or long before it, are left out: their cut is no pause.
    """
    found = []
    for caption in captions:
        last = caption.last
        inside = [w for w in spoken if w.end_s > last.start_s and w.start_s < last.end_s]
        if last.final and inside and inside[-1].end_s <= last.end_s + _EARLY_S:
            found.append(caption.sightings[-1].at_s - inside[-1].end_s)
    return found
