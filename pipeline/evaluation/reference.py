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
        """Return the seconds by which a time range overlaps the sentence; negative: the gap."""
        return min(self.end_s, end_s) - max(self.start_s, start_s)


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording and its sentences, played once."""

    duration_s: float
    once: tuple[Sentence, ...]

    def sentences(self, audio_s: float) -> list[Sentence]:
        """Return the sentences that end within `audio_s` of the recording, played in a loop."""
        # The last lap may be incomplete: the filter below drops the sentences not played.
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
        # A sentence that the end of the session cut off cannot be recognized.
        return [sentence for sentence in spoken if sentence.end_s <= audio_s]


def read_recording(path: Path, source: str, target: str) -> Recording:
    """Read a reference in two languages. Raises SessionError (reference-unreadable)."""
    # A language missing in the file raises KeyError with its code, which the message then names.
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


# A pydantic model: people write this file by hand, and pydantic's errors name the wrong field.
class Voice(BaseModel):
    """The transcript of a recording."""

    text: str
    note: str = ""
    """The speaker and the licence."""


_Voices = TypeAdapter(dict[str, Voice])


def read_voices(folder: Path) -> dict[Path, Voice]:
    """Return the recordings of a folder with a voices.json, in its order.

    Raises SessionError (reference-unreadable).
    """
    file = folder / "voices.json"
    with reading(file, SessionError, "reference-unreadable", wrong=(ValidationError,)):
        voices = _Voices.validate_json(file.read_bytes())
    return {folder / name: voice for name, voice in voices.items()}


# Compared by identity: == of two arrays is an array, not a bool.
@dataclass(frozen=True, slots=True, eq=False)
class Golden:
    """The golden sentence. `text` and `must` are keyed by language."""

    pcm: Pcm
    text: dict[str, str]
    must: dict[str, tuple[str, ...]]
    """The content words of a good translation; `|` separates alternatives."""
    spoken: str = "en"
    """The language of the recording."""

    @property
    def duration_s(self) -> float:
        """Length of the recording in seconds."""
        return len(self.pcm) / SAMPLE_RATE

    def missing(self, text: str, lang: str) -> list[str]:
        """Return the required words that a translation lacks; none for an unknown language.

        Whole words are compared, without case and surrounding punctuation.
        """
        # "L'Éternel" also counts as the word after the apostrophe.
        found = {part for word in words(text) for part in (word, *word.split("'"))}
        every = ((word, word.lower().split("|")) for word in self.must.get(lang, ()))
        return [word.partition("|")[0] for word, some in every if found.isdisjoint(some)]

    def unheard(self, text: str) -> list[str]:
        """Return the words of the sentence that a recognition lacks, in their order."""
        heard = set(words(text))
        # A dict keeps the order, so that people find the words easily in the sentence.
        said = dict.fromkeys(words(self.text[self.spoken]))
        return [word for word in said if word not in heard]


def read_golden(path: Path) -> Golden:
    """Read golden.json and the recording it names.

    Raises SessionError (reference-unreadable), and AudioError for the recording.
    """
    # All exceptions that a file of another format can raise.
    wrong = (orjson.JSONDecodeError, KeyError, TypeError, AttributeError)
    fix = "Install the program again."
    with reading(path, SessionError, "reference-unreadable", fix, wrong):
        content = orjson.loads(path.read_bytes())
        audio, text = path.parent / content["audio"], dict(content["text"])
        must = {lang: tuple(listed) for lang, listed in content["must"].items()}
        spoken = str(content["spoken"])
    # Outside the block: an unreadable recording raises its own error, which says more.
    return Golden(read_audio(audio), text, must, spoken)
