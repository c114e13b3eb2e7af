"""Spoken held-out sentences: the speech model's test, equal for equal synthesizers.

    python -m training.evaluate.stt_held_out --bible BIBLE --tatoeba TATOEBA --out check/

writes a small shard of them for the checks during training.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from training.data import corpora, speech
from training.data.spoken import speakable, written
from training.data.synthesize import excerpt, utterance, write_shard


@dataclass(frozen=True)
class Spoken:
    """A sentence not used in training, from `books` or `tatoeba`, as mono float32 at 16 kHz."""

    text: str
    audio: speech.Audio
    voice: speech.Voice
    source: str
    clean: bool  # no room, no noise


def held_out(split: corpora.Split, count: int, seed: str) -> Iterator[Spoken]:
    """Yield `count` sentences from the held-out books and as many held-out Tatoeba sentences.

    Voices, rooms and noise are drawn as for training, but with a separate random generator.
    """
    for source, pairs in (("books", split.held_out_books), ("tatoeba", split.held_out_tatoeba)):
        draw = random.Random(f"{seed}/{source}")
        texts = [written(excerpt(pair.en, draw)) for pair in pairs]
        for text in draw.sample([text for text in texts if speakable(text)], count):
            audio, voice, clean = utterance(text, draw)
            yield Spoken(text, audio, voice, source, clean)


def main() -> None:
    """Write the shard for the checks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--bible", type=Path, required=True)
    parser.add_argument("--tatoeba", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--count", type=int, default=30, help="sentences from each of the two sources"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sentences = held_out(corpora.load(options.bible, options.tatoeba), options.count, "check")
    write_shard(options.out / "check", ((s.text, s.audio, s.voice) for s in sentences))


if __name__ == "__main__":
    main()
