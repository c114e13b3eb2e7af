"""Locate the files that ship with the program, in a checkout or in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]

SHIPPED_MODELS = ("starter", "tiny")
"""Names of models that ship with the program, and of their folders below `models`: the starter of
each kind, and a final translator of six million weights for a machine too slow for its own."""


def bundled(*parts: str) -> Path:
    """Return the path of a file or folder that ships with the program.

    `bundled("displays", "audience.html")`. An installed wheel carries them in `pipeline/bundle`
    (see pyproject.toml), a checkout has them beside `pipeline/`.
    """
    bundle = _PACKAGE / "bundle"  # hatch puts it there; a checkout has none
    return (bundle if bundle.is_dir() else _PACKAGE.parent).joinpath(*parts)
