"""Redacted words leave every file, whatever the disk does and whenever the daemon is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections import deque
from dataclasses import replace
from pathlib import Path
from threading import Thread

import numpy as np
import orjson
import pytest

from pipeline.captions.redaction import MARK, Redaction
from pipeline.config.section import Session as SessionSettings
from pipeline.core.formats import utc_now
from pipeline.core.reports import Fault
from pipeline.protocol.caption import SourceText
from pipeline.records.events import DictionaryEvent
from pipeline.session.reader import read_records
from pipeline.session.recorder import SessionRecorder
from pipeline.session.redact import Purges, finish_purges
from pipeline.session.resume import Unfinished
from scripts.support.journal import message
from scripts.support.records import compare_record
from tests.support.patience import wait_for
from tests.support.recorder import STARTED, lines, recorder, spoken
from tests.support.schemas import problems
from tests.support.secret_words import PURGE, fill, secrets


def settled(made: SessionRecorder) -> None:
    wait_for(lambda: not made.purging)


def test_no_file_has_the_words_and_all_else_stays(tmp_path: Path) -> None:
    made = recorder(tmp_path)
    fill(made)
    (made.folder / "reviewed.jsonl").write_bytes(
        b'{"id":2,"source":"open2"}\n{"id":4,"source":"secret4"}\n'
    )
    (made.folder / "report.html").write_text("secret")
    (made.folder / "captions.jsonl.tmp").write_text("secret")
    wait_for(lambda: len(secrets(made.folder)) == 11 and len(lines(made.folder)) == 10)
    assert made.purging is False
    made.purge(PURGE)
    settled(made)
    assert secrets(made.folder) == []
    assert not (made.folder / MARK).exists()
    assert (made.folder / "reviewed.jsonl").read_bytes() == b'{"id":2,"source":"open2"}\n'
    made.on_caption(message(9, "later", "luego", seq=40), "es")
    assert made.close(60)
    assert [line["id"] for line in lines(made.folder, "captions.jsonl")] == [1, 2, 9]
    assert (made.folder / "transcript.en.txt").read_text() == "open1\nopen2\nlater\n"
    assert [line["id"] for line in lines(made.folder, "sermon_pairs.jsonl")] == [1]
    assert [line["id"] for line in lines(made.folder, "review_queue.jsonl")] == [2]
    records = lines(made.folder)
    assert [r["id"] for r in records if r["type"] in ("utterance", "compare")] == [1, 1, 2, 2]
    (event,) = [record for record in records if record.get("event") == "off-record"]
    assert (event["from_s"], event["to_s"], event["captions"]) == (25.0, 60.0, 3)
    assert problems("records/event", event) == []
    summary = orjson.loads((made.folder / "summary.json").read_bytes())
    assert (summary["utterances"], summary["pairs"], summary["review"]) == (2, 1, 1)


def test_the_mark_of_a_removal_before_is_not_taken_for_that_of_the_next(tmp_path: Path) -> None:
    """Between two statements of `ask` the other thread may finish the previous removal."""
    purges = Purges(tmp_path, ())
    purges.ask(PURGE)
    purges.begin()

    class Interrupted(deque[Redaction]):
        def append(self, purge: Redaction) -> None:
            other.start()
            other.join(0.3)
            super().append(purge)

    other = Thread(target=lambda: purges.do(lambda _: None))
    purges._asked = Interrupted()
    purges.ask(Redaction(70.0, 80.0))
    other.join(5.0)
    assert not purges.marked.is_set()
    purges.begin()
    purges.do(lambda _: None)
    assert purges.marked.is_set()


def test_what_the_summary_of_an_earlier_run_counted_goes_with_the_words(tmp_path: Path) -> None:
    """A run that broke has a summary too; the next one goes on in the same files."""
    before = recorder(tmp_path)
    before.record(spoken(1, start_s=10.0, end_s=12.0))
    assert before.close(60)
    rule = b'"god"'
    assert rule in (before.folder / "summary.json").read_bytes()
    records = tuple(read_records(before.folder))
    made = recorder(tmp_path, earlier=Unfinished(before.folder, STARTED, (), records))
    made.purge(Redaction(5.0, 15.0))
    settled(made)
    assert [path.name for path in made.folder.iterdir() if rule in path.read_bytes()] == []
    assert made.close(60)
    assert json.loads((made.folder / "summary.json").read_bytes())["corrections"] == {}


def test_what_was_on_its_way_to_the_files_never_gets_there(tmp_path: Path) -> None:
    made = recorder(tmp_path, start=False)
    fill(made)
    made.purge(PURGE)  # before the thread has written a line
    made.on_caption(message(5, "secret5", "SECRET5", seq=6), "es")
    made.record(compare_record(4, "secret"))
    made.start()
    assert made.close(60)
    assert secrets(made.folder) == []
    assert [line["id"] for line in lines(made.folder, "captions.jsonl")] == [1, 2]


def test_a_full_queue_does_not_lose_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.session.recorder._QUEUE", 10)
    made = recorder(tmp_path, start=False)
    fill(made)
    made.purge(PURGE)
    assert made.dropped
    made.start()
    made.close(60)
    assert secrets(made.folder) == []
    assert not made.purging


def test_a_full_disk_is_told_and_tried_until_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults: list[Fault] = []
    made = recorder(tmp_path, faults)
    fill(made)
    wait_for(lambda: len(secrets(made.folder)) == 8)
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", refuse)  # no new file can be written
        made.purge(PURGE)
        wait_for(lambda: faults)
        made.on_caption(message(9, "later", "luego", seq=40), "es")
        assert made.purging
        assert faults[0].code == "session-unwritable"
    made.record(DictionaryEvent(utc=utc_now(), rules=1))  # any record
    settled(made)
    assert made.close(60)
    assert secrets(made.folder) == []
    assert (made.folder / "transcript.es.txt").read_text() == "OPEN1\nOPEN2\nluego\n"


def test_an_end_that_still_owes_is_not_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recorder(tmp_path)
    fill(made)
    wait_for(lambda: len(secrets(made.folder)) == 8)
    with monkeypatch.context() as full:
        full.setattr(os, "rename", refuse)
        full.setattr(Path, "unlink", refuse)
        made.purge(PURGE)
        assert not made.close(60)
    assert (made.folder / MARK).exists()
    finish_purges(tmp_path)
    assert secrets(made.folder) == []
    assert not (made.folder / MARK).exists()


def test_the_summary_counts_nothing_that_is_off_the_record_though_the_end_still_owes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recorder(tmp_path)
    for key in (1, 2):
        made.record(spoken(key, start_s=10.0 * key, end_s=10.0 * key + 2))
    wait_for(lambda: len(lines(made.folder)) == 2)
    with monkeypatch.context() as broken:
        broken.setattr(Path, "unlink", refuse)  # the mark cannot be deleted
        made.purge(Redaction(15.0, 60.0))
        assert not made.close(60)
    assert orjson.loads((made.folder / "summary.json").read_bytes())["utterances"] == 1


def test_the_sound_goes_as_well_if_the_end_came_when_its_record_was_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recorder(tmp_path, keeping=SessionSettings(keep_audio="all"))
    for key in (1, 2):
        # Filtered: no board had its caption, which would give the id.
        record = spoken(key, start_s=10.0 * key, end_s=10.0 * key + 2, final=None, filtered="loop")
        made.record(record)
        made.on_sound(record, np.zeros(8000, np.float32))
    wait_for((made.folder / "audio" / "000002.flac").exists)
    with monkeypatch.context() as broken:
        broken.setattr(Path, "unlink", refuse)
        made.purge(Redaction(15.0, 60.0))
        assert not made.close(60)
    finish_purges(tmp_path)
    assert [path.name for path in (made.folder / "audio").iterdir()] == ["000001.flac"]


def test_transcripts_are_made_again_in_their_own_language_whatever_was_spoken_first(
    tmp_path: Path,
) -> None:
    made = recorder(tmp_path, targets=("es", "en"))
    for key, lang, en, es in ((1, "es", "Grace", "Gracia"), (2, "en", "Peace", "Paz")):
        said = SourceText(lang, en if lang == "en" else es)
        for to, text in (("es", es), ("en", en)):
            made.on_caption(replace(message(key, "", text, lang=to), source=said), to)
    assert made.close(60)
    (made.folder / MARK).write_bytes(b'[{"from_s":50.0,"to_s":60.0,"ids":[]}]')
    finish_purges(tmp_path)
    assert (made.folder / "transcript.es.txt").read_text() == "Gracia\nPaz\n"
    assert (made.folder / "transcript.en.txt").read_text() == "Grace\nPeace\n"


def refuse(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from pipeline.core import files
    from tests.support.patience import wait_for
    from tests.support.recorder import recorder
    from tests.support.secret_words import PURGE, fill, secrets

    def run(folder, at):
        made = recorder(folder)
        fill(made)
        wait_for(lambda: len(secrets(made.folder)) == 8)
        count, replace = 0, files._replace

        def killed(path, pieces, **how):
            nonlocal count
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return replace(path, pieces, **how)

        files._replace = killed
        made.purge(PURGE)
        wait_for(lambda: not made.purging)
        os.kill(os.getpid(), signal.SIGKILL)

    for folder in sorted(Path(sys.argv[1]).iterdir()):
        if not (child := os.fork()):
            run(folder, int(folder.name))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
"""


@pytest.mark.slow
def test_killed_amid_it_the_next_start_does_the_rest(tmp_path: Path) -> None:
    for at in (2, 3, 4, 6, 10, 99):
        (tmp_path / str(at)).mkdir()
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    for sessions in tmp_path.iterdir():
        (folder,) = sessions.iterdir()
        assert bool(secrets(folder)) == (folder / MARK).exists() == (sessions.name != "99")
        finish_purges(sessions)
        assert secrets(folder) == []
        assert [path.name for path in folder.iterdir() if path.suffix in (".tmp", ".json")] == []
        assert (folder / "transcript.es.vtt").read_text().count(" --> ") == 2
        assert [record for record in lines(folder) if record.get("event") == "off-record"]


def test_a_session_that_is_being_written_is_left_to_its_daemon(tmp_path: Path) -> None:
    made = recorder(tmp_path)
    fill(made)
    wait_for(lambda: len(secrets(made.folder)) == 8)
    (made.folder / MARK).write_bytes(b'[{"from_s":25.0,"to_s":60.0,"ids":[]}]')
    finish_purges(tmp_path)
    assert len(secrets(made.folder)) == 8
    made.close(60)
    finish_purges(tmp_path)
    assert secrets(made.folder) == []


def test_a_mark_that_cannot_be_read_stays(tmp_path: Path) -> None:
    made = recorder(tmp_path)
    assert made.close(60)
    mark = made.folder / MARK
    for content in (b"", b"{", b"3", b'[{"from_s":1}]'):
        mark.write_bytes(content)
        finish_purges(tmp_path)
        assert mark.read_bytes() == content
