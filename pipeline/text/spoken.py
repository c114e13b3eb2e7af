"""Prepare a caption's text for speech, and split it into pieces. Pure.

languages/speech/CODE.toml has the abbreviations, ordinals, times and numbers of a language that are
written as they are said; its first lines explain it.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipeline.core.languages import language
from pipeline.core.resources import bundled
from pipeline.text.language_check import script_of
from pipeline.text.words import roman

_BETWEEN_NUMBERS = re.compile(r"(?<=\d)\s*[:–—-]\s*(?=\d)")
"""In verses, ranges, times: "3:16-17" is said as three numbers; French would read it as a time."""
STOPS = ".!?…;:,،؛؟、。，；：！？"
_ENDS = re.compile(r"(?<=[.!?…;:。！？；,、，،])(?!(?<=\d[.:,])\d)(?:(?<![,、，،])[\"'”’»)\]]+)?")
"""Not within a number such as 3.500."""


def sayable(text: str, lang: str) -> str:
    """Return `text` without unspeakable parts: emoji, signs, words of another script.

    References and ranges of numbers are written so that their numbers are said one by one. "" if
    nothing is left.
    """
    scripts = language(lang).script
    # Half of a surrogate pair cannot be sent to a speech engine, so it is left out.
    text = unicodedata.normalize("NFC", text.encode(errors="ignore").decode())
    text = _BETWEEN_NUMBERS.sub(", ", _as_said(" ".join(text.split()), lang))
    words = text.split()
    kept = ("".join(filter(_can_be_said, word)) for word in words if _is_of(word, scripts))
    said = " ".join(filter(None, kept))
    return said if any(map(str.isalnum, said)) else ""


def _can_be_said(sign: str) -> bool:
    # Marks belong to the letters before them. Only signs that have a name are read.
    return unicodedata.category(sign)[0] in "LMNP" or sign in "$€£%+=°"


def _is_of(word: str, scripts: frozenset[str]) -> bool:
    # The signs of "1º" and "2ª" are letters without a script.
    letters = [sign for sign in word if sign.isalpha() and sign not in "ºª"]
    # Numbers have no script, and an unknown language has no known script.
    if not (letters and scripts):
        return True
    return any(script_of(sign) in scripts for sign in letters)


def phrase_ends(words: Sequence[str], lang: str) -> list[int]:
    """Return the word counts where a phrase ends: at a stop, or before a word that begins one."""
    begins = _SPEECH[lang].beginnings if lang in _SPEECH else ()
    # French joins such a word to the next one: "l'église" begins with "l", "qu'elle" with "qu".
    are = [word.casefold().replace("’", "'").partition("'")[0] in begins for word in words]
    return [
        at
        for at in range(1, len(words))
        # No breath between two such words: "et de la maison" is one phrase.
        if words[at - 1][-1] in STOPS or (are[at] and not are[at - 1])
    ]


def pieces(text: str, most: int) -> Iterator[str]:
    """Yield a text in pieces of at most `most` characters, split after clauses, else words."""
    while len(text) > most:
        # Search the whole text: at the end of a part it is unknown whether a number goes on.
        ends = [at for end in _ENDS.finditer(text) if (at := end.end()) <= most]
        # A cut near the beginning would isolate a word.
        end = next((at for at in reversed(ends) if at > most // 4), 0)
        end = end or text.rfind(" ", 1, most) + 1 or most
        yield text[:end].strip()
        text = text[end:].lstrip()
    if text.strip():
        yield text.strip()


# Not empty: "capítulo Isaías" and "VIVE" begin with these letters and are no numerals.
_ROMAN = "X{0,3}(?:IX|IV|V?I{0,3})(?<=[IVX])"


@dataclass(frozen=True, slots=True)
class _Speech:
    """A file of languages/speech, compiled."""

    beginnings: frozenset[str]
    short: re.Pattern[str]
    """All abbreviations."""
    said: Mapping[str, str]
    """What is said for each of them."""
    forms: tuple[tuple[re.Pattern[str], str], ...]


def _speech(file: Path) -> _Speech:
    facts = tomllib.loads(file.read_text("utf-8"))
    given: dict[str, str] = facts["abbreviations"]
    # Capitalized for the start of a sentence, except single letters, which would be initials.
    capital = {key[0].upper() + key[1:]: said for key, said in given.items() if key[1] != "."}
    known = capital | given
    longest = sorted(known, key=len, reverse=True)
    written = "|".join(re.escape(key).replace(r"\.", r"\. ?").removesuffix(" ?") for key in longest)
    return _Speech(
        frozenset(facts["beginnings"].split()),
        re.compile(rf"(?<![\w.])(?:{written})(?![^\W\d])"),
        known,
        tuple(
            (re.compile(form.replace("ROMAN", _ROMAN)), said)
            for form, said in facts.get("forms", ())
        ),
    )


# Read now: in a service there may be no file descriptor left.
_SPEECH = {file.stem: _speech(file) for file in bundled("languages", "speech").glob("*.toml")}


def _as_said(text: str, lang: str) -> str:
    """Return a text, with single spaces between its words, as it is said."""
    speech = _SPEECH.get(lang)
    if speech is None:
        return text

    def written_out(found: re.Match[str]) -> str:
        after = found.string[found.end() :]
        # Its full stop may also end the sentence, and "v.4" has no space.
        end = "." if not after and found[0][-1] == "." else " " * after[:1].isdigit()
        return speech.said[found[0].replace(". ", ".")] + end

    text = speech.short.sub(written_out, text)
    for form, said in speech.forms:
        text = form.sub(partial(_filled, said), text)
    return text


def _filled(said: str, found: re.Match[str]) -> str:
    """Return what is said for a form, with its groups and the value of its Roman numeral."""
    if "ROMAN" in said:
        said = said.replace("ROMAN", str(roman(found[found.lastindex or 0])))
    return found.expand(said)
