"""A pretrained Whisper, read from the program's own model folder, for training and comparison.

The weights come from CTranslate2's model.bin (float or int8). So a church trains the model that it
already has: no download is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ctranslate2.models import Whisper as Converted
from faster_whisper.feature_extractor import FeatureExtractor
from faster_whisper.tokenizer import Tokenizer as Dialogue
from faster_whisper.transcribe import get_suppressed_tokens
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import WhisperConfig, WhisperForConditionalGeneration

from pipeline.core.errors import ModelError
from pipeline.core.types import Pcm
from pipeline.engines.ctranslate2.whisper import padded, window_frames
from training.models.ct2_weights import read_weights
from training.models.stt_model import encode, fill

_LAYER = re.compile(r"^(encoder|decoder)/layer_(\d+)/")
_HOP = 160
_MAX_CONTEXT = 223
"""Most prompt tokens that faster-whisper allows before a transcript."""
TERM_WEIGHT = 3.0
"""Weight of a token of a church term in the loss."""
IGNORED = -100


@dataclass(frozen=True)
class Speech:
    """The tokenizer and special tokens of a Whisper, for one language."""

    tokenizer: Tokenizer
    start: tuple[int, ...]
    """Start, language, task, no timestamps."""
    end: int
    previous: int
    suppressed: tuple[int, ...]
    """Tokens that the program never lets it generate."""
    blank: int

    def prompt(self, context: str = "") -> list[int]:
        """Return the tokens before a transcript; `context` is words to listen for."""
        if not context.strip():
            return list(self.start)
        before = self.tokenizer.encode(f" {context.strip()}", add_special_tokens=False).ids
        return [self.previous, *before[:_MAX_CONTEXT], *self.start]

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens."""
        return str(self.tokenizer.decode(list(tokens))).strip()

    def tokens(self, text: str, terms: Iterable[str] = ()) -> tuple[list[int], list[float]]:
        """Return a transcript's tokens with the end token, and the weight of each."""
        spoken = f" {text.strip()}"
        encoded = self.tokenizer.encode(spoken, add_special_tokens=False)
        spans = _spans(spoken, terms)
        weights = [
            TERM_WEIGHT if any(a < end and b > begin for begin, end in spans) else 1.0
            for a, b in encoded.offsets
        ]
        return [*encoded.ids, self.end], [*weights, 1.0]


@dataclass(frozen=True)
class Pretrained:
    """A model and its tokens."""

    model: Any
    speech: Speech
    n_mels: int

    def features(self, sound: Sequence[Pcm], window_s: float) -> Tensor:
        """Return features (batch, mels, frames), padded as the program pads them."""
        extract = FeatureExtractor(feature_size=self.n_mels)
        every = [extract(pcm, padding=_HOP) for pcm in sound]
        longest = max(each.shape[-1] for each in every)
        frames = window_frames(longest, round(window_s * 100), self.n_mels)
        return torch.from_numpy(np.stack([padded(each, frames) for each in every]))


class Additions(nn.Module):
    """The trainable weights of a LoRA as a separate module, which is small to save."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        learning = {n: p for n, p in model.named_parameters() if p.requires_grad}
        # A parameter's name cannot have dots here; the parameters are those of the model.
        self.learning = nn.ParameterDict({n.replace(".", "/"): p for n, p in learning.items()})


def load(folder: Path, lang: str) -> Pretrained:
    """Read a folder of a CTranslate2 Whisper. Raises ModelError (pretrained-unfit)."""
    try:
        weights = read_weights(folder / "model.bin")
        model = WhisperForConditionalGeneration(_config(weights))
        fill(model, weights)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        speech = speech_of(folder, tokenizer, lang)
    except Exception as error:  # tokenizers raises Exception itself
        raise ModelError(
            "pretrained-unfit",
            f"{folder} cannot be taken as a Whisper to train on: {error}.",
            "Name the folder of a CTranslate2 Whisper with --base; float16 is best.",
        ) from error
    model.set_attn_implementation("starter")
    return Pretrained(model, speech, weights["encoder/conv1/weight"].shape[1])


def speech_of(folder: Path, tokenizer: Tokenizer, lang: str) -> Speech:
    """Return the tokens of a folder's model. Raises ValueError for a language that it lacks.

    Language and task are start tokens of a multilingual model; another model has one language.
    """
    several = Converted(str(folder), device="cpu", compute_type="float32").is_multilingual
    if several and tokenizer.token_to_id(f"<|{lang}|>") is None:
        raise ValueError(f"it does not know the language {lang!r}")
    dialogue = Dialogue(tokenizer, several, "transcribe", lang)
    return Speech(
        tokenizer=tokenizer,
        start=(*dialogue.sot_sequence, dialogue.no_timestamps),
        end=dialogue.eot,
        previous=dialogue.sot_prev,
        suppressed=tuple(get_suppressed_tokens(dialogue, [-1])),
        blank=tokenizer.encode(" ", add_special_tokens=False).ids[0],
    )


def greedy(
    pretrained: Pretrained, encoded: Tensor, context: str = "", most: int = 120
) -> list[list[int]]:
    """Return the likeliest tokens of each utterance as the program decodes, without the end."""
    speech, decoder = pretrained.speech, pretrained.model.model.decoder
    rows = len(encoded)
    forbidden = torch.tensor(speech.suppressed, dtype=torch.long, device=encoded.device)
    made: list[list[int]] = [[] for _ in range(rows)]
    ended = [False] * rows
    given = torch.tensor([speech.prompt(context)] * rows, device=encoded.device)
    past: Any = None
    with torch.no_grad():
        for step in range(most):
            out = decoder(
                input_ids=given, encoder_hidden_states=encoded, past_key_values=past, use_cache=True
            )
            past = out.past_key_values
            logits = pretrained.model.proj_out(out.last_hidden_state[:, -1])
            logits[:, forbidden] = -torch.inf
            if step == 0:
                logits[:, [speech.blank, speech.end]] = -torch.inf
            chosen = logits.argmax(-1)
            for row, token in enumerate(chosen.tolist()):
                ended[row] = ended[row] or token == speech.end
                if not ended[row]:
                    made[row].append(token)
            if all(ended):
                break
            given = chosen[:, None]
    return made


def hear(pretrained: Pretrained, features: Tensor, context: str = "") -> list[str]:
    """Return the texts that a model recognizes in features (batch, mels, frames)."""
    with torch.no_grad():
        encoded = encode(pretrained.model, features)
    return [pretrained.speech.text(tokens) for tokens in greedy(pretrained, encoded, context)]


def _config(weights: dict[str, Any]) -> WhisperConfig:
    """Return the architecture of the weights."""
    layers = {"encoder": 0, "decoder": 0}
    for name in weights:
        if match := _LAYER.match(name):
            layers[match[1]] = max(layers[match[1]], int(match[2]) + 1)
    tokens, width = weights["decoder/embeddings/weight"].shape
    hidden = weights["encoder/layer_0/ffn/linear_0/weight"].shape[0]
    return WhisperConfig(
        vocab_size=tokens,
        num_mel_bins=weights["encoder/conv1/weight"].shape[1],
        d_model=width,
        encoder_layers=layers["encoder"],
        decoder_layers=layers["decoder"],
        encoder_attention_heads=int(weights["encoder/num_heads"]),
        decoder_attention_heads=int(weights["decoder/num_heads"]),
        encoder_ffn_dim=hidden,
        decoder_ffn_dim=weights["decoder/layer_0/ffn/linear_0/weight"].shape[0],
        max_source_positions=len(weights["encoder/position_encodings/encodings"]),
        max_target_positions=len(weights["decoder/position_encodings/encodings"]),
        dropout=0.0,
        pad_token_id=0,
        bos_token_id=0,
        eos_token_id=0,
        decoder_start_token_id=0,
        suppress_tokens=[],
        begin_suppress_tokens=[],
    )


def _spans(text: str, terms: Iterable[str]) -> list[tuple[int, int]]:
    """Return the spans of terms in a text, ignoring case."""
    return [
        match.span()
        for term in terms
        if term.strip()
        for match in re.finditer(rf"(?<!\w){re.escape(term)}(?!\w)", text, re.IGNORECASE)
    ]
