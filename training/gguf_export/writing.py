"""Writing a checkpoint as an F16 GGUF file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType
from numpy.typing import NDArray

from pipeline.core.errors import ModelError
from training.gguf_export.checkpoint import Checkpoint
from training.gguf_export.shape import Shape
from training.gguf_export.vocabulary import Vocabulary


def write(
    checkpoint: Checkpoint,
    vocabulary: Vocabulary,
    path: Path,
    name: str,
    on_tensor: Callable[[int, int], None],
) -> None:
    """Write matrices as F16, norms as float32, and the vocabulary; overwrite `path`.

    `on_tensor` gets the number of tensors written and their total. Raises ModelError.
    """
    writer = gguf.GGUFWriter(path, checkpoint.shape.architecture)
    writer.add_name(name)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    _add_shape(writer, checkpoint.shape)
    vocabulary.add_to(writer)
    for tensor_name, tensor in checkpoint.weights.items():
        kind = GGMLQuantizationType.F32 if tensor.ndim == 1 else GGMLQuantizationType.F16
        width = 4 if tensor.ndim == 1 else 2
        writer.add_tensor_info(
            f"{tensor_name}.weight",
            tensor.shape,
            np.dtype(np.float32 if tensor.ndim == 1 else np.float16),
            tensor.numel() * width,
            raw_dtype=kind,
        )
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for count, (tensor_name, tensor) in enumerate(checkpoint.weights.items(), 1):
            writer.write_tensor_data(_stored(tensor_name, tensor, checkpoint.shape))
            on_tensor(count, len(checkpoint.weights))
    finally:
        writer.close()


def paired(matrix: torch.Tensor, head_width: int) -> torch.Tensor:
    """Reorder the rows (heads * head_width, width) of queries or keys for llama.cpp's `llama`.

    There RoPE rotates neighbouring units: unit i and i + half of a head become 2i and 2i + 1.
    """
    split = matrix.view(-1, 2, head_width // 2, matrix.shape[1])
    return split.transpose(1, 2).reshape(matrix.shape)


def _stored(name: str, tensor: torch.Tensor, shape: Shape) -> NDArray[np.generic]:
    if tensor.ndim == 1:
        return np.asarray(tensor.float().numpy())
    turned = name.endswith((".attn_q", ".attn_k"))
    if turned and shape.architecture == "llama" and not shape.rope_pairs:
        tensor = paired(tensor, shape.head_width)
    half = tensor.to(torch.float16)
    if not torch.isfinite(half).all():
        raise ModelError(
            "tensor-too-large",
            f"{name} holds values beyond {torch.finfo(torch.float16).max:g}, the largest of F16.",
            "Was the training stable? Such a model cannot be written as F16.",
        )
    return np.asarray(half.contiguous().numpy())


def _add_shape(writer: gguf.GGUFWriter, shape: Shape) -> None:
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_width)
    writer.add_value_length(shape.head_width)
    writer.add_rope_dimension_count(shape.head_width)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_vocab_size(shape.vocabulary)
    if shape.rope_scale != 1.0:
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(shape.rope_scale)
    if any(shape.local):
        writer.add_sliding_window(shape.window)
        writer.add_sliding_window_pattern(shape.local)
        writer.add_rope_freq_base_swa(shape.local_rope_base)
