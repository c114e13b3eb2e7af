"""The starter speech model: a small English-only Whisper, its tokens, and loading of weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    WhisperConfig,
    WhisperForConditionalGeneration,
)
from transformers.masking_utils import eager_mask

from training.models.ct2_weights import read_weights

BPE_TOKENS = 1500
TIMESTAMPS = 1501
# The order that Whisper's runtimes expect right after the BPE.
SPECIAL_TOKENS = (
    "<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|translate|>", "<|transcribe|>",
    "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>",
)  # fmt: skip
END, START, _, _, _, _, PREVIOUS, NO_SPEECH, NO_TIMESTAMPS = range(BPE_TOKENS, BPE_TOKENS + 9)
PROMPT = (START, NO_TIMESTAMPS)
CTC_SYMBOLS = " abcdefghijklmnopqrstuvwxyz'"


def train_tokenizer(texts: Iterable[str]) -> Tokenizer:
    """Train a byte-level BPE of 1,500 tokens; add Whisper's special tokens and first timestamp."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=BPE_TOKENS,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    # A special token that is already in the vocabulary would not be added at the end.
    names = [*SPECIAL_TOKENS, "<|0.00|>"]
    tokenizer.add_special_tokens(
        [AddedToken(name, special=True, normalized=False) for name in names]
    )
    tokenizer.post_processor = processors.TemplateProcessing(single="$A", pair="$A $B:1")
    return tokenizer


def _attention(
    _module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **_: object,
) -> tuple[Tensor, None]:
    # Plain attention: in bf16 on a CPU, a step is a third faster than with the fused kernel.
    # Whisper scales the query before this, so the scores, a large matrix, need no scaling.
    scores = query @ key.transpose(2, 3)
    if attention_mask is not None:
        scores = scores + attention_mask[..., : key.shape[2]]
    return (scores.softmax(-1) @ value).transpose(1, 2).contiguous(), None


AttentionInterface.register("starter", _attention)
AttentionMaskInterface.register("starter", eager_mask)


def new_model() -> WhisperForConditionalGeneration:
    """Return about 6.8 million parameters: 4 encoder, 2 decoder layers, d_model 256, no dropout."""
    config = WhisperConfig(
        vocab_size=BPE_TOKENS + len(SPECIAL_TOKENS) + TIMESTAMPS,
        num_mel_bins=80, d_model=256, encoder_layers=4, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=1024, decoder_ffn_dim=1024,
        max_source_positions=1500, max_target_positions=448, dropout=0.0,
        pad_token_id=END, bos_token_id=END, eos_token_id=END, decoder_start_token_id=START,
        suppress_tokens=[], begin_suppress_tokens=[],
    )  # fmt: skip
    model = WhisperForConditionalGeneration(config)
    model.set_attn_implementation("starter")
    return model


def load_ct2(folder: Path) -> WhisperForConditionalGeneration:
    """Return the model of a CTranslate2 Whisper directory (int8 or float), for further training.

    Raises RuntimeError naming the variables that do not fit this architecture.
    """
    model = new_model()
    fill(model, read_weights(folder / "model.bin"))
    return model


def fill(model: WhisperForConditionalGeneration, weights: Mapping[str, np.ndarray]) -> None:
    """Load the weights of a CTranslate2 Whisper, as `read_weights` gives them, into `model`.

    Raises RuntimeError naming the variables that do not fit its architecture.
    """
    state: dict[str, Tensor] = {}

    def put(name: str, array: np.ndarray) -> None:
        state[name] = torch.from_numpy(np.array(array, np.float32))

    def linear(target: str, source: str, parts: tuple[str, ...]) -> None:
        # CTranslate2 fuses query, key and value; Whisper's key has no bias (it comes out as zeros).
        for kind in ("weight", "bias"):
            for part, piece in zip(
                parts, np.split(weights[f"{source}/{kind}"], len(parts)), strict=True
            ):
                if not (part == "k_proj" and kind == "bias"):
                    put(f"{target}.{part}.{kind}" if part else f"{target}.{kind}", piece)

    def norm(target: str, source: str) -> None:
        put(f"{target}.weight", weights[f"{source}/gamma"])
        put(f"{target}.bias", weights[f"{source}/beta"])

    def attention(target: str, source: str, cross: bool) -> None:
        if cross:
            linear(target, f"{source}/linear_0", ("q_proj",))
            linear(target, f"{source}/linear_1", ("k_proj", "v_proj"))
        else:
            linear(target, f"{source}/linear_0", ("q_proj", "k_proj", "v_proj"))
        linear(target, f"{source}/linear_{1 + cross}", ("out_proj",))
        norm(f"{target}_layer_norm", f"{source}/layer_norm")

    for conv in ("conv1", "conv2"):
        for kind in ("weight", "bias"):
            put(f"model.encoder.{conv}.{kind}", weights[f"encoder/{conv}/{kind}"])
    put("model.decoder.embed_tokens.weight", weights["decoder/embeddings/weight"])
    put("proj_out.weight", weights["decoder/embeddings/weight"])
    for side, layers in (
        ("encoder", model.model.encoder.layers),
        ("decoder", model.model.decoder.layers),
    ):
        put(f"model.{side}.embed_positions.weight", weights[f"{side}/position_encodings/encodings"])
        norm(f"model.{side}.layer_norm", f"{side}/layer_norm")
        for number in range(len(layers)):
            target, source = f"model.{side}.layers.{number}", f"{side}/layer_{number}"
            attention(f"{target}.self_attn", f"{source}/self_attention", False)
            if side == "decoder":
                attention(f"{target}.encoder_attn", f"{source}/attention", True)
            linear(f"{target}.fc1", f"{source}/ffn/linear_0", ("",))
            linear(f"{target}.fc2", f"{source}/ffn/linear_1", ("",))
            norm(f"{target}.final_layer_norm", f"{source}/ffn/layer_norm")
    model.load_state_dict(state)


def encode(model: WhisperForConditionalGeneration, features: Tensor) -> Tensor:
    """Features (batch, 80, frames) -> (batch, frames / 2, 256), frames even and at most 3000.

    The same sums as the model's own encoder, which insists on 3000 frames.
    """
    encoder = model.model.encoder
    hidden = torch.nn.functional.gelu(encoder.conv1(features))
    hidden = torch.nn.functional.gelu(encoder.conv2(hidden)).transpose(1, 2)
    hidden = hidden + encoder.embed_positions.weight[: hidden.shape[1]]
    for layer in encoder.layers:
        hidden = layer(hidden, None)
    return encoder.layer_norm(hidden)


def decode(
    model: WhisperForConditionalGeneration,
    tokens: Tensor,
    encoded: Tensor,
    wanted: Tensor | None = None,
) -> Tensor:
    """Return logits (batch, tokens, vocabulary), or (n, vocabulary) at the `wanted` positions."""
    hidden = model.model.decoder(
        input_ids=tokens, encoder_hidden_states=encoded, use_cache=False
    ).last_hidden_state
    return model.proj_out(hidden if wanted is None else hidden[wanted])


def greedy(
    model: WhisperForConditionalGeneration, features: Tensor, max_tokens: int = 90
) -> list[list[int]]:
    """Return the most likely tokens of each utterance, without prompt and end token."""
    with torch.no_grad():
        encoded = encode(model, features)
        tokens = torch.tensor([PROMPT] * len(features), device=features.device)
        ended = torch.zeros(len(features), dtype=torch.bool, device=features.device)
        for _ in range(max_tokens):
            best = decode(model, tokens, encoded)[:, -1, : BPE_TOKENS + 1].argmax(-1)
            best = best.masked_fill(ended, END)
            tokens = torch.cat((tokens, best[:, None]), 1)
            ended |= best == END
            if ended.all():
                break
        return [[t for t in row[len(PROMPT) :] if t != END] for row in tokens.tolist()]


def load_tokenizer(folder: Path) -> Tokenizer:
    """Return a folder's `tokenizer.json`; raise ValueError if it is not in Whisper's order."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    for number, name in enumerate(SPECIAL_TOKENS, BPE_TOKENS):
        if tokenizer.token_to_id(name) != number:
            raise ValueError(f"{folder}/tokenizer.json: {name} must be token {number}")
    return tokenizer
