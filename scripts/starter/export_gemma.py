"""Write a trained starter Gemma as a GGUF that llama.cpp loads as `gemma3`.

python scripts/starter/export_gemma.py --model DIR --out models/starter/gemma/model.gguf
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
import pieces
import sentencepiece
import torch
from gemma_model import LOCAL_ROPE_BASE, Gemma, GemmaShape
from gguf import GGMLQuantizationType, TokenType

KINDS = {
    "f16": (GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
    "q8_0": (GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
}
# Our parameter names -> those of llama.cpp.
NAMES = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "o": "attn_output",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
    "attention_norm": "attn_norm",
    "after_attention": "post_attention_norm",
    "feed_norm": "ffn_norm",
    "after_feed": "post_ffw_norm",
    "q_norm": "attn_q_norm",
    "k_norm": "attn_k_norm",
}
WRITTEN_OUT = {
    pieces.PROMPT_START_ID: pieces.PROMPT_START,
    pieces.PROMPT_END_ID: pieces.PROMPT_END,
}
CONTEXT_LENGTH = 512


def load_checkpoint(directory: Path) -> tuple[Gemma, sentencepiece.SentencePieceProcessor]:
    """The model and vocabulary that train_gemma.py left in its `--out` directory."""
    model = Gemma(GemmaShape(**json.loads((directory / "shape.json").read_text())))
    saved = torch.load(directory / "checkpoint.pt", weights_only=False, map_location="cpu")
    model.load_state_dict(saved["model"])
    print(f"checkpoint: {saved['elapsed_s'] / 60:.1f} minutes, step {saved['step']}")
    vocabulary = str(directory / "gemma.spm")
    return model, sentencepiece.SentencePieceProcessor(model_file=vocabulary)


def write_gguf(
    model: Gemma, processor: sentencepiece.SentencePieceProcessor, path: Path, kind: str = "q8_0"
) -> None:
    """Matrices as `kind` (`q8_0` or `f16`), norms as float32, the vocabulary inside."""
    path.parent.mkdir(parents=True, exist_ok=True)
    matrix_type, file_type = KINDS[kind]
    shape = model.shape
    # A runtime may have the old file mapped into memory: never write into it.
    fresh = path.with_suffix(".new")
    writer = gguf.GGUFWriter(fresh, "gemma3")
    writer.add_name("stark-translate starter, English to Spanish")
    writer.add_file_type(file_type)
    writer.add_context_length(CONTEXT_LENGTH)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_width)
    writer.add_value_length(shape.head_width)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_rope_freq_base_swa(LOCAL_ROPE_BASE)
    writer.add_sliding_window(shape.sliding_window)
    _add_vocabulary(writer, processor)
    for name, parameter in model.state_dict().items():
        array = parameter.float().numpy()
        if array.ndim == 1:
            # llama.cpp multiplies by the weight as it stands; Gemma stores weight minus one.
            writer.add_tensor(_stored_name(name), array + np.float32(1.0))
        else:
            data = gguf.quants.quantize(array, matrix_type)
            writer.add_tensor(_stored_name(name), data, raw_dtype=matrix_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    fresh.replace(path)


def _stored_name(name: str) -> str:
    if name == "embeddings.weight":
        return "token_embd.weight"
    if name == "final_norm.weight":
        return "output_norm.weight"
    _, layer, part, _ = name.split(".")
    return f"blk.{layer}.{NAMES[part]}.weight"


def _add_vocabulary(
    writer: gguf.GGUFWriter, processor: sentencepiece.SentencePieceProcessor
) -> None:
    ids = range(processor.vocab_size())
    writer.add_tokenizer_model("llama")
    writer.add_token_list([WRITTEN_OUT.get(i, processor.id_to_piece(i)) for i in ids])
    writer.add_token_scores([processor.get_score(i) for i in ids])
    writer.add_token_types([_token_type(processor, i) for i in ids])
    writer.add_bos_token_id(pieces.BOS)
    writer.add_eos_token_id(pieces.EOS)
    writer.add_unk_token_id(pieces.UNKNOWN)
    writer.add_pad_token_id(pieces.PAD)
    writer.add_eot_token_id(pieces.END_OF_TURN_ID)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(False)


def _token_type(processor: sentencepiece.SentencePieceProcessor, index: int) -> TokenType:
    if processor.is_control(index):
        return TokenType.CONTROL
    if processor.is_unknown(index):
        return TokenType.UNKNOWN
    return TokenType.BYTE if processor.is_byte(index) else TokenType.NORMAL


def main() -> None:
    """Export as the options say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="the trainer's --out")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kind", choices=tuple(KINDS), default="q8_0")
    args = parser.parse_args()
    write_gguf(*load_checkpoint(args.model), args.out, args.kind)
    print(f"{args.out}: {args.out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
