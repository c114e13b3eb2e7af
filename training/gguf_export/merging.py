"""A LoRA adapter merged into the text part of a Gemma 3, saved as FP16."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import transformers
from peft import PeftModel, get_peft_model_state_dict
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from pipeline.core.errors import ModelError
from training.gguf_export.progress import console, growing, unfinished

ARCHITECTURES = ("Gemma3ForCausalLM", "Gemma3ForConditionalGeneration")
_TOKENIZER = ("tokenizer.model", "tokenizer.json", "tokenizer_config.json", "added_tokens.json",
              "special_tokens_map.json", "generation_config.json")  # fmt: skip
# Prefixes of the text part's names in a model that also reads pictures; others have no prefix.
_TEXT_PART = re.compile(r"(?:model\.language_model|language_model\.model)\.")
_PICTURES = re.compile(r"vision_tower|multi_modal_projector")
_ADAPTED = re.compile(r"^base_model\.model\.(.+?)\.lora_\w+(?:\.weight)?$")


def check_base(base: Path) -> None:
    """Raise ModelError unless a folder has a whole Gemma 3 with a SentencePiece tokenizer."""
    if not base.is_dir():
        raise ModelError(
            "base-missing",
            f"--base: there is no folder {base}.",
            "Accept the licence at huggingface.co/google/translategemma-4b-it and run: "
            "hf download google/translategemma-4b-it --local-dir FOLDER",
        )
    names = _json(base / "config.json").get("architectures") or ["none"]
    if names[0] not in ARCHITECTURES:
        raise ModelError(
            "base-unknown",
            f"{base / 'config.json'} names the architecture {names[0]}.",
            f"TranslateGemma is one of {', '.join(ARCHITECTURES)}.",
        )
    missing = [name for name in _TOKENIZER[:1] if not (base / name).is_file()]
    missing += [] if _shards(base) else ["*.safetensors"]
    index = base / "model.safetensors.index.json"
    if index.is_file():
        named = set(_json(index)["weight_map"].values())
        missing += sorted(name for name in named if not (base / name).is_file())
    if missing:
        raise ModelError(
            "base-incomplete", f"{base} lacks {', '.join(missing)}.", "Download it again."
        )


def text_bytes(base: Path) -> int:
    """Return the size of a model's text part in FP16, in bytes. Raises ModelError."""
    total = 0
    for shard in _shards(base):
        try:
            with safe_open(shard, "pt") as file:
                for name in file.keys():  # noqa: SIM118 - it is no mapping
                    if not _PICTURES.search(name):
                        total += 2 * int(torch.Size(file.get_slice(name).get_shape()).numel())
        except (SafetensorError, OSError) as error:
            raise ModelError(
                "base-broken", f"{shard} cannot be read: {error}.", "Download it again."
            ) from error
    return total


def merge(base: Path, adapter: Path | None, target: Path) -> None:
    """Write the text part of `base`, merged with `adapter` if there is one, to `target`.

    The folder has transformers' format, in FP16, with the tokenizer's files. It appears only when
    it is complete. Raises ModelError.
    """
    expected = text_bytes(base)
    names = _json(base / "config.json")["architectures"]
    kind = getattr(transformers, names[0])
    if not console.is_terminal:
        transformers.logging.disable_progress_bar()
    try:
        model = kind.from_pretrained(base, dtype=torch.float16, local_files_only=True)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise ModelError(
            "base-broken", f"{base} cannot be loaded: {error}.", "Download it again."
        ) from error
    model = _text_part(model)
    if adapter:
        model = _merged(model, adapter)
    for name, tensor in model.state_dict().items():
        if not torch.isfinite(tensor).all():
            raise ModelError(
                "merge-broken",
                f"{name} holds values that FP16 cannot.",
                "Was the training of the adapter stable?",
            )
    transformers.logging.disable_progress_bar()  # our bar shows the progress
    fresh = unfinished(target)
    shutil.rmtree(fresh, ignore_errors=True)
    growing(
        "saving FP16", fresh, expected, lambda: model.save_pretrained(fresh, max_shard_size="2GB")
    )
    for name in _TOKENIZER:
        if (base / name).is_file():
            shutil.copyfile(base / name, fresh / name)
    fresh.replace(target)


def _text_part(model: Any) -> Any:
    """Return a text-only model that shares the weights of `model`."""
    if not hasattr(model.model, "language_model"):
        return model
    with torch.device("meta"):
        text = transformers.Gemma3ForCausalLM(model.config.get_text_config())
    text.model, text.lm_head = model.model.language_model, model.lm_head
    text.generation_config = model.generation_config
    return text


def _merged(model: Any, adapter: Path) -> Any:
    """Return `model` with the adapter's changes in its weights. Raises ModelError."""
    with tempfile.TemporaryDirectory() as folder:
        stored = _for_text_part(adapter, Path(folder))
        try:
            with warnings.catch_warnings():
                # peft warns of its own deprecated calls and of misfits, which are checked below.
                warnings.simplefilter("ignore")
                adapted = PeftModel.from_pretrained(model, folder)
        except (ValueError, RuntimeError, TypeError, KeyError) as error:
            raise ModelError(
                "adapter-misfit",
                f"{adapter} does not fit the base: {error}.",
                "Give the base that it was trained on.",
            ) from error
    # peft leaves an adapter at zero, without an error, if it finds no module for it.
    placed = get_peft_model_state_dict(adapted)
    lost = [name for name, tensor in stored.items() if not _same(placed.get(name), tensor)]
    if lost:
        raise ModelError(
            "adapter-misfit",
            f"{adapter}: the base has no place for {len(lost)} of {len(stored)} tensors, such as "
            f"{lost[0]}.",
            "Give the base that it was trained on.",
        )
    console.print(f"merging {len(stored)} tensors of {adapter}", markup=False)
    return adapted.merge_and_unload(progressbar=console.is_terminal)


def _for_text_part(adapter: Path, folder: Path) -> Mapping[str, torch.Tensor]:
    """Copy an adapter under the names of the text part; return its tensors under these."""
    config = _json(adapter / "adapter_config.json")
    file = adapter / "adapter_model.safetensors"
    try:
        whole = load_file(file)
    except (SafetensorError, OSError) as error:
        raise ModelError(
            "adapter-broken",
            f"{file} cannot be read: {error}.",
            "--adapter takes the folder that peft's save_pretrained wrote.",
        ) from error
    stored = {
        _TEXT_PART.sub("model.", name): tensor
        for name, tensor in whole.items()
        if not _PICTURES.search(name)
    }
    if len(stored) < len(whole):
        console.print(
            f"left out: {len(whole) - len(stored)} tensors of the part that sees pictures"
        )
    modules = {match[1] for name in stored if (match := _ADAPTED.match(name))}
    if not modules:
        raise ModelError(
            "adapter-misfit",
            f"{file} holds no LoRA tensors of a text model.",
            "Give the folder of a LoRA adapter.",
        )
    # The rule that chose the modules may use names that the text part no longer has.
    config |= {"target_modules": sorted(modules), "exclude_modules": None}
    config |= {"layers_to_transform": None, "layers_pattern": None, "inference_mode": True}
    for pattern in ("rank_pattern", "alpha_pattern"):
        named = config.get(pattern) or {}
        config[pattern] = {_TEXT_PART.sub("model.", name): value for name, value in named.items()}
    (folder / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file(stored, folder / file.name)
    return stored


def _same(placed: torch.Tensor | None, stored: torch.Tensor) -> bool:
    return placed is not None and torch.equal(placed.float(), stored.to(placed.dtype).float())


def _shards(base: Path) -> list[Path]:
    return sorted(base.glob("*.safetensors"))


def _json(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(
            "model-incomplete", f"{path} cannot be read: {error}.", "Is the folder whole?"
        ) from error
    return found
