"""Know an error that says that the system gave no memory, or no thread."""

from __future__ import annotations

import errno
import re
from typing import Final

from pipeline.core.errors import ResourceError

NO_MEMORY: Final = re.compile(
    r"bad_alloc|out of memory|cannot allocate memory|OUT_OF_MEMORY|MemoryError|mkl_malloc"
    r"|memory allocation|failed to (map segment|allocate|mmap)|unable to allocate|mmap failed"
    r"|could not create a memory object|thread creation failed|can't start new thread",
    re.IGNORECASE,
)
"""What libraries say of it: the C++ library, CUDA, the loader, MKL, OpenBLAS, ggml, numpy, oneDNN,
OpenMP and Python. There are more: `engines.memory` knows a load that could not succeed."""


def without_resources(error: BaseException) -> ResourceError | None:
    """Return the error to show where the system gave no thread or no memory, None for others."""
    if "can't start new thread" in str(error):
        lacks = "no further thread: its memory, or the number of its threads, is limited"
    elif (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or (isinstance(error, ImportError | RuntimeError) and NO_MEMORY.search(str(error)))
    ):
        lacks = "no more memory"
    else:
        return None
    return ResourceError(
        "no-memory",
        f"The system gives this program {lacks}.",
        "End other programs, or raise the limit (ulimit -v, ulimit -u; LimitAS=, TasksMax= and "
        "MemoryMax= in systemd's unit).",
    )
