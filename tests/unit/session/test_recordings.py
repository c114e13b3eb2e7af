"""The audio of utterances: which is kept, and that it is removed with the words."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest
from structlog.testing import capture_logs

from pipeline.captions.redaction import Redaction
from pipeline.config.section import Session as SessionSettings
from pipeline.core.types import Word
from pipeline.records.utterance import UtteranceRecord
from pipeline.session.recorder import SessionRecorder
from pipeline.session.recordings import (
    LEAST_FREE_BYTES,
    KeepAudio,
    Recordings,
    is_doubtful,
)
from scripts.support.records import utterance_record
from tests.support.patience import wait_for
from tests.support.recorder import judged_as, lines, recorder, spoken
from tests.support.services import GOOD, UNSURE, WRONG, hold, tone


def kept(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in (folder / "audio").glob("*.flac"))


@pytest.mark.parametrize(("keep", "ids"), [("none", []), ("doubtful", [2, 3]), ("all", [1, 2, 3])])
def test_the_settings_say_whose_sound_is_kept(
    tmp_path: Path, keep: KeepAudio, ids: list[int]
) -> None:
    folder = hold(tmp_path, [GOOD, UNSURE, WRONG], keeping=SessionSettings(keep_audio=keep))
    assert kept(folder) == ids


def test_the_settings_and_the_recordings_know_the_same_words() -> None:
    words = get_args(SessionSettings.model_fields["keep_audio"].annotation)
    assert words == get_args(KeepAudio)
    assert words[0] == SessionSettings().keep_audio == "none"


def test_doubtful_is_what_is_worth_hearing_again() -> None:
    sure = spoken(1, quality=judged_as("accept"), words=(Word("God", 0.9),))
    assert not is_doubtful(sure)
    assert is_doubtful(replace(sure, words=(Word("gods", 0.4),)))
    assert is_doubtful(replace(sure, flags=("agreement:flag",)))
    assert is_doubtful(replace(sure, quality=judged_as("moderate")))
    assert is_doubtful(utterance_record(2, final=None, filtered="other-language"))
    assert not is_doubtful(utterance_record(2, final=None, filtered="no-speech"))


def test_a_disk_that_is_nearly_full_gets_no_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Recordings(tmp_path, "all")
    for number, free in ((1, LEAST_FREE_BYTES - 1), (2, LEAST_FREE_BYTES)):
        usage = SimpleNamespace(free=free)
        monkeypatch.setattr(shutil, "disk_usage", lambda _, usage=usage: usage)
        made.add(spoken(number), tone(1))
    assert kept(tmp_path) == [2]


def test_a_disk_that_cannot_be_written_costs_the_sound_alone(tmp_path: Path) -> None:
    made = recorder(tmp_path, start=False, keeping=SessionSettings(keep_audio="all"))
    (made.folder / "audio").write_text("a file is in the way")
    with capture_logs() as logs:
        made.start()
        keep(made, spoken(1))
        assert made.close(10.0)
    (line,) = logs
    assert (line["code"], line["id"], line["error"]) == ("sound-not-kept", 1, "File exists")
    assert [each["id"] for each in lines(made.folder) if each["type"] == "utterance"] == [1]


def keep(made: SessionRecorder, record: UtteranceRecord) -> None:
    made.record(record)
    made.on_sound(record, tone(record.id))


def test_off_the_record_takes_the_sound_too(tmp_path: Path) -> None:
    made = recorder(tmp_path, keeping=SessionSettings(keep_audio="all"))
    for key in (1, 2, 3):
        keep(made, spoken(key, start_s=10.0 * key, end_s=10.0 * key + 2))
    wait_for(lambda: kept(made.folder) == [1, 2, 3])
    made.purge(Redaction(19.0, 25.0))
    keep(made, spoken(4, start_s=24.0, end_s=26.0))
    keep(made, spoken(5, start_s=40.0, end_s=42.0))
    assert made.close(10.0)
    assert kept(made.folder) == [1, 3, 5]
