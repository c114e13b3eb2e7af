"""Speech to text with Moonshine: small encoders without a fixed window length.

The library (moonshine-voice; it and its English models are MIT) splits audio into lines by itself.
The segmenter has already done this, so the library's options declare everything as speech. A
complete line is committed; the text of an open line is made again at each update. Streaming models
keep their encodings, the others encode the open line again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.errors import ModelError
from pipeline.core.resources import require_extra
from pipeline.core.types import SAMPLE_RATE, Pcm
from pipeline.engines.specification import setting
from pipeline.engines.streaming.incremental import Heard, IncrementalRecognizer, Piece, piece_id

# The kind is a whole word: the folder "based-en" is not a "base" model.
_KIND = re.compile(r"(tiny|base|small|medium)(-streaming)?(?![a-z])")
_OPTIONS: Final = {
    "vad_threshold": "0",  # everything is speech
    "vad_max_segment_duration": "60",
    "identify_speakers": "false",
    "return_audio_data": "false",
}
_TELLS_TIMES: Final = (
    "decoder_with_attention.ort",
    "decoder_kv_with_attention.ort",
    "alignment_model.ort",
)
"""With one of these files, a model gives the times of the words."""
_NEVER_S: Final = 1e9
"""Turns off the library's own updates."""
_MARGIN_S: Final = 0.3
"""Silence added before speech, and after it at its end. Without it tiny-en misses 6 of 12 full
stops of demo/voices and 3 of 14 of the demo sermon; with it none, without more wrong words."""
_SILENCE: Final[Pcm] = np.zeros(round(_MARGIN_S * SAMPLE_RATE), np.float32)


class Moonshine(IncrementalRecognizer):
    """A Recognizer on `moonshine_voice.Transcriber`, on the CPU.

    `model` is a folder whose name contains the kind of model, such as `tiny-en` or
    `small-streaming-en`. `section`: see `EngineSpec`.
    """

    def __init__(self, model: Path, *, section: str = "") -> None:
        super().__init__()
        self.name = f"moonshine:{model.name}"
        self._path = model
        self._section = section
        self._transcriber: Any = None
        self._stream: Any = None

    def load(self) -> None:
        """Load the model and recognize a second of silence. Raises ModelError, ConfigError."""
        require_extra("moonshine_voice", "moonshine", setting(self._section, "engine"))
        key = setting(self._section, "model")
        kind = kind_of(self._path, key)
        import moonshine_voice  # noqa: PLC0415 - heavy

        has_times = any((self._path / name).is_file() for name in _TELLS_TIMES)
        options = _OPTIONS | ({"word_timestamps": "true"} if has_times else {})
        try:
            self._transcriber = moonshine_voice.Transcriber(
                str(self._path), moonshine_voice.ModelArch[kind], options=options
            )
            self.push(np.zeros(SAMPLE_RATE, np.float32), is_last=True)
        except Exception as error:
            raise ModelError("model-broken", f"{key}: {self._path}: {error}.") from error
        # Without a reset, the silence would be part of the first utterance.
        self.reset()

    def push(self, pcm: Pcm, *, is_last: bool = False) -> Heard:
        """Take the next samples, shape (n,); return everything recognized so far."""
        if self._stream is None:
            self._stream = self._transcriber.create_stream(update_interval=_NEVER_S)
            self._stream.start()
            pcm = np.concatenate((_SILENCE, pcm))
        if is_last:
            pcm = np.concatenate((pcm, _SILENCE))
        if pcm.size:
            # The library iterates over single samples, which is slow for an array.
            self._stream.add_audio(pcm.tolist(), SAMPLE_RATE)
        # `stop` would not return the audio since the last update.
        force = self._transcriber.MOONSHINE_FLAG_FORCE_UPDATE
        return heard(self._stream.update_transcription(force).lines, is_last=is_last)

    def reset(self) -> None:
        """Forget all audio."""
        if self._stream is not None:
            # The library holds a stream until it is closed.
            self._stream.close()
            self._stream = None


def kind_of(folder: Path, key: str) -> str:
    """Return the library's name for a model's kind, such as TINY or SMALL_STREAMING.

    Raises ModelError that names the setting `key`.
    """
    if not folder.is_dir():
        fix = f'Give the folder of a Moonshine model, or set {key} to "auto".'
        raise ModelError("model-missing", f"{key}: there is no folder {folder}.", fix)
    found = _KIND.match(folder.name)
    if found is None or not (folder / "tokenizer.bin").is_file():
        raise ModelError(
            "model-wrong-kind",
            f"{key}: {folder} is not a Moonshine model.",
            "Its folder is called as it was published (tiny-en, small-streaming-en) and holds "
            "tokenizer.bin and *.ort.",
        )
    return found[0].upper().replace("-", "_")


def heard(lines: list[Any], *, is_last: bool) -> Heard:
    """Return the pieces of the library's lines, of which only the last can be open."""
    over = [line for line in lines if line.is_complete or is_last]
    return Heard(
        committed=tuple(piece for line in over for piece in _pieces(line)),
        tail=tuple(piece for line in lines[len(over) :] for piece in _pieces(line)),
    )


def _pieces(line: Any) -> Iterator[Piece]:
    """Yield the words of a line, with times if the model gives them for all words."""
    words, timed = line.text.split(), getattr(line, "words", None) or []
    if [word.word.strip() for word in timed] != words:
        yield from (Piece(piece_id(f" {word}"), f" {word}") for word in words)
        return
    for word, time in zip(words, timed, strict=True):
        text = f" {word}"
        # The library's times include the added silence before the speech.
        start_s, end_s = (max(0.0, each - _MARGIN_S) for each in (time.start, time.end))
        yield Piece(piece_id(text), text, start_s, end_s, time.confidence)
