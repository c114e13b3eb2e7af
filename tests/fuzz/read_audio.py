"""Play every file of a folder: `python -m tests.fuzz.read_audio FOLDER`, one line for each.

It is a separate process, because the decoders are C and their errors end a process.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from pipeline.audio.file import AudioFile
from pipeline.core import logs
from pipeline.core.errors import AudioError
from pipeline.core.types import BLOCK_SAMPLES

_BLOCKS = 20_000
"""More blocks than any file has; a header that promises hours must not delay the test."""
_HANGS_S = 20.0


def play(path: Path) -> str:
    source = AudioFile(path, pace="fast")
    began_s = time.monotonic()
    count = 0
    try:
        source.open()
        for count, block in enumerate(source.blocks(), 1):
            assert block.pcm.shape == (BLOCK_SAMPLES,)
            assert np.isfinite(block.pcm).all()
            assert time.monotonic() - began_s < _HANGS_S, "hangs"
            if count == _BLOCKS:
                break
    except AudioError as error:
        if str(path) not in str(error):
            raise
        return f"{error.code} after {count}"
    finally:
        source.close()
    return f"{count} blocks"


if __name__ == "__main__":
    logs.configure("error", "auto")  # standard output is for the results
    for each in sorted(Path(sys.argv[1]).iterdir()):
        print(each.name, flush=True)
        print(f"    {play(each)}", flush=True)
