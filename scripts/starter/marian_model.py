"""The Marian architecture as CTranslate2 stores it, so that weights go in and out by name.

Method: Vaswani et al. 2017 with norms after each sublayer, sinusoidal positions, swish, one tied
embedding, and a decoder that starts from a zero embedding (Junczys-Dowmunt et al. 2018, Marian).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import ct2_weights
import torch
from packing import Packed
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class MarianShape:
    """Sizes of the model; `vocabulary` in pieces, the rest in units or layers."""

    vocabulary: int = 8000
    width: int = 256
    encoder_layers: int = 4
    decoder_layers: int = 2
    heads: int = 4
    hidden: int = 1024
    positions: int = 512


class Attention(nn.Module):
    """Self-attention (one fused input matrix) or attention to the encoder (two), then its norm."""

    def __init__(self, shape: MarianShape, to_encoder: bool) -> None:
        super().__init__()
        width, self.heads, self.to_encoder = shape.width, shape.heads, to_encoder
        self.linear_0 = nn.Linear(width, width if to_encoder else 3 * width)
        self.linear_1 = nn.Linear(width, 2 * width if to_encoder else width)
        if to_encoder:
            self.linear_2 = nn.Linear(width, width)
        self.layer_norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, hidden_from: Tensor, memory: Tensor | None = None) -> Tensor:
        """x (batch, length, width); `hidden_from` is true where a key must not be seen."""
        if self.to_encoder:
            assert memory is not None
            q, (k, v) = self.linear_0(x), self.linear_1(memory).chunk(2, -1)
            last = self.linear_2
        else:
            q, k, v = self.linear_0(x).chunk(3, -1)
            last = self.linear_1
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in (q, k, v))
        scores = (q @ k.transpose(2, 3)).float() * q.shape[-1] ** -0.5
        share_of = scores.masked_fill(hidden_from, -1e9).softmax(-1).to(v.dtype)
        out = last((share_of @ v).transpose(1, 2).flatten(2))
        return self.layer_norm((x + out).float())


class Feed(nn.Module):
    def __init__(self, shape: MarianShape) -> None:
        super().__init__()
        self.linear_0 = nn.Linear(shape.width, shape.hidden)
        self.linear_1 = nn.Linear(shape.hidden, shape.width)
        self.layer_norm = nn.LayerNorm(shape.width)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer_norm((x + self.linear_1(F.silu(self.linear_0(x)))).float())


class Layer(nn.Module):
    def __init__(self, shape: MarianShape, decoder: bool) -> None:
        super().__init__()
        self.self_attention = Attention(shape, to_encoder=False)
        self.attention = Attention(shape, to_encoder=True) if decoder else None
        self.ffn = Feed(shape)

    def forward(
        self,
        x: Tensor,
        hidden_from: Tensor,
        memory: Tensor | None = None,
        memory_hidden: Tensor | None = None,
    ) -> Tensor:
        x = self.self_attention(x, hidden_from)
        if self.attention is not None and memory_hidden is not None:
            x = self.attention(x, memory_hidden, memory)
        return self.ffn(x)


class Marian(nn.Module):
    """Source and target ids -> hidden states of the decoder, before the logits."""

    def __init__(self, shape: MarianShape) -> None:
        super().__init__()
        self.shape = shape
        self.embeddings = nn.Embedding(shape.vocabulary, shape.width)
        nn.init.normal_(self.embeddings.weight, std=shape.width**-0.5)
        counts = {"encoder": shape.encoder_layers, "decoder": shape.decoder_layers}
        for part, count in counts.items():
            layers = {f"layer_{i}": Layer(shape, part == "decoder") for i in range(count)}
            setattr(self, part, nn.ModuleDict(layers))
        table = sinusoids(shape.positions, shape.width)
        self.register_buffer("encodings", table, persistent=False)

    def forward(self, source: Packed, target: Packed) -> Tensor:
        """Target ids with their ends -> states (batch, length, width).

        State i has seen the target before i and predicts the target at i."""
        return self.decode(self.encode(source), source, target)

    def encode(self, source: Packed) -> Tensor:
        x = self.embeddings(source.ids) * self.shape.width**0.5
        x = x + self.encodings[source.position]
        hidden_from = differ(source.sequence, source.sequence)
        for layer in self.encoder.values():
            x = layer(x, hidden_from)
        return x

    def decode(self, memory: Tensor, source: Packed, target: Packed) -> Tensor:
        length = target.ids.shape[1]
        before = self.embeddings(target.ids[:, :-1]) * self.shape.width**0.5
        # Each sequence starts from a zero embedding, not from the end of the one before it.
        before = F.pad(before, (0, 0, 1, 0)) * (target.position > 0)[..., None]
        x = before + self.encodings[target.position]
        future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        hidden_from = differ(target.sequence, target.sequence) | future
        memory_hidden = differ(target.sequence, source.sequence)
        for layer in self.decoder.values():
            x = layer(x, hidden_from, memory, memory_hidden)
        return x

    def logits(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.embeddings.weight)


def differ(left: Tensor, right: Tensor) -> Tensor:
    """Sequence numbers (batch, n) and (batch, m) -> (batch, 1, n, m), true where they differ."""
    return (left[:, :, None] != right[:, None])[:, None]


def sinusoids(count: int, width: int) -> Tensor:
    """Position encodings (count, width): sines in the first half, cosines in the second."""
    speeds = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)
    angles = torch.arange(count, dtype=torch.float32)[:, None] * speeds
    return torch.cat([angles.sin(), angles.cos()], -1)


def stored_name(name: str) -> str:
    """CTranslate2's name of one of the module's parameters."""
    if name == "embeddings.weight":
        return "decoder/embeddings/weight"
    name = name.replace("layer_norm.weight", "layer_norm.gamma")
    return name.replace("layer_norm.bias", "layer_norm.beta").replace(".", "/")


def from_ctranslate2(directory: Path) -> Marian:
    """A module with the weights of a CTranslate2 Marian directory; raises KeyError on others."""
    weights = ct2_weights.read_weights(directory / "model.bin")
    embeddings = weights["decoder/embeddings/weight"]
    layers = {
        part: 1 + max(int(n.split("/")[1][6:]) for n in weights if n.startswith(f"{part}/layer_"))
        for part in ("encoder", "decoder")
    }
    shape = MarianShape(
        vocabulary=embeddings.shape[0],
        width=embeddings.shape[1],
        encoder_layers=layers["encoder"],
        decoder_layers=layers["decoder"],
        heads=int(weights["decoder/num_heads"]),
        hidden=weights["encoder/layer_0/ffn/linear_0/weight"].shape[0],
    )
    model = Marian(shape)
    model.load_state_dict(
        {name: torch.from_numpy(weights[stored_name(name)]) for name in model.state_dict()}
    )
    return model
