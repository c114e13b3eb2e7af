"""The recorder on real files: what is written, what survives, what a full disk does to it."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from pipeline.diagnostics import Recorder
from pipeline.errors import SessionError
from pipeline.events import Fault
from pipeline.wire import parse_caption
from tests.needs import needs_program
from tests.test_subtitles import message

STARTED = datetime(2026, 11, 22, 9, 30, 0, tzinfo=UTC)
FILES = {
    "captions.jsonl",
    "diagnostics.jsonl",
    *(f"transcript.{lang}.{ending}" for lang in ("en", "es") for ending in ("srt", "vtt", "txt")),
}


def recorder(directory: Path, faults: list[Fault] | None = None) -> Recorder:
    on_fault = (lambda _: None) if faults is None else faults.append
    made = Recorder(directory, source="en", target="es", on_fault=on_fault, started_utc=STARTED)
    made.start()
    return made


def lines(folder: Path, name: str = "diagnostics.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def wait_for(reached: Any, timeout_s: float = 5.0) -> None:
    until_s = time.monotonic() + timeout_s
    while not reached():
        assert time.monotonic() < until_s, "waited in vain"
        time.sleep(0.01)


def test_a_session_has_its_folder_and_files(tmp_path: Path) -> None:
    made = recorder(tmp_path / "not" / "yet")
    assert made.folder == tmp_path / "not" / "yet" / "2026-11-22T09-30-00"
    assert made.close(5.0)
    assert {path.name for path in made.folder.iterdir()} == FILES
    assert (made.folder / "transcript.es.vtt").read_text() == "WEBVTT\n\n"


def test_two_sessions_of_one_second_do_not_mix(tmp_path: Path) -> None:
    names = []
    for _ in range(3):
        made = recorder(tmp_path)
        names.append(made.folder.name)
        made.close(5.0)
    stamp = "2026-11-22T09-30-00"
    assert names == [stamp, f"{stamp}-2", f"{stamp}-3"]


def test_records_come_out_as_they_went_in(tmp_path: Path) -> None:
    made = recorder(tmp_path)
    made.utterance({"type": "utterance", "id": 1, "text": "Señor"})
    made.health({"queues": {"mailbox": 2}})
    made.event("command", name="pause", folder=tmp_path)
    assert made.close(5.0)
    utterance, health, event = lines(made.folder)
    assert utterance == {"type": "utterance", "id": 1, "text": "Señor"}
    assert (health["type"], health["queues"]) == ("health", {"mailbox": 2})
    assert event["event"] == "command"
    assert (event["name"], event["folder"]) == ("pause", str(tmp_path))
    for record in (health, event):
        assert datetime.fromisoformat(record["utc"]).tzinfo is not None


def test_finals_reach_the_disk_while_the_session_runs(tmp_path: Path) -> None:
    made = recorder(tmp_path)
    made.caption(message(1, "Grace", "Gra", seq=1, final=False))
    made.caption(message(1, "Grace", "Gracia", seq=2))
    wait_for(lambda: (made.folder / "transcript.es.txt").read_text() == "Gracia\n")
    made.caption(message(2, "Peace", "Paz", seq=3))
    wait_for(lambda: (made.folder / "transcript.es.txt").read_text() == "Gracia\nPaz\n")
    assert (made.folder / "transcript.en.txt").read_text() == "Grace\nPeace\n"
    assert (made.folder / "transcript.es.srt").read_text() == (
        "1\n00:00:10,000 --> 00:00:12,500\nGracia\n\n2\n00:00:20,000 --> 00:00:22,500\nPaz\n\n"
    )
    journal = (made.folder / "captions.jsonl").read_bytes().splitlines()
    assert [parse_caption(line).seq for line in journal] == [2, 3]
    made.close(5.0)


def test_an_edit_and_a_late_final_make_the_files_anew(tmp_path: Path) -> None:
    made = recorder(tmp_path)
    made.caption(message(1, "Grace", "Gracia", seq=1))
    made.caption(message(3, "Amen", "Amén", seq=2))
    made.caption(message(2, "Peace", "Paz", seq=3))  # overtaken by 3
    made.caption(message(1, "Grace", "La gracia", seq=4))  # edited
    made.caption(message(3, "", "", seq=5))  # hidden
    made.caption(message(4, "Go", "Vayan", seq=6))
    made.caption(message(5, "", "", seq=7))  # nothing of it was ever final
    assert made.close(5.0)
    assert (made.folder / "transcript.es.txt").read_text() == "La gracia\nPaz\nVayan\n"
    assert (made.folder / "transcript.en.srt").read_text().startswith("1\n00:00:10,000 -->")
    assert "3\n00:00:40,000 -->" in (made.folder / "transcript.en.srt").read_text()
    assert len(lines(made.folder, "captions.jsonl")) == 7  # the journal forgets nothing
    assert {path.name for path in made.folder.iterdir()} == FILES


def test_a_killed_daemon_leaves_every_final(tmp_path: Path) -> None:
    script = f"""
        import os, signal, time
        from pathlib import Path
        from tests.test_diagnostics import message, recorder
        made = recorder(Path({str(tmp_path)!r}))
        for id in range(1, 101):
            made.caption(message(id, "Grace", "Gracia", seq=id))
            made.utterance({{"type": "utterance", "id": id}})
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


def test_nobody_waits_for_a_recorder_that_hangs(tmp_path: Path) -> None:
    blocked = threading.Event()
    reported = threading.Event()

    def on_fault(_: Fault) -> None:
        reported.set()
        blocked.wait()

    with small_disk(tmp_path):
        made = Recorder(
            tmp_path / "disk", source="en", target="es", on_fault=on_fault, started_utc=STARTED
        )
        made.start()
        made.event("too-big", text="x" * 100_000)
        assert reported.wait(5.0)
        began_s = time.monotonic()
        for number in range(1500):
            made.event("number", number=number)
        assert time.monotonic() - began_s < 0.5
        assert made.dropped == 500
        assert not made.close(0.1)
        blocked.set()
        assert not made.close(5.0)


def test_a_full_disk_costs_nothing_that_fits_later(tmp_path: Path) -> None:
    faults: list[Fault] = []
    with small_disk(tmp_path, size="1m"):
        made = recorder(tmp_path / "disk", faults)
        made.caption(message(1, "Grace", "Gracia", seq=1))
        journal = made.folder / "captions.jsonl"
        wait_for(lambda: journal.stat().st_size > 0)
        filler = tmp_path / "disk" / "filler"
        fill(filler)
        made.caption(message(1, "Grace", "La gracia", seq=2))  # the files are to be made anew
        for id in range(2, 400):  # noqa: A001
            made.caption(message(id, "Peace be with you all", "La paz sea con ustedes", seq=id + 1))
            made.utterance({"type": "utterance", "id": id, "text": "x" * 200})
        wait_for(lambda: made.unwritten > 300)
        assert (made.folder / "transcript.es.txt").read_text().startswith("Gracia\n")
        assert [fault.code for fault in faults] == ["session-unwritable"]
        assert str(made.folder) in faults[0].message
        assert journal.read_bytes().endswith(b"}\n")  # nothing torn
        filler.unlink()
        made.caption(message(400, "Amen", "Amén", seq=401))
        assert made.close(5.0)
        assert [line["seq"] for line in lines(made.folder, "captions.jsonl")] == list(range(1, 402))
        assert [line["id"] for line in lines(made.folder)] == list(range(2, 400))
        text = (made.folder / "transcript.es.txt").read_text().splitlines()
        assert text == ["La gracia", *["La paz sea con ustedes"] * 398, "Amén"]
        assert len(faults) == 1
        assert {path.name for path in made.folder.iterdir()} == FILES


def test_what_was_dropped_is_written_once_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.session_files._WAITING", 10)
    faults: list[Fault] = []
    with small_disk(tmp_path):
        made = recorder(tmp_path / "disk", faults)
        filler = tmp_path / "disk" / "filler"
        fill(filler)
        for number in range(60):
            made.event("number", number=number, text="x" * 4096)
        wait_for(lambda: made.dropped >= 50)
        filler.unlink()
        made.event("later")
        assert not made.close(5.0)  # not all is on disk
        records = lines(made.folder)
        told = [record["count"] for record in records if record["event"] == "records-dropped"]
        assert told[-1] == made.dropped
        assert records[-1]["event"] in ("later", "records-dropped")
        kept = [record["number"] for record in records if record["event"] == "number"]
        assert kept == sorted(kept)
        assert kept[-1] == 59


def test_a_fault_after_the_loop_is_gone_ends_nothing(tmp_path: Path) -> None:
    def on_fault(_: Fault) -> None:
        raise RuntimeError("Event loop is closed")

    with small_disk(tmp_path):
        made = Recorder(
            tmp_path / "disk", source="en", target="es", on_fault=on_fault, started_utc=STARTED
        )
        made.start()
        made.event("too-big", text="x" * 100_000)
        wait_for(lambda: made.unwritten == 1)
        assert not made.close(5.0)


def test_the_thread_ends_with_the_session(tmp_path: Path) -> None:
    made = recorder(tmp_path)
    assert "diagnostics" in [thread.name for thread in threading.enumerate()]
    assert made.close(5.0)
    assert "diagnostics" not in [thread.name for thread in threading.enumerate()]
    assert made.close(5.0)


class small_disk:  # noqa: N801 - reads as a function
    """Mounts a little memory at `disk`; a test that may not do so is skipped."""

    def __init__(self, tmp_path: Path, size: str = "64k", inodes: int = 100) -> None:
        needs_program("mount", "umount")
        self._path = tmp_path / "disk"
        self._options = f"size={size},nr_inodes={inodes}"

    def __enter__(self) -> None:
        self._path.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", self._options, "tmpfs", str(self._path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"may not mount a small disk: {done.stderr.strip()}")

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self._path)], check=True)


def fill(path: Path) -> None:
    """Write until the disk is full."""

    def write(file: BinaryIO) -> None:
        while True:
            file.write(b"x" * 1024)

    with path.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        write(file)
