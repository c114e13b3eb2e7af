"""Inflection of words by number and gender, as far as comparisons need it. Pure.

Spanish and French have rules here. In other languages words match as they are written, with or
without an s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from pipeline.text.words import WORD, elided, is_unspaced, plain, words

if TYPE_CHECKING:
    from pipeline.core.language_words import InflectionWords

_SHORT = 4
"""Words of up to this many letters keep their vowel: the stem would match too many words."""


@cache
def _rules(lang: str) -> InflectionWords | None:
    # Engine processes import this module, and most need no rule before a service has terms.
    # Reading all languages would take a third of their start time.
    from pipeline.core.language_words import WORDS  # noqa: PLC0415

    return WORDS[lang].inflection if lang in WORDS else None


def plural(noun: str, lang: str) -> str:
    """Return the plural of a single word, "" if no rule is known."""
    rules = _rules(lang)
    if rules is None or not noun or " " in noun:
        return ""
    if rules.rules == "spanish":
        return _spanish_plural(noun)
    return noun if noun in rules.no_plural else _french_plural(noun)


def with_s(word: str) -> str:
    """Return the regular plural of an English noun, or the third person of an English verb."""
    if re.search(r"(?:[sxz]|ch|sh)$", word):
        return f"{word}es"
    return re.sub(r"(?<![aeou])y$", "ie", word) + "s"


def _spanish_plural(noun: str) -> str:
    if noun[-1] in "aeioáéó":
        return f"{noun}s"
    if noun[-1] == "z":
        return f"{noun[:-1]}ces"
    # Ciprés, cipreses, but país, países; a name has no plural: Pentecostés.
    if noun[0].islower() and (ending := re.search(r"[áéíóú](?=s$)", noun)):
        is_apart = re.search(r"[aeo][íú]s$", noun)
        return f"{noun[: ending.start()]}{ending[0] if is_apart else plain(ending[0])}ses"
    if noun[-1] in "sx":
        return f"{noun}es" if _ONE_SYLLABLE.fullmatch(noun) else noun
    if stressed := re.search(r"[aeiou](?=[^aeiouáéíóú]+en$)", noun):  # orden, órdenes
        accented = "áéíóú"["aeiou".index(stressed[0])]
        return f"{noun[: stressed.start()]}{accented}{noun[stressed.end() :]}es"
    if ending := re.search(r"[áéíóú](?=n$)", noun):  # the accent is dropped: pasión, pasiones
        bare = plain(ending[0])
        noun = noun[: ending.start()] + bare + noun[ending.end() :]
    return f"{noun}es"


_ONE_SYLLABLE = re.compile(r"[^aeiouáéíóú]+[iu]?[aeiou][^aeiouáéíóú]*s")
"""Spanish words whose s belongs to the stem: "mes", "dios", "gas"."""

_REGULAR = re.compile(
    r"(?:.*-)?(?:bal|cal|carnaval|chacal|corral|festival|récital|régal|.*bleu|émeu|pneu|landau)"
)
"""French nouns with an s despite their ending: "chacals"."""
_AUX = re.compile(r"(?:.*-)?(?:b|cor|ém|soupir|trav|vant|vitr)ail")
_OUX = re.compile(r"(?:.*-)?(?:bij|caill|ch|gen|hib|jouj|p)ou")


def _french_plural(noun: str) -> str:
    if noun[-1] in "sxz":
        return noun
    if _REGULAR.fullmatch(noun):
        return f"{noun}s"
    if noun.endswith("al"):
        return f"{noun[:-2]}aux"
    if _AUX.fullmatch(noun):
        return f"{noun[:-3]}aux"
    return f"{noun}x" if noun.endswith(("au", "eu")) or _OUX.fullmatch(noun) else f"{noun}s"


def pattern(rendering: str, lang: str, fold: Callable[[str], str] = plain) -> str:
    """Return a regular expression of a rendering in all its forms, words separated by one space.

    A `*` at a word's end matches any ending. The expression is for words as `fold` returns them.
    """
    # A text without spaces has no endings to vary; each character is matched separately.
    if is_unspaced(rendering):
        return " ".join(re.escape(fold(word)) for word in words(rendering))
    return " ".join(_word_pattern(fold(word), lang) for word in parted(rendering))


def verb_pattern(infinitive: str, lang: str, fold: Callable[[str], str] = plain) -> str:
    """Return a regular expression of all forms of a verb that is regular except in spelling.

    "" if the language has no rules for it. The expression is for words as `fold` returns them.
    """
    rules = _rules(lang)
    verb = fold(infinitive)
    if rules is None or verb[-2:] not in rules.verb_endings:
        return ""
    endings, stems = rules.verb_endings[verb[-2:]], _stems(verb[:-2], verb[-2:], rules.rules)
    # Before e and i a sound may have another spelling than before a and o: pequé, peco.
    found = (
        f"(?:{'|'.join(stems[is_front])})(?:{'|'.join(sorted(part))})"
        for is_front in (True, False)
        if (part := [ending for ending in endings if (ending[0] in "ei") is is_front])
    )
    # Two pronouns at most: "díganselo".
    behind = f"(?:{'|'.join(sorted(rules.enclitics))}){{0,2}}" if rules.enclitics else ""
    return f"(?:{'|'.join(found)}){behind}"


_SPANISH_SPELLINGS = {
    "ar": (("gu", "gu", "gu"), ("c", "qu", "c"), ("g", "gu", "g"), ("z", "c", "z")),
    "er": (("qu", "qu", "c"), ("gu", "gu", "g"), ("c", "c", "(?:z|zc)"), ("g", "g", "j")),
}
"""The end of a stem in the infinitive, before e and i, and before a and o."""
_SPANISH_VOWELS = {"ar": {"e": "ie", "o": "ue", "u": "ue"}, "er": {"e": "ie", "o": "ue"}}


def _stems(stem: str, ending: str, rules: str) -> dict[bool, list[str]]:
    """Return the stems of a verb before e and i (True), and before a and o."""
    if rules == "french":
        # "jugeons", "appelle": the g keeps its sound, and l and t are doubled before a silent e.
        doubled = [stem + stem[-1]] if stem.endswith(("el", "et")) else []
        return {True: [stem, *doubled], False: [f"{stem}e" if stem.endswith("g") else stem]}
    spellings = _SPANISH_SPELLINGS["ar" if ending == "ar" else "er"]
    end, front, back = next((s for s in spellings if stem.endswith(s[0])), ("", "", ""))
    bare = stem.removesuffix(end)
    # Verbs in -ir have two changes: "siente" and "pide", "duerme" and "durmió".
    vowels = _SPANISH_VOWELS.get(ending, {"e": "(?:ie|i)", "o": "(?:ue|u)"})
    vowel = re.search(r"([eou])[^aeiou]*$", bare)
    changed = vowels.get(vowel[1], "") if vowel else ""
    bares = [bare]
    if vowel and changed:
        bares.append(bare[: vowel.start()] + changed + bare[vowel.end(1) :])
    return {True: [each + front for each in bares], False: [each + back for each in bares]}


def parted(text: str) -> list[str]:
    """Return the words of a text in the form for comparisons: "Fils", "de", "l'", "homme"."""
    parts = ((word[: elided(word)], word[elided(word) :]) for word in _STARRED.findall(text))
    return [part for pair in parts for part in pair if part]


_STARRED = re.compile(rf"(?:{WORD.pattern})\*?|\*")


def _word_pattern(bare: str, lang: str) -> str:
    if bare.endswith("*"):
        # A star alone matches a whole word, so at least one letter.
        return re.escape(bare.rstrip("*")) + (r"\w+" if bare == "*" else r"\w*")
    rules = _rules(lang)
    if rules is None:
        return re.escape(bare) + "s?"
    if rules.rules == "spanish":
        return _spanish_pattern(bare)
    return re.escape(bare) if bare in rules.no_plural else _french_pattern(bare)


def _spanish_pattern(bare: str) -> str:
    if bare.endswith("z"):
        return f"{re.escape(bare[:-1])}(?:z|ces)"
    if len(bare) <= _SHORT:
        return f"{re.escape(bare)}(?:e?s)?"
    stem = bare.removesuffix("s")
    # A final e is not a gender: "temple" is no form of "templo", nor "verse" of "verso".
    if stem[-1] in "ao":
        return f"{re.escape(stem[:-1])}[ao]s?"
    return f"{re.escape(stem)}{'s?' if stem[-1] in 'eiu' else '(?:as?|es)?'}"


def _french_pattern(bare: str) -> str:
    if bare[-1] in "sxz'":
        return re.escape(bare)
    if bare.endswith("al"):
        return f"{re.escape(bare[:-2])}(?:al(?:es?|s)?|aux)"
    return re.escape(bare) + ("[sx]?" if len(bare) <= _SHORT else "(?:e?s?|x)")


def determiners(text: str, start: int, form: str, lang: str) -> list[tuple[int, str]]:
    """Return the determiners that a form may have in place of the word at `start`.

    Each is a start position and its text; "" keeps the present one. There is none if French has
    elided a word that the form needs in full.
    """
    rules = _rules(lang)
    if rules is not None and rules.rules == "french":
        return _french_determiners(text, start, form, rules)
    found = [(start, "")]
    if determiner := swapped(text[:start], lang):
        old, new = determiner
        # The determiner changes with the noun's gender, so the slot begins with it.
        found.append((text[:start].rstrip().rfind(old), f"{new} "))
    return found


def _french_determiners(
    text: str, start: int, form: str, rules: InflectionWords
) -> list[tuple[int, str]]:
    noun = start + elided(text, start)
    bare = plain(form)
    # An h is mute, except in listed words.
    is_vowel = bare[0] in "aeiouh" and not (rules.kept_h and rules.kept_h.match(bare))
    if found := _determiner_before(text[:noun], rules.determiners):
        begins, old, (masculine, feminine, *elisions) = found
        fitting = elisions if is_vowel and elisions else (masculine, feminine)
        return [
            (noun, "") if new == old.casefold() else (begins, _written(new, like=old))
            # The present determiner comes first, because it changes least.
            for new in sorted(dict.fromkeys(fitting), key=lambda new: new != old.casefold())
        ]
    if noun > start and not is_vowel:
        return []
    return [(noun, "")]


def _determiner_before(
    text: str, determiners: Sequence[tuple[str, ...]]
) -> tuple[int, str, tuple[str, ...]] | None:
    """Return the start of a French determiner at a text's end, its text, and its kind."""
    # One character replaces one, so positions stay the same.
    plain_text = text.replace("’", "'")
    # The longest first: "de la" before "la". A word of two kinds counts as the first.
    kinds = {word: kind for kind in reversed(determiners) for word in kind}
    for word in sorted(kinds, key=len, reverse=True):
        gap = "" if word.endswith("'") else r"\s+"
        found = re.search(rf"(?<![^\W_])({word}){gap}$", plain_text, re.IGNORECASE)
        if found:
            return found.start(1), found[1], kinds[word]
    return None


def _written(determiner: str, like: str) -> str:
    cased = determiner[0].upper() + determiner[1:] if like[0].isupper() else determiner
    return cased if cased.endswith("'") else f"{cased} "


def swapped(text: str, lang: str) -> tuple[str, str] | None:
    """Return the determiner at a text's end and its counterpart of the other gender.

    None if the text ends with none. The case of the first letter is kept.
    """
    rules = _rules(lang)
    if rules is None or rules.rules != "spanish":
        return None
    for one, other in rules.determiners:
        for here, there in ((one, other), (other, one)):
            if found := re.search(rf"(?<!\S)[\"“«¡¿(]*({here})\s*$", text, re.IGNORECASE):
                new = there.capitalize() if found[1][0].isupper() else there
                return found[1], new
    return None
