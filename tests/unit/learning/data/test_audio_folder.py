"""The folder of sound, as other programs open it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import soundfile

from pipeline.config.section import Session as SessionSettings
from pipeline.learning.data.audio_folder import drop_sound, keep_sound, write_metadata
from pipeline.learning.data.harvest import harvest
from tests.support.services import GOOD, NAME, UNSURE, hold, tone


def test_each_accepted_pair_with_sound_has_its_line(tmp_path: Path) -> None:
    folder = hold(tmp_path, [GOOD, UNSURE], keeping=SessionSettings(keep_audio="all"))
    good, unsure = harvest(folder, ["grace"]).pairs
    pairs = [replace(good, status="accepted"), unsure]
    data = tmp_path / "learning"
    keep_sound(data, folder, pairs)
    assert write_metadata(data, pairs) == 1
    (line,) = (data / "audio" / "metadata.jsonl").read_bytes().splitlines()
    told = orjson.loads(line)
    assert told == {
        "file_name": f"{NAME}-000001.flac",
        "transcription": GOOD.source,
        "translation": GOOD.target,
        "terms": ["grace"],
        "source": "auto",
        "session_id": NAME,
        "speaker": "",
    }
    heard, rate = soundfile.read(data / "audio" / told["file_name"], dtype="float32")
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
