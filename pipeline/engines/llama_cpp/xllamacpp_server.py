"""llama.cpp's own server from the wheel `xllamacpp`, as a separate program.

    python -m pipeline.engines.llama_cpp.xllamacpp_server --model FILE --alias NAME ...

Accepts the options of `llama-server` that `serve-model` passes. Ends on SIGINT or SIGTERM.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal comes; return the exit code."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("model", "alias", "host", "api-key-file"):
        parser.add_argument(f"--{name}", default="")
    numbers = (
        "port",
        "parallel",
        "ctx-size",
        "batch-size",
        "ubatch-size",
        "n-gpu-layers",
        "threads",
    )
    for name in numbers:
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--flash-attn", choices=("on", "off"), default="on")
    for name in ("swa-full", "no-webui"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args(arguments)

    import xllamacpp  # noqa: PLC0415 - an extra, and only for this program

    # Before its threads start: they inherit the mask, so the signal waits for `sigwait`.
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    asked = xllamacpp.CommonParams()
    asked.model.path, asked.model_alias = options.model, {options.alias}
    asked.hostnames, asked.port = [options.host], options.port
    asked.n_parallel, asked.n_ctx = options.parallel, options.ctx_size
    asked.n_batch, asked.n_ubatch = options.batch_size, options.ubatch_size
    asked.n_gpu_layers, asked.cpuparams.n_threads = options.n_gpu_layers, options.threads
    # llama.cpp's numbers: 1 is on, 0 is off, and -1 lets the device decide.
    asked.flash_attn_type = xllamacpp.llama_flash_attn_type(int(options.flash_attn == "on"))
    asked.swa_full, asked.ui = options.swa_full, not options.no_webui
    if options.api_key_file:
        asked.api_keys = [Path(options.api_key_file).read_text("ascii").strip()]
    try:
        server = xllamacpp.Server(asked)
    except RuntimeError as error:
        print(f"It did not start; the lines above with an E say why. {error}", file=sys.stderr)
        return 1
    print(f"serving at {server.listening_address}", flush=True)
    signal.sigwait(ends)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
