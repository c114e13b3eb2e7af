"""An error that ends a thread is always seen."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import pytest

from pipeline.core.errors import ResourceError
from pipeline.core.threads import Thread, described, watched


def breaks() -> None:
    raise ValueError("a bug")


def test_an_error_that_ends_a_thread_of_ours_or_of_a_library_is_told() -> None:
    ended: SimpleQueue[tuple[str, BaseException]] = SimpleQueue()
    before = threading.excepthook
    with watched(lambda name, error: ended.put((name, error))):
        for thread in (Thread(breaks, "ours"), threading.Thread(target=breaks, name="theirs")):
            thread.start()
            thread.join()
    assert threading.excepthook is before
    reported = [ended.get(), ended.get()]
    assert [(name, described(error)) for name, error in reported] == [
        ("ours", "ValueError: a bug"),
        ("theirs", "ValueError: a bug"),
    ]


def test_a_thread_that_asks_to_exit_is_told_as_well() -> None:
    ended: list[str] = []
    with watched(lambda _, error: ended.append(described(error))):
        thread = Thread(lambda: exec("raise SystemExit"), "leaver")
        thread.start()
        thread.join()
    assert ended == ["SystemExit"]


def test_where_it_is_wanted_the_work_begins_anew_after_each_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pipeline.core.threads._AGAIN_S", (0.0,))
    errors: list[BaseException] = []

    def work() -> None:
        if len(errors) < 3:
            breaks()

    ended: list[str] = []
    with watched(lambda name, _: ended.append(name)):
        thread = Thread(work, "writer", failed=errors.append, again=True)
        thread.start()
        thread.join()
    assert [described(error) for error in errors] == ["ValueError: a bug"] * 3
    assert ended == []


def test_one_task_that_fails_is_handed_to_whoever_asked() -> None:
    errors: list[BaseException] = []
    thread = Thread(breaks, "task", failed=errors.append)
    thread.start()
    thread.join()
    assert [described(error) for error in errors] == ["ValueError: a bug"]


def test_an_owner_that_cannot_go_on_ends_the_service() -> None:
    def hopeless(error: BaseException) -> None:
        raise error

    ended: list[str] = []
    with watched(lambda name, _: ended.append(name)):
        thread = Thread(breaks, "keeper", failed=hopeless, again=True)
        thread.start()
        thread.join()
    assert ended == ["keeper"]


def test_a_thread_that_the_system_refuses_is_an_error_with_a_sentence() -> None:
    def refused() -> int:
        before = threading.stack_size(2**46)  # more addresses than exist
        try:
            with pytest.raises(ResourceError, match="no further thread") as caught:
                Thread(breaks, "large").start()
        finally:
            threading.stack_size(before)
        return caught.value.exit_code

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(refused).result() == 1
