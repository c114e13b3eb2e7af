"""A GGUF model in llama.cpp, greedy, one context, on the plain C interface.

`llama_cpp.Llama` is not used: while it loads, it redirects the process's stdout and stderr to
/dev/null, it compiles the file's chat template, and it keeps no logits.
"""

from __future__ import annotations

import ctypes
import math
import os
import weakref
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import structlog

from pipeline.core.errors import EngineError
from pipeline.text.commit_policy import common_beginning

_MOST = 8
"""Most heads kept. For a model with 4 billion weights each one takes about 10 MB."""


class PromptHeads:
    """A cache of model states, keyed by the prompt tokens that they hold."""

    def __init__(self) -> None:
        self._states: dict[tuple[int, ...], bytes] = {}

    def __contains__(self, head: Sequence[int]) -> bool:
        return tuple(head) in self._states

    def put(self, head: Sequence[int], state: bytes) -> None:
        """Keep the state after a head; if there are too many, drop the least recently used."""
        # A dict keeps insertion order: the first key is the oldest.
        self._states[tuple(head)] = state
        if len(self._states) > _MOST:
            del self._states[next(iter(self._states))]

    def find(self, tokens: Sequence[int]) -> tuple[list[int], bytes] | None:
        """Return the head that `tokens` begin with, and its state; None if none is kept.

        At least one token is left after the head: the model must evaluate it to predict the next.
        """
        for head, state in self._states.items():
            if len(head) < len(tokens) and tuple(tokens[: len(head)]) == head:
                # Move it to the end: the first one is dropped next.
                self._states[head] = self._states.pop(head)
                return list(head), state
        return None


log = structlog.get_logger()

_INFO, _WARNING, _ERROR = 2, 3, 4  # ggml_log_level; others are debug output and line continuations
_CPU = 0  # ggml_backend_dev_type
_errors: list[str] = []
_callback: Any = None


class LlamaError(Exception):
    """An error of llama.cpp; the message holds its own words."""


class Llama:
    """One model, one context. `context` in tokens, `gpu_layers` 0 for none and -1 for all.

    `batch` is how many tokens are evaluated at once; a deadline is checked between batches.
    Belongs to one thread. Raises LlamaError if the model or the context cannot be created.
    """

    def __init__(
        self,
        path: Path,
        *,
        gpu_layers: int,
        threads: int,
        context: int,
        batch: int,
        flash_attention: bool = True,
    ) -> None:
        self._c = c = library()
        model = open_model(path, gpu_layers)
        self._context = c.llama_init_from_model(
            model, self._context_settings(threads, context, batch, flash_attention)
        )
        if not self._context:
            c.llama_model_free(model)
            raise LlamaError(error_lines())
        # Not at exit: a thread may still be in llama.cpp, and the process frees its memory anyway.
        weakref.finalize(self, free, self._context, model).atexit = False
        self._memory = c.llama_get_memory(self._context)
        # After `finalize`, which frees a model that is refused here.
        if not self._memory:
            raise LlamaError("this model makes vectors, not text")
        self._vocab = c.llama_model_get_vocab(model)
        self._vocab_size = c.llama_vocab_n_tokens(self._vocab)
        self._evaluated: list[int] = []
        self._head = 0
        self._heads = PromptHeads()
        self._batch = batch
        self.context: int = c.llama_n_ctx(self._context)
        self.begin = (
            [c.llama_vocab_bos(self._vocab)] if c.llama_vocab_get_add_bos(self._vocab) else []
        )

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Return the tokens of `text`; control tokens in it are recognized only if `special`."""
        data = text.encode(errors="replace")
        # A token has at least one byte; the 8 more are for tokens that a vocabulary adds in front.
        size = len(data) + 8
        tokens = (ctypes.c_int32 * size)()
        count = self._c.llama_tokenize(self._vocab, data, len(data), tokens, size, False, special)
        if count < 0:
            raise LlamaError(f"{-count} tokens in {len(data)} bytes of text")
        return list(tokens[:count])

    def piece(self, token: int) -> bytes:
        """Return a token's text, perhaps part of a character; b"" for a control token."""
        buffer = ctypes.create_string_buffer(256)
        size = self._c.llama_token_to_piece(self._vocab, token, buffer, len(buffer), 0, False)
        if size < 0:
            raise LlamaError(f"token {token} has a text of {-size} bytes")
        return buffer.raw[:size]

    def ends(self, token: int) -> bool:
        """Whether a token ends generation. Gemma has several; the file's own eos is one of them."""
        return bool(self._c.llama_vocab_is_eog(self._vocab, token))

    def prompt(
        self, tokens: Sequence[int], check: Callable[[], None], head: int | None = None
    ) -> int:
        """Start a new prompt with `tokens`; return how many were reused from the cache.

        `head` is how many of these tokens the next prompts probably share. They are kept when a
        prompt of another language comes, and reused after it. None: as before.
        `check` is called between batches and may raise. Raises LlamaError.
        """
        reused = self._known(tokens)
        # Another language's prompt would overwrite a head that is soon needed again.
        if reused < self._head <= len(self._evaluated):
            self._keep_head()
            self._take_up_head(tokens)
            reused = self._known(tokens)
        self._head = self._head if head is None else head
        if not self._c.llama_memory_seq_rm(self._memory, 0, reused, -1):
            self.reset()
            reused = 0
        # Before anything is fed: `check` may raise later, and the list must match the cache.
        del self._evaluated[reused:]
        for start in range(reused, len(tokens), self._batch):
            check()
            self.feed(tokens[start : start + self._batch])
        return reused

    def _known(self, tokens: Sequence[int]) -> int:
        """Return how many leading tokens are evaluated; the last token must be evaluated again."""
        return min(common_beginning(tokens, self._evaluated), max(0, len(tokens) - 1))

    def _keep_head(self) -> None:
        """Save the state of the head, without the tokens after it."""
        head = self._evaluated[: self._head]
        if head in self._heads or not self._c.llama_memory_seq_rm(self._memory, 0, len(head), -1):
            return
        # Cut before the copy: the state holds the whole sequence.
        self._evaluated = head
        size = self._c.llama_state_seq_get_size(self._context, 0)
        state = (ctypes.c_uint8 * size)()
        if self._c.llama_state_seq_get_data(self._context, state, size, 0) == size:
            self._heads.put(head, bytes(state))

    def _take_up_head(self, tokens: Sequence[int]) -> None:
        """Restore the saved head that these tokens begin with, if there is one."""
        found = self._heads.find(tokens)
        if found is None:
            return
        head, state = found
        self.reset()
        data = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        if self._c.llama_state_seq_set_data(self._context, data, len(state), 0):
            self._evaluated = head
        else:
            self.reset()

    @property
    def room(self) -> int:
        """How many more tokens can be fed at once."""
        return min(self._batch, self.context - len(self._evaluated))

    def feed(self, tokens: Sequence[int], *, every: bool = False) -> None:
        """Evaluate `tokens` after the earlier ones. Raises LlamaError; then the cache is empty.

        With `every`, `best_and` works for the place after each of them.
        """
        # In a variable: the batch holds only the address, and Python would free the array.
        array = (ctypes.c_int32 * len(tokens))(*tokens)
        batch = self._c.llama_batch_get_one(array, len(tokens))
        if every:
            wanted = (ctypes.c_int8 * len(tokens))(*[1] * len(tokens))
            batch.logits = ctypes.cast(wanted, ctypes.POINTER(ctypes.c_int8))
        code = self._c.llama_decode(self._context, batch)
        # It is unknown how much of the batch was evaluated.
        if code:
            self.reset()
            raise LlamaError(f"llama_decode returned {code}")
        self._evaluated += tokens

    def forget(self, count: int) -> None:
        """Remove the last `count` tokens. Raises LlamaError."""
        kept = self._evaluated[: len(self._evaluated) - count]
        if self._c.llama_memory_seq_rm(self._memory, 0, len(kept), -1):
            self._evaluated = kept
        else:
            self.prompt(kept, lambda: None)

    def best_and(self, other: int | None, place: int = -1) -> tuple[int, float, float]:
        """Return the most likely next token, its log-probability, and that of the token `other`.

        For None that is minus infinity. `place` is the place of the token before it, among the
        tokens last fed with `every`. Raises LlamaError.
        """
        pointer = self._c.llama_get_logits_ith(self._context, place)
        if not pointer:
            self.reset()
            raise LlamaError("nothing has been evaluated")
        # A view of llama.cpp's memory, which the next evaluation overwrites.
        logits = np.ctypeslib.as_array(pointer, shape=(self._vocab_size,))
        token = int(logits.argmax())
        # Subtract the maximum: exp of a raw logit may overflow.
        logprob = -float(np.log(np.exp(logits - logits[token]).sum()))
        if not np.isfinite(logprob):
            self.reset()
            raise LlamaError("the model computes no numbers")
        if other is None:
            return token, logprob, -math.inf
        return token, logprob, logprob + float(logits[other] - logits[token])

    def logprobs(self, tokens: Sequence[int], place: int = -1) -> list[float]:
        """Return the log-probability of each of `tokens` as the next one. Raises LlamaError.

        `place` is as in `best_and`.
        """
        _, best, _ = self.best_and(None, place)
        pointer = self._c.llama_get_logits_ith(self._context, place)
        logits = np.ctypeslib.as_array(pointer, shape=(self._vocab_size,))
        highest = float(logits.max())
        return [best + float(logits[token]) - highest for token in tokens]

    def reset(self) -> None:
        """Forget everything evaluated so far."""
        self._c.llama_memory_clear(self._memory, True)
        self._evaluated.clear()

    def _context_settings(
        self, threads: int, context: int, batch: int, flash_attention: bool
    ) -> Any:
        settings = self._c.llama_context_default_params()
        settings.n_ctx = context
        settings.n_batch = settings.n_ubatch = batch
        settings.n_threads = settings.n_threads_batch = threads
        settings.flash_attn_type = (
            self._c.LLAMA_FLASH_ATTN_TYPE_AUTO  # as the device supports
            if flash_attention
            else self._c.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        # Otherwise Gemma's local layers would forget the prompt's head, which is reused.
        settings.swa_full = True
        return settings


def open_model(path: Path, gpu_layers: int, *, vocab_only: bool = False) -> Any:
    """Return llama.cpp's handle to the weights of a GGUF file. Raises LlamaError.

    The caller frees it.
    """
    c = library()
    # The list is global: errors of an earlier model would be reported for this one.
    _errors.clear()
    settings = c.llama_model_default_params()
    settings.vocab_only = vocab_only
    # More than any model has: llama.cpp offloads as many as there are.
    settings.n_gpu_layers = gpu_layers if gpu_layers >= 0 else 0x7FFFFFFF
    if kernels().get("AMX_INT8") == "1":
        # GCC 12's AMX kernels crash the process (scripts/llama_build.sh), and a wheel does not say
        # which compiler built it. Without extra buffer types ggml does not use these kernels. It
        # loses the repacked kernels too, so our own build, which has no AMX, is faster.
        settings.use_extra_bufts = False
    model = c.llama_model_load_from_file(str(path).encode(), settings)
    if not model:
        raise LlamaError(error_lines())
    return model


def metadata(model: Any, key: str) -> str:
    """Return the value of a key in a model's metadata, "" if there is none."""
    buffer = ctypes.create_string_buffer(256)
    found = library().llama_model_meta_val_str(model, key.encode(), buffer, len(buffer))
    return buffer.value.decode(errors="replace") if found > 0 else ""


def free(context: Any, model: Any) -> None:
    """Free a context and its model."""
    c = library()
    c.llama_free(context)
    c.llama_model_free(model)


def layers(path: Path) -> int:
    """Return how many layers a GGUF file has, without reading weights; 0 if it does not say."""
    model = open_model(path, 0, vocab_only=True)
    try:
        architecture = metadata(model, "general.architecture")
        return int(metadata(model, f"{architecture}.block_count") or 0)
    finally:
        library().llama_model_free(model)


def has_gpu() -> bool:
    """Whether llama.cpp was built for a GPU and finds one."""
    return bool(library().llama_supports_gpu_offload())


def kernels() -> dict[str, str]:
    """Return the CPU features that llama.cpp was compiled for, such as {"AVX2": "1"}."""
    line: str = library().llama_print_system_info().decode(errors="replace")
    facts = (part.rpartition(" : ")[2].partition(" = ") for part in line.split("|"))
    return {name.strip(): value.strip() for name, _, value in facts if value}


def load_kernels() -> None:
    """Make llama.cpp choose its kernels for this CPU; code that uses `llama_cpp` must call this.

    In our wheels (scripts/wheels) kernels are separate files. A library that was compiled on this
    machine has them built in: then this does nothing. Raises EngineError (no-kernels) if none fits.
    """
    from llama_cpp import llama_cpp  # noqa: PLC0415 - heavy

    c, folder = llama_cpp._lib, str(llama_cpp._base_path)  # noqa: SLF001 - it has no other name
    # libllama has loaded libggml, so its functions are found here too. Not on Windows, for which
    # we build no wheels.
    if not hasattr(c, "ggml_backend_dev_by_type"):
        return
    c.ggml_backend_dev_by_type.restype = ctypes.c_void_p
    if not c.ggml_backend_dev_by_type(_CPU):
        c.ggml_backend_load_all_from_path(os.fsencode(folder))
    if not c.ggml_backend_dev_by_type(_CPU):
        raise EngineError(
            "no-kernels",
            f"{folder} has no kernels of llama.cpp for this CPU.",
            "Compile it here: pip install --force-reinstall --no-deps --no-binary llama-cpp-python "
            f"llama-cpp-python=={version('llama-cpp-python')}.",
        )


def library() -> Any:
    """Return llama-cpp-python's C interface; its log goes to ours at debug level.

    Raises EngineError as `load_kernels` does.
    """
    global _callback  # noqa: PLW0603 - the C side keeps one pointer for the whole process
    import llama_cpp  # noqa: PLC0415 - heavy

    if _callback is None:

        @llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
        def forward(level: int, text: bytes, _data: Any) -> None:
            if level in {_INFO, _WARNING, _ERROR}:
                line = text.decode(errors="replace").strip()
                if level == _ERROR:
                    _errors.append(line)
                log.debug("llama.cpp", line=line)

        # Kept forever: C holds its address and would call freed memory.
        _callback = forward
        llama_cpp.llama_log_set(_callback, None)
        llama_cpp.llama_backend_init()
    load_kernels()  # after the log is set, so that it shows which ones are loaded
    return llama_cpp


def error_lines() -> str:
    """Return llama.cpp's error lines since loading began, joined."""
    return "; ".join(_errors) or "llama.cpp gave no reason"
