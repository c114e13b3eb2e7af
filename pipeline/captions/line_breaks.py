"""Where a text may be broken so that it still reads well: between phrases, not inside one.

Pure. Broadcast guidelines ask for breaks after punctuation, else before a conjunction or a
preposition, and never between an article or a preposition and what it belongs to.
"""

from __future__ import annotations

import re

SENTENCE, CLAUSE, COMMA, PHRASE, WORD, NAME, TIED = 0.0, 3.0, 5.0, 8.0, 14.0, 22.0, 30.0
"""What a break costs, from the best place to the worst."""

_SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*$")
_CLAUSE_END = re.compile(r"[;:—–][\"'”’»)\]]*$")
_COMMA_END = re.compile(r",[\"'”’»)\]]*$")

# Conjunctions and prepositions: a phrase begins with them, and none ends with them.
_STARTS = {
    "en": """
        and or but nor that which who whose whom when where while because if unless until though
        of in on at by for with without from to into unto upon over under through between before
        after about against among as than
    """,
    "es": """
        y e o u ni pero sino que quien quienes cuyo cuya cuando donde mientras porque aunque si
        como de del a al en con sin por para sobre entre hasta desde hacia ante bajo tras contra
        según
    """,
}
# Articles, possessives, auxiliaries and titles: what follows belongs to them.
_TIES = {
    "en": """
        a an the this these those my your his her its our their i we you he she they it is are was
        were be been will shall would should can could may might must do does did has have had not
        no very mr. mrs. dr. st.
    """,
    "es": """
        el la los las lo un una unos unas este esta estos estas ese esa esos esas aquel aquella mi
        mis tu tus su sus nuestro nuestra nuestros nuestras vuestro vuestra se me te le les nos os
        es son era fue ha han he hemos no muy más sr. sra. dr. san santa
    """,
}
_STARTING = {lang: frozenset(words.split()) for lang, words in _STARTS.items()}
_TYING = {
    lang: frozenset(words.split()) | _STARTING.get(lang, frozenset())
    for lang, words in _TIES.items()
}


def break_cost(before: str, after: str, lang: str) -> float:
    """Return how bad a break between two words is; `lang` is the language of both."""
    opened = before.lstrip("\"'“‘«(¿¡[").lower()
    if opened in _TYING.get(lang, ()):
        return TIED
    if _SENTENCE_END.search(before):
        return SENTENCE
    if _CLAUSE_END.search(before):
        return CLAUSE
    if _COMMA_END.search(before):
        return COMMA
    if after[:1].isdigit() or (before[:1].isupper() and after[:1].isupper()):
        return NAME  # "Juan 3:16", "Juan Bautista"
    return PHRASE if after.lower() in _STARTING.get(lang, ()) else WORD
