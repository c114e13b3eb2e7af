"""Load GGUF files as the daemon does: `python -m tests.fuzz.load_gguf FILE...`, a line for each.

It is a separate process, because llama.cpp is C++ and its errors end a process.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pipeline.core import logs
from pipeline.core.errors import EngineError, ModelError
from pipeline.engines.llama_cpp.gemma import Gemma


def load(path: Path) -> str:
    gemma = Gemma(path, prompt="starter", threads=1, context=256, deadline_s=20.0)
    try:
        gemma.load()
        text = gemma.translate("Grace to you.").text
    except ModelError as error:
        if str(path) not in str(error):
            raise
        return error.code
    except EngineError as error:
        return error.code
    return f"loaded: {text!r}"


if __name__ == "__main__":
    logs.configure("error", "auto")  # standard output is for the results
    for each in sys.argv[1:]:
        print(load(Path(each)), flush=True)
