"""Detect that a translation no longer denies what was denied. Pure.

Rules of words, so they are sure of little: a "not" in one text and nothing at all in the other that
could stand for it. What is only another way to say it (question tags, "not only") does not count.
"""

from __future__ import annotations

from pipeline.core.language_words import WORDS, NegationWords

_WORDS = {lang: words.negation for lang, words in WORDS.items() if words.negation}
_LIMITS = [words.limits for words in _WORDS.values() if words.limits]

LANGS = frozenset(_WORDS)


def lost(said: str, written: str, langs: tuple[str, str]) -> str:
    """Return the word of negation that has nothing like it in a translation, "" if none is lost.

    `langs`: of what was said, of its translation.
    """
    if not LANGS.issuperset(langs):
        return ""
    ours, theirs = _WORDS[langs[0]], _WORDS[langs[1]]
    # "It is good, isn't it?" denies nothing.
    bare = ours.tags.sub(" ", said) if ours.tags else said
    found = ours.strong.search(_without_only(bare, ours))
    # Who said "nothing but" is well translated with "ne ... que", which denies nothing by itself.
    is_limited = any(limits.search(said) for limits in _LIMITS)
    there = written if is_limited else _without_only(written, theirs)
    return found.group() if found and not theirs.any.search(there) else ""


def _without_only(text: str, words: NegationWords) -> str:
    return words.only.sub(" ", text) if words.only else text
