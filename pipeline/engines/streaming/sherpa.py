"""Speech to text with sherpa-onnx: a transducer (such as a Zipformer) that never takes a word back.

Its greedy search goes through the sound once, chunk by chunk (320 ms, say), and only ever adds to
its text. So all that it has said is committed, and there is no tail.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.errors import ModelError
from pipeline.core.extras import require_extra
from pipeline.core.types import SAMPLE_RATE, Pcm
from pipeline.engines.specification import setting
from pipeline.engines.streaming.incremental import Heard, Piece, piece_id

_PARTS: Final = ("encoder", "decoder", "joiner")
_TOKENS = "tokens.txt"
_FLUSH_S = 0.8
"""Silence behind the last sample: the longest chunk of the published models is 770 ms, and one is
only begun when it is full."""
_FRAME_S = 0.04
"""What one step of a transducer lasts."""


class Sherpa:
    """A StreamingRecognizer on `sherpa_onnx.OnlineRecognizer`, on the CPU.

    `model` is a folder with encoder, decoder and joiner (*.onnx) and tokens.txt. `section`: see
    `EngineSpec`.
    """

    def __init__(self, model: Path, *, threads: int = 2, section: str = "") -> None:
        self._path = model
        self._threads = threads
        self._section = section
        self._recognizer: Any = None
        self._stream: Any = None

    @property
    def name(self) -> str:
        """Engine and model."""
        return f"sherpa-onnx:{self._path.name}"

    def load(self) -> None:
        """Load the model and hear a second of silence. Raises ModelError, ConfigError."""
        require_extra("sherpa_onnx", "sherpa-onnx", setting(self._section, "engine"))
        files = find_files(self._path, setting(self._section, "model"))
        import sherpa_onnx  # noqa: PLC0415 - heavy

        try:
            self._recognizer = sherpa_onnx.OnlineRecognizer.from_transducer(
                **{part: str(file) for part, file in files.items()},
                num_threads=self._threads,
                sample_rate=SAMPLE_RATE,
                decoding_method="greedy_search",
            )
            self.push(np.zeros(SAMPLE_RATE, np.float32), is_last=True)
        except Exception as error:
            key = setting(self._section, "model")
            raise ModelError("model-broken", f"{key}: {self._path}: {error}.") from error
        # That stream is at its end: only a new one takes more sound.
        self.reset()

    def push(self, pcm: Pcm, *, is_last: bool = False) -> Heard:
        """Take the next samples, shape (n,); return all that was heard, which is committed."""
        if self._stream is None:
            self._stream = self._recognizer.create_stream()
        stream = self._stream
        stream.accept_waveform(SAMPLE_RATE, pcm)
        if is_last:
            stream.accept_waveform(SAMPLE_RATE, np.zeros(round(_FLUSH_S * SAMPLE_RATE), np.float32))
            stream.input_finished()
        while self._recognizer.is_ready(stream):
            self._recognizer.decode_stream(stream)
        return Heard(committed=pieces(self._recognizer.get_result_all(stream)))

    def reset(self) -> None:
        """Forget what was heard."""
        self._stream = None

    def close(self) -> None:
        """Give the model back."""
        self._stream = self._recognizer = None


def find_files(folder: Path, key: str) -> dict[str, Path]:
    """Return the files of a transducer by their part; quantized ones (.int8) go before others.

    Raises ModelError that names the setting `key`.
    """
    if not folder.is_dir():
        raise ModelError(
            "model-missing",
            f"{key}: there is no folder {folder}.",
            "Give the folder that holds encoder, decoder and joiner (*.onnx) and tokens.txt.",
        )
    found = {part: _part(folder, part) for part in _PARTS}
    found["tokens"] = folder / _TOKENS if (folder / _TOKENS).is_file() else None
    missing = [part for part, file in found.items() if file is None]
    if missing:
        raise ModelError(
            "model-wrong-kind",
            f"{key}: {folder} lacks {', '.join(missing)}.",
            "sherpa-onnx takes a streaming transducer: encoder*.onnx, decoder*.onnx, "
            "joiner*.onnx and tokens.txt.",
        )
    return {part: file for part, file in found.items() if file is not None}


def _part(folder: Path, part: str) -> Path | None:
    files = sorted(folder.glob(f"{part}*.onnx"), key=lambda file: (".int8." not in file.name, file))
    return files[0] if files else None


def pieces(result: Any) -> tuple[Piece, ...]:
    """Return the tokens of sherpa-onnx's result.

    Many models know capital letters only; their text becomes small letters, which translators
    read better. A token lasts until the next one at the latest: the model says only when each
    began.
    """
    starts_s = [float(start_s) for start_s in result.timestamps]
    texts, probabilities = list(result.tokens), [math.exp(each) for each in result.ys_probs]
    if "".join(texts).strip() != result.text.strip():  # bytes: only the whole text can be read
        texts = [f" {word}" for word in result.text.split()]
        # The times are the tokens', so the last one has to do for all words.
        starts_s, probabilities = starts_s[-1:] * len(texts), []
    shout = "".join(texts)
    if shout.isupper():
        texts = [text.lower() for text in texts]
    ends_s = [*starts_s[1:], *(start_s + _FRAME_S for start_s in starts_s[-1:])]
    told: list[float | None] = [*probabilities] if len(probabilities) == len(texts) else []
    told = told or [None] * len(texts)
    return tuple(
        Piece(piece_id(text), text, start_s, end_s, probability)
        for text, start_s, end_s, probability in zip(texts, starts_s, ends_s, told, strict=True)
    )
