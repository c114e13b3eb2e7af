"""A SentencePiece tokenizer as the vocabulary of a GGUF file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gguf import GGUFWriter, TokenType
from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

from pipeline.core.errors import ModelError

TURN_ENDS = ("<end_of_turn>", "<|im_end|>", "<|eot_id|>", "<|end|>")
# These never count as spoken text, even if the tokenizer calls them user-defined.
_TURNS = {"<start_of_turn>", "<|im_start|>", *TURN_ENDS}
_SPACE = "\u2581"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokenizer data that llama.cpp needs; token ids index `texts`, `scores` and `types`.

    The id of a special token is -1 if the tokenizer has none. `warnings` name the changes that
    SentencePiece makes to a text and llama.cpp does not.
    """

    processor: SentencePieceProcessor
    texts: list[str]
    scores: list[float]
    types: list[TokenType]
    end_of_turn: int
    space_prefix: bool
    warnings: list[str]

    def of_type(self, kind: TokenType) -> list[int]:
        """Return the ids of all tokens of one type."""
        return [index for index, each in enumerate(self.types) if each == kind]

    def add_to(self, writer: GGUFWriter) -> None:
        """Write the vocabulary as llama.cpp's `llama` tokenizer."""
        writer.add_tokenizer_model("llama")
        writer.add_tokenizer_pre("default")
        writer.add_token_list(self.texts)
        writer.add_token_scores(self.scores)
        writer.add_token_types(self.types)
        for add, index in (
            (writer.add_bos_token_id, self.processor.bos_id()),
            (writer.add_eos_token_id, self.processor.eos_id()),
            (writer.add_unk_token_id, self.processor.unk_id()),
            (writer.add_pad_token_id, self.processor.pad_id()),
            (writer.add_eot_token_id, self.end_of_turn),
        ):
            if index >= 0:
                add(index)
        writer.add_add_bos_token(self.processor.bos_id() >= 0)
        writer.add_add_eos_token(False)
        writer.add_add_space_prefix(self.space_prefix)


def read(
    path: Path, size: int, written_out: Mapping[int, str], end_of_turn: str | None = None
) -> Vocabulary:
    """Read a SentencePiece model for a checkpoint of `size` embeddings.

    `written_out` gives control tokens a text other than their piece. `end_of_turn` names the piece
    that ends an answer; the default is the first existing one of TURN_ENDS. Raises ModelError.
    """
    spm = processor(path)
    model = sentencepiece_model_pb2.ModelProto.FromString(spm.serialized_model_proto())
    _check(path, model, size)
    if max(written_out, default=0) >= len(model.pieces):
        raise ModelError(
            "tokenizer-piece",
            f"{path} has {len(model.pieces)} pieces and no {max(written_out)}.",
            "Correct --token; ids begin at 0.",
        )
    texts = [written_out.get(index, piece.piece) for index, piece in enumerate(model.pieces)]
    types = [_type(piece.piece, piece.type) for piece in model.pieces]
    for index in written_out:
        types[index] = TokenType.CONTROL
    for index, kind in enumerate(types):
        if kind == TokenType.USER_DEFINED:  # llama.cpp looks for these before it escapes spaces
            texts[index] = texts[index].replace(_SPACE, " ")
    spare = range(len(texts), size)
    ends = [end_of_turn] if end_of_turn else [each for each in TURN_ENDS if each in texts]
    if end_of_turn and end_of_turn not in texts:
        raise ModelError(
            "tokenizer-piece", f"{path} has no piece {end_of_turn!r}.", "Correct --end-of-turn."
        )
    return Vocabulary(
        spm,
        [*texts, *(f"[PAD{index}]" for index in spare)],
        [*(piece.score for piece in model.pieces), *(-10_000.0 for _ in spare)],
        [*types, *(TokenType.UNUSED for _ in spare)],
        texts.index(ends[0]) if ends else -1,
        model.normalizer_spec.add_dummy_prefix,
        _warnings(model),
    )


def processor(path: Path) -> SentencePieceProcessor:
    """Return a SentencePiece model. Raises ModelError."""
    try:
        return SentencePieceProcessor(model_file=str(path))
    except (OSError, RuntimeError) as error:
        raise ModelError(
            "tokenizer-broken",
            f"{path} is no SentencePiece model: {error}.",
            "Give the tokenizer.model that the checkpoint was trained with.",
        ) from error


def _type(piece: str, kind: int) -> TokenType:
    return TokenType.CONTROL if piece in _TURNS else TokenType(kind)


def _check(path: Path, model: Any, size: int) -> None:
    trainer = model.trainer_spec
    if trainer.model_type != trainer.BPE:
        kind = trainer.ModelType.Name(trainer.model_type).lower()
        raise ModelError(
            "tokenizer-kind",
            f"{path} is a SentencePiece model of the kind {kind}; llama.cpp would split text "
            "differently.",
            "Train the vocabulary with model_type=bpe.",
        )
    if len(model.pieces) > size:
        raise ModelError(
            "tokenizer-size",
            f"{path} has {len(model.pieces)} pieces, the checkpoint only {size} embeddings.",
            "Give the tokenizer that the checkpoint was trained with.",
        )


def _warnings(model: Any) -> list[str]:
    spec, found = model.normalizer_spec, []
    if spec.name != "identity":
        found.append(f"normalizes text by {spec.name}")
    if spec.remove_extra_whitespaces:
        found.append("merges runs of spaces")
    if not model.trainer_spec.byte_fallback:
        found.append("has no byte pieces: what it cannot spell is lost")
    return found
