"""The `desk` command."""

from __future__ import annotations

import json
import stat
import webbrowser
from pathlib import Path

import pytest

from pipeline.cli.commands.desk import page
from pipeline.server.volunteers import Volunteers
from scripts.support.program import call
from tests.support.cli import Cli


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of pages that the browser was asked to open."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "operator-token").write_text("se-cret_1\n")
    pages: list[str] = []
    monkeypatch.setattr(webbrowser, "open", pages.append)
    return pages


def test_it_opens_the_page_with_the_token(opened: list[str], cli: Cli) -> None:
    output = cli("desk --port 8123 --browser").out
    file = Path("sessions/open-operator.html").resolve()
    assert opened == [file.as_uri()]
    link = "http://127.0.0.1:8123/operator#token=se-cret_1"
    assert f'content="0; url={link}"' in file.read_text()
    assert link in output


def test_with_https_the_link_is_the_one_that_the_certificate_is_for(
    opened: list[str], cli: Cli
) -> None:
    Path("config.toml").write_text(
        '[server]\nhost = "0.0.0.0"\nport = 1\naddress = "https://captions.local:8937/"\n'
        'tls_cert = "c.pem"\ntls_key = "k.pem"\n'
    )
    assert " https://captions.local:8937/operator#token=" in cli("desk").out
    assert opened == []


def test_for_this_machine_only_a_tablet_is_told_of(opened: list[str], cli: Cli) -> None:
    assert "--host 0.0.0.0" in cli("desk --port 8123").err
    assert opened == []


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ('host = "0.0.0.1"', "http://0.0.0.1:1/"),  # one address; refused at once
        ('address = "https://captions.example.org"', "https://captions.example.org/"),  # a proxy
    ],
)
def test_what_a_tablet_can_reach_it_is_led_to(
    opened: list[str], cli: Cli, server: str, address: str
) -> None:
    Path("config.toml").write_text(f"[server]\nport = 1\n{server}\n")
    output = cli("desk")
    assert "there is no code: " in output.err, "none runs here, and it was asked"
    assert "--host" not in output.err
    assert f" {address}do/undo?token=" in cli("desk --buttons Deck").out
    assert opened == []


@pytest.mark.slow
def test_the_command_line_of_the_browser_has_no_token(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "operator-token").write_text("se-cret_1\n")
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\ntr "\\0" " " < /proc/$$/cmdline > started\n')
    browser.chmod(0o755)
    env = {"BROWSER": str(browser)}
    done = call("desk", "--port", "8123", "--browser", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    started = (tmp_path / "started").read_text()
    file = tmp_path / "sessions" / "open-operator.html"
    assert file.as_uri() in started
    assert "se-cret_1" not in started
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_volunteers_are_listed_and_revoked(opened: list[str], cli: Cli) -> None:
    assert "No volunteer is paired" in cli("desk --list").err
    volunteers = Volunteers(Path("sessions"))
    token = volunteers.add("Maria")
    volunteers.add("Jonas")
    lines = cli("desk --list").out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["Maria", "Jonas"]
    assert "maria: 1 signed out" in cli("desk --revoke maria").out
    assert volunteers.refresh()
    assert volunteers.name_of(token) == ""
    assert "[unknown-volunteer]" in cli("desk --revoke Eve", code=1).err
    assert opened == []


def test_a_page_for_companion_has_each_button_with_its_address(opened: list[str], cli: Cli) -> None:
    notices = ["--notice", "Children may go", "--notice", "¿Café?"]
    given = ["--config", "two.toml", "--port", "8123", "--companion", "a.json", *notices]
    Path("two.toml").write_text('[translate]\nsource = ["en", "es"]\n')
    assert "token=" not in cli("desk --buttons Deck", *given).out
    made = json.loads(Path("a.json").read_bytes())
    assert made["page"]["name"] == "Deck"
    gets = {}
    for button in (each for row in made["page"]["controls"].values() for each in row.values()):
        (action,) = button["steps"]["0"]["action_sets"]["down"]
        gets[button["style"]["text"]] = action["options"]["url"].partition("/do/")[2]
    token = gets["undo"].partition("token=")[2]
    assert gets["next language"] == f"next-language?token={token}"
    assert gets["spoken es"] == f"spoken?lang=es&token={token}"
    assert gets["¿Café?"] == f"notice?text=%C2%BFCaf%C3%A9%3F&lang=en&token={token}"
    assert len(gets) == 3 + 9 + 3 + 2
    assert "[file-unwritable]" in cli("desk --buttons Two --companion no/a.json", code=1).err
    assert cli("desk --list").out.startswith("Deck\t"), "no token that nobody knows"
    assert cli("desk --list").out.count("\n") == 1
    assert opened == []


def test_buttons_have_a_token_of_their_own_that_can_be_ended(opened: list[str], cli: Cli) -> None:
    long = ("--buttons", "Stream Deck", "--notice", "Children may go to their rooms")
    output = cli("desk --port 8123 --buttons", "Stream Deck")
    first = output.out.splitlines()[0]
    assert first.startswith("pause-or-resume   http://127.0.0.1:8123/do/pause-or-resume?token=")
    assert " to their rooms http://" in cli("desk --port 8123", *long).out
    volunteers = Volunteers(Path("sessions"))
    volunteers.refresh()
    assert volunteers.name_of(first.partition("token=")[2]) == "Stream Deck"
    assert "se-cret_1" not in output.out
    cli("desk --revoke", "Stream Deck")
    assert opened == []


def test_each_button_has_a_place_and_gets_its_address() -> None:
    """In version 4 of Companion's own format."""
    addresses = {f"do-{number}": f"http://10.0.0.5:8765/do/{number}" for number in range(35)}
    parsed = json.loads(page("Deck", addresses))
    assert (parsed["version"], parsed["type"], parsed["page"]["name"]) == (4, "page", "Deck")
    (connection,) = parsed["instances"]
    assert parsed["instances"][connection]["instance_type"] == "generic-http"
    rows = parsed["page"]["controls"]
    assert {row: [*columns] for row, columns in rows.items()} == {
        **{str(row): [*"01234567"] for row in range(4)},
        "4": [*"012"],
    }
    grid = parsed["page"]["gridSize"]
    assert (grid["maxColumn"], grid["maxRow"]) == (7, 4)
    actions = []
    for button in (each for columns in rows.values() for each in columns.values()):
        assert button["type"] == "button"
        actions += button["steps"]["0"]["action_sets"]["down"]
    assert {(each["instance"], each["action"]) for each in actions} == {(connection, "get")}
    assert [each["options"]["url"] for each in actions] == [*addresses.values()]
    assert len({each["id"] for each in actions}) == len(addresses)
    assert rows["0"]["3"]["style"]["text"] == "do 3"
