"""`serve-model`: the final translator's model for other machines, as these settings have it."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.cli.options import Commands, add_command, settings_of
from pipeline.config.schema import Final, Settings
from pipeline.core.errors import ModelError, UsageError
from pipeline.models.automatic import translator_name
from pipeline.models.library import ModelLibrary
from pipeline.models.resolve import resolve

_SAYS = "Serve the final translator to other machines, with llama-server or llama-cpp-python."
_EPILOG = """\
examples:
  stark-translate serve-model                                this machine only, to try it
  stark-translate serve-model --host 0.0.0.0 --key-file key  for other machines, with a key
  stark-translate serve-model --show                         print the command, start nothing

On each other machine, in config.toml:
  [translate.final]
  engine = "openai"
  url = "http://THIS-MACHINE:8080/v1"
docs/REMOTE.md says more. Ctrl-C ends it.
"""
_SERVER = "llama-server"
# What the extra `server` of llama-cpp-python brings along.
_PACKAGES = ("fastapi", "uvicorn", "sse_starlette", "starlette_context", "yaml")
# As `python -m llama_cpp.server`, which chooses no kernels where they are files of their own.
_LLAMA_CPP_SERVER = (
    "from pipeline.engines.llama_cpp.llama import load_kernels; load_kernels(); "
    "from llama_cpp.server.__main__ import main; main()"
)
# More than any model has, which llama-server takes for all of them.
_ALL_LAYERS = 999


@dataclass(frozen=True, slots=True)
class Served:
    """What is served, and where."""

    model: Path
    name: str
    """As other machines ask for it."""
    final: Final
    host: str
    port: int
    rooms: int
    """How many requests at a time get a context of their own."""
    key_file: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A program's arguments, and the variables that it gets beside this one's."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "serve-model", _serve, _SAYS, _EPILOG)
    parser.add_argument("--model", metavar="MODEL", help="model to serve (translate.final.model)")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve on (%(default)s)")
    parser.add_argument("--port", type=_port, default=8080, help="(%(default)s)")
    says = "parallel requests; each takes memory (%(default)s)"
    parser.add_argument("--rooms", type=_rooms, default=5, metavar="N", help=says)
    says = "file with the key that clients must send; without it no key is needed"
    parser.add_argument("--key-file", default="", metavar="FILE", help=says)
    parser.add_argument("--show", action="store_true", help="print the command only")


def _serve(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments).settings
    command = command_for(_served(arguments, settings))
    line = shlex.join(command.arguments)
    if arguments.show:
        print(line)
        return 0
    print(f"starting: {line}", file=sys.stderr, flush=True)
    environment = {**os.environ, **command.environment}
    os.execvpe(command.arguments[0], list(command.arguments), environment)  # noqa: S606 - no shell
    return 1  # it is that program now


def _served(arguments: argparse.Namespace, settings: Settings) -> Served:
    """Return what is to be served. Raises ModelError, UsageError."""
    final = settings.translate.final
    name = translator_name(settings, "gemma", arguments.model)
    if final.engine == "openai" and not arguments.model:
        raise UsageError(
            "serve-itself",
            "translate.final is on a server itself: there is no model here to serve.",
            "Name one with --model.",
        )
    if arguments.key_file:
        _key(arguments.key_file)
    return Served(
        model=resolve("gemma", name, ModelLibrary.of(settings)),
        name=name,
        final=final,
        host=arguments.host,
        port=arguments.port,
        rooms=arguments.rooms,
        key_file=arguments.key_file,
    )


def command_for(served: Served) -> Command:
    """Return how to start the server that is installed. Raises ModelError where none is."""
    if program := shutil.which(_SERVER):
        return llama_server(program, served)
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise ModelError(
            "no-model-server",
            f"There is no {_SERVER} here, and llama-cpp-python's own server lacks "
            f"{', '.join(missing)}.",
            f"Install llama.cpp's {_SERVER}, or `pip install 'llama-cpp-python[server]'`.",
        )
    return llama_cpp_server(served)


def llama_server(program: str, served: Served) -> Command:
    """Return the command of llama.cpp's own server, which answers several rooms at a time."""
    final = served.final
    layers = final.gpu_layers if final.gpu_layers >= 0 else _ALL_LAYERS
    arguments = [
        *(program, "--model", str(served.model), "--alias", served.name),
        *("--host", served.host, "--port", str(served.port)),
        # The context is shared out among the slots.
        *("--parallel", str(served.rooms), "--ctx-size", str(final.context * served.rooms)),
        *("--batch-size", str(final.batch), "--ubatch-size", str(final.batch)),
        *("--n-gpu-layers", str(layers), "--threads", str(final.threads)),
        # Else Gemma's local layers forget the prompt's head, which every request begins with.
        "--swa-full",
        "--no-webui",
    ]
    if served.key_file:
        arguments += ["--api-key-file", served.key_file]
    return Command(tuple(arguments), {})


def llama_cpp_server(served: Served) -> Command:
    """Return the command of llama-cpp-python's server: one request at a time, others wait."""
    final = served.final
    arguments = (
        *(sys.executable, "-c", _LLAMA_CPP_SERVER),
        *("--model", str(served.model), "--model_alias", served.name),
        *("--host", served.host, "--port", str(served.port)),
        *("--n_ctx", str(final.context), "--n_batch", str(final.batch)),
        *("--n_gpu_layers", str(final.gpu_layers), "--n_threads", str(final.threads)),
        *("--flash_attn", "true"),
        # By itself it breaks off one room's answer when another room asks.
        *("--interrupt_requests", "false"),
    )
    # The key is not among the arguments, which every user of the machine can see. HOST and PORT of
    # the environment would win over those.
    key = {"API_KEY": _key(served.key_file)} if served.key_file else {}
    return Command(arguments, {"HOST": served.host, "PORT": str(served.port), **key})


def _key(file: str) -> str:
    try:
        key = Path(file).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("key-unreadable", f"--key-file: {file}: {error}.") from error
    if not key:
        raise UsageError("key-unreadable", f"--key-file: {file} is empty.")
    return key


def _port(text: str) -> int:
    port = int(text)
    if not 1 <= port <= 65_535:
        raise argparse.ArgumentTypeError(f"{port} is no port: 1 to 65535")
    return port


def _rooms(text: str) -> int:
    rooms = int(text)
    if not 1 <= rooms <= 64:
        raise argparse.ArgumentTypeError(f"{rooms} is not between 1 and 64")
    return rooms
