"""Put nouns that the starter's final translator does not know into its target language. Pure.

The translator copies them: "I saw el ataúd" becomes "Vi el ataúd", but "coffin" became a chest or
wax (Song et al., Code-Switching for Enhancing NMT with Pre-Specified Translation, 2019).
languages/words holds the nouns and how they were chosen.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from pipeline.core.resources import bundled
from pipeline.dictionary.inflection import plural, with_s

_FORMS: Mapping[str, Mapping[str, str]] = {
    "es": {
        "the": "el la los las", "a": "un una", "an": "un una", "my": "mi mi mis mis",
        "your": "tu tu tus tus", "his": "su su sus sus", "her": "su su sus sus",
        "their": "su su sus sus", "its": "su su sus sus",
        "our": "nuestro nuestra nuestros nuestras",
    },
    "fr": {
        "the": "le la les les", "a": "un une", "an": "un une", "my": "mon ma mes mes",
        "your": "votre votre vos vos", "his": "son sa ses ses", "her": "son sa ses ses",
        "their": "leur leur leurs leurs", "its": "son sa ses ses", "our": "notre notre nos nos",
    },
}  # fmt: skip
"""For each English determiner: masculine, feminine, and both plurals."""
# "Ma" and "sa" become masculine before a vowel: "mon église".
_BEFORE_VOWEL = {"le": "l'", "la": "l'", "ma": "mon ", "sa": "son "}
_MANY = 2
_HIDDEN = re.compile(r"(?:acta|ama|arca|arpa|asta|hacha|hada|alma|alga|agua|águila)\b")
"""Feminine Spanish nouns that take "el" in the singular: "las águilas"."""
_BOTH_IN_PLURAL = re.compile(
    r"(arrière-)?(beau|belle|petite?|grand|cerf|sage|rouge|porc|rond|premier|chou|pont|carte|pot|"
    r"pied|nid|chef|arc|raz|mont|maître)-(.+)"
)
"""French compounds whose first word also takes the plural: "petits-enfants"."""
# Nouns that may begin a sentence without a determiner: "Kindness wins".
_ABSTRACT = re.compile(r"(?:tion|ness|ity|ment|ship|hood|ism|[ae]nce|cy)$")
_VERB_FOLLOWS = re.compile(
    r"\b(?:to|not|n.t|will|would|can|could|shall|should|may|might|must|do|does|did|let's|please|never|"
    r"always|just|I|you|we|they|he|she|it|who|that)\s+$",
    re.IGNORECASE,
)
"""After one of these a word without a determiner may be a verb: "to plunder", "we treasure"."""
_BEGINS = re.compile(r"(?:^|[a-z]{3,}[.!?]['\"’”)]*\s+)$")
"""A capital after this begins a sentence; elsewhere it marks a name."""
_WORD = re.compile(r"\s(\w+)")
_ARTICLE = re.compile(
    r"(?P<article>(?:el|la|los|las|le|les)(?=\s)|l')\s*(?P<noun>.+?)(?P<gender> [mf])?$"
)


@dataclass(frozen=True, slots=True)
class _Noun:
    """A noun in the target language."""

    text: str
    form: int
    """0 masculine, 1 feminine; plus `_MANY` in the plural."""
    needs_determiner: bool
    """Whether the English word may also be a verb, or something else."""
    elides: bool
    """Whether French uses l' before it."""


def borrowed(text: str, source: str, target: str) -> str:
    """Return a text with the nouns of languages/words replaced by the target language's."""
    return _borrow(text, source, target)[0]


def keeps_borrowed(said: str, first: str, other: str, langs: tuple[str, str]) -> bool:
    """Whether another translation of `said` has all borrowed nouns of the first one.

    The draft translator did not get these nouns, and rates words that it does not know as unlikely.
    """
    nouns = (each.lower() for each in _borrow(said, *langs)[1])
    first, other = first.lower(), other.lower()
    return all(noun in other for noun in nouns if noun in first)


# Called with one text for the prompt, and again for each of several answers to it.
@lru_cache(maxsize=4)
def _borrow(text: str, source: str, target: str) -> tuple[str, tuple[str, ...]]:
    """Return the text, and the nouns that were inserted."""
    nouns, pattern = _nouns(source, target)
    put: list[str] = []
    if pattern is None:
        return text, ()
    heads = _heads(source)

    def said(match: re.Match[str]) -> str:
        word, before = match["noun"], (match["determiner"] or "").lower()
        # Case-sensitive: a capital inside a sentence marks a name, which is not listed.
        noun = nouns.get(word)
        if noun is None and not before and _BEGINS.search(text[: match.start()]):
            noun = nouns.get(word[0].lower() + word[1:])
            # "Olive brought plums": a singular noun needs a determiner, so this is a name.
            if noun and noun.form < _MANY and not _ABSTRACT.search(word):
                return match[0]
        behind = _WORD.match(text, match.end())
        # "Coffin maker": the first noun only modifies the second one, and stays English.
        if behind and behind[1] in heads:
            return match[0]
        if noun is None or (
            not before and (noun.needs_determiner or _VERB_FOLLOWS.search(text[: match.start()]))
        ):
            return match[0]
        forms = _FORMS[target].get(before, "").split()
        if forms and noun.form >= len(forms):
            return match[0]  # "a wolves"
        written = _with(forms[noun.form], noun) if forms else noun.text
        put.append(noun.text)
        return written[0].upper() + written[1:] if match[0][0].isupper() else written

    return pattern.sub(said, text), tuple(put)


def _with(determiner: str, noun: _Noun) -> str:
    elided = _BEFORE_VOWEL.get(determiner, "") if noun.elides else ""
    return elided + noun.text if elided else f"{determiner} {noun.text}"


# Cached for the life of the process: the shipped files do not change.
@cache
def _nouns(source: str, target: str) -> tuple[Mapping[str, _Noun], re.Pattern[str] | None]:
    file = bundled("languages", "words", f"{source}-{target}.toml")
    if not file.is_file():
        return {}, None
    lines = tomllib.loads(file.read_text("utf-8"))["nouns"]
    nouns = {
        word: noun for said, written in lines.items() for word, noun in _read(said, written, target)
    }
    # The longest first: a regular expression takes the first alternative that matches.
    words = "|".join(re.escape(word) for word in sorted(nouns, key=len, reverse=True))
    determiners = "|".join(_FORMS[target])
    # Not a part of a hyphenated compound, and not before a number.
    found = rf"(?<![\w'’-])(?:(?P<determiner>{determiners})\s+)?(?P<noun>{words})(?![\w-]|\s\d)"
    return nouns, re.compile(found, re.IGNORECASE)


@cache
def _heads(source: str) -> frozenset[str]:
    """Return the nouns that another noun before them may modify."""
    file = bundled("languages", "words", f"{source}.txt")
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def _read(said: str, written: str, target: str) -> Iterator[tuple[str, _Noun]]:
    """Yield the words of a line: `"wolf, wolves" = "el lobo"`, `"the leak" = "la gotera"`."""
    needs = said.startswith("the ")
    one, _, many = said.removeprefix("the ").partition(", ")
    found = _ARTICLE.match(written)
    assert found, written  # noqa: S101 - a test reads every line
    noun, article = found["noun"], found["article"]
    is_feminine = article in ("la", "las") or found["gender"] == " f"
    is_many = article in ("los", "las", "les")
    elides = article == "l'"
    yield one, _Noun(noun, is_feminine + _MANY * is_many, needs, elides)
    # Only now: in the singular such a noun takes masculine determiners.
    is_feminine |= article == "el" and _HIDDEN.match(noun) is not None
    if not is_many and (others := _plural(noun, target)):
        yield many or with_s(one), _Noun(others, _MANY + is_feminine, needs, elides)


def _plural(noun: str, target: str) -> str:
    """Return the plural: of "silla de ruedas" on the first word, of "piedra angular" none."""
    first, _, rest = noun.partition(" ")
    if rest and not rest.startswith(("de ", "d'", "à ")):
        return ""
    if target == "fr" and (parts := _BOTH_IN_PLURAL.fullmatch(first)):
        before, one, other = parts.groups("")
        others = other if other.startswith(("de-", "d'", "en-")) else plural(other, target)
        return " ".join(filter(None, (f"{before}{plural(one, target)}-{others}", rest)))
    return " ".join(filter(None, (plural(first, target), rest)))
