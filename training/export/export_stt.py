"""Turns a checkpoint of train_stt.py into a directory that faster-whisper loads as it is.

    python -m training.export.export_stt --run run/ --out models/starter/stt

Writes model.bin (CTranslate2, int8), config.json, vocabulary.json, tokenizer.json and
preprocessor_config.json.
"""

from __future__ import annotations

import argparse
import copy
import json
from pathlib import Path

import torch
from ctranslate2.converters.transformers import WhisperLoader
from tokenizers import Tokenizer
from transformers import WhisperForConditionalGeneration

from training.models.stt_model import (
    BPE_TOKENS,
    SPECIAL_TOKENS,
    START,
    TIMESTAMPS,
    load_tokenizer,
    new_model,
)

PREPROCESSOR = {
    "feature_size": 80, "sampling_rate": 16000, "hop_length": 160, "chunk_length": 30,
    "n_fft": 400, "nb_max_frames": 3000,
}  # fmt: skip
MAX_BYTES = 12_000_000


def vocabulary(tokenizer: Tokenizer) -> list[str]:
    """Return every token in order of its id: BPE, special tokens, timestamps every 20 ms.

    Raises ValueError when the tokenizer has fewer BPE tokens than the model.
    """
    bpe: list[str] = []
    for number in range(BPE_TOKENS):
        token = tokenizer.id_to_token(number)
        if token is None:
            raise ValueError(f"the tokenizer has no token {number} of {BPE_TOKENS}")
        bpe.append(token)
    return [*bpe, *SPECIAL_TOKENS, *(f"<|{i * 0.02:.2f}|>" for i in range(TIMESTAMPS))]


def export(model: WhisperForConditionalGeneration, tokenizer: Tokenizer, out: Path) -> None:
    """Write the model directory. Raises ValueError when the model is larger than allowed."""
    # A copy: the quantization below scales its input tensors in place.
    spec = WhisperLoader().get_model_spec(copy.deepcopy(model).float().cpu().eval())
    spec.register_vocabulary(vocabulary(tokenizer))
    # Nothing is suppressed at the beginning: noise may come out as empty text.
    spec.config.suppress_ids = []
    spec.config.suppress_ids_begin = []
    spec.config.lang_ids = [START + 1]
    spec.config.alignment_heads = [[1, 0]]
    spec.validate()
    spec.optimize(quantization="int8")
    out.mkdir(parents=True, exist_ok=True)
    spec.save(str(out))
    tokenizer.save(str(out / "tokenizer.json"))
    (out / "preprocessor_config.json").write_text(json.dumps(PREPROCESSOR) + "\n")
    size = (out / "model.bin").stat().st_size
    if size > MAX_BYTES:
        raise ValueError(f"stt-size: {out}/model.bin has {size:,} bytes, expected {MAX_BYTES:,}")


def main() -> None:
    """Export from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--run", type=Path, required=True, help="the --out of train_stt.py")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--weights", choices=("average", "model"), default="average")
    options = parser.parse_args()
    saved = torch.load(options.run / "checkpoint.pt", map_location="cpu")
    model = new_model()
    model.load_state_dict(saved[options.weights])
    export(model, load_tokenizer(options.run), options.out)
    print(f"{options.out}: step {saved['steps']}, {saved['heard_s'] / 3600:.1f} h heard")


if __name__ == "__main__":
    main()
