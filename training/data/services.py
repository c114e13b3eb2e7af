"""Services in natural voices to learn from, and next week's service to measure with.

    python -m training.data.services --pairs FILE --out DIR

`FILE` has sentences and their translations, separated by a tab. Kokoro speaks those with a term of
the shipped dictionary, in three voices, in a room with noise. `DIR`/learning is a data folder as
`stark-translate learn collect` makes it from reviewed services; `DIR`/next is one with other
sentences and the same terms. docs/LEARNING.md has the figures.
"""

from __future__ import annotations

import argparse
import random
import shutil
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import soundfile
import soxr
from tqdm import tqdm

from pipeline.config.schema import Settings
from pipeline.core.resources import bundled
from pipeline.core.types import Pcm
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process.factory import recognizer
from pipeline.engines.speech.espeak import RATE_HZ
from pipeline.engines.speech.kokoro import Kokoro
from pipeline.learning.data.folder import AUDIO, write_metadata
from pipeline.learning.data.pairs import LearningPair, write_pairs
from pipeline.learning.data.terms import terms_in
from pipeline.models.library import ModelLibrary
from pipeline.models.resolve import resolve
from training.data.speech import SAMPLE_RATE_HZ, in_room, with_noise, with_silence

VOICES = ("en", "es", "pt")
"""Voice styles for the English speech: one American, two with another timbre."""
_SNR_DB = (12.0, 25.0)
_OF_TERM = 6
"""Sentences per term to learn from; the next service has half as many."""
_LONGEST = 110
"""Most characters of a sentence that is spoken in one breath."""
_MODEL = "kokoro-82m-int8"


def parted(
    pairs: list[tuple[str, str]], terms: list[str], most: int
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return at most `most` pairs to learn from and half as many others, with the same terms."""
    of_term: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for pair in pairs:
        for term in terms_in(pair[0], terms)[:1]:
            of_term[term].append(pair)
    learnt: list[tuple[str, str]] = []
    held: list[tuple[str, str]] = []
    draw = random.Random(1)
    often = [found for found in of_term.values() if len(found) >= _OF_TERM * 3 // 2]
    for found in draw.sample(often, min(len(often), most // _OF_TERM)):
        for number, pair in enumerate(draw.sample(found, _OF_TERM * 3 // 2)):
            (learnt if number < _OF_TERM else held).append(pair)
    return learnt, held


class Speakers:
    """The voices, each in its own simulated room."""

    def __init__(self, threads: int) -> None:
        model = resolve("speech", _MODEL, ModelLibrary.of(Settings()), key="speech.model")
        self._engines = {}
        for voice in VOICES:
            with TemporaryDirectory() as folder:
                # Only the style is another language's: the phonemes stay English.
                shutil.copy(bundled("models", "voices", f"{voice}.bin"), Path(folder, "en.bin"))
                engine = Kokoro(
                    model,
                    section="speech",
                    languages=("en",),
                    threads=threads,
                    deadline_s=60.0,
                    voices=Path(folder),
                )
                engine.load()
            self._engines[voice] = engine

    def say(self, text: str, voice: str, draw: random.Random) -> Pcm:
        """Return the sentence at 16 kHz, as a microphone in a hall records it."""
        said = self._engines[voice].speak(text, "en", draw.uniform(0.95, 1.15))
        said = np.asarray(soxr.resample(said, RATE_HZ, SAMPLE_RATE_HZ), np.float32)
        return with_noise(in_room(with_silence(said, draw), draw), draw.uniform(*_SNR_DB), draw)


def speak(pairs: list[tuple[str, str]], folder: Path, terms: list[str], name: str) -> None:
    """Write the sound and the pairs of a service into a data folder, as after a review."""
    settings = Settings.model_validate({"stt": {"model": "whisper-base"}})
    hears = recognizer(settings, Dictionary(settings))
    hears.load()
    speakers, draw = Speakers(threads=2), random.Random(name)
    (folder / AUDIO).mkdir(parents=True)
    made = []
    for number, (text, translation) in enumerate(tqdm(pairs, name, mininterval=5), 1):
        voice = VOICES[number % len(VOICES)]
        pcm = speakers.say(text, voice, draw)
        pair = LearningPair(
            session_id=name,
            id=number,
            source_lang="en",
            text=text,
            heard=hears.recognize(pcm, final=True).text,
            target_lang="es",
            translation=translation,
            source="review",
            status="accepted",
            tier="accepted",
            terms=terms_in(text, terms),
            speaker=voice,
            audio=f"{name}-{number}.flac",
        )
        soundfile.write(folder / AUDIO / pair.audio, pcm, SAMPLE_RATE_HZ)
        made.append(pair)
    write_pairs(folder / "pairs.jsonl", made)
    write_metadata(folder, made)


def main() -> None:
    """Speak as the options say."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--pairs", type=Path, required=True, help="sentences, a tab, their translations")
    add("--out", type=Path, required=True)
    add("--most", type=int, default=240, help="sentences to learn from (%(default)s)")
    options = parser.parse_args()
    rows = [line.split("\t") for line in options.pairs.read_text("utf-8").splitlines()]
    pairs = [(row[0], row[1]) for row in rows if len(row[0]) <= _LONGEST]
    written = [rule.write for rule in Dictionary(Settings()).lexicon.rules]
    terms = list(dict.fromkeys(written))
    learnt, held = parted(pairs, terms, options.most)
    speak(learnt, options.out / "learning", terms, "learnt")
    speak(held, options.out / "next", terms, "next")


if __name__ == "__main__":
    main()
