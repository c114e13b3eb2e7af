"""Messages about volunteers' devices, to displays and operators. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedMessage:
    """The code was right: this is the token of the device."""

    type: Literal["paired"] = "paired"
    name: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationMessage:
    """A code that lets one more device in; to the operator who asked for it."""

    type: Literal["invitation"] = "invitation"
    code: str
    """Six digits."""
    for_s: float
    """Seconds that it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolunteersMessage:
    """Whose devices are paired; to operators."""

    type: Literal["volunteers"] = "volunteers"
    names: tuple[str, ...]
