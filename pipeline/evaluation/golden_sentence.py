"""The golden sentence, which every engine must get right: its sound, text and required words.

demo/golden.json says where in the demo sermon demo/golden.flac was cut from.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import orjson

from pipeline.audio.file import read_audio
from pipeline.core.errors import SessionError
from pipeline.core.types import SAMPLE_RATE, Pcm
from pipeline.text.words import words


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
        said = dict.fromkeys(words(self.text[self.spoken]))
        return [word for word in said if word not in heard]


def read_golden(path: Path) -> Golden:
    """Read golden.json and the recording it names.

    Raises SessionError (reference-unreadable), and AudioError for the recording.
    """
    try:
        content = orjson.loads(path.read_bytes())
        audio, text = path.parent / content["audio"], dict(content["text"])
        must = {lang: tuple(listed) for lang, listed in content["must"].items()}
        spoken = str(content["spoken"])
    # All that reading a file of another form can raise.
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise SessionError(
            "reference-unreadable",
            f"{path} is not the golden sentence: {error!r}.",
            "Install the program again.",
        ) from None
    return Golden(read_audio(audio), text, must, spoken)
