"""Pass text through the dictionary, for the tests of its parts."""

from __future__ import annotations

from pipeline.core.types import Recognition, Transcript
from pipeline.dictionary.matcher import Lexicon, compile_lexicon, correct
from pipeline.dictionary.rules import parse_rules
from scripts.support.records import utterance


def lexicon(*files: str) -> Lexicon:
    """Compile the texts of several files; later files win."""
    return compile_lexicon(
        rule for number, text in enumerate(files) for rule in parse_rules(text, f"{number}.toml")
    )


def corrected(words: Lexicon, text: str) -> Transcript:
    """Correct one recognized text."""
    return correct(words, Transcript(utterance(1, 0.0, 1.0), "en", text, text, Recognition(text)))
