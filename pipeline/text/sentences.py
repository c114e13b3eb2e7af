"""Cut a text where it may be cut, and predict whether a sentence is over. Pure.

A text is cut after sentences, then clauses, then words. Whether a sentence is over where its
speaker pauses is read from its words: recognizers write a full stop wherever the sound ends
(docs/decisions/063). languages/endings/CODE.json has the weights of a logistic regression, made by
training.train.train_sentence_end. A language without such a file is left alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pipeline.core.languages import LANGUAGES, words_of_all
from pipeline.core.resources import bundled
from pipeline.text.words import words

# French has a space before its closing mark: "Venez. »".
_END = re.compile(r"[.!?…]+(?:[\"'”’»)\]]|\s»)*\s+")
_INITIALS = re.compile(r"(?:[A-Z]\.)+[A-Z]")
_CLAUSE = re.compile(r"(?<=[,;:—–])\s+")
_TITLES = words_of_all(language.titles for language in LANGUAGES.values())
_NUMBERED = words_of_all(language.numbered for language in LANGUAGES.values())


_CLOSING = " \"'”’»)]"
_MARKS = ".!?。！？؟।"
_FEW_WORDS = 2


def is_ended(text: str) -> bool:
    """Whether a sentence ends with the text; three full stops say that it goes on."""
    bare = text.rstrip(_CLOSING)
    return bare.endswith(tuple(_MARKS)) and not bare.endswith("..")


def is_fragment(text: str) -> bool:
    """Whether a text has too few words to be read by itself, whatever mark stands behind them.

    Recognizers write one wherever the sound ends. In a script without spaces a letter counts as a
    word.
    """
    return len(words(text)) <= _FEW_WORDS


def without_end(text: str) -> str:
    """Return a text without the mark that ends its last sentence."""
    return text.rstrip(_CLOSING + _MARKS) if is_ended(text) else text


def without_guessed_end(partial: str) -> str:
    """Return the text of a partial without a full stop behind its last word.

    Models write one wherever the sound ends; a translator then closes the sentence too.
    """
    return partial if partial.endswith("..") else partial.removesuffix(".")


def split(text: str) -> list[str]:
    """Return the sentences of `text` in order, without the white space between them.

    A full stop after a title or initials, between an abbreviation and its number ("1 Cor. 13"),
    or before a small letter, ends nothing.
    """
    sentences = []
    start = 0
    for end in _END.finditer(text):
        if _ends(text[start : end.start()], end.group(), text[end.end() : end.end() + 1]):
            sentences.append(text[start : end.end()].strip())
            start = end.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def pack(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Return `text` in as few pieces as fit, cut at sentence ends where that is enough.

    Nothing is lost: joined by spaces the pieces are the words of `text`. A single word that does
    not fit is a piece of its own all the same.
    """
    return _pack(text, fits, (split, _CLAUSE.split, str.split))


def _pack(
    text: str, fits: Callable[[str], bool], ways: tuple[Callable[[str], list[str]], ...]
) -> list[str]:
    # No way is left for a single word: too long a piece is better than a lost one.
    if fits(text) or not ways:
        return [text]
    pieces: list[str] = []
    for unit in ways[0](text):
        # As full as may be: each piece is a run of the translator, without what stands in the
        # others.
        if pieces and fits(f"{pieces[-1]} {unit}"):
            pieces[-1] += f" {unit}"
        else:
            pieces += _pack(unit, fits, ways[1:])
    return pieces


def _ends(before: str, mark: str, after: str) -> bool:
    # What goes on with a small letter is the same sentence.
    if after.islower():
        return False
    # Only a single full stop can belong to a word; "!", "?" and "..." never do.
    if not mark.startswith(".") or mark.startswith(".."):
        return True
    said = before.rpartition(" ")[2].lstrip("\"'“‘(")
    word = said.lower()
    # "C.S. Lewis", "the U.S. Army"; small letters end one: "at 5 p.m. We".
    if _INITIALS.fullmatch(said):
        return False
    if word in _TITLES or (word in _NUMBERED and after.isdigit()):
        return False
    # A single letter is an initial ("C. S. Lewis"), but for the pronoun: "So do I."
    return len(word) != 1 or not word.isalpha() or word == "i"


HALF = 0.5
"""From so sure on a text is taken for half a sentence."""

ENOUGH_WORDS = 25
"""A caption with so many words waits for no more: nobody reads a longer one in one go."""

_LENGTHS = (1, 2, 3, 4, 6, 9, 14)
_PAUSE_BIAS, _SHARPNESS = -1.0, 2.0
"""Where speakers pause more sentences are over than among the places that the weights are from."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Of a language: by feature, positive where a sentence goes on."""

    bias: float
    of: dict[str, float]


def features(said: Sequence[str]) -> Iterator[str]:
    """Yield what is known of a text's words, at least one."""
    # The trainer asks this function too: a change makes the weights of languages/endings wrong.
    yield f"last {said[-1]}"
    yield f"first {said[0]}"
    yield f"count {next((most for most in _LENGTHS if len(said) <= most), 'more')}"
    if len(said) > 1:
        yield f"before {said[-2]}"
        yield f"pair {said[-2]} {said[-1]}"


def goes_on(text: str, lang: str) -> float:
    """Return how likely a text's sentence is not over, 0..1; 0 where nothing is known of it."""
    weights = weights_of(lang)
    said = words(text)
    # 0 is the safe answer: the utterance ends at its pause, as it would without a prediction.
    if weights is None or not said or len(said) >= ENOUGH_WORDS:
        return 0.0
    logit = weights.bias + _PAUSE_BIAS + sum(weights.of.get(each, 0.0) for each in features(said))
    return 1 / (1 + math.exp(-_SHARPNESS * logit))


@cache
def weights_of(lang: str) -> Weights | None:
    """Return the weights of a language, None where there are none. They are read once."""
    file = Path(bundled("languages", "endings", f"{lang}.json"))
    return Weights(**json.loads(file.read_text("utf-8"))) if file.is_file() else None
