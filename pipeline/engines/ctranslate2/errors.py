"""Translate CTranslate2's errors while loading a model into our own."""

from __future__ import annotations

import struct
from pathlib import Path

from pipeline.core.errors import ModelError
from pipeline.engines.specification import setting

_KINDS = {b"WhisperSpec": "Whisper", b"TransformerSpec": "translation"}


def require(folder: Path, names: tuple[str, ...], section: str, kind: str) -> None:
    """Check that a folder holds a model of this kind with these files. Raises ModelError.

    `section` is the settings table that names it; `kind` is "Whisper" or "translation".
    """
    key = setting(section, "model")
    if not folder.exists():
        fix = f'Correct {key}, or set it to "starter".'
        raise ModelError("model-missing", f"{key}: there is no {folder}.", fix)
    if not folder.is_dir():
        raise ModelError(
            "model-wrong-kind",
            f"{key}: {folder} is a file, not the folder of a CTranslate2 model.",
            "Give the folder that holds model.bin.",
        )
    # Before the check for files: the wrong kind of model lacks the other files too.
    made = kind_of(folder / "model.bin")
    if made not in ("", kind):
        raise _wrong_kind(folder, key, kind)
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise ModelError(
            "model-missing",
            f"{key}: {folder} lacks {', '.join(missing)}.",
            "Copy the whole converted model there.",
        )


def kind_of(weights: Path) -> str:
    """Return the kind that a CTranslate2 file declares, "" if it is unknown.

    The file's header: the format version (4 bytes), the length of a name (2 bytes), the name.
    """
    try:
        with weights.open("rb") as file:
            head = file.read(64)
    except OSError:
        return ""
    if len(head) < 6:
        return ""
    (length,) = struct.unpack_from("<H", head, 4)
    # The length includes the zero byte after the name.
    return _KINDS.get(head[6 : 6 + length].rstrip(b"\0"), "")


def explain(error: Exception, model: str | Path, section: str, kind: str) -> ModelError:
    """Return the ModelError for an error while loading `model`, which should be a `kind` model.

    `section` is the settings table that names the model, such as `stt`.
    """
    # The library has no error classes for these: only the words distinguish them.
    said = " ".join(str(error).split()).rstrip(".")
    key = setting(section, "model")
    if "not a Whisper model" in said or "cannot be used as" in said:
        return _wrong_kind(model, key, kind)
    if "compute type" in said:
        return ModelError(
            "compute-type-unsupported",
            f"{setting(section, 'compute_type')}: {said}.",
            "int8 and float32 run everywhere.",
        )
    if "CUDA" in said:
        return ModelError(
            "gpu-unavailable",
            f"{model}: no GPU to run on: {said}.",
            f'Set {setting(section, "device")} = "cpu".',
        )
    fix = "Copy, pull or convert it again."
    return ModelError("model-broken", f"{key}: {model}: {said}.", fix)


def _wrong_kind(model: str | Path, key: str, kind: str) -> ModelError:
    return ModelError(
        "model-wrong-kind", f"{key}: {model} is not a {kind} model.", f"Give one in {key}."
    )
