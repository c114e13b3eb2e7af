"""Find when each word of a recording is spoken: NAME.words.json beside NAME.flac.

    python -m scripts.bench.word_times                    the recordings of demo and demo/voices
    python -m scripts.bench.word_times FOLDER             those of a folder with a voices.json

The times come from forced alignment with Whisper base (attention of the alignment heads, dynamic
time warping), the method of faster-whisper's word timestamps. It aligns each sentence that a
reference has, or else each utterance, whose text it finds by recognition. A sentence's first and
last word begin and end with the sentence; times in between are good to about 0.1 s.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pipeline.audio.file import read_audio
from pipeline.config.loader import load
from pipeline.config.schema import Settings, Vad
from pipeline.core.resources import bundled
from pipeline.core.types import SAMPLE_RATE, Pcm
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process import factory
from pipeline.engines.protocols import Recognizer
from pipeline.evaluation.reference import read_recording, read_voices
from pipeline.models.library import ModelLibrary
from pipeline.models.resolve import resolve
from pipeline.text.words import words
from scripts.bench.recordings import SpokenWord, WordTimes, moved, times_file, utterances
from scripts.support.command import parser_of, progress, says_errors
from scripts.support.voice_score import partners

MODEL = "whisper-base"
_HOP = 160
"""Samples per frame of features."""
_EDGE_S = 0.1
"""The length of sound before and after a sentence that is aligned with it."""


class WordAligner:
    """Uses Whisper to find when each word of a known text is spoken. `model` is its folder."""

    def __init__(self, model: Path, lang: str = "en") -> None:
        from faster_whisper import WhisperModel  # noqa: PLC0415 - heavy
        from faster_whisper.tokenizer import Tokenizer  # noqa: PLC0415

        self._model: Any = WhisperModel(
            str(model), device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True
        )
        many = self._model.model.is_multilingual
        self._tokenizer: Any = Tokenizer(self._model.hf_tokenizer, many, "transcribe", lang)

    def align(self, pcm: Pcm, text: str) -> list[SpokenWord]:
        """Return the words of `text`, split at white space. `pcm`, shape (n,), is at most 30 s."""
        from faster_whisper.audio import pad_or_trim  # noqa: PLC0415 - heavy

        if not text.split():
            return []
        features = self._model.feature_extractor(pcm, padding=_HOP)
        frames = min(features.shape[-1], 3000)
        encoded = self._model.encode(pad_or_trim(features))  # to 30 s
        tokens = self._tokenizer.encode(" " + text.strip())
        (pieces,) = self._model.find_alignment(self._tokenizer, [tokens], encoded, frames)
        return list(_whole_words(text.split(), pieces))


def _whole_words(told: Sequence[str], pieces: Iterable[dict[str, Any]]) -> Iterator[SpokenWord]:
    """Join the aligner's words, which include punctuation marks, to the words of the text."""
    left = iter(pieces)
    for word in told:
        text, start_s, end_s = "", None, 0.0
        while len(text) < len(word):
            piece = next(left, None)
            if piece is None:
                break
            text += piece["word"].strip()
            start_s = float(piece["start"]) if start_s is None else start_s
            # A punctuation mark is not spoken: the aligner gives it the pause after the word.
            end_s = float(piece["end"]) if words(piece["word"]) or not end_s else end_s
        yield SpokenWord(text=word, start_s=start_s or 0.0, end_s=end_s)


def sentence_times(aligner: WordAligner, audio: Path, reference: Path) -> list[SpokenWord]:
    """Return the words of a recording whose sentences are known. Raises SessionError."""
    pcm, found = read_audio(audio), []
    for sentence in read_recording(reference, "en", "es").once:
        from_s = max(0.0, sentence.start_s - _EDGE_S)
        part = pcm[round(from_s * SAMPLE_RATE) : round((sentence.end_s + _EDGE_S) * SAMPLE_RATE)]
        spoken = [moved(word, from_s) for word in aligner.align(part, sentence.source)]
        found += within(spoken, sentence.start_s, sentence.end_s)
    return found


def voice_times(
    aligner: WordAligner, recognizer: Recognizer, vad: Vad, audio: Path, text: str
) -> list[SpokenWord]:
    """Return the words of a recording whose text is known, but not the times of its sentences."""
    cut = utterances(read_audio(audio), vad)
    heard = [recognizer.recognize(each.pcm, final=True).text for each in cut]
    found = []
    for utterance, part in zip(cut, shared_out(text, heard), strict=True):
        spoken = [moved(word, utterance.start_s) for word in aligner.align(utterance.pcm, part)]
        first_s = spoken[0].start_s if spoken else 0.0
        found += within(spoken, first_s, utterance.end_s)
    return found


def shared_out(text: str, heard: Sequence[str]) -> list[str]:
    """Return the part of a text that each utterance holds; `heard` has the recognized texts."""
    spelled = text.split()
    places = [(key, place) for place, word in enumerate(spelled) for key in words(word)]
    keys = [(key, at) for at, each in enumerate(heard) for key in words(each)]
    if not keys:
        return [text, *[""] * (len(heard) - 1)] if heard else []
    paired = partners([key for key, _ in places], [key for key, _ in keys])
    at = 0
    homes = [0] * len(spelled)
    known = {places[said][1]: keys[got][1] for said, got in paired.items()}
    for place in range(len(spelled)):
        at = max(at, known.get(place, at))
        homes[place] = at
    return [" ".join(w for w, h in zip(spelled, homes, strict=True) if h == n)
            for n in range(len(heard))]  # fmt: skip


def within(spoken: Sequence[SpokenWord], start_s: float, end_s: float) -> list[SpokenWord]:
    """Return words with times in order inside a span; its first and last word fill the ends."""
    if not spoken:
        return []
    starts = [start_s, *(min(max(word.start_s, start_s), end_s) for word in spoken[1:])]
    ends = [min(max(word.end_s, start_s), end_s) for word in spoken[:-1]] + [end_s]
    ends = [max(start, end) for start, end in zip(starts, ends, strict=True)]
    return [
        SpokenWord(text=word.text, start_s=round(start, 3), end_s=round(end, 3))
        for word, start, end in zip(spoken, starts, ends, strict=True)
    ]


@says_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Align the words and write the files; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="recordings with a voices.json")
    parser.add_argument("--models", default="", metavar="FOLDER", help="as models.directory has it")
    arguments = parser.parse_args(argv)
    flags = {"stt.model": MODEL, "stt.hotwords": False} | (
        {"models.directory": arguments.models} if arguments.models else {}
    )
    write(load(flags=flags).settings, arguments.folder)
    return 0


def write(settings: Settings, folder: Path | None) -> None:
    """Align the recordings of a folder, or of the demo. Raises StarkError."""
    voices = read_voices(folder or bundled("demo", "voices"))
    aligner = WordAligner(resolve("stt", settings.stt.model, ModelLibrary.of(settings)))
    if folder is None:
        for name in ("sermon", "pauses"):
            audio = bundled("demo", f"{name}.flac")
            _keep(audio, sentence_times(aligner, audio, bundled("demo", f"{name}.json")))
    recognizer = factory.recognizer(settings, Dictionary(settings))
    recognizer.load()
    for path, voice in progress(voices.items(), "aligning"):
        _keep(path, voice_times(aligner, recognizer, settings.vad, path, voice.text))


def _keep(audio: Path, spoken: Sequence[SpokenWord]) -> None:
    file = times_file(audio)
    lines = ",\n  ".join(word.model_dump_json() for word in spoken)
    file.write_text(f'{{"aligned_by": "{MODEL}", "words": [\n  {lines}\n]}}\n', "utf-8")
    WordTimes.model_validate_json(file.read_bytes())
    backwards = sum(a.end_s > b.end_s for a, b in pairwise(spoken))
    print(f"{file}: {len(spoken)} words, {backwards} out of order", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
