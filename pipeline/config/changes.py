"""The time at which a changed key of config.toml takes effect after a reload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import BaseModel

from pipeline.config.loader import leaves
from pipeline.config.schema import Settings
from pipeline.config.section import Applies

Effect: TypeAlias = Literal["live", "next-utterance", "restart"]


def _effects(section: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Effect]]:
    """Yield (key path, effect) for every key of a section and of those in it."""
    for name, field in section.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _effects(inner, f"{prefix}{name}.")
        else:
            # Without a mark a key needs a restart: a forgotten one costs a restart, and never half
            # a change.
            marks = (mark.effect for mark in field.metadata if isinstance(mark, Applies))
            yield f"{prefix}{name}", next(marks, "restart")


EFFECT: Mapping[str, Effect] = dict(_effects(Settings))
"""By key path, as the schema has it beside each key."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The key paths whose values differ, sorted, by when the new value takes effect."""

    live: tuple[str, ...]
    next_utterance: tuple[str, ...]
    restart: tuple[str, ...]


def changes(in_force: Settings, wanted: Settings) -> Changes:
    """Return the keys that differ between the settings in force and the wanted ones."""
    old, new = dict(leaves(in_force.model_dump())), dict(leaves(wanted.model_dump()))
    differ = sorted(key for key in new if new[key] != old[key])

    def of(effect: Effect) -> tuple[str, ...]:
        return tuple(key for key in differ if EFFECT[key] == effect)

    return Changes(of("live"), of("next-utterance"), of("restart"))
