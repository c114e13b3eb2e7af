"""Calls in a separate process, and what ends them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipeline.core.errors import NotesError
from pipeline.core.limited import Limits, call
from tests.support import readers

pytestmark = pytest.mark.slow  # each starts a process

LIMITS = Limits(seconds=120, memory_bytes=1 << 30, answer_bytes=1_000_000)


def failed(what: str) -> NotesError:
    return NotesError("notes-unreadable", f"a.pdf {what}.", "Save it again.")


def test_the_value_comes_back_as_the_function_is_annotated() -> None:
    found = asyncio.run(call(LIMITS, failed, readers.find, ["b", "a"], places=2))
    assert found == readers.Found(frozenset({"a", "b"}), ((0, "é"), (1, "é")))


def test_an_error_of_ours_comes_back_as_it_was_raised() -> None:
    with pytest.raises(NotesError) as refused:
        asyncio.run(call(LIMITS, failed, readers.refuse, "a.txt"))
    error = refused.value
    assert (error.code, error.fix) == ("notes-empty", "Type some.")
    assert error.message == "a.txt: there is no text in it."


@pytest.mark.parametrize(
    ("function", "limits", "said"),
    [
        (readers.go_deep, LIMITS, "cannot be read (RecursionError: "),
        (readers.fill_memory, LIMITS, "takes more than 1.07 GB of memory to read"),
        (readers.say_much, LIMITS, "has more than 1 MB of content"),
        (readers.crash, LIMITS, "cannot be read: its reader crashed (Aborted)"),
        (readers.think, Limits(seconds=1, memory_bytes=1 << 30), "took more than 1 s to read"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_a_strange_file_does_to_its_reader_is_one_sentence(
    function: Callable[[], Any], limits: Limits, said: str
) -> None:
    with pytest.raises(NotesError) as refused:
        asyncio.run(call(limits, failed, function))
    assert refused.value.message.startswith(f"a.pdf {said}")


def test_a_cancelled_call_leaves_no_process_behind(tmp_path: Path) -> None:
    async def cancelled() -> int:
        reading = asyncio.create_task(call(LIMITS, failed, readers.wait, tmp_path / "pid"))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await asyncio.sleep(0.01)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        assert reading.cancelled()
        return int((tmp_path / "pid").read_text())

    assert not psutil.pid_exists(asyncio.run(cancelled()))
