"""What a sentence means, as a vector: a GGUF embedding model in llama.cpp.

It is asked after a service only, never while one runs.
"""

from __future__ import annotations

import ctypes
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.core.errors import EngineError, ModelError
from pipeline.engines.llama_cpp import llama

_CONTEXT = 512
"""Tokens of a sentence; what is longer is cut."""
_PREFIXES = {"gemma-embedding": "task: sentence similarity | query: "}
"""What a model was trained to see before a sentence that is compared, by its architecture."""


class Embedder:
    """One embedding model. Belongs to one thread."""

    def __init__(self, path: Path) -> None:
        """Take a .gguf file."""
        self._path = path
        self._prefix = ""
        self._width = 0

    def load(self) -> None:
        """Load the model. Raises ModelError (model-broken)."""
        self._c = c = llama.library()
        try:
            model = llama.open_model(self._path, 0)
        except llama.LlamaError as error:
            raise self._broken(str(error)) from error
        self._context = c.llama_init_from_model(model, self._settings(model))
        if not self._context:
            c.llama_model_free(model)
            raise self._broken(llama.error_lines())
        # Not at exit, for the reason that `llama.Llama` gives.
        weakref.finalize(self, llama.free, self._context, model).atexit = False
        self._vocab = c.llama_model_get_vocab(model)
        # Some models end in layers of their own, after which a vector has another length.
        self._width = c.llama_model_n_embd_out(model)
        self._prefix = _PREFIXES.get(llama.metadata(model, "general.architecture"), "")

    def embed(self, text: str) -> npt.NDArray[np.float32]:
        """Return a vector of length 1. Raises EngineError (embedding-failed)."""
        tokens = self._tokens(self._prefix + text)
        # A model that reads a text all at once has none, and nothing to forget.
        if memory := self._c.llama_get_memory(self._context):
            self._c.llama_memory_clear(memory, True)
        array = (ctypes.c_int32 * len(tokens))(*tokens)
        code = self._c.llama_decode(self._context, self._c.llama_batch_get_one(array, len(tokens)))
        pointer = None if code else self._c.llama_get_embeddings_seq(self._context, 0)
        if not pointer:
            message = f"{self._path.name} makes no vector of a sentence."
            raise EngineError("embedding-failed", message)
        # A copy: the next sentence writes over the memory of llama.cpp.
        vector = np.ctypeslib.as_array(pointer, shape=(self._width,)).astype(np.float32)
        length = float(np.linalg.norm(vector))
        if not (np.isfinite(length) and length > 0):
            raise EngineError("embedding-failed", f"{self._path.name} computes no numbers.")
        return vector / length

    def _settings(self, model: Any) -> Any:
        """Return how sentences are evaluated: whole, and pooled as the file says."""
        settings = self._c.llama_context_default_params()
        # A whole sentence in one batch: some models look at what comes behind a word as well.
        settings.n_ctx = settings.n_batch = settings.n_ubatch = _CONTEXT
        settings.n_threads = settings.n_threads_batch = 1
        settings.embeddings = True
        architecture = llama.metadata(model, "general.architecture")
        # A file that does not say how has the mean of its tokens' vectors taken.
        if not llama.metadata(model, f"{architecture}.pooling_type"):
            settings.pooling_type = self._c.LLAMA_POOLING_TYPE_MEAN
        return settings

    def _tokens(self, text: str) -> list[int]:
        data = text.encode(errors="replace")
        # As in `llama.Llama.tokenize`: a token has a byte at least.
        size = len(data) + 8
        tokens = (ctypes.c_int32 * size)()
        # With the tokens that the model wants around a text, and none that a text could spell.
        count = self._c.llama_tokenize(self._vocab, data, len(data), tokens, size, True, False)
        if count <= 0:
            raise EngineError("embedding-failed", f"{self._path.name} knows no token of {text!r}.")
        return list(tokens[: min(count, _CONTEXT)])

    def _broken(self, why: str) -> ModelError:
        return ModelError(
            "model-broken",
            f"learn.embedding: {self._path} cannot be loaded: {why}.",
            'Copy or pull it again, or set it to "".',
        )
