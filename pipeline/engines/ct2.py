"""What CTranslate2 and the model hub say when a model cannot be loaded, in our words."""

from __future__ import annotations

from pathlib import Path

from pipeline.errors import ModelError


def require(folder: Path, names: tuple[str, ...], key: str) -> None:
    """Check that a model's folder holds these files. Raises ModelError; `key` names the setting."""
    if not folder.is_dir():
        raise ModelError(
            "model-wrong-kind",
            f"{key}: {folder} is a file, not the folder of a CTranslate2 model.",
            "Give the folder that holds model.bin.",
        )
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise ModelError(
            "model-missing",
            f"{key}: {folder} lacks {', '.join(missing)}.",
            "Copy the whole converted model there.",
        )


def explain(error: Exception, model: str | Path, key: str, kind: str) -> ModelError:
    """Return the ModelError for what was raised while `model`, meant to be a `kind`, was loaded.

    `key` is the setting that names the model, such as `stt.model`.
    """
    said = " ".join(str(error).split()).rstrip(".")
    section = key.rpartition(".")[0]
    if "not a Whisper model" in said or "cannot be used as" in said:
        return ModelError(
            "model-wrong-kind", f"{key}: {model} is not a {kind} model.", f"Give one in {key}."
        )
    if "compute type" in said:
        return ModelError(
            "compute-type-unsupported",
            f"{section}.compute_type: {said}.",
            "int8 and float32 run everywhere.",
        )
    if "CUDA" in said:
        return ModelError(
            "gpu-unavailable",
            f"{model}: no GPU to run on: {said}.",
            f'Set {section}.device = "cpu".',
        )
    if "Invalid model size" in said or isinstance(error, OSError):
        return ModelError(
            "model-missing",
            f"{key}: {model} is neither a folder nor a model that could be fetched: {said}.",
            f'Correct {key}, go online once, or set it to "starter".',
        )
    return ModelError("model-broken", f"{key}: {model}: {said}.", "Copy or convert it again.")
