"""Sentence embeddings: a GGUF embedding model in llama.cpp.

It is used only after a service, never during one.
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
"""Most tokens of a sentence; a longer one is cut."""
_PREFIXES = {"gemma-embedding": "task: sentence similarity | query: "}
"""The prefix that a model expects before a sentence to compare, by its architecture."""


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
        # Not at exit, as in `llama.Llama`.
        weakref.finalize(self, llama.free, self._context, model).atexit = False
        self._vocab = c.llama_model_get_vocab(model)
        # Some models have extra last layers that change the length of the vector.
        self._width = c.llama_model_n_embd_out(model)
        self._prefix = _PREFIXES.get(llama.metadata(model, "general.architecture"), "")

    def embed(self, text: str) -> npt.NDArray[np.float32]:
        """Return a vector of length 1. Raises EngineError (embedding-failed)."""
        tokens = self._tokens(self._prefix + text)
        # A model that reads a text all at once has no memory to clear.
        if memory := self._c.llama_get_memory(self._context):
            self._c.llama_memory_clear(memory, True)
        array = (ctypes.c_int32 * len(tokens))(*tokens)
        code = self._c.llama_decode(self._context, self._c.llama_batch_get_one(array, len(tokens)))
        pointer = None if code else self._c.llama_get_embeddings_seq(self._context, 0)
        if not pointer:
            message = f"{self._path.name} makes no vector of a sentence."
            raise EngineError("embedding-failed", message)
        # A copy, because the next sentence overwrites llama.cpp's memory.
        vector = np.ctypeslib.as_array(pointer, shape=(self._width,)).astype(np.float32)
        length = float(np.linalg.norm(vector))
        if not (np.isfinite(length) and length > 0):
            raise EngineError("embedding-failed", f"{self._path.name} computes no numbers.")
        return vector / length

    def _settings(self, model: Any) -> Any:
        """Return the context settings: whole sentences, and pooling as in the file."""
        settings = self._c.llama_context_default_params()
        # A whole sentence in one batch: in some models a word also depends on later words.
        settings.n_ctx = settings.n_batch = settings.n_ubatch = _CONTEXT
        settings.n_threads = settings.n_threads_batch = 1
        settings.embeddings = True
        architecture = llama.metadata(model, "general.architecture")
        # Without a pooling type in the file, use the mean of the tokens' vectors.
        if not llama.metadata(model, f"{architecture}.pooling_type"):
            settings.pooling_type = self._c.LLAMA_POOLING_TYPE_MEAN
        return settings

    def _tokens(self, text: str) -> list[int]:
        data = text.encode(errors="replace")
        # As in `llama.Llama.tokenize`: a token has at least one byte.
        size = len(data) + 8
        tokens = (ctypes.c_int32 * size)()
        # With the model's own tokens around the text, but without control tokens from the text.
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
