"""Detect that a translation no longer denies what was denied. Pure.

Rules of words, so they are sure of little: a "not" in one text and nothing at all in the other that
could stand for it. What is only another way to say it (question tags, "not only") does not count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_NE = r"\bn(?:e\s|['’])"
_PARTNERS = r"(?:pas|jamais|rien|personne|plus|aucune?|nulle?|gu[èe]re|point|ni)\b"
_NOT_A_STEP = "".join(
    rf"(?<!\b{word} )"
    for word in [
        "un",
        "le",
        "les",
        "des",
        "mes",
        "tes",
        "ses",
        "nos",
        "vos",
        "ces",
        "ce",
        "au",
        "à",
        "de",
        "leurs",
        "notre",
        "votre",
        "leur",
        "deux",
        "trois",
        "quelques",
        "chaque",
        "premier",
        "premiers",
        "faux",
        "grands",
        "petit",
        "petits",
    ]
)
"""A "pas" behind one of these is a step."""
_NOT_A_PERSON = "".join(
    rf"(?<!\b{word} )"
    for word in ["une", "la", "cette", "chaque", "par", "de", "quelle", "première", "autre"]
)
_ONLY_FR = re.compile(
    rf"(?<!personne ){_NE}(?:(?!\b{_PARTNERS})[^.,;:!?])*?\b(?:plus\s+)?qu(?:e\b|['’])",
    re.IGNORECASE,
)
"""What only limits: "il n'a que deux fils", "il ne reste plus que deux jours"."""
_LIMITED = re.compile(
    r"\b(?:but|only|just|merely|until|except|besides|else|more than|other than|solo|sólo|"
    r"solamente|sino|más que|hasta|excepto|salvo)\b",
    re.IGNORECASE,
)

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
        r"\bn['’]est-ce pas\b|\bpas vrai\s*\?|\b(?:non|pas) (?:seulement|uniquement|simplement)\b"
        r"|\bpourquoi (?:ne )?pas\b|\bou (?:pas|non)\b|\bpas mal de\b|\bpas à pas\b"
        r"|\bsi ce n['’]est\b|\b[àa] (?:tout )?jamais\b|\b(?:si|que|pour) jamais\b|\bde rien\b"
        r"|\brien qu(?:e\b|['’])|\bni plus ni moins\b|\bpas (?:plus|moins) (?:de|que|tard)\b"
        rf"|\b(?:plus|moins|mieux)\b[^.;!?]*?\bqu(?:e\b|['’])[^.;!?]*?{_NE}[^.;!?]{{0,30}}?\bjamais\b"
        rf"|{_NE}oubli\w+ (?:pas|jamais)\b|\bpersonne d['’]autre que\b"
        rf"|{_NE}[^.,;:!?]*?s['’]emp[êe]cher\b|{_NE}[^.,;!?]*\bpas\b[^.,;!]*\?",
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
    # Who speaks leaves "ne" out; "plus" and "personne" deny nothing without it.
    "fr": re.compile(
        rf"{_NE}[^.;:!?]{{0,60}}?\b{_PARTNERS}|{_NOT_A_PERSON}\bpersonne {_NE}"
        rf"|{_NOT_A_STEP}\bpas\b|\b(?:jamais|rien|aucune?|nulle part|non plus)\b",
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
        rf"{_NE}|{_NOT_A_STEP}\bpas\b|\b(?:non|(?<!\bà )(?<!\btout )jamais|"
        r"rien|aucun\w*|nul(?:le)?s?|nullement|ni|"
        r"sans|gu[èe]re|à peine|refus\w+|manqu\w+|échou\w+|cess\w+|arr[êe]t\w*|évit\w+|sauf|"
        r"excepté|hormis|peu|loin|trop|plutôt|au lieu|avant|jusqu\w*|seul\w*|libre|faute|vide|"
        r"dépourvu\w*|priv\w+|interdi\w+|oubli\w+|perd\w+|ignor\w+|nie|nier|nia|niait|"
        r"rejet\w+|difficil\w*|mal|moins|prene[zr] garde|prends garde|attention|contr\w+|"
        r"détest\w+|ha[iï]\w*|absen\w+|faux|failli|quitt\w+|laiss\w+|"
        r"défen\w+|empêch\w+|personne d['’]autre|"
        r"(?:in(?!t[ée]r|st|vit|di[qv]|form|fin)|im(?!port|ag|mens|pos[ae]r?\b)|ir|illé|illi|dés|"
        r"mécon)\w{3,})\b|(?:^|[.!?…»])\s*personne\b"
        r"|(?:^|[.!?:;…«])\s*plus d(?:e\s|['’])|\bsilence\b|\bdispar\w+",
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
    found = _STRONG[langs[0]].search(_without_only(bare, langs[0]))
    # Who said "nothing but" is well translated with "ne ... que", which denies nothing by itself.
    there = written if _LIMITED.search(said) else _without_only(written, langs[1])
    return found.group() if found and not _ANY[langs[1]].search(there) else ""


def _without_only(text: str, lang: str) -> str:
    return _ONLY_FR.sub(" ", text) if lang == "fr" else text
