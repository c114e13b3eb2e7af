"""The models that ship with the program: what they are for, and where their files are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.core.resources import SHIPPED_MODELS, bundled
from pipeline.models.registry import CaptionRole, Role

STARTER, TINY = SHIPPED_MODELS
_TRYING_OUT = "the demo and trying things out; never a service"


@dataclass(frozen=True, slots=True)
class Shipped:
    """A model that ships. `languages` as in the registry: heard ("en"), or pairs ("en-es")."""

    name: str
    role: CaptionRole
    languages: tuple[str, ...]
    memory_bytes: int
    """Measured growth of the process when it loads."""
    licence: str = "Apache-2.0"
    choose: str = _TRYING_OUT

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return bundled("models", self.name, self.role)


SHIPPED = (
    Shipped(STARTER, "stt", ("en",), 80_000_000),
    # It has learnt from what the one below writes.
    Shipped(STARTER, "marian", ("en-es", "en-fr"), 40_000_000, licence="Gemma"),
    Shipped(STARTER, "gemma", ("en-es", "en-fr"), 150_000_000, licence="Gemma"),
    Shipped(TINY, "gemma", ("en-es",), 40_000_000, choose="a machine too slow for the starter's"),
)


def shipped(role: Role, name: str) -> Shipped | None:
    """Return the model that ships under this name for this role, None for any other."""
    return next((each for each in SHIPPED if (each.role, each.name) == (role, name)), None)


def shipped_folder(model: Path) -> Path | None:
    """Return the folder whose list of files a model, file or folder, is on; None for others."""
    folder = model if model.is_dir() else model.parent
    homes = (bundled("models", name) for name in SHIPPED_MODELS)
    return next((home for home in homes if home == folder.parent), None)
