"""Write a trained starter Marian as a CTranslate2 INT8 directory with its SentencePiece files.

    python -m training.export.export_marian --model DIR --out models/starter/marian

With `--base`, it writes the mean of the trained weights and the training's initial weights, which
forgets less (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models", arXiv:2109.01903).
"""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import torch
from ctranslate2.specs import TransformerSpec, common_spec
from numpy.typing import NDArray

from training.models.marian_model import Marian, from_ctranslate2, from_state, stored_name

INDEXED = re.compile(r"(layer|linear|embeddings)_(\d+)")


def load_checkpoint(directory: Path) -> Marian:
    """Return the model that train_marian.py wrote to its `--out` directory."""
    saved = torch.load(directory / "checkpoint.pt", weights_only=False, map_location="cpu")
    print(f"checkpoint: {saved['elapsed_s'] / 60:.1f} minutes, step {saved['step']}")
    return from_state(saved["model"])


def mean_of(trained: Marian, base: Marian, share: float) -> Marian:
    """Return the mean of both models' weights; `share` is the weight of the trained ones.

    If the shapes differ, it returns `trained`: a larger vocabulary has no base weights.
    """
    old, new = base.state_dict(), trained.state_dict()
    if {name: each.shape for name, each in old.items()} != {n: t.shape for n, t in new.items()}:
        print("Not mixed with the base: its shape is another.")
        return trained
    mixed = {name: share * new[name] + (1 - share) * old[name] for name in new}
    return from_state(mixed, trained.shape.heads)


def write_ctranslate2(
    model: Marian, vocabulary: Path, directory: Path, quantization: str | None = "int8"
) -> None:
    """Replace `directory` by the model, its vocabulary, source.spm and target.spm (equal)."""
    shape = model.shape
    spec = TransformerSpec.from_config(
        (shape.encoder_layers, shape.decoder_layers),
        shape.heads,
        pre_norm=False,
        activation=common_spec.Activation.SWISH,
    )
    spec.decoder.start_from_zero_embedding = True
    encodings = model.encodings.numpy()
    for part in (spec.encoder, spec.decoder):
        part.scale_embeddings = shape.width**0.5
        part.position_encodings.encodings = encodings
    for name, parameter in model.state_dict().items():
        _put(spec, stored_name(name), parameter.float().numpy())
    embeddings = model.embeddings.weight.detach().float().numpy()
    _put(spec, "encoder/embeddings_0/weight", embeddings)
    _put(spec, "decoder/projection/weight", embeddings)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
    tokens = [processor.id_to_piece(i) for i in range(processor.vocab_size())]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    end = processor.id_to_piece(processor.eos_id())
    spec.config.eos_token = spec.config.decoder_start_token = end
    spec.config.unk_token = processor.id_to_piece(processor.unk_id())
    # This tells the daemon that the model has learnt sentences that follow others.
    spec.config.add_attribute("joins_sentences", value=True)
    spec.validate()
    spec.optimize(quantization=quantization)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    spec.save(str(directory))
    for file in ("source.spm", "target.spm"):
        shutil.copyfile(vocabulary, directory / file)


def _put(spec: Any, name: str, array: NDArray[np.float32]) -> None:
    """Set a variable by the name under which CTranslate2 stores it."""
    *way, last = name.split("/")
    for step in way:
        indexed = INDEXED.fullmatch(step)
        if indexed and not hasattr(spec, step):
            spec = getattr(spec, indexed[1])[int(indexed[2])]
        else:
            spec = getattr(spec, step)
    setattr(spec, last, array)


def main() -> None:
    """Export as the options say."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="the trainer's --out")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--base", type=Path, help="CTranslate2 folder that the training began with")
    parser.add_argument(
        "--share", type=float, default=0.5, help="of the trained weights, 0..1 (%(default)s)"
    )
    args = parser.parse_args()
    model = load_checkpoint(args.model)
    if args.base:
        model = mean_of(model, from_ctranslate2(args.base), args.share)
    write_ctranslate2(model, args.model / "marian.spm", args.out)
    size = sum(file.stat().st_size for file in args.out.iterdir())
    print(f"{args.out}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
