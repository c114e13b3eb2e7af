"""Rate the places where a line of text may be broken: between phrases, not inside one.

Pure. Broadcast guidelines ask for breaks after punctuation, else before a conjunction or a
preposition, and never between an article or a preposition and what it belongs to.
"""

from __future__ import annotations

import re

from pipeline.core.languages import language

SENTENCE, CLAUSE, COMMA, PHRASE, WORD, NAME, TIED = 0.0, 3.0, 5.0, 8.0, 14.0, 22.0, 30.0
"""Costs of a break, from the best place to the worst."""

_SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*$")
_CLAUSE_END = re.compile(r"[;:—–][\"'”’»)\]]*$")
_COMMA_END = re.compile(r",[\"'”’»)\]]*$")


def break_cost(before: str, after: str, lang: str) -> float:
    """Return the cost of a break between two words of language `lang`."""
    # Ties go first: "el Sr." ends like a sentence and belongs to the name.
    opened = before.lstrip("\"'“‘«(¿¡[").lower()
    known = language(lang)
    if opened in known.leaning:
        return TIED
    if _SENTENCE_END.search(before):
        return SENTENCE
    if _CLAUSE_END.search(before):
        return CLAUSE
    if _COMMA_END.search(before):
        return COMMA
    if after[:1].isdigit() or (before[:1].isupper() and after[:1].isupper()):
        return NAME  # "Juan 3:16", "Juan Bautista"
    return PHRASE if after.lower() in known.starts else WORD
