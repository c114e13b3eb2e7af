"""Server-sent events, line by line."""

from __future__ import annotations

from pipeline.engines.remote.completions import EventReader


def read(*lines: str) -> list[str]:
    reader = EventReader()
    return [data for line in lines if (data := reader.add(line)) is not None]


def test_an_event_is_its_data_when_its_blank_line_has_come() -> None:
    assert read('data: {"a": 1}', "", "data: two", "") == ['{"a": 1}', "two"]
    assert read("data: not over") == []


def test_lines_of_data_are_one_event_and_one_space_is_no_part_of_it() -> None:
    assert read("data: one", "data:  two", "data:three", "") == ["one\n two\nthree"]


def test_comments_pings_and_other_fields_are_left_out() -> None:
    assert read(": ping", "", "event: message", "id: 3", "retry", "data: x", "") == ["x"]
    assert read("", "", ":") == []
