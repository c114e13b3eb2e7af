"""Speech to text: faster-whisper, on a window as short as the utterance allows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.core.errors import EngineError, ModelError
from pipeline.core.types import SAMPLE_RATE, Pcm, Recognition
from pipeline.engines.ctranslate2_errors import explain, require
from pipeline.engines.word_probabilities import Choosing, words

_KEY = "stt.model"
_FRAMES_A_SECOND = 100
_MAX_FRAMES = 3000
_MARGIN_S = 2.0
_TOKENS_A_SECOND = 12
_MAX_TOKENS = 220
"""Whisper decodes 448 tokens in all; hot words and the start of the prompt take up to 228."""


class Whisper:
    """A Recognizer on `faster_whisper.WhisperModel`.

    `model` is the folder of a CTranslate2 model, `lang` the spoken language,
    `window_s` the shortest stretch that is encoded, `hotwords` words to listen for (they may be
    changed between calls; the model sees the first 223 tokens of them). With `word_probabilities`
    finals tell how sure the model is of each word.
    """

    setback = ""

    def __init__(
        self,
        model: Path,
        *,
        device: str = "cpu",
        compute_type: str = "int8",
        threads: int = 2,
        lang: str = "en",
        window_s: float = 10.0,
        hotwords: str = "",
        word_probabilities: bool = True,
    ) -> None:
        self._path = model
        self._settings = {"device": device, "compute_type": compute_type, "cpu_threads": threads}
        self._lang = lang
        self._window_s = window_s
        self._word_probabilities = word_probabilities
        self._model: Any = None
        self.hotwords = hotwords

    @property
    def name(self) -> str:
        """Engine and model."""
        return f"whisper:{self._path.name}"

    @property
    def gpu_layers(self) -> int:
        """-1, for all, when it has loaded on a GPU, 0 on the CPU."""
        return 0 if self._model is None or self._model.model.device == "cpu" else -1

    def load(self) -> None:
        """Load the model and transcribe a second of silence. Raises ModelError."""
        require(self._path, ("model.bin", "tokenizer.json"), _KEY, "Whisper")
        import faster_whisper  # noqa: PLC0415 - heavy

        try:
            model = faster_whisper.WhisperModel(
                str(self._path), num_workers=1, local_files_only=True, **self._settings
            )
        except Exception as error:
            raise explain(error, self._path, _KEY, "Whisper") from error
        if self._lang not in model.supported_languages:
            raise ModelError(
                "model-wrong-lang",
                f"{_KEY}: {self._path} does not know the language {self._lang!r}.",
                "Set translate.source to one it knows, or give a multilingual model.",
            )
        model.model = Choosing(model.model)
        self._model = model
        self._shorten_window()
        try:
            self.recognize(np.zeros(SAMPLE_RATE, np.float32), final=True)
        except EngineError as error:
            raise ModelError("model-broken", f"{_KEY}: {error.message}") from error

    def recognize(self, pcm: Pcm, *, final: bool) -> Recognition:
        """Return the text of `pcm`, shape (n,). Raises EngineError `stt-failed`.

        A partial and a final are alike, but that only finals tell of their words.
        """
        if not pcm.size:
            return Recognition("")
        tokens = min(_MAX_TOKENS, 16 + int(_TOKENS_A_SECOND * pcm.size / SAMPLE_RATE))
        choosing: Choosing = self._model.model
        choosing.telling, choosing.choices = final and self._word_probabilities, []
        try:
            segments, _ = self._model.transcribe(
                pcm,
                language=self._lang,
                beam_size=1,
                temperature=[0.0],
                without_timestamps=True,
                condition_on_previous_text=False,
                max_new_tokens=tokens,
                hotwords=self.hotwords or None,
                # What is not shown, and why, is decided in hallucinations.py.
                log_prob_threshold=None,
                no_speech_threshold=None,
                compression_ratio_threshold=None,
            )
            heard = _join(list(segments))  # a generator: the work is done here
            tokenizer = self._model.hf_tokenizer
            return replace(heard, words=words(choosing.choices, heard.text, tokenizer))
        except Exception as error:
            raise EngineError("stt-failed", f"{self.name}: {error}.") from error

    def _shorten_window(self) -> None:
        """Encode what is there and a margin, not always 30 s."""
        encode = self._model.encode
        n_mels = self._model.model.n_mels
        floor = round(self._window_s * _FRAMES_A_SECOND)

        def encode_window(features: NDArray[np.float32]) -> Any:
            return encode(features[..., : window_frames(content_frames(features), floor, n_mels)])

        self._model.encode = encode_window


def content_frames(features: NDArray[np.float32]) -> int:
    """Return how many frames of `features`, shape (mels, frames), lie before the zero padding.

    Padding is exactly zero in every mel band; audio never is, not even digital silence.
    """
    filled = np.flatnonzero(features.any(axis=0))
    return int(filled[-1]) + 1 if filled.size else 0


def window_frames(content: int, floor: int, n_mels: int) -> int:
    """Return how many frames to encode: at least `floor`, the content and 2 s, at most 30 s.

    Even, because the encoder halves it. Never twice the mel bands: CTranslate2 would take the
    encoder's output, (n_mels, width), for unencoded features and encode it once more.
    """
    frames = max(floor, content + round(_MARGIN_S * _FRAMES_A_SECOND))
    frames += frames % 2
    return min(frames + 2 if frames == 2 * n_mels else frames, _MAX_FRAMES)


def _join(segments: list[Any]) -> Recognition:
    if not segments:
        return Recognition("")
    tokens = [max(1, len(segment.tokens)) for segment in segments]
    logprobs = [segment.avg_logprob for segment in segments]
    return Recognition(
        text=" ".join(segment.text.strip() for segment in segments),
        avg_logprob=float(np.average(logprobs, weights=tokens)),
        no_speech_prob=segments[0].no_speech_prob,
        compression_ratio=max(segment.compression_ratio for segment in segments),
    )
