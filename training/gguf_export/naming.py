"""Tensor names of checkpoints, and llama.cpp's names for the same tensors. Needs no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pipeline.core.errors import ModelError

Architecture = Literal["llama", "gemma3"]


@dataclass(frozen=True, slots=True)
class Naming:
    """A naming scheme. `names` maps llama.cpp's name, without `.weight`, to the checkpoint's.

    `{}` is the number of the layer. A stored norm weight plus `norm_offset` is the norm's factor.
    """

    title: str
    architecture: Architecture
    names: Mapping[str, str]
    norm_offset: float = 0.0


LLAMA = Naming(
    "LLaMA",
    "llama",
    {
        "token_embd": "embed_tokens",
        "output_norm": "norm",
        "output": "lm_head",
        "blk.{}.attn_norm": "layers.{}.input_layernorm",
        "blk.{}.attn_q": "layers.{}.self_attn.q_proj",
        "blk.{}.attn_k": "layers.{}.self_attn.k_proj",
        "blk.{}.attn_v": "layers.{}.self_attn.v_proj",
        "blk.{}.attn_output": "layers.{}.self_attn.o_proj",
        "blk.{}.ffn_norm": "layers.{}.post_attention_layernorm",
        "blk.{}.ffn_gate": "layers.{}.mlp.gate_proj",
        "blk.{}.ffn_up": "layers.{}.mlp.up_proj",
        "blk.{}.ffn_down": "layers.{}.mlp.down_proj",
    },
)
GEMMA = Naming(
    "Gemma 3",
    "gemma3",
    {
        **LLAMA.names,
        "blk.{}.attn_q_norm": "layers.{}.self_attn.q_norm",
        "blk.{}.attn_k_norm": "layers.{}.self_attn.k_norm",
        "blk.{}.post_attention_norm": "layers.{}.post_attention_layernorm",
        "blk.{}.ffn_norm": "layers.{}.pre_feedforward_layernorm",
        "blk.{}.post_ffw_norm": "layers.{}.post_feedforward_layernorm",
    },
    norm_offset=1.0,
)
GPT = Naming(
    "transformer.wte",
    "llama",
    {
        "token_embd": "wte",
        "output_norm": "ln_f",
        "output": "lm_head",
        "blk.{}.attn_norm": "h.{}.ln_1",
        "blk.{}.attn_q": "h.{}.attn.c_q",
        "blk.{}.attn_k": "h.{}.attn.c_k",
        "blk.{}.attn_v": "h.{}.attn.c_v",
        "blk.{}.attn_output": "h.{}.attn.c_proj",
        "blk.{}.ffn_norm": "h.{}.ln_2",
        "blk.{}.ffn_gate": "h.{}.mlp.w_gate",
        "blk.{}.ffn_up": "h.{}.mlp.w_up",
        "blk.{}.ffn_down": "h.{}.mlp.w_down",
    },
)
# Wrappers put these before every name: torch.compile, data parallel, the head, the vision model.
_PREFIX = re.compile(r"^(?:_orig_mod\.|module\.|model\.|language_model\.|transformer\.)+")
# Tables that are recomputed, and the vision part of Gemma 3.
_UNUSED = re.compile(
    r"rotary|inv_freq|(?:cos|sin)_cached|\.attn\.(?:bias|mask)$|^(?:vision_tower|multi_modal_pro)"
)


def plain(name: str) -> str | None:
    """Return a tensor's name without wrappers and `.weight`; None if it is not needed."""
    name = _PREFIX.sub("", name)
    return None if _UNUSED.search(name) else name.removesuffix(".weight")


def recognize(names: Iterable[str]) -> Naming:
    """Return the naming of plain `names`. Raises ModelError for an unknown naming."""
    found = set(names)
    if any("lora_" in name for name in found):
        raise ModelError(
            "checkpoint-adapter",
            "The file is a LoRA adapter, not a whole model.",
            "Merge it into its base first: training/gguf_export/convert_translategemma.py does.",
        )
    for naming, telling in ((GEMMA, "ffn_norm"), (LLAMA, "attn_q"), (GPT, "attn_q")):
        if naming.names[f"blk.{{}}.{telling}"].format(0) in found:
            return naming
    raise ModelError(
        "checkpoint-naming",
        f"The tensors are named in a way that is not known here: {some(sorted(found))}.",
        "Known are LLaMA's and Gemma 3's names (layers.0.self_attn.q_proj) and h.0.attn.c_q.",
    )


def layers_of(naming: Naming, names: Iterable[str]) -> int:
    """Return how many layers plain `names` have; layers are numbered from 0."""
    before = naming.names["blk.{}.attn_q"].partition("{}")[0]
    number = re.compile(re.escape(before) + r"(\d+)\.")
    return 1 + max(int(match[1]) for name in names if (match := number.match(name)))


def expected(naming: Naming, layers: int) -> dict[str, str]:
    """Return llama.cpp's name and the checkpoint's plain one of every tensor of `layers` layers."""
    whole: dict[str, str] = {}
    for ours, theirs in naming.names.items():
        for layer in range(layers) if "{}" in ours else (0,):
            whole[ours.format(layer)] = theirs.format(layer)
    return whole


def some(names: list[str]) -> str:
    """Return the first few of many names for a message."""
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more
