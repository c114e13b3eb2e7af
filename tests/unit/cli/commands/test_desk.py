"""The `desk` command."""

from __future__ import annotations

import json
import stat
import webbrowser
from pathlib import Path

import pytest

from pipeline.cli.commands.desk import page
from pipeline.cli.main import main
from pipeline.server.volunteers import Volunteers
from scripts.support.program import call


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of pages that the browser was asked to open."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "operator-token").write_text("se-cret_1\n")
    pages: list[str] = []
    monkeypatch.setattr(webbrowser, "open", pages.append)
    return pages


def test_it_opens_the_page_with_the_token(
    opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["desk", "--port", "8123", "--browser"]) == 0
    file = Path("sessions/open-operator.html").resolve()
    assert opened == [file.as_uri()]
    link = "http://127.0.0.1:8123/operator#token=se-cret_1"
    assert f'content="0; url={link}"' in file.read_text()
    assert link in capsys.readouterr().out


def test_with_https_the_link_is_the_one_that_the_certificate_is_for(
    opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("config.toml").write_text(
        '[server]\nhost = "0.0.0.0"\nport = 1\naddress = "https://captions.local:8937/"\n'
        'tls_cert = "c.pem"\ntls_key = "k.pem"\n'
    )
    assert main(["desk"]) == 0
    assert " https://captions.local:8937/operator#token=" in capsys.readouterr().out
    assert opened == []


def test_for_this_machine_only_a_tablet_is_told_of(
    opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["desk", "--port", "8123"]) == 0
    assert "--host 0.0.0.0" in capsys.readouterr().err
    assert opened == []


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ('host = "0.0.0.1"', "http://0.0.0.1:1/"),  # one address; refused at once
        ('address = "https://captions.example.org"', "https://captions.example.org/"),  # a proxy
    ],
)
def test_what_a_tablet_can_reach_it_is_led_to(
    opened: list[str], capsys: pytest.CaptureFixture[str], server: str, address: str
) -> None:
    Path("config.toml").write_text(f"[server]\nport = 1\n{server}\n")
    assert main(["desk"]) == 0
    output = capsys.readouterr()
    assert "there is no code: " in output.err, "none runs here, and it was asked"
    assert "--host" not in output.err
    assert main(["desk", "--buttons", "Deck"]) == 0
    assert f" {address}do/undo?token=" in capsys.readouterr().out
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


def test_volunteers_are_listed_and_revoked(
    opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["desk", "--list"]) == 0
    assert "No volunteer is paired" in capsys.readouterr().err
    volunteers = Volunteers(Path("sessions"))
    token = volunteers.add("Maria")
    volunteers.add("Jonas")
    assert main(["desk", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["Maria", "Jonas"]
    assert main(["desk", "--revoke", "maria"]) == 0
    assert "maria: 1 signed out" in capsys.readouterr().out
    assert volunteers.refresh()
    assert volunteers.name_of(token) == ""
    assert main(["desk", "--revoke", "Eve"]) == 1
    assert "[unknown-volunteer]" in capsys.readouterr().err
    assert opened == []


def test_a_page_for_companion_has_each_button_with_its_address(
    opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    notices = ["--notice", "Children may go", "--notice", "¿Café?"]
    given = ["--config", "two.toml", "--port", "8123", "--companion", "a.json", *notices]
    Path("two.toml").write_text('[translate]\nsource = ["en", "es"]\n')
    assert main(["desk", "--buttons", "Deck", *given]) == 0
    assert "token=" not in capsys.readouterr().out
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
    assert opened == []


def test_buttons_have_a_token_of_their_own_that_can_be_ended(
    opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["desk", "--port", "8123", "--buttons", "Stream Deck"]) == 0
    output = capsys.readouterr()
    first = output.out.splitlines()[0]
    assert first.startswith("pause-or-resume   http://127.0.0.1:8123/do/pause-or-resume?token=")
    volunteers = Volunteers(Path("sessions"))
    volunteers.refresh()
    assert volunteers.name_of(first.partition("token=")[2]) == "Stream Deck"
    assert "se-cret_1" not in output.out
    assert main(["desk", "--revoke", "Stream Deck"]) == 0
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
