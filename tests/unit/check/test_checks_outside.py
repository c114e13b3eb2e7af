from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.check.checks import standing_checks
from pipeline.check.result import Result, results
from pipeline.config.loader import load
from scripts.support.nats_server import NatsServer
from scripts.support.web_recorder import WebRecorder
from tests.support.relays import needs_nats

USERS = 'authorization { users = [ { user: church, password: "right" } ] }\n'


def told(tmp_path: Path, **flags: str) -> dict[str, Result]:
    """Return the results of the checks of outside services, by name."""
    ours = {"session.directory": str(tmp_path / "sessions")}
    settings = load(flags=ours | {key.replace("__", "."): v for key, v in flags.items()}).settings
    checks = [c for c in standing_checks(settings) if c.name.startswith(("publish", "output-"))]
    return {result.name: result for result in results(checks)}


def test_a_program_that_is_there_is_green_and_is_sent_nothing(tmp_path: Path) -> None:
    with WebRecorder() as server:
        result = told(tmp_path, outputs__vmix=server.url)["output-vmix"]
        assert server.sent == []
    assert (result.verdict, result.code) == ("ok", "")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/api?cid=secret", "https://127.0.0.1:1/x"])
def test_a_program_that_is_not_there_is_named_and_its_secret_is_not(
    tmp_path: Path, url: str
) -> None:
    result = told(tmp_path, outputs__youtube=url)["output-youtube"]
    assert (result.verdict, result.code) == ("look", "output-unreachable")
    assert "the url of youtube in [[outputs]]" in result.fix
    assert "IPAddressAllow=" in result.fix
    assert "secret" not in result.message + result.fix


def test_a_nats_server_that_is_not_there_may_come_later(tmp_path: Path) -> None:
    needs_nats()
    result = told(tmp_path, publish__nats="nats://church:secret@127.0.0.1:1")["publish"]
    assert (result.verdict, result.code) == ("look", "publish-unreachable")
    assert "IPAddressAllow=" in result.fix
    assert "secret" not in result.message + result.fix


@pytest.mark.slow
def test_a_nats_server_says_who_is_let_in(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path / "nats", config=USERS) as server:
        verdicts = {}
        for password in ("right", "wrong"):
            file = tmp_path / password
            file.write_text(f"church:{password}")
            result = told(tmp_path, publish__nats=server.url, publish__credentials=str(file))
            verdicts[password] = (result["publish"].verdict, result["publish"].code)
    assert verdicts == {"right": ("ok", ""), "wrong": ("failed", "publish-refused")}
