from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.check.last_check import FILE, keep, last_check
from pipeline.check.result import Result
from pipeline.config.loader import load
from pipeline.protocol.codec import encode
from pipeline.protocol.messages import ConsoleMessage
from tests.support.schemas import problems

RESULTS = [
    Result("settings", True, "en to es.", "", "", 0.1),
    Result("level", True, "Speech at -41 dBFS.", "Turn the gain up.", "audio-quiet", 3000.0),
    Result("port", False, "Port 8765 is taken.", "Stop it.", "port-in-use", 1.0),
]


def test_what_is_kept_is_what_the_console_is_told(tmp_path: Path) -> None:
    keep(tmp_path, RESULTS)
    told = last_check(tmp_path)
    assert told is not None
    assert [(each.test, each.verdict) for each in told.results] == [
        ("settings", "ok"),
        ("level", "look"),
        ("port", "failed"),
    ]
    assert told.results[2].line == "Port 8765 is taken."
    assert told.results[2].fix == "Stop it."
    assert told.ok is False
    console: dict[str, Any] = orjson.loads(encode(ConsoleMessage(check=told)))
    assert problems("messages/console", console) == []
    console["check"]["results"][0]["verdict"] = "perhaps"
    assert problems("messages/console", console) != []


def test_the_last_one_counts(tmp_path: Path) -> None:
    keep(tmp_path, RESULTS)
    keep(tmp_path, RESULTS[:2])
    told = last_check(tmp_path)
    assert told is not None
    assert told.ok
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"utc": 1}', b"\xff", b'{"ok": true}'])
def test_what_cannot_be_read_is_as_if_it_were_not_there(tmp_path: Path, content: bytes) -> None:
    assert last_check(tmp_path) is None
    (tmp_path / FILE).write_bytes(content)
    assert last_check(tmp_path) is None


def test_a_check_of_other_settings_names_what_differs(tmp_path: Path) -> None:
    settings = load(flags={"audio.device": "USB", "translate.target": "es"}).settings
    keep(tmp_path, RESULTS, settings)
    told = last_check(tmp_path, settings)
    assert told is not None
    assert told.differs == ()
    flags = {"audio.device": "built-in", "translate.target": "pt", "log.level": "debug"}
    told = last_check(tmp_path, load(flags=flags).settings)
    assert told is not None
    assert told.differs == ("audio.device", "translate.target")


def test_one_of_an_earlier_version_holds_and_no_setting_reaches_a_page(tmp_path: Path) -> None:
    settings = load(flags={"operator.token": "secret", "audio.device": "USB"}).settings
    keep(tmp_path, RESULTS, settings)
    assert b"USB" in (tmp_path / FILE).read_bytes()
    assert b"secret" not in (tmp_path / FILE).read_bytes()
    assert b"USB" not in encode(ConsoleMessage(check=last_check(tmp_path, settings)))
    keep(tmp_path, RESULTS)
    told = last_check(tmp_path, settings)
    assert told is not None
    assert told.differs == ()


def test_no_folder_is_made_for_it(tmp_path: Path) -> None:
    keep(tmp_path / "sessions", RESULTS)
    assert not (tmp_path / "sessions").exists()
