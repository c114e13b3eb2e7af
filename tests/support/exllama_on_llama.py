"""ExLlamaV2's interface over llama.cpp, so that its adapter runs where there is no NVIDIA GPU.

Names of parameters and keys are ExLlamaV2's own; a test compares them with the package's source.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pipeline.engines.llama_cpp.llama import Llama
from pipeline.models.resolve import resolve

END_OF_TURN = "<end_of_turn>"
BROKEN = "broken"
"""A file of this name in the model's folder makes loading fail."""


class ExLlamaV2Config:
    llama: Llama

    def __init__(self, model_dir: str) -> None:
        self.model_dir = model_dir
        self.max_seq_len = 8192
        self.num_hidden_layers = 6

    def arch_compat_overrides(self, quiet: bool = False) -> None:
        """Nothing here."""


class ExLlamaV2:
    def __init__(self, config: ExLlamaV2Config) -> None:
        self.config = config

    def load_autosplit(self, cache: ExLlamaV2Cache) -> None:
        if (Path(self.config.model_dir) / BROKEN).exists():
            raise RuntimeError("CUDA out of memory.\nSee the documentation")
        self.config.llama = Llama(
            resolve("gemma", "tiny"),
            gpu_layers=0,
            threads=1,
            context=cache.max_seq_len,
            batch=128,
            flash_attention=True,
        )


class ExLlamaV2Cache:
    def __init__(self, model: ExLlamaV2, max_seq_len: int = -1, lazy: bool = False) -> None:
        assert lazy
        assert max_seq_len % 256 == 0
        self.max_seq_len = max_seq_len


class ExLlamaV2Tokenizer:
    def __init__(self, config: ExLlamaV2Config) -> None:
        self._llama = config.llama
        (end,) = self._llama.tokenize(END_OF_TURN, special=True)
        self.extended_piece_to_id = {END_OF_TURN: end}
        self.eos_token_id = 1

    def encode(
        self, text: str, add_bos: bool = False, encode_special_tokens: bool = False
    ) -> np.ndarray[Any, Any]:
        # As Hugging Face's tokenizers do: a control token is one wherever it stands.
        ids = self._llama.tokenize(text, special=True)
        return np.array([[*(self._llama.begin if add_bos else []), *ids]])

    def decode(self, ids: Sequence[int]) -> str:
        return b"".join(map(self._llama.piece, ids)).decode()


class ExLlamaV2DynamicJob:
    def __init__(
        self,
        input_ids: np.ndarray[Any, Any],
        max_new_tokens: int,
        gen_settings: str | None = None,
        stop_conditions: Sequence[int | str] = (),
    ) -> None:
        assert gen_settings == "greedy"
        self.tokens = input_ids[0].tolist()
        self.left = max_new_tokens
        self.stops = stop_conditions
        self.made: list[int] = []
        self.has_begun = False


class ExLlamaV2DynamicGenerator:
    def __init__(
        self,
        model: ExLlamaV2,
        cache: ExLlamaV2Cache,
        tokenizer: ExLlamaV2Tokenizer,
        paged: bool = True,
    ) -> None:
        assert not paged, "that asks for flash-attn"
        self._llama = model.config.llama
        self._jobs: list[ExLlamaV2DynamicJob] = []
        self.fails = False

    def enqueue(self, job: ExLlamaV2DynamicJob) -> int:
        self._jobs.append(job)
        return 1

    def num_remaining_jobs(self) -> int:
        return len(self._jobs)

    def cancel(self, job: ExLlamaV2DynamicJob) -> None:
        if job in self._jobs:
            self._jobs.remove(job)

    def iterate(self) -> list[dict[str, Any]]:
        if self.fails:
            raise RuntimeError("CUDA error: an illegal memory access was encountered\nCompile with")
        (job,) = self._jobs
        if not job.has_begun:
            job.has_begun = True
            self._llama.prompt(job.tokens, lambda: None)
            return [{"stage": "started", "eos": False}, {"stage": "prefill", "eos": False}]
        token, _ = self._llama.best()
        if token in job.stops:
            return [self._end(job, "stop_token")]
        job.made.append(token)
        if len(job.made) == job.left:
            return [self._end(job, "max_new_tokens")]
        self._llama.feed([token])
        return [{"stage": "streaming", "eos": False, "text": self._llama.piece(token).decode()}]

    def _end(self, job: ExLlamaV2DynamicJob, reason: str) -> dict[str, Any]:
        self._jobs.remove(job)
        ended = {"eos": True, "eos_reason": reason, "new_tokens": len(job.made)}
        return {"stage": "streaming", **ended}  # it has no "text" where nothing was held


class Settings:
    @staticmethod
    def greedy() -> str:
        return "greedy"


class ExLlamaV2Sampler:
    Settings = Settings


def install(monkeypatch: pytest.MonkeyPatch, *, has_gpu: bool = True) -> None:
    """Have `import exllamav2` and `import torch` find what is here."""
    package, generator, torch = (
        ModuleType(name) for name in ("exllamav2", "exllamav2.generator", "torch")
    )
    for each in (ExLlamaV2, ExLlamaV2Cache, ExLlamaV2Config, ExLlamaV2Tokenizer):
        setattr(package, each.__name__, each)
    for one in (ExLlamaV2DynamicGenerator, ExLlamaV2DynamicJob, ExLlamaV2Sampler):
        setattr(generator, one.__name__, one)
    package.generator = generator  # type: ignore[attr-defined]
    torch.cuda = SimpleNamespace(is_available=lambda: has_gpu)  # type: ignore[attr-defined]
    torch.tensor = np.array  # type: ignore[attr-defined]
    for module in (package, generator, torch):
        monkeypatch.setitem(sys.modules, module.__name__, module)
