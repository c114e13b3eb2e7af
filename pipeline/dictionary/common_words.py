"""The everyday words of a language: no name is heard in them, and no rule is kept for one alone."""

from __future__ import annotations

from functools import lru_cache

from pipeline.core.errors import DictionaryError, quoted
from pipeline.core.resources import bundled
from pipeline.dictionary.rules import key


@lru_cache(maxsize=4)
def common_words(lang: str) -> frozenset[str]:
    """Return the words of `dictionary/common/LANG.txt`, none where there is no such file."""
    file = bundled("dictionary", "common", f"{lang}.txt")
    if not file.is_file():
        return frozenset()
    lines = file.read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def require_rare(heard: str, lang: str) -> None:
    """Raise DictionaryError where a rule would hear an everyday word and nothing else."""
    if key(heard) in common_words(lang):
        raise DictionaryError(
            "dictionary-common-word",
            f"{quoted(heard)} is an everyday word: it would be changed wherever it is right.",
            "Correct this caption only, or let the rule hear two words or more.",
        )
