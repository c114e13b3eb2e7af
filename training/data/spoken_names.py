"""Sentences with names that no model knows, spoken by espeak-ng, as a folder to learn from.

    python -m training.data.spoken_names --out DIR

Each voice speaks each name once in each sentence. `--plain` sentences of sermons without a name are
added, so that the model does not learn that everything is a name.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import soundfile
from tqdm import tqdm

from pipeline.learning.data.folder import METADATA
from training.data.corpora import SERMON_PHRASES, read_pairs
from training.data.speech import SAMPLE_RATE_HZ, Voice, speak

NAMES = (
    "Ezekwesili", "Lindisvar", "Okonjova", "Threlkeva", "Mbanefo", "Castrellin", "Yarubel",
    "Pellimounter",
)  # fmt: skip
FRAMES = (
    "Pastor {} will teach on Thursday.",
    "We pray for {} today.",
    "{} sang before the sermon.",
    "Please talk to {} after the service.",
    "The letter is from {}.",
    "{} and the children are here.",
    "Last week {} was baptized.",
    "Thank you, {}, for the bread.",
    "I met {} at the door.",
    "The house of {} is open.",
    "Let us welcome {} this morning.",
    "Do you remember what {} told us?",
    "{} has been sick since Monday.",
    "My brother {} will read the psalm.",
    "The Lord has been good to {} and her family.",
    "Ask {} for a key.",
)
VOICES = (
    Voice("espeak-ng", "en-us+m3"),
    Voice("espeak-ng", "en-gb+f2"),
    Voice("espeak-ng", "en-gb-scotland+m1", 0.92),
    Voice("espeak-ng", "en-us+f4", 1.05),
)
_PLAIN_WORDS = (5, 14)


def spoken_sentences(
    names: Sequence[str], frames: Sequence[str], voices: Sequence[Voice], plain: int
) -> Iterator[tuple[str, tuple[str, ...], Voice]]:
    """Yield (text, its names, voice)."""
    for voice in voices:
        for frame in frames:
            for name in names:
                yield frame.format(name), (name,), voice
    short = [
        pair.en
        for pair in read_pairs(SERMON_PHRASES, "sermon")
        if _PLAIN_WORDS[0] <= len(pair.en.split()) <= _PLAIN_WORDS[1]
    ]
    for number, text in enumerate(short[:plain]):
        yield text, (), voices[number % len(voices)]


def speak_names(
    folder: Path,
    names: Sequence[str] = NAMES,
    frames: Sequence[str] = FRAMES,
    voices: Sequence[Voice] = VOICES,
    plain: int = 0,
) -> Path:
    """Write sound and metadata.jsonl; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    every = list(spoken_sentences(names, frames, voices, plain))
    for number, (text, terms, voice) in enumerate(tqdm(every, mininterval=5, leave=False)):
        file = f"spoken-{number:06}.flac"
        soundfile.write(folder / file, speak(text, voice), SAMPLE_RATE_HZ)
        fields = {
            "file_name": file,
            "transcription": text,
            "translation": "",
            "terms": terms,
            "source": "review",
            "session_id": "spoken",
            "speaker": voice.name,
        }
        lines.append(json.dumps(fields) + "\n")
    (folder / METADATA).write_text("".join(lines))
    return folder


def main() -> None:
    """Speak the sentences as the options say."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--plain", type=int, default=200, help="(%(default)s)")
    options = parser.parse_args()
    print(speak_names(options.out, plain=options.plain))


if __name__ == "__main__":
    main()
