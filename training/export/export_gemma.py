"""Export a trained starter Gemma: its tensors under Gemma 3's names, then `gguf_export.export`.

    python -m training.export.export_gemma --model DIR --bible FILE \\
        --tatoeba FILE --out DIR

Writes `starter-F16.gguf` and all smaller levels into `--out`, proves them, and prints the table of
docs/MODELS.md with chrF on the held-out pairs. models/starter/gemma/model.gguf is the Q8_0 file.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from training.data import corpora, pieces
from training.evaluate import translation_score
from training.gguf_export import checkpoint, levels, quantizing, vocabulary
from training.gguf_export.export import Plan, export
from training.gguf_export.progress import only_warnings
from training.models import gemma_gguf, steps
from training.models.gemma_model import GLOBAL_EVERY, LOCAL_ROPE_BASE, GemmaShape

_NAMES = {
    "embeddings": "embed_tokens",
    "final_norm": "norm",
    "blocks": "layers",
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "o": "self_attn.o_proj",
    "q_norm": "self_attn.q_norm",
    "k_norm": "self_attn.k_norm",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
    "attention_norm": "input_layernorm",
    "after_attention": "post_attention_layernorm",
    "feed_norm": "pre_feedforward_layernorm",
    "after_feed": "post_feedforward_layernorm",
}
WRITTEN_OUT = {
    pieces.PROMPT_START_ID: pieces.PROMPT_START,
    pieces.PROMPT_END_ID: pieces.PROMPT_END,
}
_CONTEXT = 512
_SEED = 5


def renamed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of our model under the names of Gemma 3 in transformers."""
    return {
        ".".join(["model", *(_NAMES.get(part, part) for part in name.split("."))]): tensor
        for name, tensor in weights.items()
    }


def config(shape: GemmaShape) -> dict[str, Any]:
    """Return the content of config.json for such a Gemma 3."""
    return {
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_width,
        "max_position_embeddings": _CONTEXT,
        "rms_norm_eps": shape.norm_epsilon,
        "rope_theta": shape.rope_base,
        "rope_local_base_freq": LOCAL_ROPE_BASE,
        "sliding_window": shape.sliding_window,
        "sliding_window_pattern": GLOBAL_EVERY,
    }


def main() -> None:
    """Export as the options say."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="the trainer's --out")
    corpora.add_options(parser)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--levels", default=",".join(quantizing.LEVELS), help="(%(default)s)")
    parser.add_argument("--sentences", type=int, help="measured of each set (default all)")
    parser.add_argument("--again", type=Path, metavar="FILE",
        help="GGUF file that the training began from: rounding must not undo it")  # fmt: skip
    options = parser.parse_args()
    saved = torch.load(options.model / "checkpoint.pt", weights_only=True, map_location="cpu")
    print(f"checkpoint: {saved['elapsed_s'] / 60:.1f} minutes, step {saved['step']}")
    shape = GemmaShape(**json.loads((options.model / "shape.json").read_text()))
    weights = saved["model"]
    if options.again is not None and (level := gemma_gguf.level_of(options.again)):
        # A small training mostly changes a weight by less than half a step: rounding to the nearest
        # step would undo it.
        weights = steps.on_steps(weights, level, torch.Generator().manual_seed(_SEED))
    whole = checkpoint.assemble(renamed(weights), config(shape))
    words = vocabulary.read(options.model / "gemma.spm", shape.vocabulary, WRITTEN_OUT)
    sets: dict[str, list[levels.Pair]] = {}
    elsewhere: dict[str, str] = {}
    for split in corpora.splits_of(options):
        for held_out, pairs in translation_score.held_out(split).items():
            name = split.named(held_out)
            if pairs:
                sets[name] = [(pair.en, pair.target) for pair in pairs[: options.sentences]]
                elsewhere[name] = split.target
    asking = levels.Asking("starter", "en", "es", options.threads, _CONTEXT, elsewhere)
    plan = Plan(options.out, "starter", quantizing.chosen(options.levels), asking, sets)
    print(levels.markdown(export(whole, words, plan), list(sets)))


if __name__ == "__main__":
    only_warnings()
    main()
