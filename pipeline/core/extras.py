"""Optional packages: whether one is installed, and which extra brings it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from pipeline.core.errors import ConfigError


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
            f"Install it beside the program: pip install 'stark-translate[{extra}]'.",
        )
    return Path(next(iter(spec.submodule_search_locations)))
