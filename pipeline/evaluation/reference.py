"""The reference of a recording: its sentences with their times, to compare captions with.

The file (such as demo/sermon.json) has `duration_s`, and `sentences` with `section`, `start_s`,
`end_s`, the text under each language's code, and `terms`, the words a good caption must get right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
from pydantic import BaseModel, TypeAdapter, ValidationError

from pipeline.audio.file import read_audio
from pipeline.core.errors import SessionError, reading
from pipeline.core.types import SAMPLE_RATE, Pcm
from pipeline.text.words import words


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as it was spoken. Seconds from the start of the audio."""

    lap: int
    section: str
    start_s: float
    end_s: float
    source: str
    target: str
    terms: tuple[tuple[str, str], ...]
    """(source, target) of each term."""

    def overlap_s(self, start_s: float, end_s: float) -> float:
        """Return the seconds that a time range and the sentence share; negative: their distance."""
        return min(self.end_s, end_s) - max(self.start_s, start_s)


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording and its sentences, played once."""

    duration_s: float
    once: tuple[Sentence, ...]

    def sentences(self, audio_s: float) -> list[Sentence]:
        """Return the sentences that end within `audio_s` of the recording, played in a loop."""
        # The last lap is begun and not done: sentences of its unheard part fall out below.
        laps = range(math.ceil(audio_s / self.duration_s))
        spoken = (
            replace(
                sentence,
                lap=lap,
                start_s=sentence.start_s + lap * self.duration_s,
                end_s=sentence.end_s + lap * self.duration_s,
            )
            for lap in laps
            for sentence in self.once
        )
        # One that was cut off by the end of the session cannot be recognized.
        return [sentence for sentence in spoken if sentence.end_s <= audio_s]


def read_recording(path: Path, source: str, target: str) -> Recording:
    """Read a reference in two languages. Raises SessionError (reference-unreadable)."""
    # A language that the file lacks is a KeyError of its code, which the message then names.
    wrong = (orjson.JSONDecodeError, KeyError, TypeError)
    with reading(path, SessionError, "reference-unreadable", wrong=wrong):
        content = orjson.loads(path.read_bytes())
        sentences = [
            Sentence(
                0,
                entry["section"],
                entry["start_s"],
                entry["end_s"],
                entry[source],
                entry[target],
                tuple((term[source], term[target]) for term in entry["terms"]),
            )
            for entry in content["sentences"]
        ]
        return Recording(content["duration_s"], tuple(sentences))


# Of pydantic: people write this file by hand, and its errors name the field that is wrong.
class Voice(BaseModel):
    """A recording and what is said in it."""

    text: str
    note: str = ""
    """Who speaks, and the licence."""


_Voices = TypeAdapter(dict[str, Voice])


def read_voices(folder: Path) -> dict[Path, Voice]:
    """Return the recordings of a folder with a voices.json, in its order.

    Raises SessionError (reference-unreadable).
    """
    file = folder / "voices.json"
    with reading(file, SessionError, "reference-unreadable", wrong=(ValidationError,)):
        voices = _Voices.validate_json(file.read_bytes())
    return {folder / name: voice for name, voice in voices.items()}


# Compared by identity: == of two arrays of samples is an array, and no answer.
@dataclass(frozen=True, slots=True, eq=False)
class Golden:
    """The sentence. `text` and `must` are keyed by language."""

    pcm: Pcm
    text: dict[str, str]
    must: dict[str, tuple[str, ...]]
    """The content words that a good translation has; of those with a bar between one is enough."""
    spoken: str = "en"
    """The language of the recording."""

    @property
    def duration_s(self) -> float:
        """Length of the recording in seconds."""
        return len(self.pcm) / SAMPLE_RATE

    def missing(self, text: str, lang: str) -> list[str]:
        """Return the required words that a translation lacks; none for an unknown language.

        Whole words are compared, whatever their case and the punctuation around them.
        """
        # "L'Éternel" is the word behind the apostrophe as well.
        found = {part for word in words(text) for part in (word, *word.split("'"))}
        every = ((word, word.lower().split("|")) for word in self.must.get(lang, ()))
        return [word.partition("|")[0] for word, some in every if found.isdisjoint(some)]

    def unheard(self, text: str) -> list[str]:
        """Return the words of the sentence that a recognition lacks, in their order."""
        heard = set(words(text))
        # A dict is a set that keeps the order: people look for the words where they were said.
        said = dict.fromkeys(words(self.text[self.spoken]))
        return [word for word in said if word not in heard]


def read_golden(path: Path) -> Golden:
    """Read golden.json and the recording it names.

    Raises SessionError (reference-unreadable), and AudioError for the recording.
    """
    # All that reading a file of another form can raise.
    wrong = (orjson.JSONDecodeError, KeyError, TypeError, AttributeError)
    fix = "Install the program again."
    with reading(path, SessionError, "reference-unreadable", fix, wrong):
        content = orjson.loads(path.read_bytes())
        audio, text = path.parent / content["audio"], dict(content["text"])
        must = {lang: tuple(listed) for lang, listed in content["must"].items()}
        spoken = str(content["spoken"])
    # Outside the block: a recording that cannot be read has an error of its own, which says more.
    return Golden(read_audio(audio), text, must, spoken)
