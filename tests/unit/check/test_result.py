from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.check.result import FILE, Check, Passed, Result, keep, last_check, results
from pipeline.config.loader import load
from pipeline.core.errors import AudioError, ModelError
from pipeline.protocol.codec import encode
from pipeline.protocol.messages import ConsoleMessage
from tests.support.schemas import problems


def check(name: str, *needs: str, error: Exception | None = None, fix: str = "") -> Check:
    def run() -> Passed:
        if error is not None:
            raise error
        return Passed(f"{name} is there.")

    return Check(name, f"Looking for {name}", run, needs, fix)


def named(found: list[Result]) -> dict[str, bool]:
    return {result.name: result.ok for result in found}


def test_an_error_is_red_with_its_own_fix_or_its_checks_and_advice_is_green() -> None:
    unmuted = AudioError("audio-silent", "Nothing is heard.", "Unmute it.")
    without_fix = AudioError("audio-device-failed", "It cannot be opened.")
    loud = Check("gain", "", lambda: Passed("A little loud.", "Turn it down.", "audio-clipping"))
    level = check("level", error=unmuted, fix="never said")
    planned = [level, check("audio", error=without_fix, fix="x"), loud]
    found = [(each.ok, each.message, each.fix, each.code) for each in results(planned)]
    assert found == [
        (False, "Nothing is heard.", "Unmute it.", "audio-silent"),
        (False, "It cannot be opened.", "x", "audio-device-failed"),
        (True, "A little loud.", "Turn it down.", "audio-clipping"),
    ]


def test_what_needs_something_red_is_left_out_and_what_needs_that_too() -> None:
    broken = ModelError("model-missing", "It is not there.")
    planned = [
        check("first", error=broken),
        check("second", "first"),
        check("third", "second"),
        check("fourth"),
    ]
    begun: list[str] = []
    found = list(results(planned, lambda c: begun.append(c.name)))
    assert named(found) == {"first": False, "fourth": True}
    assert begun == ["first", "fourth"]


def test_a_result_is_there_before_the_next_check_runs() -> None:
    running: list[str] = []
    planned = [check("first"), Check("second", "", lambda: Passed(f"{len(running)}"))]
    for result in results(planned):
        running.append(result.name)
        last = result
    assert last.message == "1"


def test_a_bug_is_not_called_a_failed_check() -> None:
    with pytest.raises(ZeroDivisionError):
        list(results([check("disk", error=ZeroDivisionError())]))


RESULTS = [
    Result("settings", True, "en to es.", "", "", 0.1),
    Result("level", True, "Speech at -41 dBFS.", "Turn the gain up.", "audio-quiet", 3000.0),
    Result("port", False, "Port 8765 is taken.", "Stop it.", "port-in-use", 1.0),
]


def test_what_is_kept_is_what_the_console_is_told(tmp_path: Path) -> None:
    keep(tmp_path, RESULTS)
    last = last_check(tmp_path)
    assert last is not None
    assert [(each.test, each.verdict) for each in last.results] == [
        ("settings", "ok"),
        ("level", "look"),
        ("port", "failed"),
    ]
    assert last.results[2].line == "Port 8765 is taken."
    assert last.results[2].fix == "Stop it."
    assert last.ok is False
    console: dict[str, Any] = orjson.loads(encode(ConsoleMessage(check=last)))
    assert problems("messages/console", console) == []
    console["check"]["results"][0]["verdict"] = "perhaps"
    assert problems("messages/console", console) != []


@pytest.mark.parametrize("content", [b"", b"[]", b'{"utc": 1}', b"\xff", b'{"ok": true}'])
def test_what_cannot_be_read_is_as_if_it_were_not_there(tmp_path: Path, content: bytes) -> None:
    assert last_check(tmp_path) is None
    (tmp_path / FILE).write_bytes(content)
    assert last_check(tmp_path) is None


def test_a_check_of_other_settings_names_what_differs(tmp_path: Path) -> None:
    settings = load(flags={"audio.device": "USB", "translate.target": "es"}).settings
    keep(tmp_path, RESULTS, settings)
    last = last_check(tmp_path, settings)
    assert last is not None
    assert last.differs == ()
    flags = {"audio.device": "built-in", "translate.target": "pt", "log.level": "debug"}
    last = last_check(tmp_path, load(flags=flags).settings)
    assert last is not None
    assert last.differs == ("audio.device", "translate.target")


def test_one_of_an_earlier_version_holds_and_no_setting_reaches_a_page(tmp_path: Path) -> None:
    settings = load(flags={"operator.token": "secret", "audio.device": "USB"}).settings
    keep(tmp_path, RESULTS, settings)
    assert b"USB" in (tmp_path / FILE).read_bytes()
    assert b"secret" not in (tmp_path / FILE).read_bytes()
    assert b"USB" not in encode(ConsoleMessage(check=last_check(tmp_path, settings)))
    keep(tmp_path, RESULTS)
    last = last_check(tmp_path, settings)
    assert last is not None
    assert last.differs == ()


def test_no_folder_is_made_for_it(tmp_path: Path) -> None:
    keep(tmp_path / "sessions", RESULTS)
    assert not (tmp_path / "sessions").exists()
