"""Which features tell song from speech better: a mel spectrum's, or the recognizer's encoder's?

    python -m training.evaluate.song_heads --tapes 1 --model FOLDER

Fits the same linear head to both on the same clips, and tests it on voices and instruments that are
held out. Encoder features are mean and spread of its states over two seconds (Gong et al. 2023,
"Whisper-AT", on the frozen encoder), looked at once a second; FOLDER has a CTranslate2 Whisper.
Costs are CPU time of one thread for a second of sound.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.audio.silero_vad import Silero
from pipeline.audio.song_head import KINDS, WINDOW_S
from pipeline.core.types import SAMPLE_RATE, Pcm
from pipeline.engines.ctranslate2.whisper import padded, window_frames
from training.data.service_sound import Clip
from training.train.train_song import SEED, Examples, auc, examples, fit, joined, tape

_WINDOW = round(WINDOW_S * SAMPLE_RATE)
_STATES_A_SECOND = 50


class EncoderFeatures:
    """Mean and spread of a Whisper encoder's states over two seconds."""

    def __init__(self, folder: Path) -> None:
        """Load the model on one thread."""
        import faster_whisper  # noqa: PLC0415 - heavy

        self._model: Any = faster_whisper.WhisperModel(
            str(folder), compute_type="int8", cpu_threads=1, local_files_only=True
        )

    def of(self, pcm: Pcm) -> NDArray[np.float32]:
        """Return the features of two seconds of sound, shape (n,)."""
        mels = self._model.feature_extractor(pcm, padding=160)
        frames = window_frames(mels.shape[-1], 400, len(mels))
        states = np.array(self._model.encode(padded(mels, frames)))[0]
        heard = states[: round(WINDOW_S * _STATES_A_SECOND)]
        return np.concatenate([heard.mean(axis=0), heard.std(axis=0)]).astype(np.float32)

    def examples(self, clips: Iterable[Clip]) -> Examples:
        """Return a window of every second of all clips."""
        features, kinds, names = [], [], []
        for clip in clips:
            for start in range(0, len(clip.audio) - _WINDOW, SAMPLE_RATE):
                features.append(self.of(clip.audio[start : start + _WINDOW]))
                kinds.append(KINDS.index(clip.kind))
                names.append(clip.name)
        return Examples(np.array(features), np.array(kinds), tuple(names))


def compared(train: Examples, test: Examples) -> dict[str, float]:
    """Return how well a head that is fitted to the one tells the other."""
    head = fit(train)
    song = head.song(test.features)
    is_song, is_speech = test.kinds == 1, test.kinds == 0
    either = is_song | is_speech
    limit = float(np.quantile(song[is_speech], 0.99))
    return {
        "auc": round(auc(song[either], is_song[either]), 4),
        "found_at_1_percent": round(float(np.mean(song[is_song] > limit)), 4),
    }


def _timed(clips: list[Clip], make: Any) -> tuple[Examples, float]:
    began = time.process_time()
    made = make(clips)
    seconds = sum(len(clip.audio) for clip in clips) / SAMPLE_RATE
    return made, round(1000 * (time.process_time() - began) / seconds, 1)


def _figures(model: Path, tapes: int) -> Iterator[dict[str, object]]:
    silero, encoder = Silero(), EncoderFeatures(model)
    silero.load()
    train = [list(tape(SEED + 1 + number)) for number in range(tapes)]
    test = list(tape(SEED, held_out=True))
    ways = {"mel": lambda clips: examples(clips, silero, SEED), "encoder": encoder.examples}
    for name, make in ways.items():
        found, cpu_ms = _timed(test, make)
        fitted = joined([make(clips) for clips in train])
        yield {"features": name, "cpu_ms_a_second": cpu_ms} | compared(fitted, found)


def main() -> None:
    """Print the figures of both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tapes", type=int, default=1)
    given = parser.parse_args()
    for figures in _figures(given.model, given.tapes):
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
