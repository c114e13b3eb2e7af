"""Inject faults that no signal can cause into the real child processes.

Like every Python, a child process reads `sitecustomize` from PYTHONPATH. These texts patch the
engine's library there before the child begins.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.needs import without
from tests.support.paths import ROOT

_ONLY_IN = """
import sys
if "stark-{part}" in sys.orig_argv:
    sys.path.insert(0, {root!r})
"""

_CRASHES_WHILE_LOADING = """
    import os
    from pipeline.engines.{folder} import {module}
    def die(*_, **__):
        os.write(2, b"free(): invalid pointer\\n")
        os.abort()
    {module}.{name}.load = die
"""

CRASHES = {
    "stt": _CRASHES_WHILE_LOADING.format(folder="ctranslate2", module="whisper", name="Whisper"),
    "partial": _CRASHES_WHILE_LOADING.format(folder="ctranslate2", module="marian", name="Marian"),
    "final": _CRASHES_WHILE_LOADING.format(folder="llama_cpp", module="gemma", name="Gemma"),
}

CRASHES_WITH = """
    import os
    from pipeline.engines.ctranslate2.whisper import Whisper
    load = Whisper.load
    def die(self):
        os.abort() if self._path.name == {model!r} else load(self)
    Whisper.load = die
"""

GPU = """
    import os
    from pipeline.engines.llama_cpp import llama
    class OnGpu(llama.Llama):
        # A model on the CPU that fails as if its layers were on a GPU that has died.
        def __init__(self, path, *, gpu_layers, **more):
            super().__init__(path, gpu_layers=0, **more)
            self.layers, self.calls = gpu_layers, 0
        def prompt(self, tokens, check, head=None):
            self.calls += 1
            if self.layers and self.calls > 1:  # the first is the warm-up
                {fault}
            return super().prompt(tokens, check, head)
    llama.has_gpu = lambda: True
    llama.Llama = OnGpu
"""

GPU_ALONE = GPU.replace(
    "            super()",
    "            if not gpu_layers:\n                os.abort()\n            super()",
    1,
)
"""As `GPU`, and the model crashes on the CPU too."""

GPU_LOST = """
    import pathlib
    from pipeline.core.errors import EngineError, ModelError
    from pipeline.engines.ctranslate2.whisper import Whisper
    lost = pathlib.Path({lost!r})
    init, load, recognize = Whisper.__init__, Whisper.load, Whisper.recognize
    def make(self, *model, device="cpu", compute_type="int8", **more):
        # A model on the CPU that fails as if it were on a GPU that has fallen off the bus.
        self.is_on_gpu, self.has_loaded = device == "cuda", False
        init(self, *model, **more)
    def load_there(self):
        if self.is_on_gpu and lost.exists():
            raise ModelError("gpu-unavailable", "CUDA failed: no CUDA-capable device is detected.")
        load(self)
        self.has_loaded = True
    def fail(self, pcm, **more):
        if self.is_on_gpu and self.has_loaded:
            lost.touch()
            raise EngineError("stt-failed", "CUDA failed with error unspecified launch failure.")
        return recognize(self, pcm, **more)
    Whisper.__init__, Whisper.load, Whisper.recognize = make, load_there, fail
    Whisper.gpu_layers = property(lambda self: -1 if self.is_on_gpu else 0)
"""

HOLDS_ITS_OUTPUT = """
    import subprocess
    with open({pids!r}, "a") as file:
        file.write(str(subprocess.Popen(["sleep", "600"]).pid) + " ")
"""

_HUNGRY = """
    import os, pathlib, threading, time
    def eat():
        file = pathlib.Path({file!r})
        while not file.exists() or file.read_text() != str(os.getpid()):
            time.sleep(0.05)
        hoard = []
        while True:
            hoard.append(b"x" * 1_000_000)
    threading.Thread(target=eat, daemon=True).start()
"""

DIES_OVER_THE_THIRD_FINAL = """
    import os, pathlib
    from pipeline.engines.ctranslate2.whisper import Whisper
    recognize = Whisper.recognize
    def fatal(self, pcm, *, final, prefix=()):
        if final and self._telling:
            calls = pathlib.Path({calls!r})
            with calls.open("a") as file:
                file.write("x")
            if calls.stat().st_size in (3, 4):
                os.kill(os.getpid(), 11)
        return recognize(self, pcm, final=final, prefix=prefix)
    load = Whisper.load
    def load_first(self):
        self._telling = False
        load(self)
        self._telling = True
    Whisper.recognize, Whisper.load = fatal, load_first
"""

GPU_FAULTS = {
    "death": "os.kill(os.getpid(), 11)",
    "error": "raise llama.LlamaError('CUDA error: an illegal memory access was encountered')",
    "memory": "raise llama.LlamaError('CUDA error: out of memory')",
}


def put_into_children(folder: Path, part: str, text: str) -> dict[str, str]:
    """Return the environment variables that make the children for `part` run `text` first."""
    folder.mkdir(exist_ok=True)
    head = _ONLY_IN.format(part=part, root=str(ROOT))
    (folder / "sitecustomize.py").write_text(head + text)
    earlier = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), str(ROOT), earlier)))}


def hungry(folder: Path, part: str) -> dict[str, str]:
    """Return the environment variables that let `starve` act on the children for `part`."""
    return put_into_children(folder, part, _HUNGRY.format(file=str(folder / "eat")))


@contextmanager
def starve(pid: int, folder: Path) -> Iterator[None]:
    """Make the kernel kill a process that asks for more memory than its cgroup may have.

    The caller waits for the process's end inside the `with` block.
    """
    group, limit = _memory_group(pid)
    try:
        (group / limit).write_text("4000000")
        (group / "cgroup.procs").write_text(str(pid))
        (folder / "new").write_text(str(pid))
        (folder / "new").rename(folder / "eat")  # only this process eats, and only from now on
        yield
    finally:
        until_s = time.monotonic() + 10
        while time.monotonic() < until_s:
            try:
                group.rmdir()
                break
            except OSError:  # the dead process is still in it
                time.sleep(0.05)


def _memory_group(pid: int) -> tuple[Path, str]:
    """Make a memory cgroup (v1 or v2); return it and the name of its limit file."""
    places = {"memory/": "memory.limit_in_bytes", "": "memory.max"}
    for place, limit in places.items():
        group = Path(f"/sys/fs/cgroup/{place}stark-test-{pid}")
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / limit).exists():
            return group, limit
        group.rmdir()
    without("no memory cgroup can be made here: no real out-of-memory kill")
    raise AssertionError
