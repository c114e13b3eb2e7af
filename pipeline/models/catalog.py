"""List all models with their state: shipped ones, the registry's, and other pulled ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pipeline.core.errors import ModelError
from pipeline.core.files import size_bytes
from pipeline.models.library import Manifest, ModelLibrary
from pipeline.models.registry import SHIPPED, Model, Role, Shipped
from pipeline.models.resolve import resolve

State = Literal["ships", "here", "damaged", "half", "not here"]
"""`damaged`: a file is missing or has another size; `half`: a pull is unfinished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A model in the list; 0 and "" mean that a value is unknown, or that the model is not here."""

    name: str
    role: Role | Literal[""]
    repository: str = ""
    revision: str = ""
    size_bytes: int = 0
    memory_bytes: int = 0
    languages: tuple[str, ...] = ()
    """As in the registry: heard ("en"), or pairs ("en-es"); empty: not restricted."""
    licence: str = ""
    choose: str = ""
    state: State
    path: str = ""
    in_use: bool


def rows(store: ModelLibrary, used: Collection[tuple[Role, str]]) -> Iterator[Row]:
    """Yield every model; `used` holds the settings' (role, name) pairs. Raises ModelError."""
    for ships in SHIPPED:
        yield _shipped(ships, in_use=(ships.role, ships.name) in used)
    known, pulled = store.known, store.names()
    # Otherwise unfinished pulls of hub ids outside the registry would not be listed.
    halves = [name for name in store.halves() if name not in (*known, *pulled)]
    for name in dict.fromkeys([*known, *pulled, *halves]):
        # By name alone, since a name in the library has one role.
        in_use = any(name == value for _, value in used)
        yield _row(store, name, known.get(name), in_use=in_use)


def state(store: ModelLibrary, name: str) -> tuple[State, Manifest | None]:
    """Return a model's state, and its manifest if it can be read."""
    try:
        manifest = store.manifest(name)
    except ModelError:
        return "damaged", None
    if manifest is not None:
        # By size: hashes would read gigabytes to print a list.
        return "damaged" if store.faults(manifest) else "here", manifest
    return "half" if store.partial(name).is_dir() else "not here", None


def _row(store: ModelLibrary, name: str, model: Model | None, *, in_use: bool) -> Row:
    its_state, manifest = state(store, name)
    # The manifest before the registry: the pulled model may have another revision.
    about = manifest or model
    facts: dict[str, Any] = {"role": ""}
    if about:
        facts = about.model_dump(include={"role", "repository", "revision"})
        facts["size_bytes"] = about.size_bytes
    if model:
        facts |= model.model_dump(include={"memory_bytes", "languages", "licence", "choose"})
    return Row(
        **facts,
        name=name,
        state=its_state,
        path=str(store.path(manifest)) if manifest else "",
        in_use=in_use,
    )


def _shipped(model: Shipped, *, in_use: bool) -> Row:
    path = resolve(model.role, model.name)
    size = size_bytes(path)
    return Row(**asdict(model), size_bytes=size, state="ships", path=str(path), in_use=in_use)
