"""Silero VAD in onnxruntime: the probability that a block of audio is speech.

The model (Silero team, MIT licence, https://github.com/snakers4/silero-vad) takes the last 64
samples of the previous block and 512 new ones, at 16 kHz. Without those 64 it runs without an error
but rates nearly everything as silence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core.errors import EngineError, ModelError
from pipeline.core.resources import bundled
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, Pcm

_CONTEXT_SAMPLES = 64
_STATE = (2, 1, 128)
_RATE = np.array(SAMPLE_RATE, np.int64)


class Silero:
    """The voice activity model; about 0.1 ms a block on one thread."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or bundled("models", "silero", "silero_vad_16k.onnx")
        self._session: Any = None
        self._input = np.zeros((1, _CONTEXT_SAMPLES + BLOCK_SAMPLES), np.float32)
        self._state: Pcm = np.zeros(_STATE, np.float32)

    def load(self) -> None:
        """Load the model and try it. Raises ModelError: model-missing, model-broken."""
        import onnxruntime  # noqa: PLC0415

        if not self._path.is_file():
            raise ModelError(
                "model-missing",
                f"{self._path}: the voice activity model is not there.",
                "It comes with the program: install it again.",
            )
        options = onnxruntime.SessionOptions()
        # One block is too little work to share; more threads would only take CPU from the engines.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        # Fatal errors only: its messages would mix with ours, and errors are raised anyway.
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(
                str(self._path), options, providers=["CPUExecutionProvider"]
            )
            # The file of another model loads as well; only a run shows the error.
            self.probability(np.zeros(BLOCK_SAMPLES, np.float32))
        except Exception as error:  # onnxruntime's errors have no common base
            raise ModelError(
                "model-broken",
                f"{self._path} is not a Silero VAD model that onnxruntime can run: {error}",
                "It comes with the program: install it again.",
            ) from error
        self.reset()

    def probability(self, pcm: Pcm) -> float:
        """Return the probability in 0..1 that `pcm`, shape (512,), is speech.

        It depends on the audio since `reset`. Raises EngineError (vad-failed) if there is no
        probability.
        """
        self._input[0, :_CONTEXT_SAMPLES] = self._input[0, -_CONTEXT_SAMPLES:]
        self._input[0, _CONTEXT_SAMPLES:] = pcm
        try:
            # The state is an input too: the session keeps nothing between two runs.
            output, self._state = self._session.run(
                ["output", "stateN"], {"input": self._input, "state": self._state, "sr": _RATE}
            )
        except Exception as error:  # onnxruntime's errors have no common base
            raise EngineError("vad-failed", f"The voice activity model fails: {error}.") from error
        probability = float(output[0, 0])
        if not 0.0 <= probability <= 1.0:  # nan, which stays in the state until a reset
            raise EngineError("vad-failed", f"The voice activity model says {probability}.")
        return probability

    def reset(self) -> None:
        """Forget the audio so far."""
        self._input = np.zeros_like(self._input)
        self._state = np.zeros(_STATE, np.float32)  # not zeros_like: the old state may be corrupt
