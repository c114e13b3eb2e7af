"""Live subtitles of the real program in hls.js, a player of churches' streams, in Chromium."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path
from typing import Any

import pysubs2
import pytest
from playwright.sync_api import Browser

from scripts.support.program import SERMON, started
from tests.browser.conftest import note_complaints
from tests.support.live_sound import live_stream

pytestmark = pytest.mark.browser

SETTINGS = {
    "STARK_TRANSLATE__OUTPUTS": '[{"program": "hls"}]',
    "STARK_TRANSLATE__TRANSLATE__FINAL__MODEL": "tiny",
}
SEEN = (
    "window.fatal.length > 0 || (window.shown.length >= 2 && video.textTracks[0].cues.length >= 3)"
)
FOUND = """{
  const zero = hls.playingDate.getTime() / 1000 - video.currentTime;
  [...video.textTracks[0].cues].map((cue) => [zero + cue.startTime, cue.text]);
}"""


def listed(playlist: str) -> dict[str, float]:
    """Return the start time (UTC) of each cue in a playlist's segments."""
    found: dict[str, float] = {}
    folder = playlist.rpartition("/")[0]
    with urllib.request.urlopen(playlist, timeout=60) as answer:
        uris = re.findall(r"^[^#].*", answer.read().decode(), re.MULTILINE)
    for uri in uris:
        with urllib.request.urlopen(f"{folder}/{uri}", timeout=60) as answer:
            segment = answer.read().decode()
        began_s = int(Path(uri).stem) * 4
        clock = re.search(r"LOCAL:(\d+):(\d+):([\d.]+)", segment)
        assert clock
        hours, minutes, seconds = (float(part) for part in clock.groups())
        local_s = hours * 3600 + minutes * 60 + seconds
        for cue in pysubs2.SSAFile.from_string(segment, format_="vtt"):
            found[cue.plaintext] = began_s + cue.start / 1000 - local_s
    return found


def test_hls_js_shows_each_caption_once_and_when_it_was_said(
    browser: Browser, tmp_path: Path
) -> None:
    complaints: list[str] = []
    with started("run", "--input", str(SERMON), cwd=tmp_path, **SETTINGS) as program:
        subtitles = f"{program.address}/live/es.m3u8"
        with live_stream(subtitles) as address:
            page = browser.new_page()
            note_complaints(page, complaints)
            page.goto(address)
            page.wait_for_function(SEEN, timeout=180_000)
            fatal, shown = page.evaluate("[window.fatal, window.shown]")
            cues: list[tuple[float, str]] = page.evaluate(FOUND)
            starts = listed(subtitles)
            page.close()
        journal: list[dict[str, Any]] = program.journal()
        program.stop()
    assert (fatal, complaints) == ([], [])
    texts = [text for _, text in sorted(cues)]
    assert list(dict.fromkeys(shown)) == texts[: len(set(shown))]
    assert len(set(texts)) == len(texts)
    said = " ".join(line["target"]["text"] for line in journal)
    assert " ".join(" ".join(texts).split()) in said
    apart_s = {text: begun_s - starts[text] for begun_s, text in cues if text in starts}
    assert len(apart_s) >= 3
    assert all(abs(each) < 0.1 for each in apart_s.values()), apart_s
