"""Sentences with names that no model knows, spoken by espeak-ng, as a folder to learn from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import soundfile

from pipeline.learning.audio_folder import METADATA
from scripts.training.data.speech import SAMPLE_RATE_HZ, Voice, speak

NAMES = ("Ezekwesili", "Lindisvar", "Okonjova")
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
)
VOICES = (Voice("espeak-ng", "en-us+m3"), Voice("espeak-ng", "en-gb+f2"))


def sentences(names: Sequence[str] = NAMES) -> list[tuple[str, str]]:
    """Return (name, sentence) of each name in each frame."""
    return [(name, frame.format(name)) for frame in FRAMES for name in names]


def speak_names(
    folder: Path, names: Sequence[str] = NAMES, voices: Sequence[Voice] = VOICES
) -> Path:
    """Write sound and metadata.jsonl, the voices in turns; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, (name, text) in enumerate(sentences(names)):
        voice = voices[number % len(voices)]
        file = f"spoken-{number:06}.flac"
        soundfile.write(folder / file, speak(text, voice), SAMPLE_RATE_HZ)
        lines.append(
            {
                "file_name": file,
                "transcription": text,
                "translation": "",
                "terms": [name],
                "source": "review",
                "session_id": "spoken",
                "speaker": voice.name,
            }
        )
    (folder / METADATA).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder
