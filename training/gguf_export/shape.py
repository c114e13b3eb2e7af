"""The sizes of a decoder, from flags, its config.json and the shapes of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.core.errors import ModelError
from training.gguf_export.naming import Architecture

# Our name -> its keys in a config.json: Hugging Face's key first.
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers")
_KEYS = {
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "kv_heads": ("num_key_value_heads", "n_kv_head", "n_kv_heads"),
    "head_width": ("head_dim",),
    "context": ("max_position_embeddings", "block_size", "sequence_len", "max_seq_len"),
    "norm_epsilon": ("rms_norm_eps", "norm_eps", "eps"),
    "rope_base": ("rope_theta", "rope_base"),
    "local_rope_base": ("rope_local_base_freq",),
    "window": ("sliding_window",),
}
_ASSUMED: dict[Architecture, dict[str, float]] = {
    "llama": {"context": 2048, "norm_epsilon": 1e-6, "rope_base": 10_000.0},
    "gemma3": {
        "context": 2048,
        "norm_epsilon": 1e-6,
        "rope_base": 1_000_000.0,
        "local_rope_base": 10_000.0,
        "window": 512,
    },
}
_GLOBAL_EVERY = 6
_GEMMA_27B_LAYERS = 62


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes in pieces (`vocabulary`), tokens (`context`, `window`), units or layers.

    `local` says for each layer whether it attends to the last `window` tokens only, with
    `local_rope_base`; in the other layers positions are divided by `rope_scale`. With `rope_pairs`
    RoPE rotates neighbouring units of a head together, as in Meta's code, else unit i and i + half.
    """

    architecture: Architecture
    vocabulary: int
    width: int
    hidden: int
    heads: int
    kv_heads: int
    head_width: int
    context: int
    norm_epsilon: float
    rope_base: float
    local: tuple[bool, ...]
    local_rope_base: float = 10_000.0
    window: int = 0
    rope_scale: float = 1.0
    rope_pairs: bool = False

    @property
    def layers(self) -> int:
        """Number of layers."""
        return len(self.local)

    @property
    def attention_scale(self) -> float:
        """Factor of a score; llama.cpp recognizes Gemma 3 27B by its number of layers."""
        large = self.architecture == "gemma3" and self.layers == _GEMMA_27B_LAYERS
        width = self.width // self.heads if large else self.head_width
        return float(width**-0.5)

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor by llama.cpp's name, without an untied `output`."""
        queries, keys = self.heads * self.head_width, self.kv_heads * self.head_width
        found: dict[str, tuple[int, ...]] = {
            "token_embd": (self.vocabulary, self.width),
            "output_norm": (self.width,),
        }
        layer: dict[str, tuple[int, ...]] = {
            "attn_norm": (self.width,),
            "attn_q": (queries, self.width),
            "attn_k": (keys, self.width),
            "attn_v": (keys, self.width),
            "attn_output": (self.width, queries),
            "ffn_norm": (self.width,),
            "ffn_gate": (self.hidden, self.width),
            "ffn_up": (self.hidden, self.width),
            "ffn_down": (self.width, self.hidden),
        }
        if self.architecture == "gemma3":
            layer |= {"attn_q_norm": (self.head_width,), "attn_k_norm": (self.head_width,)}
            layer |= {"post_attention_norm": (self.width,), "post_ffw_norm": (self.width,)}
        for index in range(self.layers):
            found |= {f"blk.{index}.{name}": size for name, size in layer.items()}
        return found


def layers_of(config: Mapping[str, Any]) -> int:
    """Return the number of layers in a config.json, 0 if it has none."""
    config = config.get("text_config", config)
    return int(next((config[key] for key in _LAYERS if config.get(key)), 0))


def work_out(
    architecture: Architecture,
    layers: int,
    sizes: Mapping[str, tuple[int, ...]],
    config: Mapping[str, Any],
    flags: Mapping[str, Any],
) -> tuple[Shape, list[str]]:
    """Return the shape, and a line for each value that no input gave and that was assumed.

    `sizes` are the tensors' shapes by llama.cpp's name; `flags` override `config`. Raises
    ModelError if llama.cpp would compute the model differently, or if too little is known.
    """
    config = config.get("text_config", config)
    _refuse(architecture, config)
    vocabulary, width = sizes["token_embd"]
    values: dict[str, Any] = {
        ours: next((config[key] for key in keys if config.get(key) is not None), None)
        for ours, keys in _KEYS.items()
    }
    scale = _rope(config, values)
    values |= {name: value for name, value in flags.items() if value is not None}
    _heads(values, sizes, width)
    assumed = []
    for name, value in _ASSUMED[architecture].items():
        if values[name] is None:
            values[name] = value
            assumed.append(f"{name} {value:g}")
    local = _local(config, layers) if architecture == "gemma3" else (False,) * layers
    if not any(local):
        # Some LLaMA-like models attend to a window only: up to its length all is the same.
        values["context"] = min(values["context"], values["window"] or values["context"])
        values["window"] = 0
    chosen = {name: value for name, value in values.items() if value is not None}
    shape = Shape(
        architecture, vocabulary, width, hidden=sizes["blk.0.ffn_gate"][0], local=local,
        rope_scale=scale, **chosen,
    )  # fmt: skip
    scalar = config.get("query_pre_attn_scalar") or shape.attention_scale**-2
    if abs(scalar**-0.5 - shape.attention_scale) > 1e-6:
        raise _cannot(f"query_pre_attn_scalar {scalar:g}")
    return shape, assumed


def _heads(values: dict[str, Any], sizes: Mapping[str, tuple[int, ...]], width: int) -> None:
    queries, keys = sizes["blk.0.attn_q"][0], sizes["blk.0.attn_k"][0]
    head_width = values["head_width"] or next(iter(sizes.get("blk.0.attn_q_norm", ())), None)
    if not head_width and values["heads"]:
        head_width = queries // values["heads"]
    if not head_width:
        raise ModelError(
            "checkpoint-heads",
            f"The tensors do not tell how many heads share the {queries} rows of the queries "
            f"(width {width}).",
            "Give --config with num_attention_heads, or --heads.",
        )
    counted = {
        "heads": queries // head_width,
        "kv_heads": keys // head_width,
        "head_width": head_width,
    }
    for name, value in counted.items():
        if values[name] not in {None, value}:
            raise ModelError(
                "checkpoint-heads",
                f"{name} is said to be {values[name]}, but queries of {queries} rows and keys of "
                f"{keys} rows make it {value}.",
                "Is the config.json that of this checkpoint?",
            )
    values |= counted


def _rope(config: Mapping[str, Any], values: dict[str, Any]) -> float:
    """Parse the rotary settings of newer config files; return the scale."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if "full_attention" in rope:
        local = rope.get("sliding_attention", {})
        values["local_rope_base"] = local.get("rope_theta", values["local_rope_base"])
        rope = rope["full_attention"]
    values["rope_base"] = rope.get("rope_theta", values["rope_base"])
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in {"default", "linear"}:
        raise _cannot(f"rope_scaling of type {kind!r}")
    return float(rope["factor"]) if kind == "linear" else 1.0


def _local(config: Mapping[str, Any], layers: int) -> tuple[bool, ...]:
    kinds = config.get("layer_types")
    if kinds:
        return tuple(kind == "sliding_attention" for kind in kinds)[:layers]
    every = config.get("sliding_window_pattern") or _GLOBAL_EVERY
    return tuple(layer % every != every - 1 for layer in range(layers))


def _refuse(architecture: Architecture, config: Mapping[str, Any]) -> None:
    known = ("silu", "swish") if architecture == "llama" else ("gelu", "gelu_pytorch_tanh")
    activation = config.get("hidden_activation") or config.get("hidden_act") or known[0]
    if activation not in known:
        raise _cannot(f"activation {activation!r}")
    if config.get("partial_rotary_factor", 1.0) != 1.0:
        raise _cannot("partial_rotary_factor")
    for key in ("attn_logit_softcapping", "final_logit_softcapping", "use_bidirectional_attention"):
        if config.get(key):
            raise _cannot(key)


def _cannot(what: str) -> ModelError:
    return ModelError(
        "checkpoint-unsupported",
        f"config.json: {what} is not what llama.cpp computes for these tensor names.",
        "Convert it with llama.cpp's own convert_hf_to_gguf.py, if that knows the model.",
    )
