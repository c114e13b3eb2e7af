"""The time at which a changed key of config.toml takes effect after a reload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pipeline.config.loader import leaves
from pipeline.config.schema import Settings
from pipeline.config.section import Applies, keys

Effect: TypeAlias = Literal["live", "next-utterance", "restart"]


# Without a mark a key needs a restart: a forgotten one costs a restart, and never half a change.
EFFECT: Mapping[str, Effect] = {
    path: next((mark.effect for mark in marks if isinstance(mark, Applies)), "restart")
    for path, marks in keys(Settings)
}
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
