"""How much of a model goes on the GPU, and how much less where that is refused."""

from __future__ import annotations

from pathlib import Path

from pipeline.engines import llama


def gpu_steps(path: Path, asked: int, share: float) -> list[int]:
    """Return the numbers of layers on the GPU to be tried in turn; `asked` is -1 for all.

    `share` of them comes first (0..1).
    """
    total = llama.layers(path)
    most = total if asked < 0 else min(total, asked)
    # Each number once: with one layer the half of it is none already.
    return list(dict.fromkeys([asked if share == 1 else int(most * share), most // 2, 0]))


def in_words(gpu_layers: int) -> str:
    """Return where the layers are, as people say it."""
    if gpu_layers == 0:
        return "the CPU alone"
    return f"{'all' if gpu_layers < 0 else gpu_layers} layers on the GPU"
