"""What figures were measured on."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version

from pipeline.tuning.hardware import cpu_name

PACKAGES = ("faster-whisper", "ctranslate2", "llama-cpp-python", "onnxruntime")


def machine() -> dict[str, str]:
    """Return date, processor, and the versions of what computes."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": f"{cpu_name()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }
