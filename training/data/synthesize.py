"""Speaks the training texts and keeps their log-mel features, 500 utterances to a shard.

    python -m training.data.synthesize --bible BIBLE --tatoeba TATOEBA --out speech/

A shard is `NAME.npy` (float16, frames x 80, all utterances one after another, by faster-whisper's
own feature extractor) and `NAME.json` (start, frames, text, voice of each). A shard depends only on
its number and the seed; existing ones are skipped, so the work can be stopped and resumed, and
training may read along.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from faster_whisper.feature_extractor import FeatureExtractor
from numpy.typing import NDArray
from tqdm import tqdm

from training.data import corpora, speech
from training.data.spoken import number_words, speakable, spoken, written

MIX = {"tatoeba": 42, "nheb": 24, "bbe": 13, "kjv": 5, "asv": 4, "references": 6, "sermon": 22}
SHARD_UTTERANCES = 500
MAX_CHARACTERS = 190
MAX_SECONDS = 16.0
BOOKS = (
    "Genesis", "Exodus", "Leviticus", "Numbers", "Deuteronomy", "Joshua", "Judges", "Ruth",
    "1 Samuel", "2 Samuel", "1 Kings", "2 Kings", "1 Chronicles", "2 Chronicles", "Ezra",
    "Nehemiah", "Esther", "Job", "Psalm", "Proverbs", "Ecclesiastes", "Isaiah", "Jeremiah",
    "Lamentations", "Ezekiel", "Daniel", "Hosea", "Joel", "Amos", "Obadiah", "Jonah",
    "Micah", "Nahum", "Habakkuk", "Zephaniah", "Haggai", "Zechariah", "Malachi", "Matthew",
    "Mark", "Luke", "John", "Acts", "Romans", "1 Corinthians", "2 Corinthians", "Galatians",
    "Ephesians", "Philippians", "Colossians", "1 Thessalonians", "2 Thessalonians",
    "1 Timothy", "2 Timothy", "Titus", "Philemon", "Hebrews", "James", "1 Peter", "2 Peter",
    "1 John", "2 John", "3 John", "Jude", "Revelation",
)  # fmt: skip
REFERENCES = (
    "{book} {c}:{v}.",
    "Turn to {book} {c}:{v}.",
    "In {book} {c}:{v} we read this.",
    "Please open your Bible to {book} {c}:{v}.",
    "Let us read from {book}, chapter {cw}, verse {vw}.",
    "Turn with me to the book of {book}, chapter {cw}.",
    "{book} chapter {cw}, verses {vw} to {ww}.",
    "{book} {cw}, verse {vw}.",
    "Look at verse {vw}.",
    "Verse {vw} says it clearly.",
    "We continue in {book}, chapter {cw}, verse {vw}.",
    "Our reading today is {book} {c}:{v}.",
    "Listen to {book} {c}:{v}.",
    "Hymn number {hw}.",
    "Let us sing hymn number {hw}.",
    "The text is {book}, chapter {cw}, verse {vw}.",
    "Compare this with {book} {c}:{v}.",
)
_CLAUSE = re.compile(r"(?<=[,;:.?!])\s+")


def reference(draw: random.Random) -> str:
    """Return a sentence with a Bible reference, such as "Turn to Romans 8:28." """
    chapter, verse, hymn = (
        draw.randint(1, draw.choice((5, 28, 150))),
        draw.randint(1, 40),
        draw.randint(1, 600),
    )
    book, form = draw.choice(BOOKS), draw.choice(REFERENCES)
    if "{c}" not in form:  # a reference in words also has its book in words
        book = spoken(book)
    return form.format(
        book=book, c=chapter, v=verse, cw=number_words(chapter), vw=number_words(verse),
        ww=number_words(verse + draw.randint(1, 12)), hw=number_words(hymn),
    )  # fmt: skip


def excerpt(text: str, draw: random.Random) -> str:
    """Return the text, or some consecutive clauses of it if it is too long."""
    if len(text) <= MAX_CHARACTERS:
        return text
    clauses = _CLAUSE.split(text)
    start = draw.randrange(len(clauses))
    end = start + 1
    while end < len(clauses) and sum(map(len, clauses[start : end + 1])) < MAX_CHARACTERS:
        end += 1
    return " ".join(clauses[start:end])


def texts(pairs: dict[str, list[str]], mix: dict[str, int], draw: random.Random) -> Iterator[str]:
    """Yield sentences to speak, without end; two to four short ones are often joined."""
    names = [name for name in mix if name == "references" or pairs.get(name)]
    weights = [mix[name] for name in names]

    def one(name: str) -> str:
        return reference(draw) if name == "references" else excerpt(draw.choice(pairs[name]), draw)

    while True:
        name = draw.choices(names, weights)[0]
        text = one(name)
        while len(text) < 110 and draw.random() < 0.45:
            text = f"{written(text)} {written(one(name))}"
        text = written(text)
        if len(text) <= MAX_CHARACTERS + 60 and speakable(text):
            yield text


def utterance(text: str, draw: random.Random) -> tuple[speech.Audio, speech.Voice, bool]:
    """Return the speech at a random level, its random voice, and whether it is clean."""
    voice = speech.draw_voice(draw)
    audio = speech.with_silence(speech.speak(spoken(text), voice), draw)
    clean = True
    if draw.random() < 0.4:
        audio, clean = speech.in_room(audio, draw), False
    if draw.random() < 0.2:
        audio, clean = speech.with_noise(audio, draw.uniform(12, 35), draw), False
    return speech.level(audio, draw), voice, clean


def utterances(
    pairs: dict[str, list[str]], mix: dict[str, int], draw: random.Random
) -> Iterator[tuple[str, speech.Audio, speech.Voice]]:
    """Yield one shard's utterances as (text, audio, voice)."""
    count = 0
    for text in texts(pairs, mix, draw):
        audio, voice, _ = utterance(text, draw)
        if 0.3 < len(audio) / speech.SAMPLE_RATE_HZ < MAX_SECONDS:
            yield text, audio, voice
            count += 1
        if count == SHARD_UTTERANCES:
            return


def write_shard(
    path: Path, spoken_texts: Iterable[tuple[str, speech.Audio, speech.Voice]]
) -> float:
    """Write PATH.npy and PATH.json; return their hours of speech."""
    extractor = FeatureExtractor(feature_size=80)
    features: list[NDArray[np.float16]] = []
    index: list[dict[str, object]] = []
    start = 0
    for text, audio, voice in spoken_texts:
        mel = extractor(audio).T.astype(np.float16)
        index.append({"start": start, "frames": len(mel), "text": text, "voice": voice.name})
        features.append(mel)
        start += len(mel)
    np.save(path.with_suffix(".part.npy"), np.concatenate(features))
    path.with_suffix(".part.npy").rename(path.with_suffix(".npy"))
    path.with_suffix(".json").write_text(json.dumps(index))
    return start / 360_000


def parse_mix(text: str) -> dict[str, int]:
    """Parse `tatoeba=40,nheb=20` into weights by source; "references" are generated here."""
    return {
        name: int(weight) for name, _, weight in (part.partition("=") for part in text.split(","))
    }


def main() -> None:
    """Write the shards."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--bible", type=Path, required=True)
    parser.add_argument("--tatoeba", type=Path, required=True)
    parser.add_argument("--sermon", type=Path, default=corpora.SERMON_PHRASES)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--shards", type=int, default=40, help="500 utterances, about 50 minutes, each"
    )
    parser.add_argument("--name", default="mixed", help="begins the shards' names and their seeds")
    parser.add_argument("--mix", type=parse_mix, default=MIX, help="e.g. sermon=3,references=1")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    split = corpora.load(options.bible, options.tatoeba, options.sermon)
    pairs = {name: [pair.en for pair in found] for name, found in split.training.items()}
    hours = 0.0
    with tqdm(range(options.shards), unit="shard", mininterval=5) as bar:
        for number in bar:
            path = options.out / f"{options.name}-{number:03d}"
            if not path.with_suffix(".json").exists():
                draw = random.Random(f"{options.seed}/{options.name}/{number}")
                hours += write_shard(path, utterances(pairs, options.mix, draw))
                bar.set_postfix_str(f"{hours:.1f} h new")


if __name__ == "__main__":
    main()
