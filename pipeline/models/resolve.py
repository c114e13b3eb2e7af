"""Resolve a model's name in the settings to its files. Nothing here uses the network."""

from __future__ import annotations

import os
from pathlib import Path

from pipeline.core.errors import ModelError
from pipeline.models.integrity import wrong_files
from pipeline.models.library import MANIFEST, ModelLibrary, again
from pipeline.models.registry import (
    GGUF_ROLES,
    KEYS,
    SHIPPED,
    Role,
    Shipped,
    hub_id,
    near,
    shipped,
)


def resolve(role: Role, value: str, library: ModelLibrary | None = None, *, key: str = "") -> Path:
    """Return the folder (stt, marian) or .gguf file (gemma, embedding) that `value` names.

    `value` is, in this order: "starter" or "tiny" for models that ship with the program, a name of
    the registry, a path, the name of a deployed model, or a hub id (`owner/name`; for gemma
    `owner/name/file.gguf`). A model of the hub must already be in `library` (None: the user's own).
    `key` is the setting that has `value`, for messages; by default the role's. Raises ModelError.
    """
    key = key or KEYS[role]
    # First, so that no folder and no registry can replace a shipped model.
    if model_here := shipped(role, value):
        return _shipped(model_here, key)
    library = library or ModelLibrary()
    if model := library.known.get(value):
        if model.role != role:
            raise _wrong_role(role, value, model.role, key)
        return _pulled(library, role, value, key)
    # A path before a hub id, since they look the same: "models/own" may be a folder here.
    path, there = _look(value)
    if there:
        return path
    if _is_stored(library, value):
        return _pulled(library, role, value, key)
    parts = hub_id(value)
    # A .gguf file must be named; for other models the repository is enough.
    if parts is not None and (role in GGUF_ROLES) == bool(parts[1]):
        return _pulled(library, role, value, key)
    if parts is not None and role in GGUF_ROLES:
        fix = f"Name the file in it too: {value}/<file>.gguf"
        raise ModelError("model-missing", f"{key}: {value} is a repository, not a file.", fix)
    names = [each.name for each in SHIPPED if each.role == role]
    names += [each.name for each in library.known.values() if each.role == role]
    raise ModelError(
        "model-missing",
        f"{key}: there is no {path}, and no model is called so.",
        f"{near(value, names)} Or set {key} to one of {', '.join(names)}.",
    )


def _is_stored(library: ModelLibrary, value: str) -> bool:
    """Whether a model with this name was deployed into the library; no registry has it."""
    # No name in the library begins with a dot.
    if hub_id(value) or not value or value[0] == ".":
        return False
    # Not `Path.is_file`, which raises for a name that is too long.
    return os.path.isfile(library.folder(value) / MANIFEST)  # noqa: PTH113


def _look(value: str) -> tuple[Path, bool]:
    try:
        path = Path(value).expanduser()
        return path, path.exists()
    except (OSError, RuntimeError):  # the name is too long; the home of an unknown user
        return Path(value), False


def _pulled(library: ModelLibrary, role: Role, name: str, key: str) -> Path:
    """Return the path of a pulled model; every file must exist with its full size."""
    manifest = library.manifest(name)
    if manifest is None:
        raise ModelError(
            "model-not-pulled", f"{key}: {name} is not in {library.directory}.", again(name)
        )
    if manifest.role != role:
        raise _wrong_role(role, name, manifest.role, key)
    # By sizes only, since every start runs this. Hashes follow later (`BackgroundHashing`).
    path, faults = library.path(manifest), library.faults(manifest)
    # A damaged Gemma is left to its engine: then the daemon continues with Marian alone.
    if faults and not (role == "gemma" and path.is_file()):
        problems = "; ".join(faults)
        raise ModelError("model-broken", f"{key}: {name}: {problems}.", again(name))
    return path


def _wrong_role(role: Role, name: str, made_for: Role, key: str) -> ModelError:
    return ModelError(
        "model-wrong-kind",
        f"{key}: {name} is a model for {KEYS[made_for]}.",
        f"`stark-translate models list` shows those for {KEYS[role]}.",
    )


def _shipped(model: Shipped, key: str) -> Path:
    role, folder = model.role, model.folder
    files = sorted(folder.glob("*.gguf" if role == "gemma" else "model.bin"))
    if not files:
        raise ModelError(
            "model-missing",
            f"The {model.name} model is not in {folder}.",
            "Install the program again, or check out the whole repository.",
        )
    # A Gemma is loaded from its file, the others from their folder.
    path = files[0] if role == "gemma" else folder
    # A broken Gemma is left to its engine: then the daemon continues with Marian alone.
    if role != "gemma" and (wrong := wrong_files(path)):
        fix = "Install the program again, or check out the repository anew."
        raise ModelError("model-broken", f"{key}: {'; '.join(wrong)}.", fix)
    return path
