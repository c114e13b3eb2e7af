"""After a crash the session continues: history, ids, times and the operator's settings."""

from __future__ import annotations

import errno
import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.captions.redaction import Redaction
from pipeline.cli.main import main
from pipeline.config.loader import load
from pipeline.core import files
from pipeline.core.errors import AudioError
from pipeline.core.files import GrowingFile
from pipeline.core.formats import utc_now
from pipeline.core.reports import Fault
from pipeline.records.events import CommandEvent
from pipeline.records.health import Dropped
from pipeline.review.store import Review
from pipeline.session.reader import Session, read_journal, read_records
from pipeline.session.resume import Unfinished, in_use, unfinished_session
from scripts.support.journal import message
from scripts.support.records import health_record
from tests.support import daemon
from tests.support.daemon import SHORT as SCRIPT
from tests.support.daemon import SHORT_S as DURATION_S
from tests.support.daemon import ShortService as Service
from tests.support.daemon import break_midway
from tests.support.fakes import FakeRecognizer, FakeSource, pcm_of
from tests.support.patience import wait_for
from tests.support.recorder import lines, recorder, spoken

pytestmark = pytest.mark.slow
LATER = timedelta(seconds=60)
NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sessions of a daemon that crashed while it was captioning."""
    return break_midway(tmp_path_factory.mktemp("crashed"))


@pytest.fixture
def sessions(crashed: Path, tmp_path: Path) -> Path:
    """Return a copy of the crashed sessions."""
    return shutil.copytree(crashed, tmp_path / "sessions")


def found(sessions: Path, *, later: timedelta = LATER, **flags: Any) -> Unfinished | None:
    settings = load(flags={"session.directory": str(sessions), **flags}).settings
    last = lines(crashed_folder(sessions))[-1]
    return unfinished_session(settings, datetime.fromisoformat(last["utc"]) + later)


def crashed_folder(sessions: Path) -> Path:
    """Return the oldest session."""
    return min(each for each in sessions.iterdir() if each.is_dir())


@pytest.fixture
def before(sessions: Path) -> Unfinished:
    """Return the crashed session."""
    session = found(sessions)
    assert session is not None
    return session


def test_the_next_run_goes_on_where_the_last_one_broke(sessions: Path, before: Unfinished) -> None:
    seen: list[dict[str, Any]] = []

    async def look(service: Service) -> None:
        async with service.connect() as socket:
            seen.append(orjson.loads(await socket.recv()))

    service = Service(sessions)
    assert service.run(look) == 0
    (hello,) = seen
    assert service.app.folder == before.folder
    assert hello["session"] == f"{before.folder.name}+1"
    assert hello["state"] == "blank"
    history = [c["id"] for c in hello["captions"]]
    assert history[: len(before.messages)] == [m.id for m in before.messages]
    assert hello["seq"] >= before.messages[-1].seq

    journal = service.journal()
    ids, seqs = [line["id"] for line in journal], [line["seq"] for line in journal]
    assert len(ids) == len(set(ids)) == len(before.messages) + len(SCRIPT)
    assert seqs == sorted(seqs)
    assert min(ids[len(before.messages) :]) == before.last_id + 1
    starts = [line["start_s"] for line in journal]
    assert starts == sorted(starts)
    cues = (service.app.folder / "transcript.es.srt").read_text().count(" --> ")
    assert cues == len(journal)
    assert service.app._context.announcer.state == ("ended", "")
    assert service.app._context.facts.blank, "what the operator darkened, a crash must not light up"
    assert json.loads((service.app.folder / "summary.json").read_text())["utterances"] == len(
        service.records()
    )

    # The session has ended now, so the next one is new.
    again = Service(sessions)
    assert again.run() == 0
    assert again.app.folder != service.app.folder


def test_what_was_said_stays_where_several_languages_are_spoken_after_the_crash(
    sessions: Path,
) -> None:
    folder = crashed_folder(sessions)
    said = (folder / "transcript.en.srt").read_bytes()
    assert said
    several: dict[str, Any] = {"translate.source": ["en", "es"]}
    earlier = found(sessions, **several)
    assert recorder(sessions, targets=("es", "en"), earlier=earlier).close(60.0)
    assert (folder / "transcript.en.srt").read_bytes() == said


def test_a_kill_leaves_neither_an_end_nor_a_whole_last_line(sessions: Path) -> None:
    (folder,) = sessions.iterdir()
    records = (folder / "diagnostics.jsonl").read_bytes().splitlines(keepends=True)
    kept = [r for r in records if orjson.loads(r).get("event") not in ("broken", "end")][:-1]
    (folder / "diagnostics.jsonl").write_bytes(b"".join(kept) + b'{"type":"heal')
    journal = (folder / "captions.jsonl").read_bytes()
    (folder / "captions.jsonl").write_bytes(journal + b'{"type":"caption","seq":99')
    (folder / "summary.json").unlink()

    service = Service(sessions)
    assert service.run() == 0
    assert service.app.folder == folder
    assert (folder / "captions.jsonl").read_bytes().startswith(journal)
    assert len(service.finals()) == len(journal.splitlines()) + len(SCRIPT)
    assert [r["event"] for r in service.records("event")].count("resumed") == 1


@pytest.mark.parametrize(
    ("flags", "later"),
    [
        ({}, timedelta(hours=1)),
        ({"session.resume_s": 30}, LATER),
        ({"session.resume_s": 0}, LATER),
        ({}, -LATER),  # the clock was set back: new and old look alike
        ({"translate.target": "fr"}, LATER),
    ],
)
def test_what_is_old_or_of_other_languages_is_left(
    sessions: Path, flags: dict[str, Any], later: timedelta
) -> None:
    assert found(sessions) is not None
    assert found(sessions, later=later, **flags) is None


def test_a_rehearsal_neither_goes_on_nor_is_gone_on_with(
    sessions: Path, before: Unfinished
) -> None:
    recognizer = FakeRecognizer([], fails=bool)
    service = daemon.Service(sessions, mode="dry-run", recognizer=recognizer)  # fails five times
    assert service.run() == 1
    assert service.app.folder != before.folder
    now = datetime.now(UTC) + LATER
    assert unfinished_session(service.settings, now) is None


def test_what_another_daemon_is_writing_is_left(sessions: Path) -> None:
    service = Service(sessions)  # holds the session from here on
    assert in_use(service.app.folder / "captions.jsonl")
    other = Service(sessions)
    assert other.app.folder != service.app.folder
    for each in (service, other):
        assert each.run() == 0


def test_an_unreadable_session_is_left(sessions: Path) -> None:
    assert found(sessions) is not None
    (crashed_folder(sessions) / "captions.jsonl").write_bytes(b"no\njson\n")
    assert found(sessions) is None


def test_a_session_with_damaged_lines_goes_on_and_is_used_without_them(
    sessions: Path, before: Unfinished, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = before.folder
    for name in ("captions.jsonl", "diagnostics.jsonl"):
        first, *others = (folder / name).read_bytes().splitlines(keepends=True)
        (folder / name).write_bytes(b"".join([first, b"\0" * 40 + b"\n", *others]))
    service = Service(sessions)
    assert service.run() == 0
    assert service.app.folder == folder
    journal = read_journal(folder)
    assert len(journal) == len(before.messages) + len(SCRIPT)
    capsys.readouterr()  # the service's own log
    for command in ("export", "report"):
        assert main([command, str(folder), "--sessions", str(sessions)]) == 0
        said = capsys.readouterr()
        assert said.err.count("captions.jsonl") <= 1
        assert "lines left out" not in said.out
    Review(folder).close()


def test_a_start_that_failed_is_passed_over(sessions: Path) -> None:
    """It ended before anything was said, as it had no microphone."""
    folder = crashed_folder(sessions)
    failed = shutil.copytree(folder, sessions / "2099-01-01T00-00-00")
    leave_only_health(failed)
    again = found(sessions)
    assert again is not None
    assert again.folder == folder
    shutil.rmtree(folder)
    assert found(sessions) is None
    assert failed.is_dir()


def leave_only_health(folder: Path, *more: dict[str, Any]) -> None:
    """Take captions and records away, except those of its health; add others."""
    (folder / "captions.jsonl").write_bytes(b"")
    kept = [record for record in lines(folder) if record["type"] == "health"]
    content = b"".join(orjson.dumps(record) + b"\n" for record in (*kept, *more))
    (folder / "diagnostics.jsonl").write_bytes(content)


def test_off_the_record_is_not_forgotten_though_nothing_is_left_of_what_was_said(
    sessions: Path,
) -> None:
    folder = crashed_folder(sessions)
    command = {"type": "event", "event": "command", "name": "off-record", "id": 0}
    leave_only_health(folder, command | {"utc": lines(folder)[-1]["utc"]})
    again = found(sessions)
    assert again is not None
    assert again.set_by_operator("off-record", "on-record")


def refuse(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


OFF_AND_ON = [CommandEvent(utc=utc_now(), name=name, id=0) for name in ("off-record", "on-record")]


def test_a_purge_that_had_to_wait_does_not_take_the_next_run_off_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recorder(tmp_path)
    made.record(spoken(1, start_s=10.0, end_s=12.0))
    wait_for(lambda: len(lines(made.folder)) == 1)
    with monkeypatch.context() as full:
        full.setattr(GrowingFile, "rewrite", refuse)
        made.purge(Redaction(5.0, 15.0))
        for event in OFF_AND_ON:
            made.record(event)
        wait_for(lambda: len(lines(made.folder)) == 3)
    assert made.close(60)
    records = read_records(made.folder)
    events = [record for record in records if record.type == "event"]
    assert [each.event for each in events] == ["command", "command", "off-record"]
    again = Unfinished(made.folder, NOW, (), tuple(records))
    assert not again.set_by_operator("off-record", "on-record")
    # A kill lost the command, but the event shows that the words went off the record.
    lost = Unfinished(made.folder, NOW, (), tuple(events[-1:]))
    assert lost.set_by_operator("off-record", "on-record")


def test_a_purge_that_was_done_twice_does_not_take_the_next_run_off_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recorder(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr(Path, "unlink", refuse)  # the mark cannot be deleted
        made.purge(Redaction(5.0, 15.0))
        for event in OFF_AND_ON:
            made.record(event)
        wait_for(lambda: b"on-record" in (made.folder / "diagnostics.jsonl").read_bytes())
    assert made.close(60)
    records = tuple(read_records(made.folder))
    assert sum(record.type == "event" and record.event == "off-record" for record in records) > 1
    again = Unfinished(made.folder, NOW, (), records)
    assert not again.set_by_operator("off-record", "on-record")


def test_a_session_that_goes_on_while_the_disk_is_full_has_whole_transcripts_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = recorder(tmp_path)
    before.on_caption(message(1, "Grace.", "Gracia.", seq=1), "es")
    assert before.close(60)
    earlier = Unfinished(before.folder, NOW, tuple(read_journal(before.folder)), ())
    is_full = [True]
    write = files._write

    def full(fd: int, data: bytes) -> None:
        if is_full[0] and data:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(fd, data)

    monkeypatch.setattr(files, "_write", full)
    faults: list[Fault] = []
    made = recorder(tmp_path, faults, earlier=earlier)
    wait_for(lambda: faults)
    assert (made.folder / "transcript.es.txt").read_text() == "Gracia.\n"
    is_full[0] = False
    made.on_caption(message(2, "Peace.", "Paz.", seq=2), "es")
    assert made.close(60)
    assert (made.folder / "transcript.es.txt").read_text() == "Gracia.\nPaz.\n"
    assert (made.folder / "transcript.es.vtt").read_text().startswith("WEBVTT")
    assert [fault.code for fault in faults] == ["session-unwritable"]


def test_what_was_dropped_before_a_crash_still_counts(tmp_path: Path) -> None:
    before = recorder(tmp_path)
    before.record(health_record(dropped=Dropped(blocks=7, records=0, partials=2, drafts=0)))
    assert before.close(60)
    earlier = Unfinished(before.folder, NOW, (), tuple(read_records(before.folder)))
    made = recorder(tmp_path, earlier=earlier)
    made.record(health_record(dropped=Dropped(blocks=0, records=0, partials=1, drafts=0)))
    assert made.close(60)
    dropped = {"blocks": 7, "records": 0, "partials": 3, "drafts": 0}
    assert Session(made.folder).dropped == dropped
    assert orjson.loads((made.folder / "summary.json").read_bytes())["dropped"] == dropped


def test_a_clock_that_was_set_during_the_service_does_not_move_its_audio() -> None:
    began = NOW - timedelta(days=3)  # the clock was three days slow
    health = health_record(utc=NOW.isoformat(), audio_s=1200.0)
    earlier = Unfinished(Path(), began, (), (health,))
    assert earlier.audio_s(NOW + timedelta(seconds=30)) == 1230.0


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


class Missing(FakeSource):
    def open(self) -> None:
        raise AudioError("audio-device-missing", "There is no such device.")


def test_starts_that_fail_change_nothing(sessions: Path, before: Unfinished) -> None:
    """While the microphone is unplugged, systemd retries for hours."""
    files = contents(sessions)
    broke = datetime.fromisoformat(before.records[-1].utc)
    failed = Service(sessions, source=Missing(pcm_of(SCRIPT, 1.0)))
    assert failed.run() == 1
    assert failed.app.folder == before.folder
    assert contents(sessions) == files
    settings = failed.settings
    assert unfinished_session(settings, broke + LATER) is not None
    resume_s = timedelta(seconds=settings.session.resume_s)
    assert unfinished_session(settings, broke + resume_s + timedelta(milliseconds=1)) is None


@pytest.mark.parametrize("is_said", [False, True])
def test_it_stays_to_be_gone_on_with_until_the_next_caption(
    sessions: Path, before: Unfinished, *, is_said: bool
) -> None:
    pcm = pcm_of(SCRIPT, DURATION_S) if is_said else pcm_of([], 2.0)
    next_run = Service(sessions, source=FakeSource(pcm))
    assert next_run.run() == 0
    assert next_run.app.folder == before.folder
    last = datetime.fromisoformat(before.records[-1].utc)
    again = unfinished_session(next_run.settings, last + LATER)
    assert (again.messages if again else None) == (None if is_said else before.messages)


def test_what_is_taken_off_the_record_in_a_start_that_fails_is_gone(
    sessions: Path, before: Unfinished
) -> None:
    failed = Service(sessions, source=Missing(pcm_of(SCRIPT, 1.0)))
    failed.app._context.recorder.purge(Redaction(0.0, 1e6))
    assert failed.run() == 1
    assert read_journal(before.folder) == []


def played(file: str) -> dict[str, Any]:
    return {"audio.input": file}


def test_a_file_does_not_go_on_with_a_service_nor_a_service_with_a_file(sessions: Path) -> None:
    assert found(sessions, **played("other.wav")) is None
    records = crashed_folder(sessions) / "diagnostics.jsonl"
    source = next(each["source"] for each in lines(records.parent) if each["type"] == "health")
    assert source
    records.write_bytes(records.read_bytes().replace(orjson.dumps(source), b'"sermon.flac"'))
    assert found(sessions) is None
    assert found(sessions, **played("/a/sermon.flac")) is not None
