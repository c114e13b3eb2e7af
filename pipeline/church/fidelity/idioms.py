"""Replace figures of speech by plain words, since translators would take them literally. Pure.

"He beat around the bush" becomes "he avoided the subject". The phrases are data:
languages/idioms/CODE.toml, which explains their syntax.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial

from pipeline.core.resources import bundled
from pipeline.dictionary.inflection import with_s

_OBJECTS = {
    "my": "me", "your": "you", "his": "him", "her": "her", "its": "it", "our": "us", "their": "them"
}  # fmt: skip
_SUBJECTS = {"me": "I", "him": "he", "her": "she", "us": "we", "them": "they"}
_SLOTS = {
    "WHOSE": rf"(?:{'|'.join(_OBJECTS)}|\w+['’]s)",
    # A capitalized word is a name; the rest of the pattern ignores case.
    "WHOM": r"(?:me|you|him|her|it|us|them|(?:some|every)(?:body|one)|people"
    r"|(?:the|my|your|his|her|our|their|this|that)\s+\w+|(?-i:[A-Z]\w+(?:\s+[A-Z]\w+)?))",
    "NUMBER": r"\d[\d.,]*",
    # As few words as the rest of the phrase allows, at most four.
    "...": r"\w[\w'’-]*(?:\s+[\w'’-]+){0,3}?",
}
_NAMES = {"WHOSE": "whose", "WHOM": "whom", "NUMBER": "number", "...": "rest"}
# WHO last: it is a prefix of the two others.
_TOKEN = re.compile(r"~\w+|WHOSE|WHOM|WHO|NUMBER|\.\.\.")
_PERFECT = re.compile(
    # "Let's cut" and "had to cut" have no participle.
    r"(?:\b(?:have|has|had|been|am|is|are|was|were|be|being)|['’](?:ve|d|m|re)|(?<!let)['’]s)\s+"
    r"(?:(?!to\b)\w+\s+)?$",
    re.IGNORECASE,
)
# The base form follows "to", "will" and "let's", or begins a clause.
_BARE = re.compile(
    r"(?:^|[.!?:;,]\s*|(?:\b(?:(?:will|would|can|could|should|must|may|might|do|does|did)"
    r"(?:\s+(?:i|you|he|she|it|we|they))?|to|please)"
    r"|\blet['’]s|['’](?:t|ll|d))\s+(?:(?:not|never|just|still|ever|quite|\w+ly)\s+)?)$",
    re.IGNORECASE,
)
_DETERMINED = re.compile(
    r"\b(?:the|an?|my|your|his|her|its|our|their|this|that|no|any|some|every"
    # "He's" is no possessive.
    r"|(?!(?:he|she|it|that|there|who|what|here)['’])\w+['’]s)\s+$",
    re.IGNORECASE,
)
_DEGREE = re.compile(r"(?:\bnot|n['’]t|\b(?:very|so|too|more|most|less|how|as))\s+$", re.IGNORECASE)
_NO_DEGREE = ("not ", "without ", "never ", "unable ", "very ", "full ")
"""Plain words that cannot follow a word of degree: "not not willing", "very without hope"."""
_PRONOUN = re.compile(
    r"\b(?:i|you|we|they|who|he|she|it|that|people)\s+(?:\w+ly\s+)?$", re.IGNORECASE
)
_PREDICATE = (
    r"(?=[.,;:!?]|$|\s+(?:and|but|or|when|because|for|in|at|after|before|that|as|than|with"
    r"|again|now|today|until|since|if|so|about)\b)"
)
"""What follows an adjective that has no noun after it."""
_DEGREES = ("very", "almost", "extremely")
# Not "plan A".
_ARTICLE = re.compile(r"\b(a|(?<!\w )A)n?(\s+)(\w+)")
_VOWEL = re.compile(r"h(?:onest|our)|(?!one|us[ei]|uni[qtv]|eu)[aeiou]", re.IGNORECASE)
_BASE, _PRESENT, _PAST, _PARTICIPLE, _GERUND = range(5)
_BE = ("be", "is", "was", "been", "being")


@dataclass(frozen=True, slots=True)
class _Idiom:
    found: re.Pattern[str]
    plain: str
    words: frozenset[str]
    """If not empty, the text must have one of them: this test takes a hundredth of the time."""
    verb: tuple[str, ...]
    """The forms of the verb that the idiom begins with."""
    is_alone: bool
    """Whether the idiom is one verb or adjective, which elsewhere may be a noun."""


def plainly(text: str, lang: str) -> str:
    """Return a text with its figures of speech in plain words; a language may have no file."""
    # Words of the original text: the plain words of one phrase must not trigger another.
    said, words = text, set(re.findall(r"\w+", text.lower()))
    for idiom in _idioms(lang):
        if not (idiom.words and idiom.words.isdisjoint(words)):
            text = idiom.found.sub(partial(_said, idiom, lang), text)
    return text if text == said else _ARTICLE.sub(partial(_fitting, lang), text)


def _fitting(lang: str, match: re.Match[str]) -> str:
    """Return the article that suits a plain word: "an obstinate man" for "a stubborn man"."""
    article, space, word = match.groups()
    if word.lower() not in _beginnings(lang):
        return match[0]
    return f"{article}{'n' * bool(_VOWEL.match(word))}{space}{word}"


@cache
def _beginnings(lang: str) -> frozenset[str]:
    """Return the plain words that may follow an article."""
    phrases = (each.split() for each in _file(lang).get("idioms", {}).values())
    return frozenset(each[0] for each in phrases if len(each) == 1 or each[0] in _DEGREES)


def _said(idiom: _Idiom, lang: str, match: re.Match[str]) -> str:
    slots, before = match.groupdict(), match.string[: match.start()]
    form = _form(idiom.verb, slots["verb"].lower(), before) if idiom.verb else _BASE
    # "I preached in Loyal": one word with a capital within a sentence is a name.
    if match[0].istitle() and match[0].isalpha() and re.search(r"\w\s+$", before):
        return match[0]
    # A noun ("the cut") or an adjective before its noun is not a figure of speech.
    if idiom.is_alone and not (_is_verb(form, before) if idiom.verb else _is_free(before)):
        return match[0]
    if not idiom.verb and idiom.plain.startswith(_NO_DEGREE) and _DEGREE.search(before):
        return match[0]

    def filled(token: re.Match[str]) -> str:
        if token[0] in ("...", "NUMBER", "WHOSE"):
            return slots[_NAMES[token[0]]]
        if token[0] in ("WHOM", "WHO"):
            whom = slots.get("whom") or _object(slots["whose"])
            return whom if token[0] == "WHOM" else _SUBJECTS.get(whom.lower(), whom)
        # The plain verb gets the form of the original verb.
        said = _forms(lang, token[0][1:])[form]
        # Only "be" has more than five forms.
        return _agreeing(said, form, before) if said in ("be", "was") else said

    # Slots are filled in one pass: the text of a slot is not searched for slots.
    plain = _TOKEN.sub(filled, idiom.plain)
    begins = match[0][0].isupper() and not re.search(r"\w,?\s*$", before)
    return plain[0].upper() + plain[1:] if begins else plain


def _object(whose: str) -> str:
    return _OBJECTS.get(whose.lower()) or re.sub(r"['’]s$", "", whose)


def _form(forms: tuple[str, ...], said: str, before: str) -> int:
    """Return the form of a verb; the words before it decide if forms are equal, as for "cut"."""
    fitting = [at for at, form in enumerate(forms) if form == said]
    if _PARTICIPLE in fitting and _PERFECT.search(before):
        return _PARTICIPLE
    if _BASE in fitting and (_PAST not in fitting or _BARE.search(before)):
        return _BASE
    # Without another clue "cut" is the past.
    return _PAST if _PAST in fitting else fitting[0]


def _is_verb(form: int, before: str) -> bool:
    if form in (_BASE, _PRESENT):
        # At the beginning of a clause it may be a noun.
        is_asked = form == _BASE and before.strip() and before[-1:].isspace()
        return bool((is_asked and _BARE.search(before)) or _PRONOUN.search(before))
    return _is_free(before)


def _is_free(before: str) -> bool:
    return not _DETERMINED.search(before)


def _agreeing(said: str, form: int, before: str) -> str:
    """Return "am", "are" or "were" to agree with the word before it."""
    subject = (before.lower().split() or [""])[-1]
    if form == _PAST:
        return "were" if subject in ("we", "you", "they", "these", "those") else said
    if _BARE.search(before):
        return said
    return "am" if subject == "i" else "are"


@cache
def _idioms(lang: str) -> tuple[_Idiom, ...]:
    """Return the idioms of a language, the longest first: they may contain shorter ones."""
    phrases = dict(_file(lang).get("idioms", {}))
    predicates = _file(lang).get("predicates", {})
    # The look-ahead is part of the key: `_idiom` recognizes a predicate by it.
    phrases |= {word + _PREDICATE: plain for word, plain in predicates.items()}
    return tuple(
        _idiom(said, phrases[said], lang) for said in sorted(phrases, key=len, reverse=True)
    )


@cache
def _file(lang: str) -> Mapping[str, Mapping[str, str]]:
    # Read once (see `given_text.prepare`): later it may be impossible to open a file.
    file = bundled("languages", "idioms", f"{lang}.toml")
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


def _idiom(said: str, plain: str, lang: str) -> _Idiom:
    slots: set[str] = set()
    verb: tuple[str, ...] = ()

    def looked_for(token: re.Match[str]) -> str:
        nonlocal verb
        if token[0][0] == "~":
            verb = _forms(lang, token[0][1:])
            return rf"(?P<verb>{'|'.join(sorted(set(verb)))})"
        name = _NAMES[token[0]]
        # A regular expression can use a group name only once.
        start = "?:" if name in slots else f"?P<{name}>"
        slots.add(name)
        return f"({start}{_SLOTS[token[0]]})"

    # Optional words and alternatives are removed: the quick test needs words always present.
    bare, groups = said, 1
    while groups:
        bare, groups = re.subn(r"\([^()]*\)\??", "", bare)
    fixed = re.findall(r"(?<![~\w'])[a-z]{2,}(?![\w'?])", bare)
    # The file has plain groups, apostrophes and spaces; a text has several variants of them, and
    # recognizers write "eye-to-eye".
    pattern = re.sub(r"\((?!\?)", "(?:", said).replace("'", "['’]").replace(" ", r"(?:\s+|-)")
    pattern = _TOKEN.sub(looked_for, pattern)
    found = re.compile(rf"(?<!\w){pattern}(?!\w)", re.IGNORECASE)
    is_verb = re.fullmatch(r"~\w+", said) is not None
    # One word is enough for the quick test, and a long word is in few texts.
    words = verb if is_verb else [max(fixed, key=len)] if fixed else []
    return _Idiom(found, plain, frozenset(words), verb, is_verb or said.endswith(_PREDICATE))


@cache
def _forms(lang: str, verb: str) -> tuple[str, ...]:
    """Return base, third person, past, participle and gerund of an English verb."""
    if verb == "be":
        return _BE
    past, *rest = _file(lang)["verbs"].get(verb, _regular(verb, "ed")).split()
    third = {"have": "has", "do": "does", "go": "goes"}.get(verb) or with_s(verb)
    doubled = verb[-1] if past == f"{verb}{verb[-1]}ed" else ""  # "submitted", "submitting"
    gerund = f"{verb}{doubled}ing" if doubled else _regular(verb, "ing")
    # The file lists past, participle and gerund, but leaves out regular ones at the end.
    participle, gerund = [*(rest or [past]), gerund][:2]
    return verb, third, past, participle, gerund


def _regular(verb: str, ending: str) -> str:
    if ending == "ing" and verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e") and (ending == "ed" or verb[-2] != "e"):
        return verb[:-1] + ending
    if ending == "ed":
        verb = re.sub(r"(?<![aeou])y$", "i", verb)
    # One syllable with one vowel before one consonant: "stopped", "running".
    return verb + (verb[-1] if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", verb) else "") + ending
