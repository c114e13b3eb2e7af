from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.audio.playlist import Playlist
from pipeline.core.errors import AudioError
from pipeline.core.types import SAMPLE_RATE


def written(path: Path, seconds: float, rate: int, level: float) -> Path:
    soundfile.write(path, np.full(round(rate * seconds), level, np.float32), rate)
    return path


def files(folder: Path) -> list[Path]:
    """Return two files of other rates: 1 s and 0.5 s."""
    return [
        written(folder / "a.wav", 1.0, 8000, 0.25),
        written(folder / "b.flac", 0.5, 22_050, 0.75),
    ]


def test_files_follow_each_other_with_silence_between(tmp_path: Path) -> None:
    source = Playlist(files(tmp_path), name="two", pace="fast", pause_s=1.0)
    source.open()
    blocks = list(source.blocks())
    source.close()
    starts = [block.start_sample for block in blocks]
    assert starts == [512 * place for place in range(len(blocks))], "without a seam"
    heard = np.concatenate([block.pcm for block in blocks])
    assert len(heard) == pytest.approx(2.5 * SAMPLE_RATE, abs=3 * 512)
    for at_s, level in ((0.5, 0.25), (1.5, 0.0), (2.3, 0.75)):
        assert heard[round(at_s * SAMPLE_RATE)] == pytest.approx(level, abs=0.02)
    assert (source.name, source.dropped_blocks, source.bad_samples) == ("two", 0, 0)


@pytest.mark.slow
def test_real_time_is_kept_also_in_the_pause(tmp_path: Path) -> None:
    source = Playlist([written(tmp_path / f"{n}.wav", 0.1, 16_000, 0.1) for n in "ab"], name="x")
    source.open()
    began_s = time.monotonic()
    blocks = list(source.blocks())
    assert time.monotonic() - began_s >= 2.0
    assert blocks[-1].arrived_s - began_s >= 2.0
    source.close()


def test_close_ends_it_in_the_middle_of_a_pause(tmp_path: Path) -> None:
    paths = [written(tmp_path / f"{n}.wav", 0.1, SAMPLE_RATE, 0.1) for n in "ab"]
    source = Playlist(paths, name="two", pause_s=60)
    source.open()
    for block in source.blocks():
        if block.start_sample > 0.1 * SAMPLE_RATE:
            source.close()
    source.close()


def test_a_file_that_cannot_be_read_is_found_before_anything_plays(tmp_path: Path) -> None:
    source = Playlist([*files(tmp_path), tmp_path / "none.wav"], name="three")
    with pytest.raises(AudioError, match=r"none\.wav"):
        source.open()
    source.close()
