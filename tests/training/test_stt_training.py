"""The speech model's training: weights that survive a round trip, tokens, windows, contexts."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.needs import needs_train_extra

needs_train_extra()

import torch  # noqa: E402

from training.export import export_stt  # noqa: E402 - after the check that torch is there
from training.models import stt_model  # noqa: E402
from training.models.stt_context import Contexts  # noqa: E402
from training.train import stt_data, stt_run  # noqa: E402

pytestmark = pytest.mark.train
TEXTS = ["The Lord is my shepherd.", "Paul wrote to the Ephesians, and to Timothy."] * 60


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    # The text is too short for 1,500 merges: words of random letters fill the vocabulary.
    draw = random.Random(1)
    filler = ["".join(draw.choices("abcdefghijklmnop", k=9)) for _ in range(4000)]
    return stt_model.train_tokenizer([*TEXTS, *filler])


def test_the_special_tokens_come_after_the_bpe(tokenizer: Any, tmp_path: Path) -> None:
    tokenizer.save(str(tmp_path / "tokenizer.json"))

    loaded = stt_model.load_tokenizer(tmp_path)

    assert loaded.token_to_id("<|endoftext|>") == stt_model.END == 1500
    assert loaded.token_to_id("<|notimestamps|>") == stt_model.NO_TIMESTAMPS == 1508
    assert loaded.token_to_id("<|0.00|>") == 1509
    assert loaded.decode(loaded.encode(" Go, Paul!").ids).strip() == "Go, Paul!"


def test_weights_survive_export_and_loading(tokenizer: Any, tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = stt_model.new_model().eval()
    features = torch.randn(2, 80, 400)
    tokens = torch.tensor([[stt_model.START, stt_model.NO_TIMESTAMPS, 300, 400]] * 2)

    export_stt.export(model, tokenizer, tmp_path)
    loaded = stt_model.load_ct2(tmp_path).eval()

    with torch.no_grad():
        before, after = (
            stt_model.decode(one, tokens, stt_model.encode(one, features))
            for one in (model, loaded)
        )
    assert torch.nn.functional.cosine_similarity(before, after, dim=-1).min() > 0.99
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["suppress_ids_begin"] == []


def test_the_short_encoder_equals_the_whole_one() -> None:
    torch.manual_seed(2)
    model = stt_model.new_model().eval()
    features = torch.randn(1, 80, 3000)

    with torch.no_grad():
        short = stt_model.encode(model, features)
        whole = model.model.encoder(features).last_hidden_state

    assert torch.allclose(short, whole, atol=1e-4)


def test_noise_is_taught_right_after_the_start_token(tokenizer: Any) -> None:
    tokens, targets = stt_data.tokens_of("", tokenizer, "Isaiah")

    start = tokens.index(stt_model.START)
    assert targets[start] == stt_model.NO_SPEECH
    assert set(targets[:start]) == {stt_data.IGNORED}
    assert targets[-1] == stt_model.END


def test_speech_is_taught_after_a_context_of_at_most_223_tokens(
    tokenizer: Any,
) -> None:
    tokens, targets = stt_data.tokens_of(TEXTS[0], tokenizer, "Isaiah, " * 200)

    start = tokens.index(stt_model.START)
    assert (tokens[0], start) == (stt_model.PREVIOUS, 224)
    assert targets[start] == stt_model.NO_TIMESTAMPS
    assert targets[start + 1 : -1] == tokens[start + 2 :]


def test_a_batch_is_padded_with_zeros_and_has_no_characters_for_noise(
    tokenizer: Any,
) -> None:
    clips = [
        stt_data.Clip(np.ones((120, 80), np.float16), TEXTS[0]),
        *stt_data.noise_clips(1, seed=1),
    ]

    batch = stt_data.collate(clips, 1300, tokenizer, Contexts(TEXTS), random.Random(1))

    assert batch.features.shape == (2, 80, 1300)
    assert batch.features[0, :, 120:].abs().max() == 0
    assert batch.character_counts.tolist() == [23, 0]


def test_a_window_is_even_and_holds_the_longest_clip() -> None:
    draw = random.Random(1)
    windows = [stt_data.window_frames(731, progress, draw) for progress in (0.1, 0.9) * 200]

    assert all(window % 2 == 0 and window >= 731 for window in windows)
    assert {1000, 3000} <= set(windows)


def test_a_context_has_words_of_the_text_only_sometimes() -> None:
    contexts = Contexts(TEXTS, usual="Golgotha")
    drawn = [contexts.draw(TEXTS[1], random.Random(n)) for n in range(200)]

    assert 30 < drawn.count("Golgotha") < 90
    assert all(len(text.split()) <= 50 for text in drawn)


def test_the_rate_rises_then_falls_to_almost_nothing() -> None:
    rates = [stt_run.rate(progress / 100, 1.0) for progress in range(101)]

    assert rates[0] < 0.01
    assert max(rates) == rates[3]
    assert rates == sorted(rates[:3]) + sorted(rates[3:], reverse=True)
    assert rates[100] < 0.02
