"""The recorder on real files: what is written, what survives, and what a full disk causes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.captions.redaction import Redaction
from pipeline.config.section import Session as SessionSettings
from pipeline.core.errors import SessionError
from pipeline.core.formats import utc_now
from pipeline.core.reports import Fault
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.codec import parse_caption
from pipeline.records.events import CommandEvent, DictionaryEvent, FaultEvent, Record
from pipeline.records.health import Dropped, HealthRecord
from pipeline.review.store import Review
from pipeline.session.reader import read_records, session_name
from scripts.support.journal import message
from scripts.support.records import compare_record, health_record
from tests.support.disk import fill_disk, small_disk
from tests.support.patience import wait_for
from tests.support.recorder import judged_as, lines, recorder, spoken

FILES = {
    "captions.jsonl",
    "diagnostics.jsonl",
    "moderate_pairs.jsonl",
    "rejected_pairs.jsonl",
    "review_queue.jsonl",
    "sermon_pairs.jsonl",
    "summary.json",
    *(f"transcript.{lang}.{ending}" for lang in ("en", "es") for ending in ("srt", "vtt", "txt")),
}


DROPPED = {"blocks": 3, "records": 0, "partials": 2, "drafts": 1}
PAUSE = CommandEvent(utc=utc_now(), name="pause", id=0)


def kept(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in lines(folder) if line["type"] == kind]


def health(audio_s: float = 30.0) -> HealthRecord:
    return health_record(audio_s=audio_s, dropped=Dropped(**DROPPED))


def dictionary_event(rules: int) -> DictionaryEvent:
    return DictionaryEvent(utc=utc_now(), rules=rules)


def fault_event(message: str) -> FaultEvent:
    return FaultEvent(utc=utc_now(), stage="translate", code="final-late", message=message)


def test_a_session_has_its_folder_and_files(tmp_path: Path) -> None:
    made = recorder(tmp_path / "not" / "yet")
    assert made.folder == tmp_path / "not" / "yet" / "2026-11-22T09-30-00"
    assert made.close(60)
    assert {path.name for path in made.folder.iterdir()} == FILES
    assert (made.folder / "transcript.es.vtt").read_text() == "WEBVTT\n\n"


def test_two_sessions_of_one_second_do_not_mix(tmp_path: Path) -> None:
    every = [recorder(tmp_path) for _ in range(3)]
    assert all(made.close(60) for made in every)
    stamp = "2026-11-22T09-30-00"
    assert [made.folder.name for made in every] == [stamp, f"{stamp}-2", f"{stamp}-3"]


def test_old_sessions_make_room(tmp_path: Path) -> None:
    began = datetime.now(UTC) - timedelta(days=40)
    old = tmp_path / session_name(began)
    old.mkdir()
    (old / "captions.jsonl").touch()
    os.utime(old / "captions.jsonl", (began.timestamp(), began.timestamp()))
    made = recorder(tmp_path, started_utc=None, keeping=SessionSettings(keep_days=30))
    assert made.close(60)
    assert list(tmp_path.iterdir()) == [made.folder]


def test_records_come_out_as_they_went_in(tmp_path: Path) -> None:
    made = recorder(tmp_path)
    every: list[Record] = [spoken(1, text="Señor"), compare_record(1), health(), PAUSE]
    for each in every:
        made.record(each)
    assert made.close(60)
    assert read_records(made.folder) == every
    written = lines(made.folder)
    types = "utterance compare health event summary"
    assert [line["type"] for line in written] == types.split()
    assert all(datetime.fromisoformat(line["utc"]).tzinfo is not None for line in written)


def test_a_session_ends_with_its_summary(tmp_path: Path) -> None:
    made = recorder(tmp_path)
    made.record(health(10.0))
    for id in range(1, 6):  # noqa: A001
        made.record(spoken(id, stt_ms=100.0 * id, quality=judged_as("accept")))
    made.record(spoken(6, flags=("estimate:flag",), corrections=()))
    made.record(fault_event("Late."))
    made.record(PAUSE)
    made.record(health(30.0))
    assert made.close(60)
    summary = lines(made.folder)[-1]
    assert json.loads((made.folder / "summary.json").read_text()) == summary
    assert (summary["session"], summary["audio_s"]) == (made.folder.name, 30.0)
    assert summary["utterances"] == 6
    assert summary["decisions"] == {"accept": 5, "moderate": 1}
    assert summary["flags"] == {"estimate:flag": 1}
    assert (summary["pairs"], summary["review"]) == (5, 1)
    assert summary["corrections"] == {"god": 5}
    assert summary["corrected_share"] == 0.8333
    assert summary["latencies"]["stt_ms"] == {"count": 6, "p50_ms": 200.0, "p95_ms": 500.0}
    assert summary["faults"] == {"final-late": 1}
    assert summary["dropped"] == DROPPED


def test_pairs_are_made_at_the_end_and_follow_the_operator(tmp_path: Path) -> None:
    made = recorder(tmp_path)
    made.record(spoken(1, quality=judged_as("accept")))
    for id in (2, 3):  # noqa: A001
        made.record(spoken(id, quality=judged_as("review", 0.6)))
    made.on_caption(message(1, "Grace", "La gracia", seq=1), "es")  # a translator's, not an edit
    made.on_caption(operators(message(2, "Grace", "La gracia", seq=2)), "es")
    assert made.close(60)
    good = lines(made.folder, "sermon_pairs.jsonl")
    found = [(line["id"], line["target"], line["engine"]) for line in good]
    assert found == [(1, "La gracia de Dios.", "gemma"), (2, "La gracia", "operator")]
    assert [line["id"] for line in lines(made.folder, "review_queue.jsonl")] == [3]
    summary = lines(made.folder)[-1]
    assert (summary["pairs"], summary["review"]) == (2, 1)


def test_finals_reach_the_disk_while_the_session_runs(tmp_path: Path) -> None:
    made = recorder(tmp_path)
    made.on_caption(message(1, "Grace", "Gra", seq=1, final=False), "es")
    made.on_caption(message(1, "Grace", "Gracia", seq=2), "es")
    wait_for(lambda: (made.folder / "transcript.es.txt").read_text() == "Gracia\n")
    made.on_caption(message(2, "Peace", "Paz", seq=3), "es")
    wait_for(lambda: (made.folder / "transcript.es.txt").read_text() == "Gracia\nPaz\n")
    assert (made.folder / "transcript.en.txt").read_text() == "Grace\nPeace\n"
    assert (made.folder / "transcript.es.srt").read_text() == (
        "1\n00:00:10,000 --> 00:00:12,500\nGracia\n\n2\n00:00:20,000 --> 00:00:22,500\nPaz\n\n"
    )
    journal = (made.folder / "captions.jsonl").read_bytes().splitlines()
    assert [parse_caption(line).seq for line in journal] == [2, 3]
    made.close(60)


@pytest.mark.slow
def test_a_killed_daemon_leaves_every_final(tmp_path: Path) -> None:
    script = f"""
        import os, signal, time
        from pathlib import Path
        from tests.support.recorder import judged_as, recorder, spoken
        from scripts.support.journal import message
        made = recorder(Path({str(tmp_path)!r}))
        for id in range(1, 101):
            made.on_caption(message(id, "Grace", "Gracia", seq=id), "es")
            made.record(spoken(id, quality=judged_as("accept")))
        file = made.folder / "transcript.es.txt"
        while file.read_text().count("Gracia") < 100:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], timeout=60, check=False, cwd=Path.cwd()
    )
    assert ended.returncode == -9
    folder = tmp_path / "2026-11-22T09-30-00"
    assert [line["id"] for line in lines(folder, "captions.jsonl")] == list(range(1, 101))
    assert (folder / "transcript.en.srt").read_text().count("-->") == 100
    assert not (folder / "summary.json").exists()
    Review(folder).close()  # writes the files of pairs, as a service does at its end
    pairs = [line["id"] for line in lines(folder, "sermon_pairs.jsonl")]
    assert pairs == list(range(1, len(pairs) + 1))
    assert len(pairs) >= 99  # the last utterance may not be recorded yet


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for directory in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/sessions")):
        with pytest.raises(SessionError) as refused:
            recorder(directory)
        assert refused.value.code == "session-unwritable"
        assert str(directory) in refused.value.message
        assert "session.directory" in refused.value.fix


def test_files_that_cannot_be_made_are_refused_too(tmp_path: Path) -> None:
    with small_disk(tmp_path, inodes=4), pytest.raises(SessionError) as refused:
        recorder(tmp_path / "disk")
    assert refused.value.code == "session-unwritable"
    assert "No space left" in refused.value.message


def test_nobody_waits_for_a_recorder_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = threading.Event()
    reported = threading.Event()

    def on_fault(_: Fault) -> None:
        reported.set()
        blocked.wait()

    with small_disk(tmp_path):
        made = recorder(tmp_path / "disk", on_fault=on_fault)
        made.record(fault_event("x" * 100_000))
        assert reported.wait(5.0)
        began_s = time.monotonic()
        for number in range(1500):
            made.record(dictionary_event(number))
        assert time.monotonic() - began_s < 0.5
        assert made.dropped == 500
        assert "500 records" in made.degraded_reason
        monkeypatch.setattr("pipeline.session.recorder._SLOW_S", 0.0)
        assert "does not answer" in made.degraded_reason
        assert not made.close(0.1)
        blocked.set()
        assert not made.close(60)


@pytest.mark.slow
def test_a_full_disk_costs_nothing_that_fits_later(tmp_path: Path) -> None:
    faults: list[Fault] = []
    with small_disk(tmp_path, size="4m"):
        made = recorder(tmp_path / "disk", faults)
        made.on_caption(message(1, "Grace", "Gracia", seq=1), "es")
        journal = made.folder / "captions.jsonl"
        wait_for(lambda: journal.stat().st_size > 0)
        filler = tmp_path / "disk" / "filler"
        fill_disk(filler)
        made.on_caption(
            message(1, "Grace", "La gracia", seq=2), "es"
        )  # the files must be rewritten
        for id in range(2, 400):  # noqa: A001
            made.on_caption(
                message(id, "Peace be with you all", "La paz sea con ustedes", seq=id + 1), "es"
            )
            made.record(spoken(id, quality=judged_as("accept")))
        wait_for(lambda: made.unwritten > 300)
        assert "cannot be written" in made.degraded_reason
        assert (made.folder / "transcript.es.txt").read_text().startswith("Gracia\n")
        assert [fault.code for fault in faults] == ["session-unwritable"]
        assert str(made.folder) in faults[0].message
        wait_for(lambda: journal.read_bytes().endswith(b"}\n"))  # torn only during a try
        filler.unlink()
        made.on_caption(message(400, "Amen", "Amén", seq=401), "es")
        wait_for(lambda: made.degraded_reason == "")
        assert made.close(60)
        assert [line["seq"] for line in lines(made.folder, "captions.jsonl")] == list(range(1, 402))
        ids = [line["id"] for line in kept(made.folder, "utterance")]
        assert ids == list(range(2, 400))
        assert [line["id"] for line in lines(made.folder, "sermon_pairs.jsonl")] == ids
        text = (made.folder / "transcript.es.txt").read_text().splitlines()
        assert text == ["La gracia", *["La paz sea con ustedes"] * 398, "Amén"]
        assert len(faults) == 1
        assert {path.name for path in made.folder.iterdir()} == FILES


def test_what_was_dropped_is_written_once_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.core.files._WAITING", 10)
    faults: list[Fault] = []
    with small_disk(tmp_path, size="1m"):  # with room for everything in the end
        made = recorder(tmp_path / "disk", faults)
        filler = tmp_path / "disk" / "filler"
        fill_disk(filler)
        for number in range(60):
            made.record(fault_event(f"{number} {'x' * 4096}"))
        wait_for(lambda: made.dropped >= 50)
        filler.unlink()
        made.record(dictionary_event(1))
        assert not made.close(60.0)  # not everything is on disk
        events = kept(made.folder, "event")
        counts = [event["count"] for event in events if event["event"] == "records-dropped"]
        assert counts[-1] == made.dropped
        assert events[-1]["event"] in ("dictionary", "records-dropped")
        faults_kept = [event["message"] for event in events if event["event"] == "fault"]
        numbers = [int(said.split()[0]) for said in faults_kept]
        assert numbers == sorted(numbers)
        assert numbers[-1] == 59
        assert lines(made.folder)[-1]["dropped"]["records"] == made.dropped


def test_a_summary_that_finds_no_room_is_missed(tmp_path: Path) -> None:
    with small_disk(tmp_path):
        made = recorder(tmp_path / "disk")
        fill_disk(tmp_path / "disk" / "filler")
        assert not made.close(60)
        assert made.unwritten == 2  # the summary's line and its file
        assert not (made.folder / "summary.json").exists()


def test_a_fault_after_the_loop_is_gone_ends_nothing(tmp_path: Path) -> None:
    def on_fault(_: Fault) -> None:
        raise RuntimeError("Event loop is closed")

    with small_disk(tmp_path):
        made = recorder(tmp_path / "disk", on_fault=on_fault)
        made.record(fault_event("x" * 100_000))
        wait_for(lambda: made.unwritten == 1)
        assert not made.close(60)


def test_a_line_that_cannot_be_read_back_does_not_end_the_record_when_words_go_off_it(
    tmp_path: Path,
) -> None:
    made = recorder(tmp_path)
    made.record(replace(health(), memory_mb=float("inf")))  # written as null
    made.on_caption(message(1, "Grace", "Gracia", start_s=1.0, end_s=2.0), "es")
    wait_for(lambda: len(lines(made.folder, "captions.jsonl")) == 1)
    made.purge(Redaction(0.5, 3.0))
    wait_for(lambda: not made.purging)
    made.on_caption(message(2, "Peace", "Paz", start_s=10.0, end_s=12.0), "es")
    assert made.close(60)
    assert [line["id"] for line in lines(made.folder, "captions.jsonl")] == [2]


def operators(edited: CaptionMessage) -> CaptionMessage:
    return replace(edited, target=replace(edited.target, engine="operator"))


def test_an_entry_that_breaks_the_recorder_costs_that_entry_and_is_told(tmp_path: Path) -> None:
    faults: list[Fault] = []
    made = recorder(tmp_path, faults)
    made.on_caption(message(1, "one", "uno"), "xx")  # the session does not have this language
    wait_for(lambda: faults)
    made.on_caption(message(2, "two", "dos"), "es")
    assert [fault.code for fault in faults] == ["session-incomplete"]
    assert "KeyError" in faults[0].message
    assert made.degraded_reason == "1 records could not be kept"
    assert not made.close(20.0)
    assert [line["id"] for line in lines(made.folder, "captions.jsonl")] == [2]
