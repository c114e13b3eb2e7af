"""Export a decoder-only checkpoint as GGUF files for llama.cpp, and prove them.

    python -m training.gguf_export.export --model mine/model.safetensors --out models/mine
    python -m training.gguf_export.export --model run/ckpt.pt --tokenizer run/my.model --heads 8 \\
        --levels Q8_0,Q4_K_M --out models/mine --pairs held_out.tsv

For decoders with RoPE, RMSNorm and a gated feed-forward, under the tensor names of LLaMA
(layers.0.self_attn.q_proj), Gemma 3 (the same, with q_norm) or transformer.wte and h.0.attn.c_q.
First an F16 file is written; it is kept only if llama.cpp computes the checkpoint's logits on
random prompts and splits text as the tokenizer does. Then llama.cpp quantizes it. Last a table
shows the cost of each level: the error of its logits, and chrF and speed of translations by the
daemon's own engine. Needs the train extra (make train).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from pipeline.core.errors import ModelError, UsageError
from pipeline.engines.prompts import Style
from training.gguf_export import checkpoint as checkpoints
from training.gguf_export import levels, proof, quantizing, vocabulary, writing
from training.gguf_export.checkpoint import Checkpoint
from training.gguf_export.levels import Asking, Level, Pair
from training.gguf_export.progress import bar, console, exit_code_of, only_warnings, unfinished
from training.gguf_export.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Plan:
    """The files to make: `name-LEVEL.gguf` in `folder`, measured on `sets`."""

    folder: Path
    name: str
    levels: Sequence[str]
    asking: Asking
    sets: Mapping[str, Sequence[Pair]]


def export(checkpoint: Checkpoint, words: Vocabulary, plan: Plan) -> list[Level]:
    """Write, prove, quantize and measure; return the rows of the table. Raises StarkError."""
    _say(checkpoint, words)
    matrices = sum(tensor.numel() for tensor in checkpoint.weights.values())
    sizes = [quantizing.expected_bytes(2 * matrices, level) for level in ("F16", *plan.levels)]
    plan.folder.mkdir(parents=True, exist_ok=True)
    quantizing.require_space(plan.folder, sum(sizes))
    threads = plan.asking.threads
    with bar("computing what the checkpoint says") as on_prompt:
        wanted = proof.prompts(checkpoint, words, on_prompt)
    path = plan.folder / f"{plan.name}-F16.gguf"
    fresh = unfinished(path)
    try:
        with bar("F16: writing") as on_tensor:
            writing.write(checkpoint, words, fresh, plan.name, on_tensor)
        off = proof.check_logits(fresh, wanted, threads)
        texts = proof.check_tokens(fresh, words, threads)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    console.print(
        f"proved: logits {off:.2%} of their spread apart on {len(wanted.ids)} random prompts "
        f"(allowed {proof.TOLERANCE:.0%}), the same tokens for {texts} texts"
    )
    rows = [_level("F16", path, off, plan)]
    for level in plan.levels:
        target = plan.folder / f"{plan.name}-{level}.gguf"
        quantizing.quantize_and_say(path, target, level, threads)
        rows.append(_level(level, target, proof.difference(target, wanted, threads), plan))
    return rows


def _level(name: str, path: Path, off: float, plan: Plan) -> Level:
    total, done = sum(map(len, plan.sets.values())), 0
    with bar(f"{name}: translating") as on_share:

        def count() -> None:
            nonlocal done
            done += 1
            on_share(done, total)

        try:
            chrf, tokens_per_s = levels.measure(path, plan.asking, plan.sets, count)
        except ModelError as error:  # the file is proved, but the model may be no translator
            console.print(f"{name}: not measured. {error.message}", style="yellow", markup=False)
            chrf, tokens_per_s = {}, None
    return Level(name, path.stat().st_size, off, chrf, tokens_per_s)


def _say(checkpoint: Checkpoint, words: Vocabulary) -> None:
    shape = checkpoint.shape
    console.print(
        f"{checkpoint.naming.title} names, for llama.cpp's {shape.architecture}: {shape.layers} "
        f"layers, width {shape.width}, {shape.heads} heads of {shape.head_width} "
        f"({shape.kv_heads} for keys), feed-forward {shape.hidden}, {shape.vocabulary} pieces"
    )
    if checkpoint.assumed:
        console.print(f"assumed, since nothing says it: {', '.join(checkpoint.assumed)}")
    for warning in words.warnings:
        console.print(
            f"warning: the tokenizer {warning}; llama.cpp does not, so such text gets other tokens",
            style="yellow",
        )
    if words.end_of_turn < 0:
        console.print(
            "warning: no end-of-turn token; only </s> ends an answer (--end-of-turn)",
            style="yellow",
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Export as the options say; return the exit code."""
    options = _parser().parse_args(arguments)
    return exit_code_of(lambda: _export(options))


def _export(options: argparse.Namespace) -> None:
    sets = {path.stem: levels.read_pairs(path) for path in options.pairs}
    chosen = quantizing.chosen(options.levels)
    flags = {name: getattr(options, name) for name in ("heads", "context", *_SIZES)}
    flags |= {"rope_pairs": options.rope_pairs or None}
    checkpoint = checkpoints.read(options.model, options.config, flags)
    folder = options.model if options.model.is_dir() else options.model.parent
    words = vocabulary.read(
        options.tokenizer or folder / "tokenizer.model",
        checkpoint.shape.vocabulary,
        dict(map(_written, options.token)),
        options.end_of_turn,
    )
    asking = Asking(
        options.prompt,
        options.source,
        options.target,
        options.threads,
        min(2048, checkpoint.shape.context),
    )
    plan = Plan(
        options.out,
        options.name or options.out.resolve().name,
        chosen,
        asking,
        sets or {"sermon": levels.sermon(options.source, options.target)},
    )
    print(levels.markdown(export(checkpoint, words, plan), list(plan.sets)))


_SIZES = {
    "norm_epsilon": "in every RMSNorm",
    "rope_base": "of the rotary positions",
    "local_rope_base": "the same in Gemma's local layers",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--model", type=Path, required=True, metavar="FILE", help=".pt, .safetensors, or a folder")
    add("--out", type=Path, required=True, metavar="FOLDER", help="for NAME-LEVEL.gguf")
    add("--tokenizer", type=Path, help="SentencePiece model (default tokenizer.model beside it)")
    add("--name", help="of the model (default the folder's)")
    add("--levels", default=",".join(quantizing.LEVELS), help="besides F16 (default %(default)s)")
    add("--config", type=Path, help="config.json (default the one beside the checkpoint)")
    sizes = parser.add_argument_group("what config.json and the tensors do not tell")
    sizes.add_argument("--heads", type=int, help="attention heads of each layer")
    sizes.add_argument("--context", type=int, help="tokens it was trained for (default 2048)")
    for name, text in _SIZES.items():
        sizes.add_argument(f"--{name.replace('_', '-')}", type=float, help=text)
    sizes.add_argument("--rope-pairs", action="store_true",
                       help="neighbouring units turn together, as in Meta's own code")  # fmt: skip
    sizes.add_argument("--end-of-turn", metavar="PIECE", help="what ends an answer")
    sizes.add_argument("--token", action="append", default=[], metavar="ID=TEXT",
                       help=r"another text for a control token; \n is a line end")  # fmt: skip
    table = parser.add_argument_group("the table")
    table.add_argument("--pairs", type=Path, action="append", default=[], metavar="TSV",
                       help="sentence TAB translation (default the demo sermon)")  # fmt: skip
    table.add_argument("--prompt", choices=get_args(Style), default="translategemma")
    table.add_argument("--source", default="en", metavar="LANG")
    table.add_argument("--target", default="es", metavar="LANG")
    add("--threads", type=int, default=os.cpu_count() or 1)
    return parser


def _written(text: str) -> tuple[int, str]:
    index, _, content = text.partition("=")
    if not index.isdecimal() or not content:
        raise UsageError("token-unreadable", f"--token {text}: ID=TEXT is needed.", "")
    return int(index), content.replace(r"\n", "\n")


if __name__ == "__main__":
    only_warnings()
    sys.exit(main())
