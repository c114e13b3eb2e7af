"""`serve-model`: the command that it starts, and what it refuses."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from pipeline.cli.commands import serve_model
from pipeline.models.resolve import resolve
from scripts.support.program import call
from tests.support.cli import Cli
from tests.support.programs import put_program

pytestmark = pytest.mark.usefixtures("elsewhere", "own_final_model")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a llama-server onto the PATH that records its arguments."""
    put_program(tmp_path, f'echo "$@" > {tmp_path}/given', monkeypatch, "llama-server")
    return tmp_path / "llama-server"


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def test_llama_server_gets_the_settings_of_the_final_translator(program: Path, cli: Cli) -> None:
    Path("config.toml").write_text(
        "[translate.final]\ngpu_layers = -1\nthreads = 1\nbatch = 512\ncontext = 1024\n"
    )
    Path("key").write_text("s3cret")
    given = "--host 0.0.0.0 --port 9000 --rooms 3 --threads 4 --key-file key"
    command = shlex.split(cli(f"serve-model --show {given}").out)
    assert command[0] == str(program)
    assert option(command, "--model") == str(resolve("gemma", "starter"))
    asked = {
        "--alias": "starter",
        "--host": "0.0.0.0",
        "--port": "9000",
        "--parallel": "3",
        "--ctx-size": "3072",
        "--n-gpu-layers": "999",
        "--threads": "4",
        "--batch-size": "512",
        "--api-key-file": "key",
    }
    assert {name: option(command, name) for name in asked} == asked


def test_where_no_server_is_installed(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(serve_model, "_PACKAGE", "no_such_package")
    output = cli("serve-model", code=1).err
    assert "no-model-server" in output
    assert "pip install no_such_package" in output


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ("--key-file missing", 2, "key-unreadable"),
        ("--key-file empty", 2, "key-unreadable"),
        ("--model /nowhere.gguf", 1, "nowhere.gguf"),
    ],
)
def test_what_it_cannot_serve(options: str, code: int, words: str, program: Path, cli: Cli) -> None:
    Path("empty").touch()
    assert words in cli(f"serve-model {options}", code=code).err


def test_a_machine_that_asks_a_server_itself_has_no_model_to_serve(program: Path, cli: Cli) -> None:
    Path("config.toml").write_text(
        '[translate.final]\nengine = "openai"\nurl = "http://10.0.0.5:8080"\n'
    )
    assert "serve-itself" in cli("serve-model", code=2).err
    cli("serve-model --show --model starter")


@pytest.mark.slow
def test_it_becomes_the_server(program: Path, tmp_path: Path) -> None:
    done = call("serve-model", "--port", "9000", cwd=tmp_path)
    assert done.returncode == 0
    assert "starting: " in done.stderr
    assert "--port 9000" in (tmp_path / "given").read_text()
