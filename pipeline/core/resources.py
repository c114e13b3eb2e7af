"""Locate the files that ship with the program, in a checkout or an installed wheel, and optional
packages.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from pipeline.core.errors import ConfigError

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


def require_extra(module: str, extra: str, key: str) -> Path:
    """Return the folder of an optional package, which is not imported for it.

    `key` is the setting that needs it. Raises ConfigError that names the extra.
    """
    # Looked for and not imported: that takes seconds, and loads native code into the daemon.
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(
            "extra-missing",
            f"{key} needs the package {module}, which is not installed.",
            f"Run: {installing(extra)}.",
        )
    return Path(next(iter(spec.submodule_search_locations)))


def installing(extra: str) -> str:
    """Return the command that installs an extra beside this program: no other pip has it."""
    return f"{sys.executable} -m pip install 'stark-translate[{extra}]'"
