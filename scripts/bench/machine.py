"""What figures were measured on."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("faster-whisper", "ctranslate2", "llama-cpp-python", "onnxruntime")


def machine() -> dict[str, str]:
    """Return date, processor, and the versions of what computes."""
    cpu = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
         if line.startswith("model name")), platform.processor(),
    )  # fmt: skip
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": f"{cpu}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }
