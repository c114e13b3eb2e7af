"""Audio files with damaged headers and bodies: played up to the damage or refused; no crash."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.material import FUZZ, damaged
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow
BATCHES = settings(FUZZ, max_examples=max(3, settings().max_examples // 100), deadline=90_000)


def encoded(form: str, channels: int = 1, rate: int = 16_000, subtype: str | None = None) -> bytes:
    pcm = 0.1 * np.random.default_rng(3).normal(0, 1, (rate // 4, channels))
    out = io.BytesIO()
    soundfile.write(out, pcm, rate, format=form, subtype=subtype)
    return out.getvalue()


GOOD = [
    encoded("WAV"),
    encoded("WAV", channels=2, rate=44_100, subtype="FLOAT"),
    encoded("WAV", subtype="IMA_ADPCM"),
    encoded("FLAC"),
    encoded("FLAC", channels=2, rate=48_000),
    encoded("OGG"),
    encoded("AIFF"),
    encoded("MP3"),
]
HEADER = 120


class Content(bytes):
    """A file's content with a short `repr`."""

    def __repr__(self) -> str:
        return f"{bytes(self[:HEADER])!r} and {len(self)} bytes in all"


FILES = (
    st.sampled_from(GOOD)
    .flatmap(
        lambda good: st.one_of(
            damaged(good[:HEADER], most=3).map(lambda head: head + good[HEADER:]),
            damaged(good, most=3),
            st.integers(0, len(good)).map(lambda size: good[:size]),
        )
    )
    .map(Content)
)


def played(folder: Path, files: list[bytes]) -> list[str]:
    """Play the files in another process; return the result of each."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for number, content in enumerate(files):
        (folder / f"{number:02}.bin").write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.read_audio", str(folder)],
        capture_output=True,
        text=True,
        timeout=80,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, f"{done.stdout[-300:]}{done.stderr}"
    return done.stdout.splitlines()[1::2]


def test_whole_files_are_played(tmp_path: Path) -> None:
    assert all(line.endswith("blocks") for line in played(tmp_path / "f", GOOD))


@BATCHES
@given(st.lists(FILES, min_size=20, max_size=20))
def test_damaged_files_are_played_or_refused(tmp_path: Path, files: list[bytes]) -> None:
    assert len(played(tmp_path / "f", files)) == len(files)
