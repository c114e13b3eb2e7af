"""A pretrained Gemma 3 read from its GGUF file, and cut to a smaller vocabulary."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader, TokenType, dequantize
from sentencepiece import sentencepiece_model_pb2
from torch import Tensor

from pipeline.core.errors import ModelError
from training.data import pieces
from training.models import steps
from training.models.gemma_model import LOCAL_ROPE_BASE, GemmaShape

# llama.cpp's names for the parts of a layer, ours, and whether it stores a norm's factor
# where we store its difference from one.
_PARTS = {
    "attn_norm": ("attention_norm", True),
    "attn_q": ("q", False),
    "attn_k": ("k", False),
    "attn_v": ("v", False),
    "attn_q_norm": ("q_norm", True),
    "attn_k_norm": ("k_norm", True),
    "attn_output": ("o", False),
    "post_attention_norm": ("after_attention", True),
    "ffn_norm": ("feed_norm", True),
    "ffn_gate": ("gate", False),
    "ffn_up": ("up", False),
    "ffn_down": ("down", False),
    "post_ffw_norm": ("after_feed", True),
}
_CONTROL = ("<pad>", "<eos>", "<bos>", "<unk>", pieces.END_OF_TURN)
_TURN = "<start_of_turn>"
# The first pieces of a cut vocabulary, and the texts that `export_gemma` writes for them.
_CONTROL_PIECES = (
    "<pad>",
    "</s>",
    "<s>",
    "<unk>",
    pieces.END_OF_TURN,
    "<prompt_start>",
    "<prompt_end>",
)
_WRITTEN_OUT = (*_CONTROL_PIECES[:5], pieces.PROMPT_START, pieces.PROMPT_END)
# Characters that these languages use, whether or not the corpora contain them.
CHARACTERS = (
    "".join(map(chr, range(33, 127)))
    + "áéíóúüñÁÉÍÓÚÜÑ¿¡ªº«»\u2018\u2019\u201c\u201d\u2013\u2014…€àèìòùâêîôûçãõäöëïœæ"
    + "ÀÈÇÂÊÎÔÛÙËÏŒÆ\u2581"
)


@dataclass(frozen=True)
class Pretrained:
    """A Gemma 3: `weights` under the names of `gemma_model.Gemma`, float32.

    `tokens`, `scores` and `types` (gguf.TokenType) are indexed by token id.
    """

    shape: GemmaShape
    weights: dict[str, Tensor]
    tokens: list[str]
    scores: list[float]
    types: list[int]

    @property
    def mergeable(self) -> dict[str, float]:
        """The scores of the pieces that form words."""
        normal = zip(self.tokens, self.scores, self.types, strict=True)
        return {token: score for token, score, kind in normal if kind == TokenType.NORMAL}


def read(path: Path) -> Pretrained:
    """Read a GGUF file of any quantization that gguf can undo. Raises ModelError."""
    try:
        reader = GGUFReader(path)
        fields = {name: field.contents() for name, field in reader.fields.items()}
        if fields.get("general.architecture") != "gemma3":
            raise _unfit(path, f"it is a {fields.get('general.architecture')!r} model")
        weights = dict(_ours(reader))
        return Pretrained(
            _shape(path, fields),
            weights,
            fields["tokenizer.ggml.tokens"],
            fields["tokenizer.ggml.scores"],
            fields["tokenizer.ggml.token_type"],
        )
    except (OSError, ValueError, KeyError, IndexError, NotImplementedError) as error:
        raise _unfit(path, f"{type(error).__name__}: {error}") from error


def _shape(path: Path, fields: Mapping[str, Any]) -> GemmaShape:
    def value(name: str) -> Any:
        return fields[f"gemma3.{name}"]

    local_base = fields.get("gemma3.rope.freq_base_swa", LOCAL_ROPE_BASE)
    if local_base != LOCAL_ROPE_BASE or fields.get("gemma3.rope.scaling.factor", 1) != 1:
        raise _unfit(path, "its rotary positions are scaled")
    return GemmaShape(
        vocabulary=len(fields["tokenizer.ggml.tokens"]),
        width=value("embedding_length"),
        layers=value("block_count"),
        heads=value("attention.head_count"),
        kv_heads=value("attention.head_count_kv"),
        head_width=value("attention.key_length"),
        hidden=value("feed_forward_length"),
        sliding_window=value("attention.sliding_window"),
        rope_base=value("rope.freq_base"),
        norm_epsilon=round(value("attention.layer_norm_rms_epsilon"), 12),
    )


def _ours(reader: GGUFReader) -> Any:
    for stored in reader.tensors:
        tensor = torch.from_numpy(np.array(dequantize(stored.data, stored.tensor_type), np.float32))
        match stored.name.removesuffix(".weight").split("."):
            case ["token_embd"]:
                yield "embeddings.weight", tensor
            case ["output_norm"]:
                yield "final_norm.weight", tensor - 1
            case ["blk", layer, part]:
                name, is_norm = _PARTS[part]
                yield f"blocks.{layer}.{name}.weight", tensor - 1 if is_norm else tensor
            case _:
                raise KeyError(stored.name)


def cut(whole: Pretrained, kept: Collection[str]) -> tuple[Pretrained, bytes]:
    """Return the model with only the pieces `kept`, and their SentencePiece model.

    Control pieces come first, in the order of `pieces`; then all bytes, so that every text can be
    written; then the pieces by falling score. Each fixed stretch of the prompt is one token whose
    embedding starts as that of `<start_of_turn>`. Raises ModelError.
    """
    ids = {token: index for index, token in enumerate(whole.tokens)}
    scores = whole.mergeable
    byte_pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    wanted = ({*kept, *CHARACTERS}) & scores.keys()
    normal = sorted(wanted, key=lambda piece: (-scores[piece], piece))
    try:
        rows = [ids[name] for name in (*_CONTROL, _TURN, _TURN, *byte_pieces, *normal)]
    except KeyError as error:
        raise ModelError(
            "vocabulary-unfit",
            f"The vocabulary has no piece {error}.",
            "Take a Gemma 3 as Google published it.",
        ) from error
    model = _tokenizer([*byte_pieces, *normal], scores)
    weights = dict(whole.weights)
    weights["embeddings.weight"] = whole.weights["embeddings.weight"][rows].clone()
    smaller = Pretrained(
        replace(whole.shape, vocabulary=len(rows)),
        weights,
        [whole.tokens[row] for row in rows],
        [whole.scores[row] for row in rows],
        [whole.types[row] for row in rows],
    )
    return smaller, model


def level_of(path: Path) -> str:
    """Return the quantization level of the matrices of a GGUF file, "" if there is none."""
    found = {each.tensor_type.name for each in GGUFReader(path).tensors}
    return next((level for level in steps.LOWEST if level in found), "")


def exported(path: Path) -> tuple[Pretrained, bytes]:
    """Read a GGUF file that `export_gemma` made: the model and its SentencePiece model.

    Weights stay as the file's level rounded them; a training continues from there.
    Raises ModelError.
    """
    model = read(path)
    if tuple(model.tokens[: len(_WRITTEN_OUT)]) != _WRITTEN_OUT:
        raise _unfit(
            path,
            "its vocabulary was not cut for training",
            "Give a starter's GGUF file, or cut this one with cut_vocabulary and give the folder.",
        )
    return model, _tokenizer(model.tokens[len(_WRITTEN_OUT) :], model.mergeable)


def _tokenizer(spelled: Sequence[str], scores: Mapping[str, float]) -> bytes:
    """Return the SentencePiece model of the control pieces and `spelled`, which has the bytes."""
    kinds = sentencepiece_model_pb2.ModelProto.SentencePiece
    model = sentencepiece_model_pb2.ModelProto()
    for piece in _CONTROL_PIECES:
        kind = kinds.UNKNOWN if piece == "<unk>" else kinds.CONTROL
        model.pieces.add(piece=piece, type=kind, score=0.0)
    for piece in spelled:
        kind = kinds.NORMAL if piece in scores else kinds.BYTE
        model.pieces.add(piece=piece, type=kind, score=scores.get(piece, 0.0))
    _describe(model, len(model.pieces))
    whole: bytes = model.SerializeToString()
    return whole


def _describe(model: Any, size: int) -> None:
    """Set how text is split: no space added or dropped, no normalization, byte fallback."""
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    trainer.model_type, trainer.vocab_size, trainer.byte_fallback = trainer.BPE, size, True
    trainer.pad_id, trainer.eos_id, trainer.bos_id = pieces.PAD, pieces.EOS, pieces.BOS
    trainer.unk_id, trainer.pad_piece = pieces.UNKNOWN, "<pad>"
    normalizer.name, normalizer.add_dummy_prefix = "identity", False
    normalizer.remove_extra_whitespaces = False


def _unfit(
    path: Path,
    why: str,
    fix: str = "Give the GGUF file of a Gemma 3 text model, whole and with its tokenizer.",
) -> ModelError:
    return ModelError(
        "pretrained-unfit", f"{path} cannot be taken as a pretrained Gemma 3: {why}.", fix
    )
