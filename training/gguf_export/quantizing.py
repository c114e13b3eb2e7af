"""Quantize a GGUF file to smaller levels with llama.cpp's own quantizer. Needs no torch."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import gguf

from pipeline.core.errors import ModelError, UsageError
from pipeline.engines.llama_cpp import llama
from training.gguf_export.progress import console, growing, unfinished

F16 = "F16"
# Level -> llama.cpp's number for it, and about how many bits a weight takes.
_KINDS = {
    "Q8_0": (gguf.LlamaFileType.MOSTLY_Q8_0, 8.5),
    "Q5_K_M": (gguf.LlamaFileType.MOSTLY_Q5_K_M, 5.7),
    "Q4_K_M": (gguf.LlamaFileType.MOSTLY_Q4_K_M, 4.9),
    "Q5_0": (gguf.LlamaFileType.MOSTLY_Q5_0, 5.5),
    "Q4_0": (gguf.LlamaFileType.MOSTLY_Q4_0, 4.6),
}
# The level applies to all matrices, also the embeddings. By default llama.cpp keeps embeddings that
# are also the output larger: a third of the file of a small model with a large vocabulary.
_EVEN = {
    "Q5_0": gguf.GGMLQuantizationType.Q5_0,
    "Q4_0": gguf.GGMLQuantizationType.Q4_0,
}
LEVELS = tuple(_KINDS)
"""Levels from the largest to the smallest file, for a model with large embeddings."""

_K_ROW = 256
"""The number of values in a block of a row, for the types with K in their name."""


def chosen(text: str) -> list[str]:
    """Return the levels that a comma-separated list names, the largest first."""
    asked = {name.strip().upper() for name in text.split(",") if name.strip()} - {F16}
    unknown = asked - set(LEVELS)
    if unknown:
        raise UsageError(
            "level-unknown",
            f"--levels: there is no {', '.join(sorted(unknown))}.",
            f"Known: {', '.join(LEVELS)}.",
        )
    return [level for level in LEVELS if level in asked]


def expected_bytes(f16_bytes: int, level: str) -> int:
    """Return the approximate size of a level of a model of `f16_bytes`."""
    return f16_bytes if level == F16 else int(f16_bytes * _KINDS[level][1] / 16)


def require_space(folder: Path, needed_bytes: int) -> None:
    """Raise ModelError if the disk of `folder`, which exists, has less free space than needed."""
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise ModelError(
            "disk-full",
            f"{folder}: {needed_bytes / 1e9:.1f} GB are needed, {free_bytes / 1e9:.1f} GB free.",
            "Make room, or write to another disk.",
        )


def quantize(source: Path, target: Path, level: str, threads: int) -> None:
    """Quantize `source`, an F16 file, to `target`, which appears only when it is complete.

    Raises ModelError.
    """
    try:
        llama.layers(source)
    except llama.LlamaError as error:
        raise ModelError(
            "model-broken", f"{source} cannot be read by llama.cpp: {error}.", "Convert it again."
        ) from error
    c = llama.library()
    settings = c.llama_model_quantize_default_params()
    settings.ftype = int(_KINDS[level][0])
    settings.nthread = threads
    if level in _EVEN:
        settings.token_embedding_type = int(_EVEN[level])
    fresh = unfinished(target)
    names = str(source).encode(), str(fresh).encode()
    try:
        code = growing(
            f"{level}: quantizing",
            fresh,
            expected_bytes(source.stat().st_size, level),
            lambda: c.llama_model_quantize(*names, settings),
        )
        if code:
            raise ModelError(
                "quantize-failed",
                f"{source} cannot be quantized to {level}: {llama.error_lines()}.",
                "Is there room on the disk?",
            )
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)


def quantize_and_say(source: Path, target: Path, level: str, threads: int) -> None:
    """Quantize, and print the types that llama.cpp chose."""
    quantize(source, target, level, threads)
    made = gguf.GGUFReader(target)  # once: a large vocabulary takes long
    for line in kept_larger(made):
        console.print(f"note: {line}", style="yellow", markup=False)
    size = f"{target.stat().st_size / 1e6:.1f} MB"
    console.print(f"{level}: {target}, {size} ({types(made)})", markup=False)


def kept_larger(reader: gguf.GGUFReader) -> list[str]:
    """Return lines on the tensors whose rows do not fit the blocks of a K level, and their types.

    The result is empty for a file of another level.
    """
    named = reader.fields["general.file_type"].contents()
    level = next((name for name, (number, _) in _KINDS.items() if number == named), F16)
    matrices = [tensor for tensor in reader.tensors if len(tensor.shape) > 1]
    block = _K_ROW if "_K" in level else 32
    misfits = Counter(
        (_without_layer(tensor.name), int(tensor.shape[0]), tensor.tensor_type.name)
        for tensor in matrices
        if level != F16 and tensor.shape[0] % block
    )
    return [
        f"{level}: {name}, {_tensors(count)}: rows of {row} are no multiple of {block}, so "
        f"llama.cpp stores {kind}"
        for (name, row, kind), count in sorted(misfits.items())
    ]


def types(reader: gguf.GGUFReader) -> str:
    """Return the tensor counts of a file by type, without norms: `36 Q4_K, 6 Q6_K`."""
    found = Counter(t.tensor_type.name for t in reader.tensors if len(t.shape) > 1)
    return ", ".join(f"{count} {name}" for name, count in found.most_common())


def _without_layer(name: str) -> str:
    parts: Iterable[str] = name.removesuffix(".weight").split(".")
    return ".".join("*" if part.isdigit() else part for part in parts)


def _tensors(count: int) -> str:
    return f"{count} tensors" if count > 1 else "1 tensor"
