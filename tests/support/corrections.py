"""Pass text through the dictionary, for the tests of its parts."""

from __future__ import annotations

import numpy as np

from pipeline.core.types import Recognition, Transcript, Utterance
from pipeline.dictionary.matcher import Lexicon, compile_lexicon, correct
from pipeline.dictionary.rules import parse_rules


def lexicon(*files: str) -> Lexicon:
    """Compile the texts of several files; later files win."""
    return compile_lexicon(
        rule for number, text in enumerate(files) for rule in parse_rules(text, f"{number}.toml")
    )


def corrected(words: Lexicon, text: str) -> Transcript:
    """Correct one recognized text."""
    utterance = Utterance(1, 1, True, "silence", 0, 512, np.zeros(512, np.float32))
    return correct(words, Transcript(utterance, "en", text, text, Recognition(text)))
