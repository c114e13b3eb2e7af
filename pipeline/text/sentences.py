"""Cut a text where it may be cut: after sentences, then clauses, then words. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from pipeline.core.languages import LANGUAGES, words_of_all
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
