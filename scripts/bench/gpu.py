"""How fast a GPU generates, and how much memory a translator uses, next to `budget`'s estimate.

    python -m scripts.bench.gpu --model models/starter/gemma/model.gguf
    python -m scripts.bench.gpu --shape 4b 12b --batch 128 512 4096

`--shape` writes files with the sizes of TranslateGemma at Q4_K_M and repeated numbers: they take as
much time and memory as the real files, but translate nothing. The program's own engine loads each
file whole onto the GPU, in a separate process. The time of 50 tokens is that of a caption after its
prompt; a prompt is read in batches of each size.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind

from pipeline.core import logs
from pipeline.core.errors import EngineError
from pipeline.engines.llama_cpp import llama
from pipeline.engines.process.gpu_use import gpu_use, query
from pipeline.tuning import budget
from scripts.bench import report_section
from scripts.support.command import parser_of, says_errors

CONTEXT, PROMPT, WRITTEN = 4608, 4096, 50
THREADS = min(4, os.cpu_count() or 1)
_VOCABULARY = 262_144


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a Gemma 3, in units."""

    layers: int
    width: int
    hidden: int
    heads: int
    kv_heads: int
    head_width: int = 256


SHAPES = {
    "270m": Sizes(18, 640, 2048, 4, 1),
    "1b": Sizes(26, 1152, 6912, 4, 1),
    "4b": Sizes(34, 2560, 10240, 8, 4),
    "12b": Sizes(48, 3840, 15360, 16, 8),
}


@says_errors
def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--model", nargs="+", type=Path, default=[], metavar="FILE")
    parser.add_argument("--shape", nargs="+", choices=SHAPES, default=[])
    parser.add_argument("--batch", nargs="+", type=int, default=[128, 512])
    parser.add_argument("--cpu", action="store_true", help="on the processor, to compare")
    options = parser.parse_args(arguments)
    logs.configure("error", "auto")  # llama.cpp logs much
    if not options.cpu and not llama.has_gpu():
        raise EngineError(
            "no-gpu", "llama.cpp finds no GPU.", "Build it for one (docs/MACHINE.md), or --cpu."
        )
    where = query("--query-gpu=name").strip() or "no GPU"
    batches = [f"prompt tokens/s, {batch} at once" for batch in options.batch]
    rows = [["model", "file, GB", "memory of the GPU, GB", "`budget`", "tokens/s",
             "`budget`", "50 tokens, ms", *batches]]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for name in options.shape:
            file = Path(folder, f"gemma-3-{name}.gguf")
            write(file, SHAPES[name])
            rows.append(measured(file, name, options))
            file.unlink()
    rows += [measured(file, file.stem, options) for file in options.model]
    report_section.show(rows, where)
    print(report_section.markdown(rows))
    return 0


def measured(file: Path, name: str, options: argparse.Namespace) -> list[str]:
    """Return a row of the table; each batch size runs in its own process, as an engine does."""
    found = [_alone(file, batch, 0 if options.cpu else -1) for batch in options.batch]
    size = file.stat().st_size
    written_s = min(written_s for written_s, _, _ in found)
    final = budget.Writing(name, size, CONTEXT, options.batch[0], on_gpu=True)
    expected = budget.total(budget.writing_needs(final), "gpu")
    gpu = budget.known_gpu(query("--query-gpu=name"))
    speed = budget.tokens_per_second(size, gpu.bandwidth) if gpu else None
    held = found[0][2]
    return [
        name,
        f"{size / 1e9:.2f}",
        f"{held / 1e9:.2f}" if held else "-",
        f"{expected / 1e9:.2f}",
        f"{WRITTEN / written_s:.0f}",
        f"{speed[0]:.0f} to {speed[1]:.0f}" if speed else "-",
        f"{1000 * written_s:.0f}",
        *(f"{PROMPT / read_s:.0f}" for _, read_s, _ in found),
    ]


def _alone(file: Path, batch: int, gpu_layers: int) -> tuple[float, float, int]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(times, (file, batch, gpu_layers))


def times(file: Path, batch: int, gpu_layers: int) -> tuple[float, float, int]:
    """Return the seconds for the generated tokens and for the prompt, the best of three each, and
    the bytes of GPU memory."""
    logs.configure("error", "auto")
    model = llama.Llama(file, gpu_layers=gpu_layers, threads=THREADS, context=CONTEXT, batch=batch)
    tokens = [1000 + number % 5000 for number in range(PROMPT + WRITTEN)]
    written, read = [], []
    for _ in range(3):
        model.reset()
        began = time.perf_counter()
        for first in range(0, PROMPT, batch):
            model.feed(tokens[first : first + batch])
        model.best_and(None)  # waits for the GPU
        read.append(time.perf_counter() - began)
        model.forget(PROMPT - 64)
        began = time.perf_counter()
        for token in tokens[PROMPT:]:
            model.feed([token])
            model.best_and(None)
        written.append(time.perf_counter() - began)
    use = gpu_use(os.getpid())
    return min(written), min(read), use.memory_bytes if use else 0


def write(path: Path, sizes: Sizes) -> None:
    """Write a Gemma 3 of these sizes whose blocks of weights are all alike."""
    writer = gguf.GGUFWriter(path, "gemma3")
    writer.add_context_length(8192)
    writer.add_embedding_length(sizes.width)
    writer.add_block_count(sizes.layers)
    writer.add_feed_forward_length(sizes.hidden)
    writer.add_head_count(sizes.heads)
    writer.add_head_count_kv(sizes.kv_heads)
    writer.add_key_length(sizes.head_width)
    writer.add_value_length(sizes.head_width)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1_000_000.0)
    writer.add_sliding_window(1024)
    _add_vocabulary(writer)
    matrices = {"token_embd": (_VOCABULARY, sizes.width)}
    norms = {"output_norm": sizes.width}
    queries, keys = (n * sizes.head_width for n in (sizes.heads, sizes.kv_heads))
    for layer in range(sizes.layers):
        name = f"blk.{layer}."
        matrices |= {
            f"{name}attn_q": (queries, sizes.width),
            f"{name}attn_k": (keys, sizes.width),
            f"{name}attn_v": (keys, sizes.width),
            f"{name}attn_output": (sizes.width, queries),
            f"{name}ffn_gate": (sizes.hidden, sizes.width),
            f"{name}ffn_up": (sizes.hidden, sizes.width),
            f"{name}ffn_down": (sizes.width, sizes.hidden),
        }
        norms |= dict.fromkeys(
            (f"{name}{part}" for part in ("attn_norm", "ffn_norm", "post_attention_norm",
                                          "post_ffw_norm")), sizes.width)  # fmt: skip
        norms |= dict.fromkeys((f"{name}attn_{part}_norm" for part in "qk"), sizes.head_width)
    for name, width in norms.items():
        writer.add_tensor(f"{name}.weight", np.ones(width, np.float32))
    for name, shape in matrices.items():
        kind = kind_of(name, shape[1])
        writer.add_tensor(f"{name}.weight", blocks(kind, shape), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def kind_of(name: str, row: int) -> Kind:
    """Return about how Q4_K_M stores a matrix: as a K type if its rows are whole blocks."""
    if row % 256:
        return Kind.Q5_0
    return Kind.Q6_K if name == "token_embd" or name.endswith("ffn_down") else Kind.Q4_K


def blocks(kind: Kind, shape: tuple[int, int]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Return a matrix that repeats one row of small numbers of both signs."""
    rows, width = shape
    values = 0.02 * np.random.default_rng(1).standard_normal((1, width)).astype(np.float32)
    if kind in {Kind.Q4_K, Kind.Q6_K}:  # gguf cannot write these: the scale is first or last
        size = gguf.GGML_QUANT_SIZES[kind][1]
        row = np.random.default_rng(1).integers(0, 256, (width // 256, size), np.uint8)
        at = size - 2 if kind == Kind.Q6_K else 0
        row[:, at : at + 2] = np.array([1e-4], np.float16).view(np.uint8)
        if kind == Kind.Q4_K:
            row[:, 2:4] = row[:, 0:2]
        row = row.reshape(1, -1)
    else:
        row = gguf.quants.quantize(values, kind).reshape(1, -1)
    return np.repeat(row, rows, axis=0)


def _add_vocabulary(writer: gguf.GGUFWriter) -> None:
    control, usual, byte = 3, 1, 6
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", *(f"<0x{number:02X}>" for number in range(256))]
    kinds = [control] * 4 + [byte] * 256
    tokens += [f"w{number}" for number in range(_VOCABULARY - len(tokens))]
    kinds += [usual] * (_VOCABULARY - len(kinds))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(number) for number in range(_VOCABULARY)])
    writer.add_token_types(kinds)
    writer.add_eos_token_id(1)
    writer.add_bos_token_id(2)


if __name__ == "__main__":
    sys.exit(main())
