"""Sound in a FLAC file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.audio.flac import write_flac


def test_samples_are_read_back_as_they_were_but_for_16_bits(tmp_path: Path) -> None:
    pcm = np.random.default_rng(1).uniform(-1, 1, 5000).astype(np.float32)
    write_flac(tmp_path / "one.flac", pcm)
    read, rate = soundfile.read(tmp_path / "one.flac", dtype="float32")
    assert rate == 16_000
    assert np.abs(read - pcm).max() <= 1 / 32_767
    assert [path.name for path in tmp_path.iterdir()] == ["one.flac"]


def test_a_folder_that_is_gone_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="none"):
        write_flac(tmp_path / "none" / "one.flac", np.zeros(100, np.float32))
