"""SentencePiece vocabularies of the translators, and embeddings carried over by piece."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import sentencepiece
from numpy.typing import NDArray
from sentencepiece import sentencepiece_model_pb2

# Gemma's prompt costs two tokens instead of six, because each fixed stretch of it is one
# control token. `<end_of_turn>` ends an answer.
PROMPT_START = "<start_of_turn>user\n"
PROMPT_END = "<end_of_turn>\n<start_of_turn>model\n"
END_OF_TURN = "<end_of_turn>"
LANGUAGE = ">>{}<<"
"""Token before a text that selects the language of a multilingual Marian, as in OPUS-MT."""
_FOREIGN = 1.0
PAD, EOS, BOS, UNKNOWN, END_OF_TURN_ID, PROMPT_START_ID, PROMPT_END_ID = range(7)


def train_bpe(texts: Iterable[str], size: int, path: Path) -> sentencepiece.SentencePieceProcessor:
    """Train a BPE vocabulary that gives the same ids in llama.cpp's `llama` tokenizer.

    Hence no normalization, no space added before the text, and bytes for rare characters. The
    prompt's control pieces have short names; the exporter writes them out."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        model_type="bpe",
        vocab_size=size,
        byte_fallback=True,
        character_coverage=0.9995,
        normalization_rule_name="identity",
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        split_digits=True,
        pad_id=PAD,
        eos_id=EOS,
        bos_id=BOS,
        unk_id=UNKNOWN,
        pad_piece="<pad>",
        control_symbols=[END_OF_TURN, "<prompt_start>", "<prompt_end>"],
        num_threads=1,
        minloglevel=1,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def carry_embeddings(
    pieces: Sequence[str],
    old_processor: sentencepiece.SentencePieceProcessor,
    old_rows: dict[str, NDArray[np.float32]],
    rng: np.random.Generator,
) -> tuple[NDArray[np.float32], int]:
    """Return rows (len(pieces), width) for a new vocabulary, and how many are unchanged copies.

    A piece that the old vocabulary lacks gets the mean of the old pieces that spell it. If none
    spell it, it gets noise of the size of the other rows."""
    table = np.stack(list(old_rows.values()))
    mean, deviation = table.mean(0), table.std()
    rows = rng.normal(0.0, deviation, (len(pieces), table.shape[1])).astype(np.float32)
    copied = 0
    for index, piece in enumerate(pieces):
        # No space is added before the text, so a sentence's first word lacks the space mark that
        # the old vocabulary gave it.
        twin = piece if piece in old_rows else "\u2581" + piece
        if twin in old_rows:
            rows[index] = old_rows[twin]
            copied += 1
            continue
        text = piece.replace("\u2581", " ").strip()
        spelled = old_processor.encode(text, out_type=str) if text else []
        known = [old_rows[part] for part in spelled if part in old_rows and part != "\u2581"]
        if known and len(known) <= 4:
            rows[index] = mean + (np.mean(known, 0) - mean) * len(known) ** 0.5
    return rows, copied


def train_unigram(
    texts: Iterable[str], size: int, path: Path, *, exact: bool = True
) -> sentencepiece.SentencePieceProcessor:
    """Train a unigram vocabulary with byte pieces, for a Marian from scratch; `</s>` has id 0.

    Texts too short for `size` pieces are an error, or give fewer pieces if `exact` is false."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        model_type="unigram",
        vocab_size=size,
        byte_fallback=True,
        character_coverage=0.9995,
        eos_id=0,
        unk_id=1,
        pad_id=2,
        bos_id=-1,
        pad_piece="<pad>",
        hard_vocab_limit=exact,
        num_threads=1,
        minloglevel=1,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def add_bytes(old: Path, path: Path) -> tuple[sentencepiece.SentencePieceProcessor, list[int]]:
    """Copy a unigram vocabulary, with bytes for its 256 rarest pieces; also return their ids.

    Single characters stay. A vocabulary that already has bytes is copied unchanged."""
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(old.read_bytes())
    replaced: list[int] = []
    if not model.trainer_spec.byte_fallback:
        kinds = sentencepiece_model_pb2.ModelProto.SentencePiece
        words = [
            index
            for index, piece in enumerate(model.pieces)
            if piece.type == kinds.NORMAL and len(piece.piece) > 1
        ]
        words.sort(key=lambda index: model.pieces[index].score)
        replaced = sorted(words[:256])
        for byte, index in enumerate(replaced):
            model.pieces[index].piece = f"<0x{byte:02X}>"
            model.pieces[index].score = 0.0
            model.pieces[index].type = kinds.BYTE
        model.trainer_spec.byte_fallback = True
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())
    return sentencepiece.SentencePieceProcessor(model_file=str(path)), replaced


def asked_for(processor: sentencepiece.SentencePieceProcessor, target: str) -> list[str]:
    """Return the tokens before a text for a language: its token, if the vocabulary has one."""
    token = LANGUAGE.format(target)
    return [] if processor.piece_to_id(token) == processor.unk_id() else [token]


def add_language(path: Path, lang: str, texts: Iterable[str], count: int) -> None:
    """Add a language to the unigram vocabulary in `path`: its token, and `count` pieces of `texts`.

    Characters that the vocabulary lacks come first. Existing ids stay. The new pieces are a little
    less likely than they are in `texts`, so that the languages already learnt are split nearly as
    before."""
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(path.read_bytes())
    kinds = sentencepiece_model_pb2.ModelProto.SentencePiece
    model.pieces.add(piece=LANGUAGE.format(lang), type=kinds.CONTROL, score=0.0)
    if count:
        known = {piece.piece for piece in model.pieces}
        own = path.with_suffix(f".{lang}")
        # Train more than twice as many: bytes and pieces that the languages share exist already.
        train_unigram(texts, 2 * count + 512, own, exact=False)
        learnt = sentencepiece_model_pb2.ModelProto()
        learnt.ParseFromString(own.read_bytes())
        own.unlink()
        new = [p for p in learnt.pieces if p.type == kinds.NORMAL and p.piece not in known]
        new.sort(key=lambda piece: (len(piece.piece) > 1, -piece.score))
        for piece in new[:count]:
            model.pieces.add(piece=piece.piece, type=kinds.NORMAL, score=piece.score - _FOREIGN)
    model.trainer_spec.vocab_size = len(model.pieces)
    path.write_bytes(model.SerializeToString())
