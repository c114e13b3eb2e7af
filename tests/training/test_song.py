"""Sound for song mode: sung on the notes, played as written; and a head that is fitted to it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.audio.silero_vad import Silero
from pipeline.audio.song_head import SongFeatures, read_song_head
from tests.support.needs import needs_program
from training.data.instruments import Part, arrange, compose, midi
from training.data.service_sound import HELD_OUT_VOICES, Studio, lively, mixed
from training.data.singing import Note, sing
from training.data.speech import SAMPLE_RATE_HZ, Voice
from training.train.train_song import (
    Examples,
    auc,
    examples,
    fit,
    joined,
    recordings,
    report,
    written,
)

VOICE = Voice("espeak-ng", "en-us+f2")


def strongest_hz(audio: np.ndarray, low: float, high: float) -> float:
    spectrum = np.abs(np.fft.rfft(audio * np.hanning(len(audio))))
    hz = np.fft.rfftfreq(len(audio), 1 / SAMPLE_RATE_HZ)
    band = (hz > low) & (hz < high)
    return float(hz[band][np.argmax(spectrum[band])])


@pytest.mark.slow
def test_what_is_sung_has_the_pitches_and_the_length_of_the_tune() -> None:
    needs_program("espeak-ng")
    tune = [Note(57, 0.0, 2.0), Note(64, 2.0, 2.0)]
    sung = sing("holy holy holy", VOICE, tune, random.Random(3))
    assert len(sung) == pytest.approx(4 * SAMPLE_RATE_HZ, rel=0.01)
    for note, part in zip(tune, np.split(sung[: len(sung) // 2 * 2], 2), strict=True):
        hz = 440 * 2 ** ((note.pitch - 69) / 12)
        middle = part[SAMPLE_RATE_HZ // 2 : -SAMPLE_RATE_HZ // 4]
        assert strongest_hz(middle, hz * 0.8, hz * 1.25) == pytest.approx(hz, rel=0.06)


def test_a_song_is_whole_bars_and_its_chords_follow_each_other() -> None:
    song = compose(20.0, random.Random(5))
    assert song.length_s >= 20.0
    ends = [start_s + length_s for _, start_s, length_s in song.chords]
    assert [start_s for _, start_s, _ in song.chords] == pytest.approx([0.0, *ends[:-1]])
    assert sum(note.length_s for note in song.melody) == pytest.approx(song.length_s)


@pytest.mark.parametrize("kind", ["organ", "pad", "piano", "choir", "guitar", "drums", "band"])
def test_every_part_is_written_as_midi_and_all_its_notes_end(kind: str) -> None:
    song = compose(8.0, random.Random(1))
    parts = arrange(song, kind, random.Random(2))
    data = midi(parts)
    assert data[:4] == b"MThd"
    assert int.from_bytes(data[10:12], "big") == len(parts) == data.count(b"MTrk")
    assert sum(len(part.notes) for part in parts) > 4
    held = arrange(song, kind, random.Random(2), held_out=True)
    if kind != "drums":
        assert {p.program for p in held} != {p.program for p in parts}


def test_midi_counts_time_in_ticks_of_a_thousandth_and_ends_each_note() -> None:
    data = midi([Part(19, [Note(60, 0.0, 1.0)])])
    track = data[data.index(b"MTrk") + 8 :]
    assert track == b"\x00\xc0\x13\x00\x90\x3c\x64\x87\x40\x80\x3c\x00\x00\xff\x2f\x00"


def test_a_mix_has_the_distance_that_was_asked_for() -> None:
    noise = np.random.default_rng(0)
    front, behind = (noise.standard_normal(8000).astype(np.float32) for _ in range(2))
    left = mixed(front, behind, 20.0) - front
    assert 20 * np.log10(np.std(front) / np.std(left)) == pytest.approx(20.0, abs=0.1)


def test_lively_speech_is_as_long_as_it_was() -> None:
    speech = np.random.default_rng(0).standard_normal(32_000).astype(np.float32)
    assert len(lively(speech, random.Random(2))) == pytest.approx(32_000, rel=0.15)


@pytest.mark.slow
def test_a_studio_says_the_same_for_a_seed_and_held_out_voices_are_nobody_elses() -> None:
    needs_program("espeak-ng", "flite")
    assert np.array_equal(Studio(4).spoken(2.0), Studio(4).spoken(2.0))
    trained = [Studio(seed).voice() for seed in range(200)]
    assert not {(v.synthesizer, v.name) for v in trained} & set(HELD_OUT_VOICES)
    assert Studio(1, held_out=True).voice().name in {name for _, name in HELD_OUT_VOICES}


def made_up(count: int, seed: int) -> Examples:
    """Windows whose kind shows in their first feature."""
    noise = np.random.default_rng(seed)
    kinds = np.arange(count) % 3
    features = noise.standard_normal((count, SongFeatures.COUNT)).astype(np.float32)
    features[:, 0] += 6.0 * kinds
    return Examples(features, kinds, tuple(f"sort {kind}" for kind in kinds))


@pytest.mark.slow
def test_a_fitted_head_tells_the_kinds_apart_and_survives_its_file(tmp_path: Path) -> None:
    head = fit(joined([made_up(300, 1), made_up(300, 2)]))
    data = made_up(300, 3)
    results = report(head, data)
    assert results["sort 1"]["over_half"] > 0.9
    assert results["sort 0"]["over_half"] < 0.1
    (tmp_path / "head.json").write_text(written(head, 5, 2), "utf-8")
    again = read_song_head(tmp_path / "head.json")
    assert np.allclose(again.song(data.features), head.song(data.features), atol=0.01)
    assert json.loads(written(head, 5, 2))["made_by"].endswith("--seed 5 --tapes 2")


def test_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    song = np.array([0.1, 0.4, 0.35, 0.8], np.float32)
    assert auc(song, np.array([False, False, True, True])) == 0.75


@pytest.mark.slow
def test_recordings_of_ones_own_are_examples_as_they_are(tmp_path: Path) -> None:
    for kind in ("speech", "song"):
        (tmp_path / kind).mkdir()
        tone = 0.1 * np.sin(np.arange(4 * 22_050) * 0.1)
        soundfile.write(tmp_path / kind / "a.wav", tone, 22_050)
    silero = Silero()
    silero.load()
    found = examples(recordings(tmp_path), silero, 0)
    assert set(found.clips) == {"speech/a.wav", "song/a.wav"}
    speech, song = np.split(found.features, 2)
    assert np.allclose(speech, song)
