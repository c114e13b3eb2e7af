"""The data folder: its ledger, and the lock that keeps two steps from working in it at once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import orjson
import pytest
import soundfile

from pipeline.config.section import Session as SessionSettings
from pipeline.core.errors import LearningError
from pipeline.learning.compare import COMPARISONS
from pipeline.learning.data.collect import CollectSettings, collect
from pipeline.learning.data.folder import (
    DataFolder,
    LedgerEntry,
    drop_sound,
    keep_sound,
    last_lesson,
    write_metadata,
)
from pipeline.learning.data.harvest import harvest
from pipeline.learning.deploy import DEPLOYMENTS
from tests.support.services import GOOD, NAME, UNSURE, decide, hold, tone


def test_the_last_entry_about_a_session_holds(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "learning")
    with data.hold():
        data.enter(LedgerEntry(session="a", utc="1", counts={"accepted": 3}))
        data.enter(LedgerEntry(session="b", utc="2"))
        data.enter(LedgerEntry(session="a", utc="3", removed=True))
    ledger = data.ledger()
    assert (ledger["a"].removed, ledger["b"].removed) == (True, False)


def test_two_steps_at_once_are_refused(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    with data.hold(), pytest.raises(LearningError) as raised, DataFolder(tmp_path).hold():
        pass
    assert raised.value.code == "learning-busy"


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LearningError) as raised, DataFolder(tmp_path / "file").hold():
        pass
    assert raised.value.code == "learning-unwritable"


def test_a_torn_last_line_of_the_ledger_is_left_out(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    data.enter(LedgerEntry(session="a", utc="1"))
    with (tmp_path / "ledger.jsonl").open("ab") as file:
        file.write(b'{"session":"b"')
    assert list(data.ledger()) == ["a"]
    data.enter(LedgerEntry(session="c", utc="2"))
    assert list(data.ledger()) == ["a", "c"]


def test_a_damaged_line_is_named_with_one_code_for_all_ledgers(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    for name, read in (
        ("ledger.jsonl", data.ledger),
        ("comparisons.jsonl", partial(COMPARISONS.read, data)),
        ("deployed.jsonl", partial(DEPLOYMENTS.read, data)),
    ):
        (tmp_path / name).write_text('{"utc": 1}\n{}\n')
        with pytest.raises(LearningError, match=f"{name}, line 1") as raised:
            read()
        assert raised.value.code == "learning-unreadable"


def test_each_accepted_pair_with_sound_has_its_line(tmp_path: Path) -> None:
    folder = hold(tmp_path, [GOOD, UNSURE], keeping=SessionSettings(keep_audio="all"))
    good, unsure = harvest(folder, ["grace"]).pairs
    pairs = [replace(good, status="accepted"), unsure]
    data = tmp_path / "learning"
    keep_sound(data, folder, pairs)
    assert write_metadata(data, pairs) == 1
    (line,) = (data / "audio" / "metadata.jsonl").read_bytes().splitlines()
    entry = orjson.loads(line)
    assert entry == {
        "file_name": f"{NAME}-000001.flac",
        "transcription": GOOD.source,
        "translation": GOOD.target,
        "terms": ["grace"],
        "source": "auto",
        "session_id": NAME,
        "speaker": "",
        "lang": "en",
    }
    heard, rate = soundfile.read(data / "audio" / entry["file_name"], dtype="float32")
    assert rate == 16_000
    assert np.abs(heard - tone(1)).max() < 1e-4


def test_a_session_can_be_taken_out(tmp_path: Path) -> None:
    keeping = SessionSettings(keep_audio="all")
    folder = hold(tmp_path, [GOOD], keeping=keeping)
    pairs = [replace(pair, status="accepted") for pair in harvest(folder, []).pairs]
    other = [replace(pair, session_id="other", audio="other-000001.flac") for pair in pairs]
    data = tmp_path / "learning"
    keep_sound(data, folder, [*pairs, *other])
    write_metadata(data, [*pairs, *other])
    drop_sound(data, NAME)
    assert [path.name for path in (data / "audio").glob("*.flac")] == ["other-000001.flac"]
    assert b"other-000001.flac" in (data / "audio" / "metadata.jsonl").read_bytes()
    assert NAME.encode() + b"-" not in (data / "audio" / "metadata.jsonl").read_bytes()


def test_the_next_review_is_told_what_the_last_one_taught(tmp_path: Path) -> None:
    data, settings = DataFolder(tmp_path / "learning"), CollectSettings(rules=())
    folder = hold(tmp_path, [GOOD, UNSURE])
    with data.hold():
        collect(data, [folder], settings)
    assert last_lesson(data) == ""
    decide(folder, 2, "corrected", UNSURE.source, "Vayan conmigo a Esdras.")
    with data.hold():
        collect(data, [folder], settings)
    assert last_lesson(data) == (
        "Last time: 1 correction. They taught 1 sentence and 1 misheard word."
    )


@pytest.mark.parametrize("name", ["2026-11-22T09-30-00", "Easter [evening]"])
def test_taking_a_session_out_is_about_its_own_sound_only(tmp_path: Path, name: str) -> None:
    audio = tmp_path / "audio"
    audio.mkdir()
    for file in (f"{name}-000001.flac", f"{name}-2-000001.flac", f"{name}-0600-000001.flac"):
        (audio / file).write_bytes(b"sound")
    drop_sound(tmp_path, name)
    left = sorted(path.name for path in audio.iterdir())
    assert left == [f"{name}-0600-000001.flac", f"{name}-2-000001.flac"]
