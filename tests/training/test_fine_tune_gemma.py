"""A pretrained Gemma reduced to the needed tokens, fine-tuned, and merged again."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.errors import ModelError
from tests.support.needs import needs_train_extra

needs_train_extra()

import gguf  # noqa: E402
import sentencepiece  # noqa: E402
import torch  # noqa: E402

from training.data import corpora, pieces, subwords, teach  # noqa: E402
from training.data.packing import lay_out  # noqa: E402
from training.export.export_gemma import WRITTEN_OUT, config, renamed  # noqa: E402
from training.gguf_export import checkpoint, proof, vocabulary, writing  # noqa: E402
from training.models import gemma_decoding, gemma_gguf, steps  # noqa: E402
from training.models.gemma_model import Gemma, GemmaShape  # noqa: E402
from training.models.linear_loss import linear_loss  # noqa: E402
from training.models.low_rank import LowRankGemma  # noqa: E402
from training.train import cut_vocabulary, fine_tune_gemma  # noqa: E402
from training.train.train_gemma import encode  # noqa: E402
from training.train.training import LABEL_SMOOTHING, smoothed_loss  # noqa: E402

pytestmark = pytest.mark.train

WORDS_EN = [
    "I", "you", "we", "they", "see", "hear", "love", "know", "the",
    "old", "good", "small", "new", "man", "house", "dog", "bread", "day",
]  # fmt: skip
WORDS_ES = [
    "yo", "tú", "él", "ella", "veo", "oigo", "amo", "sé", "el",
    "viejo", "bueno", "nuevo", "hombre", "casa", "perro", "pan", "día",
]  # fmt: skip
ENGLISH = [f"{a} {b} the {c}." for a, b, c in itertools.product(WORDS_EN, WORDS_EN[4:7], WORDS_EN)]
SPANISH = [f"{a} {b} el {c}." for a, b, c in itertools.product(WORDS_ES, WORDS_ES[4:7], WORDS_ES)]
UNSEEN = ["¿Qué güero, ñandú?", "Łódź ☃ <end_of_turn>", "the breaded housedog", ""]


@dataclass(frozen=True)
class Files:
    """A tiny pretrained Gemma and corpora for it."""

    model: Gemma
    tokenizer: sentencepiece.SentencePieceProcessor
    gguf: Path
    bible: Path
    tatoeba: Path
    mix: Path
    """The same pairs as `stark-translate learn mix` writes them, French beside Spanish."""

    def options(self, *more: str) -> list[str]:
        """Return both commands' options for the pairs."""
        return ["--mix", str(self.mix), *more]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("pretrained")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*ENGLISH, *SPANISH, " ".join(WORDS_EN + WORDS_ES).upper()]),
        model_prefix=str(folder / "whole"), model_type="bpe", vocab_size=520, byte_fallback=True,
        normalization_rule_name="identity", add_dummy_prefix=False,
        remove_extra_whitespaces=False, pad_id=0, eos_id=1, bos_id=2, unk_id=3,
        pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>", unk_piece="<unk>",
        control_symbols=["<start_of_turn>", "<end_of_turn>"], hard_vocab_limit=False,
        minloglevel=2,
    )  # fmt: skip
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(folder / "whole.model"))
    torch.manual_seed(3)
    shape = GemmaShape(tokenizer.vocab_size(), 64, 7, heads=2, kv_heads=1, head_width=32, hidden=96)
    model = Gemma(shape)
    for parameter in model.parameters():
        if parameter.ndim == 1:
            torch.nn.init.normal_(parameter, std=0.2)
    words = vocabulary.read(folder / "whole.model", shape.vocabulary, {})
    whole = checkpoint.assemble(renamed(model.state_dict()), config(shape))
    path = folder / "whole.gguf"
    writing.write(whole, words, path, "tiny", lambda *_: None)
    bible, tatoeba = folder / "bible.tsv", folder / "tatoeba.tsv"
    head = "book\tchapter\tverse\tes_rv1909\ten_kjv\ten_asv\ten_nheb\ten_bbe\n"
    verses = [f"Ruth\t1\t{n}\t{SPANISH[n]}\t\t\t{ENGLISH[n]}\t" for n in range(20)]
    verses += [f"Acts\t1\t{n}\t{SPANISH[n]}\t\t\t{ENGLISH[n]}\t" for n in range(20, 60)]
    bible.write_text(head + "\n".join(verses) + "\n", encoding="utf-8")
    pairs = [f"{en}\t{es}" for en, es in zip(ENGLISH, SPANISH, strict=False)]
    tatoeba.write_text("\n".join(pairs) + "\n", encoding="utf-8")
    mix = folder / "mix"
    mix.mkdir()
    lines = [
        json.dumps({"en": en, "es": es, "fr": f"la {es}", "part": "general"}) + "\n"
        for en, es in zip(ENGLISH, SPANISH, strict=False)
    ]
    (mix / "train.jsonl").write_text("".join(lines[40:]), encoding="utf-8")
    (mix / "held_out.jsonl").write_text("".join(lines[:40]), encoding="utf-8")
    return Files(model, tokenizer, path, bible, tatoeba, mix)


@pytest.fixture(scope="module")
def base(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    options = files.options("--gguf", str(files.gguf), "--out", str(folder), "--references", "99")
    assert cut_vocabulary.main(options) == 0
    return folder


def logits(model: Any, ids: list[int]) -> Any:
    with torch.no_grad():
        return model.logits(model(lay_out([[ids]], len(ids))))[0].numpy()


def mergeable(processor: sentencepiece.SentencePieceProcessor) -> dict[str, float]:
    """Return the pieces that are neither control pieces nor bytes, with their scores."""
    return {
        processor.id_to_piece(n): processor.get_score(n)
        for n in range(processor.vocab_size())
        if not (processor.is_control(n) or processor.is_byte(n) or processor.is_unknown(n))
    }


def test_words_are_merged_as_sentencepiece_merges_them(files: Files) -> None:
    scores = mergeable(files.tokenizer)
    for text in [*ENGLISH[:40], *SPANISH[:40], "elladía perrode breadhouse"]:
        merged = [
            piece for word in subwords.words_of(text) for piece in subwords.merge(word, scores)[0]
        ]
        assert merged == files.tokenizer.encode(text, out_type=str), text


def test_a_smaller_vocabulary_splits_the_words_it_was_made_for_in_the_same_way(
    files: Files,
) -> None:
    scores = mergeable(files.tokenizer)
    words = subwords.count_words(ENGLISH[:200])
    kept = subwords.needed(words, scores, 1, lambda *_: None)

    assert kept < scores.keys()
    fewer = {piece: scores[piece] for piece in kept}
    for word in words:
        assert subwords.merge(word, fewer)[0] == subwords.merge(word, scores)[0]


def test_pieces_that_are_needed_too_seldom_are_left_out() -> None:
    scores = {"a": 0.0, "b": 0.0, "c": 0.0, "ab": -1.0, "abc": -2.0, "bc": -3.0}
    needed = {
        least: subwords.needed(Counter(words), scores, least, lambda *_: None)
        for least, words in ((3, {"abc": 2, "ab": 3}), (2, {"abc": 2}))
    }
    assert needed == {3: {"a", "b", "ab"}, 2: {"a", "b", "c", "ab", "abc"}}


def test_a_gguf_file_is_read_back_as_the_model_that_was_written(files: Files) -> None:
    read = gemma_gguf.read(files.gguf)

    assert read.shape == files.model.shape
    again = Gemma(read.shape)
    again.load_state_dict(read.weights)
    ids = [2, 300, 301, 302, 280, 299]
    np.testing.assert_allclose(logits(again, ids), logits(files.model, ids), atol=2e-2)


def test_a_file_that_is_no_gemma_is_refused(tmp_path: Path) -> None:
    broken, other = tmp_path / "broken.gguf", tmp_path / "other.gguf"
    broken.write_bytes(b"GGUF no more")
    writer = gguf.GGUFWriter(other, "llama")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()

    for path in (broken, other, tmp_path / "absent.gguf"):
        with pytest.raises(ModelError, match="cannot be taken as a pretrained Gemma 3") as caught:
            gemma_gguf.read(path)
        assert caught.value.code == "pretrained-unfit"


def test_a_cut_model_says_of_its_tokens_what_the_whole_one_says(files: Files, base: Path) -> None:
    model, tokenizer = fine_tune_gemma.load_base(base)
    whole = gemma_gguf.read(files.gguf)

    assert 256 < model.shape.vocabulary < whole.shape.vocabulary
    text = ENGLISH[77]
    names = tokenizer.encode(text, out_type=str)
    assert names == files.tokenizer.encode(text, out_type=str)
    full = Gemma(whole.shape)
    full.load_state_dict(whole.weights)
    rows = [
        whole.tokens.index(tokenizer.id_to_piece(n))
        for n in range(pieces.PROMPT_END_ID + 1, model.shape.vocabulary)
    ]
    before = logits(full, [2, *files.tokenizer.encode(text)])[:, rows]
    after = logits(model, [pieces.BOS, *tokenizer.encode(text)])[:, pieces.PROMPT_END_ID + 1 :]
    np.testing.assert_allclose(after, before, atol=1e-4)


def test_a_cut_vocabulary_can_write_every_text(base: Path) -> None:
    _, tokenizer = fine_tune_gemma.load_base(base)

    for text in UNSEEN:
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        # No text encodes to a control token, and no token is unknown.
        assert all(n > pieces.PROMPT_END_ID for n in ids)


def test_low_rank_additions_change_nothing_before_they_learn(base: Path) -> None:
    model, _ = fine_tune_gemma.load_base(base)
    ids = [pieces.BOS, pieces.PROMPT_START_ID, 270, 271, 272, pieces.PROMPT_END_ID, 280]
    expected = logits(model, ids)

    np.testing.assert_allclose(logits(LowRankGemma(model, 4, int8=False), ids), expected, atol=1e-4)
    off = logits(LowRankGemma(model, 4), ids) - expected
    assert 0 < off.std() < 0.05 * expected.std()


def test_the_int8_gradient_is_the_float_gradient_nearly(base: Path) -> None:
    model, _ = fine_tune_gemma.load_base(base)
    rows = lay_out([[[pieces.BOS, 270, 271, 272, 280, 290]]], 6)
    found = []
    for int8 in (False, True):
        torch.manual_seed(5)
        learner = LowRankGemma(model, 4, int8=int8)
        learner.logits(learner(rows)).logsumexp(-1).sum().backward()
        found.append(torch.cat([b.qkv.up.grad.flatten() for b in learner.blocks]))
    exact, near = found
    assert torch.cosine_similarity(exact, near, 0) > 0.99


def test_a_merged_model_computes_what_the_additions_computed(base: Path) -> None:
    model, _ = fine_tune_gemma.load_base(base)
    learner = LowRankGemma(model, 4, int8=False)
    with torch.no_grad():
        for name, parameter in learner.named_parameters():
            if name.endswith(".up") or name in {"control", "final_norm.weight"}:
                parameter.add_(torch.randn(parameter.shape), alpha=0.05)
    merged, _ = fine_tune_gemma.load_base(base)
    learner.merge_into(merged)

    ids = [pieces.BOS, pieces.PROMPT_START_ID, 270, 271, 272, pieces.PROMPT_END_ID, 280]
    untouched, _ = fine_tune_gemma.load_base(base)
    assert np.abs(logits(merged, ids) - logits(untouched, ids)).max() > 0.1
    np.testing.assert_allclose(logits(merged, ids), logits(learner, ids), atol=1e-3)


def fine_tune(files: Files, base: Path, out: Path, *more: str) -> int:
    options = ["--base", str(base), "--out", str(out), "--no-compile", "--rank", "4"]
    options += ["--rate", "0.01", "--rows", "1"]
    return fine_tune_gemma.main(files.options(*options, *more))


def figures(merged: Path) -> dict[str, float]:
    found: dict[str, float] = json.loads((merged / "manifest.json").read_text())["figures"]
    return found


def test_a_training_learns_and_is_resumed(
    files: Files, base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fine_tune(files, base, tmp_path, "--steps", "8", "--workers", "2") == 0
    first = figures(tmp_path / "merged")
    assert fine_tune(files, base, tmp_path, "--steps", "12", "--workers", "2", "--resume") == 0
    second = figures(tmp_path / "merged")

    assert (first["step"], second["step"]) == (8, 12)
    assert second["elapsed_s"] > first["elapsed_s"] > 0
    model, tokenizer = fine_tune_gemma.load_base(base)
    sets = fine_tune_gemma.held_out([corpora.load_mix(files.mix)], tokenizer)
    before = fine_tune_gemma.losses(model, sets)
    assert second["loss Tatoeba"] < before["Tatoeba"]
    made = json.loads((tmp_path / "merged" / "manifest.json").read_text())
    assert {each["file"] for each in made["inputs"]} >= {"weights.pt", "train.jsonl"}
    assert "held-out loss" in capsys.readouterr().out


def test_what_all_weights_learnt_reaches_llama_cpp_and_is_learnt_on_from(
    files: Files, base: Path, tmp_path: Path
) -> None:
    assert fine_tune(files, base, tmp_path, "--steps", "3", "--rank", "0") == 0
    model, tokenizer = fine_tune_gemma.load_base(base)
    untaught = model.state_dict()["embeddings.weight"].clone()
    saved = torch.load(tmp_path / "merged" / "checkpoint.pt", weights_only=True)
    model.load_state_dict(saved["model"])
    assert not torch.equal(model.state_dict()["embeddings.weight"], untaught)
    whole = checkpoint.assemble(renamed(saved["model"]), config(model.shape))
    words = vocabulary.read(tmp_path / "merged" / "gemma.spm", model.shape.vocabulary, WRITTEN_OUT)
    path = tmp_path / "tuned.gguf"
    writing.write(whole, words, path, "tuned", lambda *_: None)
    runtime = proof.ExactLlama(path, 1, context=128)
    text = ENGLISH[5]
    ids = [*runtime.begin, *runtime.tokenize(pieces.PROMPT_START, special=True)]
    ids += runtime.tokenize(text, special=False)
    ids += runtime.tokenize(pieces.PROMPT_END, special=True)
    assert ids == encode(tokenizer, [(text, "")])[0][0][:-1]
    np.testing.assert_allclose(runtime.logits(ids), logits(model, ids), atol=5e-2)

    # A church continues training from the file that it received.
    again, spelled = fine_tune_gemma.load_base(path)
    assert spelled.serialized_model_proto() == tokenizer.serialized_model_proto()
    np.testing.assert_allclose(logits(again, ids), logits(model, ids), atol=5e-2)
    options = ["--base", str(path), "--no-compile", "--rank", "0", "--steps", "1"]
    assert fine_tune_gemma.main(files.options(*options, "--out", str(tmp_path / "on"))) == 0
    made = json.loads((tmp_path / "on" / "merged" / "manifest.json").read_text())
    assert path.name in {each["file"] for each in made["inputs"]}


def test_what_is_learnt_at_a_level_lies_on_its_steps_and_is_learnt_on_from(
    files: Files, base: Path, tmp_path: Path
) -> None:
    at_level = ["--rank", "0", "--level", "Q4_0", "--makers", "2"]
    assert fine_tune(files, base, tmp_path, *at_level, "--steps", "2") == 0
    first = torch.load(tmp_path / "checkpoint.pt", weights_only=False)
    assert fine_tune(files, base, tmp_path, *at_level, "--steps", "4", "--resume") == 0
    second = torch.load(tmp_path / "checkpoint.pt", weights_only=False)
    assert torch.equal(first["shares"], second["shares"])

    fine = second["model"]
    model, _ = fine_tune_gemma.load_base(tmp_path / "merged")  # as if from an earlier training
    merged = model.state_dict()
    assert not torch.equal(merged["blocks.0.q.weight"], fine["blocks.0.q.weight"])
    for name, tensor in steps.on_steps(merged, "Q4_0").items():
        np.testing.assert_allclose(merged[name].numpy(), tensor.numpy(), atol=1e-6)


def test_frozen_layers_stay_as_they_are(files: Files, base: Path, tmp_path: Path) -> None:
    frozen = ["--rank", "0", "--frozen-layers", "1", "--steps", "2"]
    assert fine_tune(files, base, tmp_path, *frozen) == 0
    before = fine_tune_gemma.load_base(base)[0].state_dict()
    after = torch.load(tmp_path / "merged" / "checkpoint.pt", weights_only=True)["model"]
    changed = {name for name, tensor in before.items() if not torch.equal(tensor, after[name])}
    stays = ("embeddings.", "blocks.0.")
    assert changed == {name for name in before if not name.startswith(stays)}


def test_half_of_the_pairs_are_asked_as_the_daemon_asks() -> None:
    rng = random.Random(1)
    pair = ("We carried the coffin out.", "Sacamos el ataúd.", "es")
    asked = [fine_tune_gemma.as_asked(*pair, rng) for _ in range(40)]
    assert 10 < asked.count("We carried el ataúd out.") < 30
    assert set(asked) == {pair[0], "We carried el ataúd out."}
    # The answer uses another word, so nothing can be copied.
    assert fine_tune_gemma.as_asked(pair[0], "Sacamos la caja.", "es", rng) == pair[0]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_pairs_can_be_learnt_the_other_way_round(files: Files, base: Path, share: float) -> None:
    _, tokenizer = fine_tune_gemma.load_base(base)
    splits = corpora.splits_of(
        fine_tune_gemma.options_of(files.options("--base", "b", "--out", "o"))
    )
    batch = next(fine_tune_gemma.batches(splits, tokenizer, random.Random(1), back=share))
    asked = tokenizer.decode(batch.rows.ids.flatten().tolist())
    answered = set(tokenizer.decode(batch.targets.tolist()).split())
    # Lower-case English imitates misrecognized speech: it must not be an answer.
    assert ("English: " in asked) == bool(share)
    assert bool(answered.intersection(" ".join(ENGLISH).split())) == bool(share)


def test_two_languages_are_learnt_at_once(files: Files, tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_text("ella\n", encoding="utf-8")
    both = ["--target", "es", "fr"]
    cut = files.options("--gguf", str(files.gguf), "--out", str(tmp_path / "cut"), *both)

    assert cut_vocabulary.main([*cut, "--words", str(words), "--references", "99"]) == 0
    out = tmp_path / "tuned"
    assert fine_tune(files, tmp_path / "cut", out, "--steps", "2", *both) == 0
    found = figures(out / "merged")
    assert {"loss Tatoeba", "loss sermon", "loss Tatoeba fr", "loss sermon fr"} <= found.keys()


def test_the_linear_loss_is_the_smoothed_loss() -> None:
    torch.manual_seed(4)
    hidden = torch.randn(9, 16, requires_grad=True)
    table = torch.randn(50, 16, requires_grad=True)
    targets = torch.randint(0, 50, (9,))
    expected = smoothed_loss(hidden @ table.t(), targets, torch.ones(9))
    by_hidden, by_table = torch.autograd.grad(3 * expected, [hidden, table])

    made = linear_loss(hidden, table, targets, LABEL_SMOOTHING, torch.float32)
    assert made.item() == pytest.approx(expected.item(), rel=1e-4)
    (3 * made).backward()
    np.testing.assert_allclose(hidden.grad, by_hidden, atol=1e-5)
    np.testing.assert_allclose(table.grad, by_table, atol=1e-5)
    frozen = linear_loss(hidden, table.detach(), targets, LABEL_SMOOTHING, torch.float32)
    (by_hidden_alone,) = torch.autograd.grad(3 * frozen, [hidden])
    np.testing.assert_allclose(by_hidden_alone, by_hidden, atol=1e-5)


# An untrained model never ends an answer, so a third of all tokens end one here.
ENDS = frozenset(range(0, 500, 3))


def one_by_one(model: Gemma, prompt: list[int], most: int) -> list[int]:
    answer: list[int] = []
    while len(answer) < most:
        token = int(logits(model, [*prompt, *answer])[-1].argmax())
        if token in ENDS:
            break
        answer.append(token)
    return answer


def test_many_texts_are_decoded_as_one_by_one(base: Path) -> None:
    model, tokenizer = fine_tune_gemma.load_base(base)
    asked = [tokens[: at + 1] for tokens, at in encode(tokenizer, [(t, "") for t in ENGLISH[:40]])]
    length = Counter(map(len, asked)).most_common(1)[0][0]
    prompts = [prompt for prompt in asked if len(prompt) == length]
    expected = [one_by_one(model, prompt, 9) for prompt in prompts]

    assert gemma_decoding.greedy(model, prompts, ENDS, 9) == expected
    assert len({len(answer) for answer in expected}) > 1


def test_a_teacher_goes_on_where_it_was_cut_off(
    files: Files,
    base: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(teach, "ENDS", ENDS)
    folder = tmp_path / "taught"
    options = ["--bible", str(files.bible), "--tatoeba", str(files.tatoeba), "--model", str(base)]
    options += ["--out", str(folder), "--count", "40", "--written", "0", "--threads", "1"]
    assert teach.main(options) == 0
    file = corpora.taught_file(folder, "es")
    lines = file.read_text("utf-8").splitlines()
    assert len({line.split("\t")[0] for line in lines}) == len(lines) > 5

    file.write_text("\n".join(lines[:5]) + "\n", encoding="utf-8")
    assert teach.main(options) == 0
    assert sorted(file.read_text("utf-8").splitlines()) == sorted(lines)
    assert f"{len(lines):,} of" in capsys.readouterr().out


def test_nothing_is_taught_that_is_measured_with(files: Files) -> None:
    split = corpora.load(files.bible, files.tatoeba, None, 30)
    unseen = {corpora.words(pair.en) for pair in teach.measured(split)}
    texts = {corpora.words(text) for text in teach.sources([split], 10_000)}
    assert len(unseen) >= 30
    assert not unseen & texts
    for source in (corpora.MODERN, corpora.TALK):
        assert {corpora.words(pair.en) for pair in split.training[source]} - unseen <= texts
    assert len(teach.sources([split], 0, written=7)) == 7


def test_words_of_one_piece_stay_so() -> None:
    pieces = {subwords.SPACE + "grâce", "grâce"}
    assert cut_vocabulary.whole_words(["grâce", "graciée"], pieces) == {
        subwords.SPACE + "grâce": cut_vocabulary.AT_LEAST
    }


def test_a_diverging_training_ends_with_the_last_good_checkpoint(
    files: Files, base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fine_tune(files, base, tmp_path, "--steps", "1") == 0
    good = (tmp_path / "checkpoint.pt").read_bytes()

    assert fine_tune(files, base, tmp_path, "--minutes", "1", "--rate", "inf", "--resume") != 0
    assert "is no number" in capsys.readouterr().err
    assert (tmp_path / "checkpoint.pt").read_bytes() == good


def test_what_cannot_be_gone_on_from_or_learnt_is_said(
    files: Files, base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fine_tune(files, tmp_path / "none", tmp_path) != 0
    assert "is no whole folder of cut_vocabulary" in capsys.readouterr().err
    assert fine_tune(files, files.gguf, tmp_path) != 0
    assert "its vocabulary was not cut" in capsys.readouterr().err
    assert fine_tune(files, base, tmp_path, "--resume") != 0
    assert "cannot be gone on from" in capsys.readouterr().err
    assert fine_tune(files, base, tmp_path, "--level", "Q4_0") != 0
    assert "rank-wrong" in capsys.readouterr().err, "a level is for all weights"
    at_level = ("--level", "Q4_0", "--rank", "0", "--workers", "2")
    assert fine_tune(files, base, tmp_path, *at_level) != 0
    assert "workers-wrong" in capsys.readouterr().err
    assert not (tmp_path / "merged").exists()
