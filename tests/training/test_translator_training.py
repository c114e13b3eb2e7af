"""The translators' architectures compared with their runtimes, and the training loop."""

from __future__ import annotations

import itertools
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.resources import bundled
from tests.support.needs import needs_train_extra

needs_train_extra()

import ctranslate2  # noqa: E402
import sentencepiece  # noqa: E402
import torch  # noqa: E402

from training.data import corpora, pieces  # noqa: E402
from training.data.packing import lay_out, pack  # noqa: E402
from training.export.export_gemma import WRITTEN_OUT, config, renamed  # noqa: E402
from training.export.export_marian import mean_of, write_ctranslate2  # noqa: E402
from training.gguf_export import checkpoint, proof, vocabulary, writing  # noqa: E402
from training.models.gemma_model import Gemma, GemmaShape  # noqa: E402
from training.models.marian_model import (  # noqa: E402
    Marian,
    MarianShape,
    added_layers,
    from_ctranslate2,
    with_hidden,
    with_layers,
)
from training.train import (  # noqa: E402
    fine_tune_gemma,
    fine_tune_translategemma,
    fine_tune_whisper,
    training,
)
from training.train.train_marian import ROW_TOKENS, ROWS, batches, encode  # noqa: E402

pytestmark = pytest.mark.train

TEXTS = [
    "In the beginning God created the heavens and the earth.",
    "En el principio crió Dios los cielos y la tierra.",
    "¿Cómo estás, Nehemías? Támesis, ñandú y pingüino — 1904, 3:16.",
    "Grace and peace to you all; the Lord is good, and his mercy endures for ever.",
]
UNSEEN = [*TEXTS, "Łódź ☃ <end_of_turn> two  spaces", "Wörter, ¡qué güero!"]


@pytest.mark.parametrize("option", ["--minutes", "--evaluate-minutes"])
@pytest.mark.parametrize("minutes", ["nan", "inf", "-5", "0"])
@pytest.mark.parametrize(
    "read",
    [
        training.parser("", 60).parse_args,
        fine_tune_gemma.options_of,
        fine_tune_translategemma.options_of,
        fine_tune_whisper.options_of,
    ],
)
def test_minutes_that_no_clock_reaches_are_refused(
    read: Callable[[list[str]], object],
    minutes: str,
    option: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        read([f"{option}={minutes}"])
    assert f"argument {option}: {minutes!r} is no number" in capsys.readouterr().err


def test_rows_hold_every_item_once_within_their_length() -> None:
    items = [random.Random(n).randint(1, 30) for n in range(200)]
    rows = pack(items, lambda size: size, 30)
    assert sorted(size for row in rows for size in row) == sorted(items)
    assert all(sum(row) <= 30 for row in rows)
    assert len(rows) <= 1.1 * sum(items) / 30 + 1


def test_a_first_mix_of_few_pairs_makes_small_batches_of_one_shape() -> None:
    vocabulary = bundled("models", "starter", "marian", "source.spm")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
    pairs = tuple(corpora.Pair(text, TEXTS[1], "mix-sermon") for text in TEXTS * 5)
    split = corpora.Split({"mix-sermon": pairs}, (), (), (), is_mixed=True)
    made = itertools.islice(batches([split], processor, random.Random(1)), 5)
    ((rows, tokens),) = {tuple(batch.source.ids.shape) for batch in made}
    assert 1 <= rows < ROWS
    assert tokens == ROW_TOKENS


def tiny_gemma(tmp_path: Path) -> tuple[Any, Any]:
    torch.manual_seed(2)
    processor = pieces.train_bpe(TEXTS * 20, 420, tmp_path / "tiny.spm")
    model = Gemma(GemmaShape(420, 64, 7, heads=2, kv_heads=1, head_width=32, hidden=96))
    for parameter in model.parameters():
        if parameter.ndim == 1:
            torch.nn.init.normal_(parameter, std=0.2)
    return model, processor


def gemma_logits(model: Any, ids: list[int]) -> Any:
    with torch.no_grad():
        return model.logits(model(lay_out([[ids]], len(ids))))[0].numpy()


def test_gemma_matches_llama_cpp(tmp_path: Path) -> None:
    model, processor = tiny_gemma(tmp_path)
    path = tmp_path / "tiny.gguf"
    whole = checkpoint.assemble(renamed(model.state_dict()), config(model.shape))
    words = vocabulary.read(tmp_path / "tiny.spm", model.shape.vocabulary, WRITTEN_OUT)
    writing.write(whole, words, path, "tiny", lambda *_: None)
    runtime = proof.ExactLlama(path, 1, context=256)
    for text in UNSEEN:
        assert runtime.tokenize(text, special=False) == processor.encode(text), text
    prompt = pieces.PROMPT_START + TEXTS[2] + pieces.PROMPT_END
    ids = [*runtime.begin, *runtime.tokenize(prompt, special=True)]
    inner = processor.encode(TEXTS[2])
    assert ids == [pieces.BOS, pieces.PROMPT_START_ID, *inner, pieces.PROMPT_END_ID]
    np.testing.assert_allclose(runtime.logits(ids), gemma_logits(model, ids), atol=2e-2)


def tiny_marian() -> Any:
    torch.manual_seed(2)
    return Marian(MarianShape(330, 32, 2, 2, heads=4, hidden=64, positions=64))


def marian_logits(model: Any, source: list[list[int]], target: list[list[int]]) -> Any:
    """Pack all sequences into one row; return the logits of its target positions."""
    sources = lay_out([source], sum(map(len, source)) + 3)
    targets = lay_out([target], sum(map(len, target)) + 5)
    with torch.no_grad():
        return model.logits(model(sources, targets))[0]


def test_sequences_packed_together_do_not_see_each_other() -> None:
    model = tiny_marian()
    sources, targets = [[5, 6, 7, 0], [9, 8, 0]], [[11, 12, 0], [13, 14, 15, 16, 0]]
    together = marian_logits(model, sources, targets)
    apart = [
        marian_logits(model, [s], [t])[: len(t)] for s, t in zip(sources, targets, strict=True)
    ]
    np.testing.assert_allclose(together[:8].numpy(), torch.cat(apart).numpy(), atol=1e-5)


def test_marian_matches_ctranslate2(tmp_path: Path) -> None:
    model = tiny_marian()
    processor = pieces.train_unigram(TEXTS * 20, 330, tmp_path / "tiny.spm")
    write_ctranslate2(model, tmp_path / "tiny.spm", tmp_path / "ct2", quantization=None)
    source, target = ([*processor.encode(text), processor.eos_id()] for text in TEXTS[:2])
    expected = marian_logits(model, [source], [target])[: len(target)].log_softmax(-1)
    expected = expected[range(len(target)), target]

    translator = ctranslate2.Translator(str(tmp_path / "ct2"), intra_threads=1)
    names = [[processor.id_to_piece(i) for i in ids] for ids in (source, target[:-1])]
    scored = translator.score_batch([names[0]], [names[1]])[0]
    np.testing.assert_allclose(scored.log_probs, expected.numpy(), atol=1e-3)

    again = from_ctranslate2(tmp_path / "ct2")
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(again.state_dict()[name].numpy(), value.numpy())


def test_what_was_learnt_is_taken_back_in_part(capsys: pytest.CaptureFixture[str]) -> None:
    base, trained = tiny_marian(), tiny_marian()
    with torch.no_grad():
        for each in trained.parameters():
            each.add_(1.0)
    mixed = mean_of(trained, base, 0.25)
    for name, value in base.state_dict().items():
        np.testing.assert_allclose(
            mixed.state_dict()[name].numpy(), value.numpy() + 0.25, atol=1e-6
        )
    grown = with_hidden(trained, 96)
    assert mean_of(grown, base, 0.25) is grown
    assert "shape" in capsys.readouterr().out


def test_more_layers_hardly_change_what_a_marian_says() -> None:
    folder = bundled("models", "starter", "marian")
    model = from_ctranslate2(folder)
    shape = model.shape
    deeper = with_layers(model, "encoder", shape.encoder_layers + 2)
    deeper = with_layers(deeper, "decoder", shape.decoder_layers + 1)
    deeper = with_hidden(deeper, shape.hidden + 64)
    assert (deeper.shape.encoder_layers, deeper.shape.decoder_layers, deeper.shape.hidden) == (
        shape.encoder_layers + 2,
        shape.decoder_layers + 1,
        shape.hidden + 64,
    )
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    source, target = (
        lay_out([[[*processor.encode(text), processor.eos_id()]]], 40) for text in TEXTS[:2]
    )
    with torch.no_grad():
        before, after = (m.logits(m(source, target)).argmax(-1) for m in (model, deeper))
    length = int((target.sequence > 0).sum())
    assert (before == after)[0, :length].float().mean() > 0.9


def test_old_layers_of_a_grown_marian_learn_at_a_share_of_the_rate() -> None:
    grown = with_layers(tiny_marian(), "encoder", 4)
    assert added_layers(2, 4) == [1, 3]
    old, new = (grown.encoder[f"layer_{index}"] for index in (0, 1))
    made = training.optimizers(
        grown, "layer_", 1e-3, 1e-3, is_new=lambda name: "encoder.layer_1." in name, old_share=0.25
    )
    rates = {
        id(parameter): group["lr"]
        for each in made
        for group in each.param_groups
        for parameter in group["params"]
    }
    assert len(rates) == len(list(grown.parameters()))
    assert {rates[id(p)] for p in new.parameters()} == {1e-3}
    assert {rates[id(p)] for p in old.parameters()} == {0.25e-3}


def test_bytes_replace_the_rarest_pieces_of_an_old_vocabulary(tmp_path: Path) -> None:
    words = [f"w{a}{b}{c}" for a in "aeiou" for b in "lmnrst" for c in "abdefgiknoprstuvz"]

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(" ".join(words[n : n + 8]) for n in range(len(words) - 8)),
        model_prefix=str(tmp_path / "old"), vocab_size=500, model_type="unigram",
        eos_id=0, unk_id=1, bos_id=-1, minloglevel=2,
    )  # fmt: skip
    old = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "old.model"))
    new, replaced = pieces.add_bytes(tmp_path / "old.model", tmp_path / "new.spm")
    assert len(replaced) == 256
    kept = [i for i in range(500) if i not in set(replaced)]
    assert [new.id_to_piece(i) for i in kept] == [old.id_to_piece(i) for i in kept]
    assert new.decode(new.encode("Támesis ☃")) == "Támesis ☃"
    assert new.unk_id() not in new.encode("Támesis ☃")
    again, none = pieces.add_bytes(tmp_path / "new.spm", tmp_path / "newer.spm")
    assert none == []
    assert again.vocab_size() == 500


def test_a_further_language_gets_a_token_and_pieces(tmp_path: Path) -> None:
    path = tmp_path / "own.spm"
    before = pieces.train_unigram(TEXTS * 20, 330, path)
    french = ["Où êtes-vous, garçon ?", "Nous étions déjà là-bas.", "Le cœur de l'été."] * 20
    pieces.add_language(path, "fr", french, 40)
    after = sentencepiece.SentencePieceProcessor(model_file=str(path))

    kept = range(before.vocab_size())
    assert [after.id_to_piece(i) for i in kept] == [before.id_to_piece(i) for i in kept]
    assert after.id_to_piece(before.vocab_size()) == ">>fr<<"
    assert after.vocab_size() <= before.vocab_size() + 41
    assert len(after.encode(french[0])) < len(before.encode(french[0]))
    assert after.decode(after.encode(french[2])) == french[2]
    # No text encodes to the language token; only a text for that language begins with it.
    assert before.vocab_size() not in after.encode(">>fr<<")
    ours, theirs = (encode(after, [("God is good.", "")], lang)[0][0] for lang in ("es", "fr"))
    assert theirs == [before.vocab_size(), *ours]


@pytest.mark.parametrize(
    ("progress", "rate"), [(0.01, 0.5), (0.02, 1.0), (0.51, 0.5), (1.0, training.LAST_RATE)]
)
def test_rate_warms_up_and_falls_with_time(progress: float, rate: float) -> None:
    assert training.rate_at(progress) == pytest.approx(rate)


def learn_sums(plan: training.Plan, stop_at: int = 0) -> tuple[Any, dict[str, Any]]:
    """Train a linear layer to add 4 numbers; SIGTERM precedes step `stop_at`, counted from 1."""
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)

    def batches(rng: random.Random) -> Iterator[Any]:
        for step in itertools.count(1):
            if step == stop_at:
                signal.raise_signal(signal.SIGTERM)
            yield torch.tensor([[rng.random() for _ in range(4)]])

    training.train(
        model,
        [optimizer],
        batches=batches,
        loss_of=lambda batch: (model(batch) - batch.sum()).square().mean(),
        evaluate=lambda: "evaluated",
        plan=plan,
    )
    return model, torch.load(plan.directory / "checkpoint.pt", weights_only=False)


@pytest.fixture
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a step take a fifth of a second."""
    ticks = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: 0.2 * next(ticks))


@pytest.mark.usefixtures("_clock")
def test_a_resumed_training_goes_on_from_its_time_and_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, first = learn_sums(training.Plan(tmp_path, 1))
    model, second = learn_sums(training.Plan(tmp_path, 3, resume=True))
    assert first["elapsed_s"] == pytest.approx(60, abs=1)
    assert first["step"] == pytest.approx(300, abs=5)
    assert second["elapsed_s"] == pytest.approx(180, abs=1)
    assert second["step"] == pytest.approx(900, abs=10)
    assert second["loss"] < 0.1 * first["loss"] + 0.01
    assert model.weight.detach().numpy() == pytest.approx(1.0, abs=0.2)
    assert "stopped at 3.0 min, step 9" in capsys.readouterr().out


def test_sigterm_saves_and_ends_a_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, saved = learn_sums(training.Plan(tmp_path, 60), stop_at=5)
    assert saved["step"] == 4
    assert "stopped at 0.0 min, step 4: evaluated" in capsys.readouterr().out
