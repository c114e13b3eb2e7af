"""`serve-model`: serve the final translator's model of these settings to other machines."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shlex
import shutil
import sys
from pathlib import Path

from pipeline.cli.options import Commands, add_command, number, settings_of
from pipeline.core.errors import ModelError, UsageError, reading
from pipeline.models.automatic import translator_name
from pipeline.models.library import ModelLibrary
from pipeline.models.resolve import resolve

_SAYS = "Serve the final translator to other machines, several rooms at a time."
_EPILOG = """\
examples:
  stark-translate serve-model                                this machine only, to try it
  stark-translate serve-model --host 0.0.0.0 --key-file key  for other machines, with a key
  stark-translate serve-model --show                         print the command, start nothing

On each other machine, in config.toml:
  [servers.gpu]
  url = "http://THIS-MACHINE:8080/v1"
  [translate.final]
  engine = "openai"
  server = "gpu"
docs/REMOTE.md says more. Ctrl-C ends it.
"""
_SERVER = "llama-server"
_PACKAGE = "xllamacpp"
"""The same server, prebuilt."""
# More than any model has: llama-server then uses all of them.
_ALL_LAYERS = 999


def add(commands: Commands) -> None:
    parser = add_command(commands, "serve-model", _serve, _SAYS, _EPILOG)
    parser.add_argument(
        "--model", metavar="MODEL", default="", help="model to serve (translate.final.model)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to serve on (%(default)s)")
    parser.add_argument("--port", type=number(int, 1, 65_535), default=8080, help="(%(default)s)")
    says = "parallel requests; each takes memory (%(default)s)"
    parser.add_argument("--rooms", type=number(int, 1, 64), default=5, metavar="N", help=says)
    says = "threads for all rooms together (one for each processor core: %(default)s)"
    cores = os.cpu_count() or 1
    threads = number(int, 1, 1024)
    parser.add_argument("--threads", type=threads, default=cores, metavar="N", help=says)
    says = "file with the key that clients must send; without it no key is needed"
    parser.add_argument("--key-file", default="", metavar="FILE", help=says)
    parser.add_argument("--show", action="store_true", help="print the command only")


def _serve(arguments: argparse.Namespace) -> int:
    command = _command(arguments)
    line = shlex.join(command)
    if arguments.show:
        print(line)
        return 0
    print(f"starting: {line}", file=sys.stderr, flush=True)
    # It replaces this process: signals and the exit code are then the server's own.
    os.execv(command[0], command)  # noqa: S606 - no shell
    return 1  # not reached: this process is the server now


def _command(arguments: argparse.Namespace) -> list[str]:
    settings = settings_of(arguments).settings
    final = settings.translate.final
    if final.engine == "openai" and not arguments.model:
        raise UsageError(
            "serve-itself",
            "translate.final is on a server itself: there is no model here to serve.",
            "Name one with --model.",
        )
    if arguments.key_file:
        _check_key(arguments.key_file)
    name = translator_name(settings, "gemma", arguments.model)
    layers = final.gpu_layers if final.gpu_layers >= 0 else _ALL_LAYERS
    options = [
        *("--model", str(resolve("gemma", name, ModelLibrary.of(settings))), "--alias", name),
        *("--host", arguments.host, "--port", str(arguments.port)),
        # The server divides the context among the slots.
        *("--parallel", str(arguments.rooms), "--ctx-size", str(final.context * arguments.rooms)),
        *("--batch-size", str(final.batch), "--ubatch-size", str(final.batch)),
        *("--n-gpu-layers", str(layers), "--threads", str(arguments.threads)),
        # Otherwise Gemma's local layers forget the prompt's head, which all requests share.
        "--swa-full",
        "--no-webui",
    ]
    # Every user of the machine would see the key itself.
    options += ["--api-key-file", arguments.key_file] if arguments.key_file else []
    return [*_server(), *options]


def _server() -> list[str]:
    """Return the installed server. Raises ModelError if there is none."""
    # A server that was installed by hand comes first: it may be compiled for this machine's GPU.
    if program := shutil.which(_SERVER):
        return [program]
    if importlib.util.find_spec(_PACKAGE) is None:
        raise ModelError(
            "no-model-server",
            f"There is no {_SERVER} here, and no {_PACKAGE}.",
            f"{sys.executable} -m pip install {_PACKAGE}; docs/REMOTE.md says which one for a GPU.",
        )
    return [sys.executable, "-m", "pipeline.engines.llama_cpp.xllamacpp_server"]


def _check_key(file: str) -> None:
    with reading(f"--key-file: {file}", UsageError, "key-unreadable", wrong=(UnicodeDecodeError,)):
        key = Path(file).read_text("ascii").strip()
    if not key:
        raise UsageError("key-unreadable", f"--key-file: {file} is empty.")
