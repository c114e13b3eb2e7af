"""Detect that a translation no longer denies what was denied. Pure.

Rules of words, so they are sure of little: a "not" in one text and nothing at all in the other that
could stand for it. What is only another way to say it (question tags, "not only") does not count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_TAGS = {
    "en": re.compile(
        r",\s*(?:is|are|was|were|do|does|did|have|has|had|wo|ca|could|would|should)n['’]t "
        r"(?:it|he|she|they|we|you|i|that|there)\b|\bwhy (?:don|doesn|didn|not|can)\S*"
        r"|\bcan(?:['’]?t|not| not) (?:help|wait|but)\b|\bnot only\b|\bnot to mention\b"
        r"|\bif not\b|\bor not\b|\bno doubt\b|\bno wonder\b|\bno longer\b|\bnot until\b"
        r"|\bno sooner\b|\bno more than\b|\bno matter\b|\bno one but\b|\bwithout fail\b"
        r"|\bnever ?mind\b|\bdon['’]t forget\b|\b(?:don|won|isn|aren|didn|doesn)['’]t [^.,;!]*\?"
        r"|\bsay no\b|\bno[,.!]|\bin no time\b|\bmore often than not\b|\bno see\b|\bn['’]t you\b",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        r"\bn['’]est[- ]ce pas\b|\bpas seulement\b|\bpourquoi (?:ne |n['’])\S+(?: \S+)? pas\b"
        r"|\b(?:ne|n['’])\s?(?:\S+ ){1,2}(?:aucun doute|pas de doute)\b|\bn['’]oubli\S+ pas\b",
        re.IGNORECASE,
    ),
}
_STRONG = {
    "en": re.compile(
        r"\b(?:not|never|cannot|nothing|nobody|nowhere|none|neither|nor|no|no one)\b|n['’]t\b",
        re.IGNORECASE,
    ),
    "es": re.compile(
        r"\b(?:no|nunca|jam[áa]s|nada|nadie|ning[úu]n\w*|ni|tampoco)\b", re.IGNORECASE
    ),
    # Both halves: "un pas" is a step, "personne" may be a person, and a lone "ne" denies nothing.
    "fr": re.compile(
        r"\b(?:ne |n['’])(?:\S+ ){1,3}?(?:pas|jamais|rien|personne|aucune?|point|ni)\b"
        r"|\b(?:ne|n['’]) ?(?:pas|jamais|rien)\b"
        r"|\b(?:personne|rien|aucune?|nul) (?:\S+ ){0,4}?(?:ne |n['’])",
        re.IGNORECASE,
    ),
}
# Wide on purpose: whatever might stand for a "not" keeps the alarm silent.
_ANY: Mapping[str, re.Pattern[str]] = {
    "en": re.compile(
        rf"{_STRONG['en'].pattern}|\b(?:without|hardly|barely|scarcely|refus\w+|fail\w*|"
        r"unable|stop\w*|except|but|lack\w*|avoid\w*|unless|only|yet|(?:un|im|in|dis|ir|il|non)\w{3,}|\w+less|little|few|far|"
        r"deny|denied|instead|rather|too|before|until|let alone|miss\w*|out|free|ain['’]?t|dont|"
        r"cant|"
        r"wont|didnt|isnt|hate\w*|leave|quit|keep)\b",
        re.IGNORECASE,
    ),
    "es": re.compile(
        rf"{_STRONG['es'].pattern}|\b(?:sin|apenas|deja\w*|dej[eóé]\w*|falt\w+|excepto|salvo|sino|"
        r"evit\w+|neg\w+|nieg\w+|carec\w+|impid\w+|imped\w+|rehus\w+|fall\w+|perd\w+|olvid\w+|"
        r"(?:im|in|des|ir|il)\w{4,}|dif[íi]cil\w*|mal|poc[oa]s?|ojal[áa]|vaya|menos|lejos|"
        r"par\w+ de|basta|cuidado|sol[oa]|s[óo]lo|solamente|antes|hasta|en vez|en lugar|libre|"
        r"demasiado|ausente|vac[íi]\w+|odi\w+|detest\w+|incapa\w+|contra\w*|prohib\w+)\b",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        r"\b(?:ne|pas|jamais|rien|personne|aucun\w*|nul\w*|ni|non|point|guère|sans|à peine|"
        r"sauf|sinon|hormis|excepté|cess\w+|arrêt\w+|évit\w+|refus\w+|manqu\w+|échou\w+|"
        r"perd\w*|oubli\w+|empêch\w+|interdi\w+|défen\w+|prohib\w+|laiss\w+|quitt\w+|"
        r"(?:im|in|ir|il|dés|mal|mé)\w{4,}|difficile\w*|mal|peu|moins|loin|seul\w*|plutôt|"
        r"au lieu|avant|jusqu|libre\w*|trop|absen\w+|vides?|haï\w*|hai\w+|détest\w+|contre|"
        r"attention|gare|dépourv\w+|non plus)\b|\bn['’]",
        re.IGNORECASE,
    ),
}

LANGS = frozenset(_ANY)


def lost(said: str, written: str, langs: tuple[str, str]) -> str:
    """Return the word of negation that has nothing like it in a translation, "" if none is lost.

    `langs`: of what was said, of its translation.
    """
    if not LANGS.issuperset(langs):
        return ""
    # "It is good, isn't it?" denies nothing.
    bare = _TAGS[langs[0]].sub(" ", said) if langs[0] in _TAGS else said
    found = _STRONG[langs[0]].search(bare)
    return found.group() if found and not _ANY[langs[1]].search(written) else ""
