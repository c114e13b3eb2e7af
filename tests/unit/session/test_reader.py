"""Past sessions are found by name, path or "last", and are read even if a crash cut off a line."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs

from pipeline.core.errors import SessionError
from pipeline.records.events import EndEvent
from pipeline.session.reader import (
    Session,
    find_session,
    left_out,
    of_day,
    read_journal,
    read_records,
    session_name,
    sessions,
    start_utc,
    started,
)
from scripts.support.journal import message, record, session, utc

ONE = message(1, "Grace", "Gracia")
TWO = message(2, "Peace", "Paz")


def test_a_session_is_found_by_name_path_and_last(tmp_path: Path) -> None:
    first = session(tmp_path, [ONE], "2026-11-15T09-30-00")
    second = session(tmp_path, [ONE], "2026-11-22T09-30-00")
    (tmp_path / "operator-token").write_text("x")
    (tmp_path / "other").mkdir()
    # It cannot even be looked into, like a disk's lost+found.
    (tmp_path / "odd").symlink_to("x" * 300)
    assert sessions(tmp_path) == [first, second]
    assert find_session("last", tmp_path) == second
    assert find_session("2026-11-15T09-30-00", tmp_path) == first
    assert find_session(str(first), tmp_path / "elsewhere") == first


def test_the_last_session_is_the_last_one_with_captions(tmp_path: Path) -> None:
    service = session(tmp_path, [ONE], "2026-11-22T09-30-00")
    failed = session(tmp_path, [], "2026-11-22T12-00-00")  # restarted without a microphone
    assert find_session("last", tmp_path) == service
    assert find_session(failed.name, tmp_path) == failed
    (service / "captions.jsonl").write_bytes(b"")
    assert find_session("last", tmp_path) == failed


def test_a_missing_session_is_told_with_those_there_are(tmp_path: Path) -> None:
    for day in range(10, 20):
        session(tmp_path, [], f"2026-11-{day}")
    with pytest.raises(SessionError) as caught:
        find_session("2026-12-01", tmp_path)
    assert caught.value.code == "session-missing"
    assert "2026-12-01" in caught.value.message
    assert caught.value.fix.startswith("The newest are: 2026-11-12, ")
    assert caught.value.fix.endswith("2026-11-19.")


@pytest.mark.parametrize("name", ["last", "", "2026", "x" * 300])
def test_where_no_session_is_the_fix_names_the_option(tmp_path: Path, name: str) -> None:
    with pytest.raises(SessionError, match="--sessions") as caught:
        find_session(name, tmp_path / "nowhere")
    assert caught.value.code == "session-missing"


@pytest.mark.parametrize("tail", [b"", b'{"type":"capt', b'{"type":"caption","seq":3}\n', b"\0\0"])
def test_a_torn_last_line_is_left_out(tmp_path: Path, tail: bytes) -> None:
    folder = session(tmp_path, [ONE, TWO])
    with (folder / "captions.jsonl").open("ab") as journal:
        journal.write(tail)
    assert read_journal(folder) == [ONE, TWO]


def test_any_other_bad_line_is_left_out_and_told_once(tmp_path: Path) -> None:
    folder = session(tmp_path, [ONE, TWO])
    file = folder / "captions.jsonl"
    one, two = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"\n{}\n" + one + b"\0\0\n" + two)
    with capture_logs() as logs:
        assert read_journal(folder) == [ONE, TWO]
        assert read_journal(folder) == [ONE, TWO]
    (line,) = logs
    assert (line["file"], line["count"], line["lines"]) == (str(file), 2, "2, 4")
    assert left_out(folder) == ("captions.jsonl: 2, 4",)
    file.write_bytes(one + two)
    assert read_journal(folder) == [ONE, TWO]
    assert left_out(folder) == ()


def test_a_file_of_which_nothing_can_be_read_is_named(tmp_path: Path) -> None:
    folder = session(tmp_path, [ONE])
    (folder / "captions.jsonl").write_bytes(b"\n{}\n{}\n")
    with pytest.raises(SessionError, match=r"captions\.jsonl, line 2: .*Delete") as caught:
        read_journal(folder)
    assert caught.value.code == "session-unreadable"


END = EndEvent(utc=utc(9), unfinished=0, audio_s=9.0)


@pytest.mark.parametrize(
    "change", [{"audio_s": "9"}, {"audio_s": True}, {"unfinished": 0.5}, {"utc": None}]
)
def test_a_record_that_is_not_as_we_write_it_is_left_out(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    folder = session(tmp_path, [], records=[END])
    file = folder / "diagnostics.jsonl"
    whole = file.read_bytes()
    endless = b'{"type":"event","event":"end","utc":"","unfinished":0,"audio_s":NaN}\n'
    file.write_bytes(orjson.dumps(orjson.loads(whole) | change) + b"\n" + endless + whole)
    assert read_records(folder) == [END]
    assert left_out(folder) == ("diagnostics.jsonl: 1, 2",)


def test_what_a_later_version_adds_is_left_out(tmp_path: Path) -> None:
    folder = session(tmp_path, [], records=[END])
    file = folder / "diagnostics.jsonl"
    whole = orjson.loads(file.read_bytes())
    later = [whole | {"mood": "good"}, whole | {"event": "applause"}, {"type": "weather"}]
    file.write_bytes(b"".join(orjson.dumps(each) + b"\n" for each in later))
    assert read_records(folder) == [END]


def test_a_record_of_before_a_field_was_added_is_read(tmp_path: Path) -> None:
    said = record(1, "Grace", "Gracia")
    folder = session(tmp_path, [ONE], records=[said])
    line = orjson.loads((folder / "diagnostics.jsonl").read_bytes())
    for later in ("flags", "quality", "lang_prob", "lost_tail_s", "tail_recovered", "recognizer"):
        del line[later]
    (folder / "diagnostics.jsonl").write_bytes(orjson.dumps(line) + b"\n")
    assert read_records(folder) == [said]


def test_a_session_reads_each_file_when_it_is_asked_for(tmp_path: Path) -> None:
    kept = Session(session(tmp_path, [ONE, TWO], records=[record(1, "Grace", "Gracia"), END]))
    (kept.folder / "diagnostics.jsonl").rename(tmp_path / "elsewhere")
    assert kept.captions == [ONE, TWO]
    assert kept.langs == {"source": "en", "target": "es"}
    with pytest.raises(SessionError, match=r"diagnostics\.jsonl cannot be read: No such file"):
        _ = kept.utterances
    (tmp_path / "elsewhere").rename(kept.folder / "diagnostics.jsonl")
    assert [said.id for said in kept.shown] == [1]
    assert (kept.heard_s, kept.dropped, kept.events) == (9.0, {}, [END])


def test_a_name_says_when_its_session_was_started_or_nothing() -> None:
    began = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
    assert start_utc("2026-11-22T09-30-00") == start_utc("2026-11-22T09-30-00-2") == began
    assert start_utc("2026-11-31T09-30-00") is start_utc("Christmas") is None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Set the time zone of this process."""

    def put(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield put
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("zone", "name"),
    [
        ("UTC0", "2026-11-22T01-30-00"),
        ("CST6CDT", "2026-11-21T19-30-00-0600"),
        ("IST-5:30", "2026-11-22T07-00-00+0530"),
    ],
)
def test_a_saturday_evening_is_a_saturday(
    clock: Callable[[str], None], zone: str, name: str
) -> None:
    clock(zone)
    began = datetime(2026, 11, 22, 1, 30, tzinfo=UTC)
    assert session_name(began) == name
    for found in (name, f"{name}-2"):
        assert start_utc(found) == began
        there = started(found)
        assert there is not None
        assert there.strftime("%H-%M") in name


def folders(directory: Path, *names: str, empty: Collection[str] = ()) -> None:
    for name in names:
        (directory / name).mkdir(parents=True)
        (directory / name / "captions.jsonl").write_text("" if name in empty else "{}\n")


def test_sessions_are_in_the_order_of_time_whatever_their_offsets(tmp_path: Path) -> None:
    names = [
        "2026-11-22T01-00-00",
        "2026-11-21T19-30-00-0600",
        "2026-11-22T03-00-00+0100",
        "2026-11-22T03-00-00",
        "2026-11-22T03-00-00-2",
    ]
    folders(tmp_path, *reversed(names))
    assert [folder.name for folder in sessions(tmp_path)] == names


def test_a_day_finds_its_session_by_the_churchs_own_clock(tmp_path: Path) -> None:
    saturday, sunday = "2026-11-21T19-00-00-0600", "2026-11-15T10-00-00-0600"
    failed = "2026-11-22T09-00-00-0600"
    folders(tmp_path, saturday, sunday, failed, empty={failed})
    assert find_session("2026-11-21", tmp_path).name == saturday
    assert find_session("last saturday", tmp_path).name == saturday
    assert find_session("Sunday", tmp_path).name == sunday  # the 22nd has no captions
    for words in ("2026-11-20", "last monday", "Christmas", "2026-13-40"):
        with pytest.raises(SessionError, match=r"\[session-missing\]"):
            find_session(words, tmp_path)
    today = date(2026, 11, 22)
    there = sessions(tmp_path)
    assert [folder.name for folder in of_day("yesterday", there, today)] == [saturday]
    assert [folder.name for folder in of_day("today", there, today)] == [failed]


@pytest.mark.parametrize(
    "words",
    ["22.11.2026", "22/11/2026", "11/22/2026", "22 November 2026", "november 22, 2026"],
)
def test_a_day_is_written_as_people_write_it(tmp_path: Path, words: str) -> None:
    folders(tmp_path, "2026-11-22T10-00-00", "2026-11-15T10-00-00")
    assert find_session(words, tmp_path).name == "2026-11-22T10-00-00"


@pytest.mark.parametrize(
    ("words", "days"),
    [("last week", ["2026-11-15"]), ("November", ["2026-11-01", "2026-11-15"]),
     ("november 2025", ["2025-11-09"]), ("october", [])],
)  # fmt: skip
def test_a_week_and_a_month_have_their_services(
    tmp_path: Path, words: str, days: list[str]
) -> None:
    every = ("2025-11-09", "2026-11-01", "2026-11-15")
    folders(tmp_path, *(f"{day}T10-00-00" for day in every))
    found = of_day(words, sessions(tmp_path), date(2026, 11, 18))
    assert [folder.name[:10] for folder in found] == days


def test_a_date_that_may_be_two_days_is_the_one_with_a_service(tmp_path: Path) -> None:
    folders(tmp_path, "2026-03-04T10-00-00")
    assert find_session("3/4/2026", tmp_path) == find_session("4/3/2026", tmp_path)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("2026-11-22", "2026-11-22T09-00-00, 2026-11-22T11-00-00"),
        ("3/4/2026", "2026-04-03T10-00-00, 2026-03-04T10-00-00"),  # April or March
    ],
)
def test_what_may_be_two_services_asks_which(tmp_path: Path, words: str, names: str) -> None:
    folders(tmp_path, *names.split(", "))
    with pytest.raises(SessionError, match="There are 2 sessions") as caught:
        find_session(words, tmp_path)
    assert caught.value.code == "session-ambiguous"
    assert names in caught.value.fix
