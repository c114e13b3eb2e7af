"""Split a text at suitable places, and predict whether a sentence is over. Pure.

A text is split after sentences, then clauses, then words. The words tell whether a sentence is over
at a pause, since recognizers write a full stop wherever the sound ends (docs/decisions/063).
languages/endings/CODE.json has the weights of a logistic regression, made by
training.train.train_sentence_end. A language without such a file gets no prediction.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pipeline.core.languages import LANGUAGES, language, words_of_all
from pipeline.core.resources import bundled
from pipeline.text.words import SENTENCES_TOUCH, closed_up, words

_STOPS = ".。।۔።။។"
_MARKS = f"{_STOPS}!?！？؟"
_CLOSING = " \"'”’»)]」』）】》"
# French has a space before its closing mark: "Venez. »". Chinese and Japanese sentences touch;
# whether a straight quotation mark between them opens or closes is unknown.
_END = re.compile(
    rf"[…{_MARKS}]+(?:[{re.escape(_CLOSING[1:])}]|\s»)*\s+"
    rf"|(?:[。！？]|(?<=[{SENTENCES_TOUCH}])[!?])[…{_MARKS}]*+[”’)」』）】》]*+(?=[^\s\"'])"
)
_INITIALS = re.compile(r"(?:[A-Z]\.)+[A-Z]")
_CLAUSE = re.compile(r"(?<=[,;:—–])\s+|(?<=[，、；：])")
_TITLES = words_of_all(each.titles for each in LANGUAGES.values())
_NUMBERED = words_of_all(each.numbered for each in LANGUAGES.values())

_FEW_WORDS = 2


def is_ended(text: str) -> bool:
    """Whether a sentence ends with the text. Three full stops mean that it goes on."""
    bare = text.rstrip(_CLOSING)
    return bare.endswith(tuple(_MARKS)) and not bare.endswith("..")


def is_fragment(text: str) -> bool:
    """Whether a text has too few words to be read alone, whatever mark follows them.

    Recognizers write a mark wherever the sound ends. In a script without spaces a letter counts as
    a word.
    """
    return len(words(text)) <= _FEW_WORDS


def without_end(text: str) -> str:
    """Return a text without the mark that ends its last sentence."""
    return text.rstrip(_CLOSING + _MARKS) if is_ended(text) else text


def without_guessed_end(partial: str) -> str:
    """Return the text of a partial without a full stop after its last word.

    Models write one wherever the sound ends, and a translator then ends the sentence too.
    """
    is_one = partial.endswith(tuple(_STOPS)) and not partial.endswith("..")
    return partial[:-1] if is_one else partial


def without_unclear_opening(text: str, lang: str) -> str:
    """Return a text without the few words of a last sentence whose first word is `unclear`.

    Its translation depends on the next words: "For God so loved", "For three years".
    """
    last = split(text)[-1:]
    said = words(last[0]) if last else []
    if not said or len(said) > _FEW_WORDS or said[0] not in language(lang).unclear:
        return text
    return text[: text.rindex(last[0])].rstrip()


def split(text: str) -> list[str]:
    """Return the sentences of `text` in order, without the white space between them.

    No sentence ends at a full stop after a title or initials, between an abbreviation and its
    number ("1 Cor. 13"), or before a small letter or what Japanese has after a quotation.
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
    """Return `text` in as few fitting pieces as possible, split at sentence ends if possible.

    Nothing is lost: the pieces together have the words of `text`. A single word that does not fit
    is still a piece.
    """
    return _pack(text, fits, (split, _CLAUSE.split, str.split))


def _pack(
    text: str, fits: Callable[[str], bool], ways: tuple[Callable[[str], list[str]], ...]
) -> list[str]:
    # A single word cannot be split: a piece that is too long is better than a lost one.
    if fits(text) or not ways:
        return [text]
    pieces: list[str] = []
    for unit in ways[0](text):
        # As full as possible, since the translator runs once per piece and does not see the
        # others.
        if pieces and fits(both := closed_up(f"{pieces[-1]} {unit}")):
            pieces[-1] = both
        else:
            pieces += _pack(unit, fits, ways[1:])
    return pieces


def _ends(before: str, mark: str, after: str) -> bool:
    # A small letter continues the same sentence, kana after a bracket too: 「来なさい。」と言った。
    if after.islower() or (mark[-1] in "」』" and "ぁ" <= after <= "ん"):
        return False
    # Only a single full stop can belong to a word; "!", "?" and "..." never do.
    if not mark.startswith(".") or mark.startswith(".."):
        return True
    said = before.rpartition(" ")[2].lstrip("\"'“‘(")
    word = said.lower()
    # "C.S. Lewis", "the U.S. Army". After small letters a sentence can end: "at 5 p.m. We".
    if _INITIALS.fullmatch(said):
        return False
    if word in _TITLES or (word in _NUMBERED and after.isdigit()):
        return False
    # A single letter is an initial ("C. S. Lewis"), except for the pronoun: "So do I."
    return len(word) != 1 or not word.isalpha() or word == "i"


HALF = 0.5
"""Least probability of going on at which a text counts as half a sentence."""

ENOUGH_WORDS = 25
"""A caption with so many words does not wait for more, since a longer one is hard to read."""

_LENGTHS = (1, 2, 3, 4, 6, 9, 14)
_PAUSE_BIAS, _SHARPNESS = -1.0, 2.0
"""At speakers' pauses more sentences are over than at the places used to train the weights."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of a language by feature; positive means that a sentence goes on."""

    bias: float
    of: dict[str, float]


def features(said: Sequence[str]) -> Iterator[str]:
    """Yield the features of a text's words, of which there is at least one."""
    # The trainer uses this function too: a change invalidates the weights of languages/endings.
    yield f"last {said[-1]}"
    yield f"first {said[0]}"
    yield f"count {next((most for most in _LENGTHS if len(said) <= most), 'more')}"
    if len(said) > 1:
        yield f"before {said[-2]}"
        yield f"pair {said[-2]} {said[-1]}"


def goes_on(text: str, lang: str) -> float:
    """Return the probability, 0..1, that a text's sentence is not over; 0 if it is unknown."""
    weights = weights_of(lang)
    said = words(text)
    # 0 is the safe answer: the utterance ends at its pause, as without a prediction.
    if weights is None or not said or len(said) >= ENOUGH_WORDS:
        return 0.0
    if said[-1] in _TITLES and text.endswith("."):
        return 1.0  # "Welcome my friend, Dr."
    logit = weights.bias + _PAUSE_BIAS + sum(weights.of.get(each, 0.0) for each in features(said))
    return 1 / (1 + math.exp(-_SHARPNESS * logit))


@cache
def weights_of(lang: str) -> Weights | None:
    """Return the weights of a language, None if there are none. The file is read once."""
    file = Path(bundled("languages", "endings", f"{lang}.json"))
    return Weights(**json.loads(file.read_text("utf-8"))) if file.is_file() else None
