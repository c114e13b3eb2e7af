"""Make a model from what fine_tune_whisper has learnt, and prove that it recognizes the same.

    python -m training.export.export_whisper --base DIR --sound DIR --run DIR --out DIR

The additions are merged into the base. The merged model is written for CTranslate2 with the base's
own tokenizer and settings. Both models transcribe the held-out sound: the texts of PyTorch and of
CTranslate2 in float32 must be the same, those of the saved file nearly the same. Only then is
`--out` put in place. `--out`/proof.json has the figures.
"""

from __future__ import annotations

import argparse
import copy
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jiwer
import numpy as np
import torch
from ctranslate2 import StorageView
from ctranslate2.converters.transformers import WhisperLoader
from ctranslate2.models import Whisper as Converted
from torch import Tensor

from pipeline.core.errors import LearningError, ModelError
from pipeline.models.automatic import PROOF
from training.data import sound
from training.evaluate.stt_score import word_error_rate
from training.gguf_export.progress import exit_code_of, only_warnings
from training.models.whisper_model import Pretrained, Speech, hear, load
from training.train import fine_tune_whisper as trainer

EXACT_LETTERS, SAVED_LETTERS = 0.01, 0.1
"""How far the texts may differ from PyTorch's. Rounding decides near ties, differently on each
processor. A new name is all near ties: "Okonjovv will teach", "Okonjovavilthi" (INT8)."""
_MOST_TOKENS = 120
_MOST_UTTERANCES = 48


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--base", type=Path, required=True, help="what the training began from")
    add("--sound", type=Path, required=True, help="folder with metadata.jsonl")
    add("--run", type=Path, required=True, help="the --out of fine_tune_whisper")
    add("--out", type=Path, required=True, help="the model's folder")
    add("--quantization", default="float16", help="of the file (%(default)s)")
    add("--threads", type=int, default=1, help="%(default)s")
    return parser.parse_args(arguments)


def merged(options: argparse.Namespace) -> tuple[Pretrained, argparse.Namespace]:
    """Return the base with the best additions, and its training options. Raises StarkError."""
    path = options.run / trainer.BEST
    try:
        settings = json.loads((options.run / "manifest.json").read_text())["settings"]
        used = trainer.options_of(["--base", str(options.base), "--sound", str(options.sound),
                                   "--out", str(options.run)])  # fmt: skip
        for name in ("rank", "alpha", "dropout", "lang", "context", "window_s"):
            setattr(used, name, settings[name])
        pretrained = load(options.base, used.lang)
        wrapped, learning = trainer.add_low_rank(pretrained, used)
        learning.load_state_dict(torch.load(path, weights_only=True)["additions"])
    except (OSError, ValueError, RuntimeError, KeyError, EOFError) as error:
        raise ModelError(
            "checkpoint-unreadable",
            f"{path} cannot be merged into {options.base}: {error}.",
            "Give the --base that it was trained from, or train again.",
        ) from error
    model = wrapped.merge_and_unload().eval()
    return Pretrained(model, pretrained.speech, pretrained.n_mels), used


def convert(pretrained: Pretrained, base: Path, out: Path, quantization: str) -> None:
    """Write a folder for faster-whisper: the new weights and the base's other files."""
    # A copy, because quantizing scales the given tensors in place.
    spec = WhisperLoader().get_model_spec(copy.deepcopy(pretrained.model).float().cpu())
    tokenizer = pretrained.speech.tokenizer
    size = pretrained.model.config.vocab_size
    spec.register_vocabulary([tokenizer.id_to_token(n) or f"<{n}>" for n in range(size)])
    spec.validate()
    spec.optimize(quantization=quantization)
    out.mkdir(parents=True)
    spec.save(str(out))
    for file in out.iterdir():
        if file.name != "model.bin":
            file.unlink()
    for file in base.iterdir():
        if file.is_file() and file.name not in ("model.bin", "manifest.json"):
            shutil.copyfile(file, out / file.name)


def hear_converted(
    folder: Path, speech: Speech, features: Tensor, context: str, compute_type: str
) -> list[str]:
    """Return the converted model's texts for features (batch, mels, frames)."""
    model: Any = Converted(str(folder), device="cpu", compute_type=compute_type)
    results = model.generate(
        StorageView.from_array(np.ascontiguousarray(features.numpy())),
        [speech.prompt(context)] * len(features),
        beam_size=1,
        max_length=len(speech.prompt(context)) + _MOST_TOKENS,
        suppress_blank=True,
        suppress_tokens=list(speech.suppressed),
    )
    return [speech.text([t for t in r.sequences_ids[0] if t != speech.end]) for r in results]


def prove(
    pretrained: Pretrained, told: argparse.Namespace, exact: Path, saved: Path, folder: Path
) -> dict[str, Any]:
    """Return how far the texts of the converted models differ. Raises LearningError, ModelError."""
    split = sound.divide(sound.read(folder, told.lang))
    spoken = trainer.readable([*split.held_out, *split.development][:_MOST_UTTERANCES])
    texts: dict[str, list[str]] = {"pytorch": [], "exact": [], "saved": []}
    for first in range(0, len(spoken), told.batch):
        sounds = [pcm for _, pcm in spoken[first : first + told.batch]]
        features = pretrained.features(sounds, told.window_s)
        asked = (pretrained.speech, features, told.context)
        texts["pytorch"] += hear(pretrained, features, told.context)
        texts["exact"] += hear_converted(exact, *asked, "float32")
        texts["saved"] += hear_converted(saved, *asked, "int8")
    figures: dict[str, Any] = {"utterances": len(spoken), "window_s": told.window_s}
    for name, most in (("exact", EXACT_LETTERS), ("saved", SAVED_LETTERS)):
        # Compare all as one text: a model's text for a single utterance may be empty.
        differing = float(jiwer.cer(*("\n".join(texts[each]) for each in ("pytorch", name))))
        figures[f"differing letters, {name}"] = round(differing, 4)
        if differing > most:
            raise ModelError(
                "conversion-differs",
                f"The converted model ({name}) hears {differing:.1%} of the letters otherwise.",
                "This is a fault of the conversion, not of the training; keep the model in use.",
            )
    figures["wer"] = round(
        word_error_rate(
            (each.text, text) for (each, _), text in zip(spoken, texts["saved"], strict=True)
        ),
        4,
    )
    return figures


def export(options: argparse.Namespace) -> dict[str, Any]:
    """Merge, convert, prove, put in place. Raises StarkError and then leaves `--out` unchanged."""
    pretrained, used = merged(options)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.out.parent, prefix=".export-") as folder:
        exact, saved = Path(folder, "exact"), Path(folder, "model")
        try:
            convert(pretrained, options.base, exact, "float32")
            convert(pretrained, options.base, saved, options.quantization)
        except (OSError, RuntimeError) as error:
            raise LearningError(
                "learning-unwritable",
                f"The model cannot be written to {options.out.parent}: {error}.",
                "Is the disk full? Make room and start again; what was learnt is kept.",
            ) from error
        figures = prove(pretrained, used, exact, saved, options.sound)
        (saved / PROOF).write_text(json.dumps(figures, indent=2) + "\n")
        if options.out.exists():
            shutil.rmtree(options.out)
        saved.rename(options.out)
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Export as the options say; return the exit code."""
    options = options_of(arguments)
    torch.set_num_threads(options.threads)
    return exit_code_of(lambda: print(f"{options.out}: {json.dumps(export(options))}"))


if __name__ == "__main__":
    only_warnings()
    sys.exit(main())
