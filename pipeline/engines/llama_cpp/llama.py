"""A GGUF model in llama.cpp, greedy, one context: the plain C interface, with nothing around it.

`llama_cpp.Llama` is not used: while it loads it points the whole process's stdout and stderr at
/dev/null, it compiles the chat template of the file, and it keeps no logits.
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

_MOST = 8
"""Heads kept, those asked for last. One takes about 10 MB of a model with 4 billion weights."""


class PromptHeads:
    """Keeps states of a model by the tokens that led to them."""

    def __init__(self) -> None:
        self._states: dict[tuple[int, ...], bytes] = {}

    def __contains__(self, head: Sequence[int]) -> bool:
        return tuple(head) in self._states

    def put(self, head: Sequence[int], state: bytes) -> None:
        """Keep the state behind a head; of too many the one asked for longest ago goes."""
        # A dict keeps the order in which its keys came: the first is the oldest.
        self._states[tuple(head)] = state
        if len(self._states) > _MOST:
            del self._states[next(iter(self._states))]

    def find(self, tokens: Sequence[int]) -> tuple[list[int], bytes] | None:
        """Return the head that `tokens` begin with, and its state; None if none is kept.

        At least one token is left behind it: the model is asked what follows that.
        """
        for head, state in self._states.items():
            if len(head) < len(tokens) and tuple(tokens[: len(head)]) == head:
                # To the end of the row: the first is the next to go.
                self._states[head] = self._states.pop(head)
                return list(head), state
        return None


log = structlog.get_logger()

_INFO, _WARNING, _ERROR = 2, 3, 4  # ggml_log_level; below and above: spam and line ends
_CPU = 0  # ggml_backend_dev_type
_errors: list[str] = []
_callback: Any = None


class LlamaError(Exception):
    """llama.cpp refused; the message holds what it said."""


class Llama:
    """One model, one context. `context` in tokens, `gpu_layers` 0 for none and -1 for all.

    `batch` is how many tokens are evaluated at once; a deadline is noticed between batches.
    Belongs to one thread. Raises LlamaError where the model or the context cannot be made.
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
        # Not at exit: a thread may still be inside, and the memory goes with the process anyway.
        weakref.finalize(self, free, self._context, model).atexit = False
        self._memory = c.llama_get_memory(self._context)
        # Behind `finalize`, which frees the model of one that is refused.
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
        """Return the tokens of `text`; control tokens are recognized in it only if `special`."""
        data = text.encode(errors="replace")
        # A token has a byte at least; the few more are for what a vocabulary puts before a text.
        size = len(data) + 8
        tokens = (ctypes.c_int32 * size)()
        count = self._c.llama_tokenize(self._vocab, data, len(data), tokens, size, False, special)
        if count < 0:
            raise LlamaError(f"{-count} tokens in {len(data)} bytes of text")
        return list(tokens[:count])

    def piece(self, token: int) -> bytes:
        """Return the text of a token, which may be a part of a character; b"" for control."""
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
        """Start anew with `tokens`; return how many were still known from before.

        `head` is how many tokens the next prompts will probably begin with as well: they are kept
        when one comes that does not, of another language, and used again after it. None: as before.
        `check` is called between batches and may raise. Raises LlamaError.
        """
        reused = self._known(tokens)
        # Another language's prompt: it would overwrite a head that is soon wanted again.
        if reused < self._head <= len(self._evaluated):
            self._keep_head()
            self._take_up_head(tokens)
            reused = self._known(tokens)
        self._head = self._head if head is None else head
        if not self._c.llama_memory_seq_rm(self._memory, 0, reused, -1):
            self.reset()
            reused = 0
        # Before anything is fed: `check` may raise in between, and the list must say what is there.
        del self._evaluated[reused:]
        for start in range(reused, len(tokens), self._batch):
            check()
            self.feed(tokens[start : start + self._batch])
        return reused

    def _known(self, tokens: Sequence[int]) -> int:
        """Return how many of the tokens have been evaluated; the last one has to be again."""
        known = 0
        while known < min(len(tokens) - 1, len(self._evaluated)):
            if tokens[known] != self._evaluated[known]:
                break
            known += 1
        return known

    def _keep_head(self) -> None:
        """Put away what was made of the head, without what follows it."""
        head = self._evaluated[: self._head]
        if head in self._heads or not self._c.llama_memory_seq_rm(self._memory, 0, len(head), -1):
            return
        # Cut before it is copied: the state of a sequence is all that it holds.
        self._evaluated = head
        size = self._c.llama_state_seq_get_size(self._context, 0)
        state = (ctypes.c_uint8 * size)()
        if self._c.llama_state_seq_get_data(self._context, state, size, 0) == size:
            self._heads.put(head, bytes(state))

    def _take_up_head(self, tokens: Sequence[int]) -> None:
        """Go on from the head that was put away of this language, if there is one."""
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
        """How many tokens more can be fed at once."""
        return min(self._batch, self.context - len(self._evaluated))

    def feed(self, tokens: Sequence[int], *, every: bool = False) -> None:
        """Evaluate `tokens` behind those before. Raises LlamaError; all is forgotten then.

        With `every`, `best` can be asked about what follows each of them.
        """
        # In a variable: the batch holds only its address, and Python would free the array.
        array = (ctypes.c_int32 * len(tokens))(*tokens)
        batch = self._c.llama_batch_get_one(array, len(tokens))
        if every:
            wanted = (ctypes.c_int8 * len(tokens))(*[1] * len(tokens))
            batch.logits = ctypes.cast(wanted, ctypes.POINTER(ctypes.c_int8))
        code = self._c.llama_decode(self._context, batch)
        # How much of the batch was taken is unknown.
        if code:
            self.reset()
            raise LlamaError(f"llama_decode returned {code}")
        self._evaluated += tokens

    def forget(self, count: int) -> None:
        """Take the last `count` tokens back. Raises LlamaError."""
        kept = self._evaluated[: len(self._evaluated) - count]
        if self._c.llama_memory_seq_rm(self._memory, 0, len(kept), -1):
            self._evaluated = kept
        else:
            self.prompt(kept, lambda: None)

    def best(self, place: int = -1) -> tuple[int, float]:
        """Return the most likely next token and its log-probability. Raises LlamaError.

        `place` is that of the token before it, among those fed at last with `every`.
        """
        token, logprob, _ = self.best_and(None, place)
        return token, logprob

    def best_and(self, other: int | None, place: int = -1) -> tuple[int, float, float]:
        """Return what `best` does, and the log-probability of the token `other`.

        That is minus infinity for None.
        """
        pointer = self._c.llama_get_logits_ith(self._context, place)
        if not pointer:
            self.reset()
            raise LlamaError("nothing has been evaluated")
        # A view of the memory of llama.cpp, which the next evaluation writes over.
        logits = np.ctypeslib.as_array(pointer, shape=(self._vocab_size,))
        token = int(logits.argmax())
        # Less the highest: exp of a logit itself may overflow.
        logprob = -float(np.log(np.exp(logits - logits[token]).sum()))
        if not np.isfinite(logprob):
            self.reset()
            raise LlamaError("the model computes no numbers")
        if other is None:
            return token, logprob, -math.inf
        return token, logprob, logprob + float(logits[other] - logits[token])

    def rival(self, token: int, place: int = -1) -> tuple[int, float]:
        """Return the most likely next token other than `token`, and how much likelier it is.

        The difference of log-probabilities, mostly below 0. `place` is as in `best`, which must
        have been asked before.
        """
        pointer = self._c.llama_get_logits_ith(self._context, place)
        logits = np.ctypeslib.as_array(pointer, shape=(self._vocab_size,))
        # Not sorted: a vocabulary may have a quarter of a million tokens.
        second, first = (int(each) for each in np.argpartition(logits, -2)[-2:])
        other = second if first == token else first
        return other, float(logits[other] - logits[token])

    def logprobs(self, tokens: Sequence[int], place: int = -1) -> list[float]:
        """Return the log-probability of each of `tokens` as the next one. Raises LlamaError.

        `place` is as in `best`.
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
            self._c.LLAMA_FLASH_ATTN_TYPE_AUTO  # what a device can
            if flash_attention
            else self._c.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        # Gemma's local layers would otherwise forget the prompt's head, which is to be reused.
        settings.swa_full = True
        return settings


def open_model(path: Path, gpu_layers: int) -> Any:
    """Return the weights of a GGUF file as llama.cpp holds them. Raises LlamaError.

    Who asks for them frees them.
    """
    c = library()
    # They are the whole process's: an earlier model's would be told of this one.
    _errors.clear()
    settings = c.llama_model_default_params()
    # More than any model has: llama.cpp takes as many as there are.
    settings.n_gpu_layers = gpu_layers if gpu_layers >= 0 else 0x7FFFFFFF
    if kernels().get("AMX_INT8") == "1":
        # GCC 12's AMX kernels crash the process (scripts/llama_build.sh), and nobody can see
        # which compiler made a wheel. Without extra buffer types ggml does not use them; the
        # repacked kernels go with them, so that our own build, which has none, is quicker.
        settings.use_extra_bufts = False
    model = c.llama_model_load_from_file(str(path).encode(), settings)
    if not model:
        raise LlamaError(error_lines())
    return model


def metadata(model: Any, key: str) -> str:
    """Return what a model's file says under a key, "" if nothing."""
    buffer = ctypes.create_string_buffer(256)
    found = library().llama_model_meta_val_str(model, key.encode(), buffer, len(buffer))
    return buffer.value.decode(errors="replace") if found > 0 else ""


def free(context: Any, model: Any) -> None:
    """Give a context and its model's memory back."""
    c = library()
    c.llama_free(context)
    c.llama_model_free(model)


def layers(path: Path) -> int:
    """Return how many layers a GGUF file has, reading no weights; 0 if it does not say."""
    c = library()
    _errors.clear()
    settings = c.llama_model_default_params()
    settings.vocab_only = True
    model = c.llama_model_load_from_file(str(path).encode(), settings)
    if not model:
        raise LlamaError(error_lines())
    try:
        architecture = metadata(model, "general.architecture")
        return int(metadata(model, f"{architecture}.block_count") or 0)
    finally:
        c.llama_model_free(model)


def has_gpu() -> bool:
    """Whether llama.cpp was built for a GPU and finds one."""
    return bool(library().llama_supports_gpu_offload())


def kernels() -> dict[str, str]:
    """Return the CPU features that llama.cpp was compiled for, such as {"AVX2": "1"}."""
    line: str = library().llama_print_system_info().decode(errors="replace")
    facts = (part.rpartition(" : ")[2].partition(" = ") for part in line.split("|"))
    return {name.strip(): value.strip() for name, _, value in facts if value}


def load_kernels() -> None:
    """Have llama.cpp choose its kernels for this CPU; whoever uses `llama_cpp` directly calls this.

    In our wheels (scripts/wheels) they are files of their own. A library that was compiled where it
    runs has them in it: nothing is done then. Raises EngineError (no-kernels) where none fits.
    """
    from llama_cpp import llama_cpp  # noqa: PLC0415 - heavy

    c, folder = llama_cpp._lib, str(llama_cpp._base_path)  # noqa: SLF001 - it has no other name
    # libllama has loaded libggml, whose functions are found in it too; not on Windows, for which
    # we make no wheels.
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
    """Return llama-cpp-python's C interface, its log handed to ours at debug level.

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

        # Kept for ever: C has its address, and would call what Python has freed.
        _callback = forward
        llama_cpp.llama_log_set(_callback, None)
        llama_cpp.llama_backend_init()
    load_kernels()  # behind the log, which hears which ones it takes
    return llama_cpp


def error_lines() -> str:
    """Return llama.cpp's own error lines since loading began, in one."""
    return "; ".join(_errors) or "llama.cpp gave no reason"
