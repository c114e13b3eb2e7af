from __future__ import annotations

import pytest

from pipeline.check.result import Check, Passed, Result, results
from pipeline.core.errors import AudioError, ModelError


def check(name: str, *needs: str, error: Exception | None = None, fix: str = "") -> Check:
    def run() -> Passed:
        if error is not None:
            raise error
        return Passed(f"{name} is there.")

    return Check(name, f"Looking for {name}", run, needs, fix)


def named(found: list[Result]) -> dict[str, bool]:
    return {result.name: result.ok for result in found}


def test_a_stark_error_is_red_with_its_fix_and_code() -> None:
    error = AudioError("audio-silent", "Nothing is heard.", "Unmute it.")
    (result,) = results([check("level", error=error, fix="never said")])
    told = (result.ok, result.message, result.fix, result.code)
    assert told == (False, "Nothing is heard.", "Unmute it.", "audio-silent")
    assert result.took_ms >= 0


def test_an_error_without_a_fix_gets_the_one_of_its_check() -> None:
    error = AudioError("audio-device-failed", "It cannot be opened.")
    (result,) = results([check("audio", error=error, fix="Set audio.device.")])
    assert result.fix == "Set audio.device."


def test_advice_is_green_with_a_fix() -> None:
    passed = Passed("A little loud.", "Turn it down.", "audio-clipping")
    (result,) = results([Check("level", "Listening", lambda: passed)])
    assert (result.ok, result.fix, result.code) == (True, "Turn it down.", "audio-clipping")


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
