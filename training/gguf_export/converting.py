"""Convert a Hugging Face folder to an F16 GGUF file with the converter of a llama.cpp checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from pipeline.core.errors import ModelError
from training.gguf_export.progress import growing, unfinished

SCRIPT = "convert_hf_to_gguf.py"


def check_checkout(folder: Path) -> None:
    """Raise ModelError if a folder is not a llama.cpp checkout with its converter."""
    missing = [name for name in (SCRIPT, "gguf-py/gguf") if not (folder / name).exists()]
    if missing:
        raise ModelError(
            "llama-cpp-missing",
            f"--llama-cpp: {folder} is no llama.cpp checkout: it lacks {', '.join(missing)}.",
            "`make train` puts one into .venv/llama.cpp; or clone github.com/ggml-org/llama.cpp.",
        )


def convert(
    source: Path,
    target: Path,
    llama_cpp: Path,
    expected_bytes: int,
    prove: Callable[[Path], None],
) -> None:
    """Convert the model in the folder `source` to `target`.

    `target` appears only when it is complete and `prove`, which gets the file under another name,
    has not raised. The converter's output goes into a log beside it. Raises ModelError.
    """
    check_checkout(llama_cpp)
    fresh, log = unfinished(target), target.with_suffix(".log")
    command = [sys.executable, str(llama_cpp / SCRIPT), str(source)]
    command += ["--outfile", str(fresh), "--outtype", "f16"]
    # The converter may download nothing: the folder has all that it needs.
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    try:
        with log.open("wb") as said:
            done = growing(
                "F16: converting",
                fresh,
                expected_bytes,
                lambda: subprocess.run(
                    command, stdout=said, stderr=subprocess.STDOUT, env=environment, check=False
                ),
            )
        if done.returncode or not fresh.is_file():
            last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            raise ModelError(
                "convert-failed",
                f"llama.cpp's converter ended with code {done.returncode} ({' '.join(last)}).",
                f"All that it said is in {log}.",
            )
        prove(fresh)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
