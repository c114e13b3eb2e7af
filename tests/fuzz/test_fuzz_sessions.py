"""Sessions damaged by a bad disk: read as far as they are intact, resumed, or left alone."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.captions.board import CaptionBoard
from pipeline.captions.export import FORMATS, export
from pipeline.config.loader import load
from pipeline.core.errors import ProtocolError
from pipeline.protocol.codec import parse_caption
from pipeline.session.reader import JOURNAL, RECORDS, left_out, read_journal, read_records
from pipeline.session.recorder import SessionRecorder
from pipeline.session.resume import unfinished_session
from tests.support.daemon import break_midway
from tests.support.material import FUZZ, VALUES, accepted, damaged_lines

pytestmark = pytest.mark.slow
SOME = settings(FUZZ, max_examples=max(40, settings().max_examples // 10))
WORTH_RESUMING = 60.0


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sessions folder of a daemon that crashed while captioning."""
    return break_midway(tmp_path_factory.mktemp("crashed"))


class Session:
    """The session that the daemon of `crashed` left."""

    def __init__(self, directory: Path) -> None:
        (self.folder,) = (each for each in directory.iterdir() if each.is_dir())
        self.journal = (self.folder / JOURNAL).read_bytes().splitlines(keepends=True)
        self.records = (self.folder / RECORDS).read_bytes().splitlines(keepends=True)
        last = datetime.fromisoformat(orjson.loads(self.records[-1])["utc"])
        self.now_utc = last + timedelta(seconds=WORTH_RESUMING)


@pytest.fixture(scope="module")
def session(crashed: Path) -> Session:
    return Session(crashed)


def go_on(session: Session, folder: Path, journal: bytes, records: bytes) -> bool:
    """Resume a copy of the session with these files, as a daemon does; return whether it did."""
    shutil.rmtree(folder, ignore_errors=True)
    copy = shutil.copytree(session.folder, folder / session.folder.name)
    (copy / JOURNAL).write_bytes(journal)
    (copy / RECORDS).write_bytes(records)
    wanted = load(flags={"session.directory": str(folder)}).settings
    earlier = unfinished_session(wanted, session.now_utc)
    if earlier is None:  # then the session stays as it is
        assert (copy / JOURNAL).read_bytes() == journal
        assert (copy / RECORDS).read_bytes() == records
        return False
    earlier.set_by_operator("blank", "unblank")
    round(earlier.audio_s(session.now_utc) * 16_000)
    board = CaptionBoard("session", "en", "es", 200)
    board.restore(earlier.messages)
    recorder = SessionRecorder(
        folder, source="en", targets=("es",), on_fault=print, earlier=earlier
    )
    recorder.start()
    assert recorder.close(10)
    whole = journal[: journal.rfind(b"\n") + 1]
    assert (copy / JOURNAL).read_bytes() == whole, "not a whole line is lost"
    assert {message.id for message in earlier.messages} >= {m.id for m in board.snapshot().messages}
    return True


def test_an_undamaged_session_goes_on(session: Session, tmp_path: Path) -> None:
    assert go_on(session, tmp_path / "s", b"".join(session.journal), b"".join(session.records))


@SOME
@given(data=st.data())
def test_damaged_lines_are_gone_on_with_or_left(
    session: Session, tmp_path: Path, data: st.DataObject
) -> None:
    journal = data.draw(damaged_lines(session.journal), "journal")
    records = data.draw(damaged_lines(session.records[-12:]), "records")
    go_on(session, tmp_path / "s", journal, b"".join(session.records[:-12]) + records)


@SOME
@given(data=st.data())
def test_records_of_any_shape_are_gone_on_with_or_left(
    session: Session, tmp_path: Path, data: st.DataObject
) -> None:
    """Valid JSON, but not as we write it: an earlier daemon must not break every later one."""
    at = data.draw(st.integers(0, len(session.records) - 1))
    record: dict[str, Any] = orjson.loads(session.records[at])
    key = data.draw(st.sampled_from(sorted(record)))
    if data.draw(st.booleans()):
        record[key] = data.draw(VALUES)
    else:
        del record[key]
    try:
        changed = orjson.dumps(record) + b"\n"
    except orjson.JSONEncodeError:  # a number beyond 64 bits
        return
    records = [*session.records[:at], changed, *session.records[at + 1 :]]
    go_on(session, tmp_path / "s", b"".join(session.journal), b"".join(records))


def parses(line: bytes) -> bool:
    try:
        parse_caption(line)
    except ProtocolError:
        return False
    return True


@SOME
@given(data=st.data())
def test_a_damaged_journal_is_read_without_its_damaged_lines_or_refused_by_file_and_line(
    session: Session, tmp_path: Path, data: st.DataObject
) -> None:
    content = data.draw(damaged_lines(session.journal))
    (tmp_path / JOURNAL).write_bytes(content)
    messages = accepted(lambda: read_journal(tmp_path), str(tmp_path / JOURNAL))
    if messages is not None:
        lines = [line for line in content.split(b"\n") if line.strip()]
        assert len(messages) == sum(map(parses, lines))
        # An unreadable last line is torn, and is not reported.
        assert bool(left_out(tmp_path)) == (not all(map(parses, lines[:-1])))
        for form in FORMATS:
            export(messages, form, "both")


@SOME
@given(data=st.data())
def test_damaged_records_are_read_or_refused_by_file_and_line(
    session: Session, tmp_path: Path, data: st.DataObject
) -> None:
    (tmp_path / RECORDS).write_bytes(data.draw(damaged_lines(session.records)))
    accepted(lambda: read_records(tmp_path), str(tmp_path / RECORDS))


@FUZZ
@given(st.data())
def test_a_caption_with_any_value_is_one_or_refused(data: st.DataObject) -> None:
    fields: dict[str, Any] = {
        **dict.fromkeys(("seq", "id", "revision", "stable"), 1),
        "type": "caption",
        "final": True,
        "start_s": 0.0,
        "end_s": 1.0,
        "source": {"lang": "en", "text": "amen"},
        "target": {"lang": "es", "text": "amén", "engine": "gemma"},
    }
    fields[data.draw(st.sampled_from(sorted(fields)))] = data.draw(VALUES)
    try:
        line = orjson.dumps(fields)
    except orjson.JSONEncodeError:
        return
    message = accepted(lambda: parse_caption(line))
    if message is not None:
        for form in FORMATS:
            export([message], form, "both")
        round(message.end_s * 16_000)
