"""Prepare a transcript for translators: printed references, digits, plain words. Pure.

Translators copy digits more reliably than they translate number words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.church.fidelity import numbers
from pipeline.church.fidelity.idioms import plainly
from pipeline.church.fidelity.numbers import Quantity
from pipeline.church.fidelity.times import QUANTITY_WORDS
from pipeline.church.scripture import references
from pipeline.church.scripture.number_words import WORDS as NUMBER_WORDS
from pipeline.church.scripture.number_words import read
from pipeline.church.scripture.tokens import Tokens
from pipeline.config.schema import Church
from pipeline.core.language_words import WORDS

_LEAST = 100
"""Smaller numbers stay words: the starter translators know "thirty-three", not "a hundred"."""
_LEAST_ORDINAL = 13
_PARTED = 10_000
"""From here on numbers get a thousands separator: with one "1,941" would be no year."""
_MILLION = 1_000_000
_ARTICLE = re.compile(r"\ba\s+$", re.IGNORECASE)
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}


def given(text: str, lang: str, church: Church | None = None) -> str:
    """Return the translators' input for a text, as the church's settings ask; None: all changes.

    A judge compares a translation with this text, not with the transcript.
    """
    if church is None or church.references:
        text = references.spelled(text, lang)
    if church is None or church.numbers:
        text = in_digits(text, lang)
    if church is None or church.idioms:
        text = plainly(_god_first(text, lang), lang)
    return text


def _god_first(text: str, lang: str) -> str:
    """Return a text with "Lord, bring them home" instead of "Bring them home, Lord".

    Small translators then know that one is asked, not the hall: "trae", not "traigan".
    """
    words = WORDS[lang].names if lang in WORDS else None
    if words is None or words.asked is None:
        return text

    def turned(found: re.Match[str]) -> str:
        before, request, name = found[1] or "", found[2], found[3]
        return f"{before}{name}, {request[0].lower()}{request[1:]}"

    return words.asked.sub(turned, text)


def prepare(langs: Sequence[str]) -> None:
    """Read the files of `given` now: in a service there may be no file descriptor left."""
    for lang in langs:
        plainly("", lang)


def in_digits(text: str, lang: str) -> str:
    """Return a text with its years, times, shares and large numbers in digits.

    References and figures of speech do not change, nor does a language without `spelled` words.
    """
    words = QUANTITY_WORDS[lang] if lang in numbers.LANGS else None
    if words is None or not words.spelled:
        return text
    if words.rank:
        # Translators know "the seventh child", but "the 7th child" is "el 7 niño".
        ranks = {value: word for word, value in NUMBER_WORDS[lang].ordinals.items()}
        text = words.rank.sub(lambda rank: ranks.get(int(rank[1]), rank[0]), text)
    is_capital = text[:1].isupper()
    # Whole phrases first: otherwise only the "million" of "half a million" would be read.
    for phrase, digits in words.spelled:
        text = phrase.sub(digits, text)
    # The replacement of the first word may begin in lower case.
    if is_capital:
        text = text[:1].upper() + text[1:]
    # Before plain numbers, which would be read from their parts.
    text = _with_points(_with_decades(text, lang), lang)
    # Found again: the replacements so far have moved them.
    skip = [(mention.start, mention.end) for mention in references.find(text, lang)]
    found = numbers.find(text, lang, skip)
    written = [_written(at, found, text, lang) for at in range(len(found))]
    # From the end, so that earlier positions stay valid.
    for each, digits in reversed(list(zip(found, written, strict=True))):
        if digits:
            before, end = text[: each.start], each.end
            if each.kind == "time" and each.value % 60:
                before = _ARTICLE.sub("", before)  # "at a quarter to nine"
            text = before + digits + text[end:]
    return text


def _written(at: int, found: Sequence[Quantity], text: str, lang: str) -> str:
    """Return the translators' form of a number, "" for one that does not change."""
    each, words = found[at], QUANTITY_WORDS[lang]
    if each.in_digits or each.tenths:
        return ""
    # At either end of the text a full stop means "no number next to it".
    before = text[found[at - 1].end : each.start] if at else "."
    behind = text[each.end : found[at + 1].start] if at + 1 < len(found) else "."
    # "Flight three sixteen": it is unclear if this is one number.
    if not before.strip(" -") or not behind.strip(" -"):
        return ""
    if each.kind == "time":
        hour, minutes = divmod(each.value, 60)
        # Hour 0 of half a day is twelve o'clock; a full hour does not change.
        return f"{hour or 12}:{minutes:02}" if minutes else ""
    if each.kind == "ordinal":
        return _ordinal(each.value) if each.value >= _LEAST_ORDINAL else ""
    if each.value >= _LEAST or (words.percent and words.percent.match(text, each.end)):
        return _number(each.value, lang)
    is_of = words.share and words.share.fullmatch(before) and found[at - 1].value < each.value
    has_of = words.share and words.share.fullmatch(behind) and each.value < found[at + 1].value
    return _number(each.value, lang) if is_of or has_of else ""


def _ordinal(value: int) -> str:
    """Return "21st"."""
    is_teen = value % 100 in (11, 12, 13)
    return f"{value}{'th' if is_teen else _ORDINALS.get(value % 10, 'th')}"


def _number(value: int, lang: str) -> str:
    """Return "4352", "18,500", "2000 million"; "" for "two million", which does not change."""
    if value >= _MILLION and value % (_MILLION // 10) == 0:
        million = next(w for w, scale in NUMBER_WORDS[lang].scales.items() if scale == _MILLION)
        # "Billion" is a different number in half of the languages.
        is_said = _LEAST * _MILLION <= value < _MILLION * _MILLION
        return f"{value / _MILLION:.1f} {million}".replace(".0 ", " ") if is_said else ""
    return f"{value:,}" if value >= _PARTED else str(value)


def _with_decades(text: str, lang: str) -> str:
    """Return a text with "the years 1890" instead of "the eighteen nineties"."""
    tokens, decades = Tokens(text), QUANTITY_WORDS[lang].decades
    # From the end, as the tokens belong to the text before any change.
    for at in reversed(range(len(tokens) - 1)):
        decade = decades.get(tokens.word(at + 1))
        century = read(tokens, at, lang) if decade is not None and tokens.is_joined(at) else None
        if century and century.end == at + 1 and (15 if decade else 11) <= century.value <= 20:
            start, end = tokens.spans[at][0], tokens.spans[at + 1][1]
            text = f"{text[:start]}years {century.value}{decade:02}{text[end:]}"
    return text


def _with_points(text: str, lang: str) -> str:
    """Return a text with "3.14" instead of "three point one four"."""
    tokens, points, small = Tokens(text), QUANTITY_WORDS[lang].point, NUMBER_WORDS[lang].small
    changes: list[tuple[int, int, str]] = []
    at = 0
    while points and at < len(tokens):
        whole = read(tokens, at, lang)
        first = end = whole.end + 1 if whole else at + 1
        if whole and tokens.word(whole.end) in points and tokens.is_joined(whole.end - 1):
            while tokens.is_joined(end - 1) and tokens.word(end) in small:
                end += 1
            behind = "".join(f"{small[word]}" for word in tokens.words[first:end])
            if behind:
                span = tokens.spans[at][0], tokens.spans[end - 1][1]
                changes.append((*span, f"{whole.value}.{behind}"))
        at = end
    # From the end here as well.
    for start, stop, digits in reversed(changes):
        text = text[:start] + digits + text[stop:]
    return text
