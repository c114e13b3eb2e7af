"""The Marian architecture as CTranslate2 stores it, so that weights load and export by name.

Method: Vaswani et al. 2017 with norms after each sublayer, sinusoidal positions, swish, one tied
embedding, and a decoder that starts from a zero embedding (Junczys-Dowmunt et al. 2018, Marian).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad, silu

from training.data.packing import Packed
from training.models import ct2_weights


@dataclass(frozen=True)
class MarianShape:
    """Sizes of the model: `vocabulary` in pieces, the rest in units or layers."""

    vocabulary: int = 8000
    width: int = 256
    encoder_layers: int = 4
    decoder_layers: int = 2
    heads: int = 4
    hidden: int = 1024
    positions: int = 512


class SelfAttention(nn.Module):
    """Attention within a sequence, then its norm."""

    def __init__(self, shape: MarianShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.linear_0 = nn.Linear(shape.width, 3 * shape.width)
        self.linear_1 = nn.Linear(shape.width, shape.width)
        self.layer_norm = nn.LayerNorm(shape.width)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x: Tensor, hidden_from: Tensor) -> Tensor:
        """x (batch, length, width); `hidden_from` is true where a key must not be seen."""
        q, k, v = self.linear_0(x).chunk(3, -1)
        out = self.linear_1(attend(q, k, v, hidden_from, self.heads))
        return self.layer_norm((x + self.dropout(out)).float())


class EncoderAttention(nn.Module):
    """Attention of the decoder to the encoder's states, then its norm."""

    def __init__(self, shape: MarianShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.linear_0 = nn.Linear(shape.width, shape.width)
        self.linear_1 = nn.Linear(shape.width, 2 * shape.width)
        self.linear_2 = nn.Linear(shape.width, shape.width)
        self.layer_norm = nn.LayerNorm(shape.width)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x: Tensor, memory: Tensor, hidden_from: Tensor) -> Tensor:
        """x (batch, m, width) attends to memory (batch, n, width)."""
        k, v = self.linear_1(memory).chunk(2, -1)
        out = self.linear_2(attend(self.linear_0(x), k, v, hidden_from, self.heads))
        return self.layer_norm((x + self.dropout(out)).float())


def attend(q: Tensor, k: Tensor, v: Tensor, hidden_from: Tensor, heads: int) -> Tensor:
    """Scaled dot-product attention of (batch, length, width), split into heads."""
    q, k, v = (y.unflatten(-1, (heads, -1)).transpose(1, 2) for y in (q, k, v))
    scores = (q @ k.transpose(2, 3)).float() * q.shape[-1] ** -0.5
    share_of = scores.masked_fill(hidden_from, -1e9).softmax(-1).to(v.dtype)
    return (share_of @ v).transpose(1, 2).flatten(2)


class Feed(nn.Module):
    """Two matrices with swish between them, then the norm."""

    def __init__(self, shape: MarianShape) -> None:
        super().__init__()
        self.linear_0 = nn.Linear(shape.width, shape.hidden)
        self.linear_1 = nn.Linear(shape.hidden, shape.width)
        self.layer_norm = nn.LayerNorm(shape.width)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x: Tensor) -> Tensor:
        """x (batch, length, width) to the same shape."""
        out = self.linear_1(silu(self.linear_0(x)))
        return self.layer_norm((x + self.dropout(out)).float())


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward."""

    def __init__(self, shape: MarianShape) -> None:
        super().__init__()
        self.self_attention = SelfAttention(shape)
        self.ffn = Feed(shape)

    def forward(self, x: Tensor, hidden_from: Tensor) -> Tensor:
        """x (batch, length, width) to the same shape."""
        return self.ffn(self.self_attention(x, hidden_from))


class DecoderLayer(nn.Module):
    """Self-attention, attention to the encoder and feed-forward."""

    def __init__(self, shape: MarianShape) -> None:
        super().__init__()
        self.self_attention = SelfAttention(shape)
        self.attention = EncoderAttention(shape)
        self.ffn = Feed(shape)

    def forward(
        self, x: Tensor, hidden_from: Tensor, memory: Tensor, memory_hidden: Tensor
    ) -> Tensor:
        """x (batch, length, width) to the same shape."""
        x = self.self_attention(x, hidden_from)
        return self.ffn(self.attention(x, memory, memory_hidden))


class Marian(nn.Module):
    """Source and target ids -> hidden states of the decoder, before the logits."""

    def __init__(self, shape: MarianShape) -> None:
        super().__init__()
        self.shape = shape
        self.embeddings = nn.Embedding(shape.vocabulary, shape.width)
        nn.init.normal_(self.embeddings.weight, std=shape.width**-0.5)
        self.encoder = nn.ModuleDict(
            {f"layer_{i}": EncoderLayer(shape) for i in range(shape.encoder_layers)}
        )
        self.decoder = nn.ModuleDict(
            {f"layer_{i}": DecoderLayer(shape) for i in range(shape.decoder_layers)}
        )
        table = sinusoids(shape.positions, shape.width)
        self.register_buffer("encodings", table, persistent=False)

    def forward(self, source: Packed, target: Packed) -> Tensor:
        """Target ids with their ends -> states (batch, length, width).

        State i has seen the target before i and predicts the target at i."""
        return self.decode(self.encode(source), source, target)

    def encode(self, source: Packed) -> Tensor:
        """States of the source (batch, length, width)."""
        x = self.embeddings(source.ids) * self.shape.width**0.5
        x = x + self.encodings[source.position]
        hidden_from = differ(source.sequence, source.sequence)
        for layer in self.encoder.values():
            x = layer(x, hidden_from)
        return x

    def decode(self, memory: Tensor, source: Packed, target: Packed) -> Tensor:
        """As forward, from the encoder's states."""
        length = target.ids.shape[1]
        before = self.embeddings(target.ids[:, :-1]) * self.shape.width**0.5
        # Each sequence starts from a zero embedding, not from the end of the one before it.
        before = pad(before, (0, 0, 1, 0)) * (target.position > 0)[..., None]
        x = before + self.encodings[target.position]
        future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        hidden_from = differ(target.sequence, target.sequence) | future
        memory_hidden = differ(target.sequence, source.sequence)
        for layer in self.decoder.values():
            x = layer(x, hidden_from, memory, memory_hidden)
        return x

    def logits(self, hidden: Tensor) -> Tensor:
        """Hidden states (..., width) -> (..., vocabulary)."""
        return linear(hidden, self.embeddings.weight)


def differ(left: Tensor, right: Tensor) -> Tensor:
    """Sequence numbers (batch, n) and (batch, m) -> (batch, 1, n, m), true where they differ."""
    return (left[:, :, None] != right[:, None])[:, None]


def sinusoids(count: int, width: int) -> Tensor:
    """Position encodings (count, width): sines in the first half, cosines in the second."""
    speeds = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)
    angles = torch.arange(count, dtype=torch.float32)[:, None] * speeds
    return torch.cat([angles.sin(), angles.cos()], -1)


def stored_name(name: str) -> str:
    """Return CTranslate2's name of a parameter of the module."""
    if name == "embeddings.weight":
        return "decoder/embeddings/weight"
    name = name.replace("layer_norm.weight", "layer_norm.gamma")
    return name.replace("layer_norm.bias", "layer_norm.beta").replace(".", "/")


def from_state(weights: Mapping[str, Tensor], heads: int = MarianShape.heads) -> Marian:
    """Return a module with these weights and their sizes."""
    vocabulary, width = weights["embeddings.weight"].shape
    encoder_layers, decoder_layers = (
        len({name.split(".")[1] for name in weights if name.startswith(part)})
        for part in ("encoder.", "decoder.")
    )
    hidden = weights["encoder.layer_0.ffn.linear_0.weight"].shape[0]
    model = Marian(MarianShape(vocabulary, width, encoder_layers, decoder_layers, heads, hidden))
    model.load_state_dict(weights)
    return model


_ADDING = {"self_attention": "linear_1", "attention": "linear_2", "ffn": "linear_1"}
"""Sublayer -> its matrix whose product is added to the residual input."""


def added_layers(old: int, count: int) -> list[int]:
    """Return the indices, among `count` layers, that `with_layers` adds to `old` layers."""
    return [i for i in range(1, count) if i * old // count == (i - 1) * old // count]


def with_layers(model: Marian, part: str, count: int) -> Marian:
    """Return the model with `count` layers in its "encoder" or "decoder". The new layers are spread
    evenly and at first change almost nothing.

    A new layer is a copy of the one before it that adds zero; its norms cancel out on average
    (Chen et al. 2016, Net2Net, for a network with norms after each sublayer)."""
    layers: nn.ModuleDict = getattr(model, part)
    if count <= len(layers):
        return model
    weights = {n: w for n, w in model.state_dict().items() if not n.startswith(f"{part}.")}
    origins = [index * len(layers) // count for index in range(count)]
    added = added_layers(len(layers), count)
    for index, origin in enumerate(origins):
        layer = {n: w.clone() for n, w in layers[f"layer_{origin}"].state_dict().items()}
        if index in added:
            last = (layer["ffn.layer_norm.weight"], layer["ffn.layer_norm.bias"])
            spread = (last[0].square().mean() + last[1].var(correction=0)).sqrt()
            for sublayer, adding in _ADDING.items():
                if f"{sublayer}.{adding}.weight" in layer:
                    layer[f"{sublayer}.{adding}.weight"].zero_()
                    layer[f"{sublayer}.{adding}.bias"].zero_()
                    layer[f"{sublayer}.layer_norm.weight"] = spread.expand_as(last[0]).clone()
                    layer[f"{sublayer}.layer_norm.bias"] = last[1].mean().expand_as(last[1]).clone()
        weights |= {f"{part}.layer_{index}.{name}": weight for name, weight in layer.items()}
    return from_state(weights, model.shape.heads)


def with_hidden(model: Marian, count: int) -> Marian:
    """Return the model with `count` units between the two matrices of each feed-forward layer.

    The new units add nothing yet: their input weights are random, their output weights zero
    (Chen et al. 2016, Net2Net)."""
    added = count - model.shape.hidden
    if added <= 0:
        return model
    weights = dict(model.state_dict())
    for name in [name for name in weights if ".ffn.linear_" in name]:
        old = weights[name]
        if name.endswith("0.weight"):
            new = old.std() * torch.randn(added, old.shape[1])
            weights[name] = torch.cat([old, new])
        elif name.endswith(("0.bias", "1.weight")):
            weights[name] = pad(old, (0, added))
    return from_state(weights, model.shape.heads)


def from_ctranslate2(directory: Path) -> Marian:
    """Return a module with the weights of a CTranslate2 Marian directory."""
    stored = ct2_weights.read_weights(directory / "model.bin")
    weights = {"embeddings.weight": torch.from_numpy(stored["decoder/embeddings/weight"])}
    for name, array in stored.items():
        part, layer, *rest = name.split("/")
        if layer.startswith("layer_"):
            own = ".".join([part, layer, *rest]).replace("layer_norm.gamma", "layer_norm.weight")
            own = own.replace("layer_norm.beta", "layer_norm.bias")
            weights[own] = torch.from_numpy(array)
    return from_state(weights, heads=int(stored["decoder/num_heads"]))
