"""A training mix, and teachers that fail as tests want."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from pipeline.core.types import Translation
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.remote.openai import OpenAi
from pipeline.learning.teach.teaching import TeachingOrder

SAID = [f"Chapter {number} is read today." for number in range(40)]


def write_mix(folder: Path, said: Sequence[str] = SAID) -> TeachingOrder:
    """Write a mix with a reference for each sentence; return the order to teach it."""
    mix = folder / "mix"
    mix.mkdir()
    parts = ("bible", "sermon")
    lines = [
        {"en": text, "es": f"Referencia {number}.", "part": parts[number % 2], "weight": 1.5}
        for number, text in enumerate(said)
    ]
    (mix / "train.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    (mix / "held_out.jsonl").write_text("")
    return TeachingOrder(
        mix=mix, out=folder / "out", teacher="ours", teacher_id="ab", langs=("en", "es")
    )


class Stopping:
    """A real teacher that stops or fails at a given sentence."""

    def __init__(self, teacher: Marian, error: BaseException, at: int) -> None:
        self._teacher, self._error, self._at = teacher, error, at
        self.count = 0

    def translate(self, text: str) -> Translation:
        self.count += 1
        if self.count == self._at:
            raise self._error
        return self._teacher.translate(text)


def asking(server: str, count: int = 1, deadline_s: float = 120.0) -> list[OpenAi]:
    """Return `count` translators of a server, one for each concurrent request."""
    made = [
        OpenAi("starter", url=server, prompt="starter", deadline_s=deadline_s) for _ in range(count)
    ]
    for each in made:
        each.load()
    return made
