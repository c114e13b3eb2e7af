"""Deploy a new model, and roll back to the one before.

A deployed model is copied atomically into the model store under its own name; the model that was
in use stays in place. Then one key of config.toml is changed. A running service reads the key only
at its next start. `deployed.jsonl` in the data folder records which model was in use when, so that
one command can roll back.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pipeline.config import editor
from pipeline.config.loader import Loaded, leaves
from pipeline.config.schema import Settings
from pipeline.core.errors import ConfigError, LearningError, StarkError, writing
from pipeline.core.formats import human_size, utc_now
from pipeline.learning.compare import COMPARISONS, ModelComparison, weights_of
from pipeline.learning.data.folder import DataFolder, Ledger
from pipeline.learning.manifest import sha256
from pipeline.models.automatic import AUTO, models_in_use
from pipeline.models.library import Manifest, ModelLibrary, StoredFile
from pipeline.models.registry import GGUF_ROLES, KEYS, Role, shipped
from pipeline.models.resolve import resolve

SOURCE = "learn deploy"
"""The source in a deployed model's manifest."""
# No path separator and no leading dot: the name becomes a folder beside those of other models.
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
# Kept free: on a full disk the next service could not write its records.
_SPARE_BYTES = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A line of deployed.jsonl: keys of config.toml before and after."""

    utc: str
    role: Role
    name: str
    sha256: str
    # All values, not only the model's name: the prompt may have changed too.
    before: Mapping[str, str]
    after: Mapping[str, str]
    rollback: bool = False
    """Whether it undoes an earlier deployment."""


DEPLOYMENTS = Ledger("deployed.jsonl", Deployment)


def deploy(
    loaded: Loaded,
    data: DataFolder,
    role: Role,
    model: Path,
    name: str,
    *,
    prompt: str = "",
    force: bool = False,
    dry_run: bool = False,
) -> Deployment:
    """Copy a model into the store as `name` and make the next start use it.

    `model` is a .gguf file or a CTranslate2 folder. `prompt` is a Gemma's prompt style, "" for
    that of its comparison. Unless `force`, the model must have been compared with the one in use
    and not be worse. With `dry_run` nothing is changed. Raises LearningError (model-missing,
    name-malformed, name-taken, not-compared, worse, role-unused, config-missing, key-overridden),
    ModelError, ConfigError; then nothing has changed.
    """
    weights = model if role in GGUF_ROLES else model / "model.bin"
    if not weights.is_file():
        raise LearningError(
            "model-missing",
            f"There is no file {weights}.",
            "Name a .gguf file for Gemma, else a folder with model.bin, and its --role.",
        )
    if not _NAME.fullmatch(name):
        message = f"{name!r} can be no name of a model."
        raise LearningError("name-malformed", message, "Use letters, digits, dots and hyphens.")
    translate = loaded.settings.translate
    engines = {"marian": translate.partial.engine, "gemma": translate.final.engine}
    # The key is then the server's name for its own model.
    if engines.get(role) == "openai":
        key = KEYS[role].replace(".model", ".engine")
        message = f"{KEYS[role]} names a model on a server, which would be asked for {name!r}."
        raise LearningError("role-unused", message, f'Set {key} = "{role}" first.')
    # By content, not by name: only the exact file that was compared may be deployed.
    digest = sha256(weights)
    comparison = _told(data, role, digest, loaded.settings)
    if not force:
        _require_verdict(comparison)
    store = ModelLibrary.of(loaded.settings)
    _require_own_name(store, role, name, digest)
    prompt = prompt or (comparison.prompt if comparison else "")
    after = {KEYS[role]: name} | ({"translate.final.prompt": prompt} if prompt else {})
    # Before gigabytes are copied: it finds what makes the change of config.toml useless.
    config, made = _planned(loaded, role=role, name=name, digest=digest, after=after)
    if not dry_run:
        # Before the key: the next start fails if config.toml names a missing model.
        _copy(store, role, model, name)
        _switch(data, config, made)
    return made


def rollback(loaded: Loaded, data: DataFolder, role: Role) -> Deployment:
    """Make the next start use the model from before the last deployment of a role.

    Raises LearningError (nothing-deployed), ConfigError.
    """
    history = [each for each in DEPLOYMENTS.read(data) if each.role == role]
    now = dict(leaves(loaded.settings.model_dump()))
    # A rollback that was killed before it changed config.toml has taken nothing back.
    if history and history[-1].rollback and history[-1].before != history[-1].after:
        before = history[-1].before
        if {key: str(now[key]) for key in before} == before:
            history.append(_undo(data, history[-1]))
    left: list[Deployment] = []
    for each in history:
        # As on a stack: each rollback uncovers the deployment before.
        left = left[:-1] if each.rollback else [*left, each]
    if not left:
        message = f"No model for {KEYS[role]} was deployed that could be taken back."
        raise LearningError("nothing-deployed", message, f"Set {KEYS[role]} in config.toml.")
    last = left[-1]
    # No hash: the earlier model may be a starter, a path or a name in the store.
    name = last.before.get(KEYS[role], "")
    config, made = _planned(loaded, role=role, name=name, digest="", after=last.before)
    made = replace(made, rollback=True)
    _switch(data, config, made)
    return made


def _told(data: DataFolder, role: Role, digest: str, settings: Settings) -> ModelComparison | None:
    """Return the last comparison of this model, as the new one, with the model in use."""
    in_use = ""
    with suppress(StarkError, OSError):  # it may not be on this machine
        if name := models_in_use(settings).get(role):
            in_use = sha256(weights_of(resolve(role, name, ModelLibrary.of(settings))))
    # The newest counts: a second comparison may have had more sentences.
    for each in reversed(COMPARISONS.read(data)):
        # Itself: it is deployed again, under another name.
        is_with_it = in_use in (each.old_sha256, each.new_sha256, "")
        if is_with_it and (each.role, each.new_sha256) == (role, digest):
            return each
    return None


def _require_verdict(told: ModelComparison | None) -> None:
    if told is None:
        raise LearningError(
            "not-compared",
            "This model was not compared with the one in use.",
            "Run `stark-translate learn compare` first, or give --force.",
        )
    if told.verdict == "keep":
        raise LearningError(
            "worse",
            " ".join(told.words) or f"This model is worse: {'; '.join(told.reasons)}.",
            "Keep the one in use, or give --force.",
        )


def _require_own_name(store: ModelLibrary, role: Role, name: str, digest: str) -> None:
    """Check that a name leads to this model and no other. Raises LearningError, ModelError."""
    stored = store.manifest(name)
    # A rollback goes back to a name: the model that it stands for must still be there.
    is_another = stored is not None and all(file.sha256 != digest for file in stored.files)
    if is_another or name == AUTO or shipped(role, name) or name in store.known:
        message = f"Another model is called {name!r}."
        raise LearningError("name-taken", message, "Give another name, after the model.")


def _copy(store: ModelLibrary, role: Role, model: Path, name: str) -> None:
    """Copy a model into the store. Raises LearningError (models-unwritable), ModelError."""
    files = sorted(p for p in model.rglob("*") if p.is_file()) if model.is_dir() else [model]
    root = model if model.is_dir() else model.parent
    fix = "Make room, or set models.directory; the model in use is as it was."
    with writing(store.directory, LearningError, "models-unwritable", fix), store.lock(name):
        store.require_place(name)
        place = store.partial(name) / "new"
        # Remove the leftovers of an interrupted attempt.
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        # Check first: a copy that fails after minutes would fill the disk.
        wanted = sum(file.stat().st_size for file in files)
        if shutil.disk_usage(place).free < wanted + _SPARE_BYTES:
            raise LearningError(
                "disk-short",
                f"{human_size(wanted)} do not fit where {store.directory} is.",
                "Make room; the model in use is as it was.",
            )
        stored = [_stored(file, root, place) for file in files]
        manifest = Manifest(
            name=name,
            role=role,
            repository="",
            revision="",
            pulled_utc=utc_now(),
            source=SOURCE,
            files=tuple(stored),
        )
        store.adopt(place, manifest)


def _stored(file: Path, root: Path, place: Path) -> StoredFile:
    target = place / file.relative_to(root)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Copy only the content: mode and owner of a trainer's file may keep the daemon from reading it.
    shutil.copyfile(file, target)
    path, size = file.relative_to(root).as_posix(), target.stat().st_size
    # Hash the copy: a hash of the original would not show a damaged copy.
    return StoredFile(path=path, size_bytes=size, sha256=sha256(target))


def _planned(
    loaded: Loaded, *, role: Role, name: str, digest: str, after: Mapping[str, str]
) -> tuple[Path, Deployment]:
    """Return the config file to change, and the line of the history. Raises LearningError."""
    if loaded.file is None:
        raise LearningError(
            "config-missing",
            "There is no config.toml in which the model could be named.",
            "Make one (`stark-translate config` shows all keys), or name it with --config.",
        )
    for key in after:
        if loaded.origins[key] in ("environment", "command line"):
            raise LearningError(
                "key-overridden",
                f"{key} comes from the {loaded.origins[key]}, which wins over config.toml.",
                "Remove it there first.",
            )
    # The settings in effect, not those in the file, where a key may be missing.
    now = dict(leaves(loaded.settings.model_dump()))
    before = {key: str(now[key]) for key in after}
    return loaded.file, Deployment(
        utc=utc_now(), role=role, name=name, sha256=digest, before=before, after=after
    )


def _switch(data: DataFolder, config: Path, made: Deployment) -> None:
    """Write the history, then the settings: after a kill in between, repeating it repairs both."""
    # On disk before config.toml changes: without this line no rollback is possible.
    DEPLOYMENTS.append(data, made)
    try:
        editor.write(config, dict(made.after), datetime.now(UTC))
    except ConfigError:
        _undo(data, made)
        raise


def _undo(data: DataFolder, made: Deployment) -> Deployment:
    """Cancel a line of the history that did not reach config.toml. Raises LearningError."""
    # The file is append-only: the opposite line cancels this one.
    undone = replace(made, before=made.after, after=made.before, rollback=not made.rollback)
    DEPLOYMENTS.append(data, undone)
    return undone
