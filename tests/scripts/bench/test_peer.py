"""The peer on the recording's clock, with a recognizer that reads off samples, and for real."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import orjson
import pytest
import soundfile

from pipeline.config.loader import load
from pipeline.core.resources import bundled
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, Pcm
from scripts.bench import peer, recordings
from scripts.bench.peer import Clock, Column, Peer, rows, section, voiced_blocks
from scripts.bench.recordings import SpokenWord
from scripts.bench.sightings import erasure, recognized, standing

VOICES = bundled("demo", "voices")
WORD_S = 0.5


def read_off(pcm: Pcm) -> str:
    """A word for each half second: the sample in its middle is its number."""
    middles = pcm[round(WORD_S * SAMPLE_RATE) // 2 :: round(WORD_S * SAMPLE_RATE)]
    return " ".join(f"w{round(float(sample) * 1000)}" for sample in middles if sample)


def spoken_times(pcm: Pcm, text: str) -> list[SpokenWord]:
    return [
        SpokenWord(text=word, start_s=place * WORD_S, end_s=(place + 1) * WORD_S)
        for place, word in enumerate(text.split())
    ]


def numbered(seconds: float) -> tuple[Pcm, list[bool]]:
    """Voice all the time; each half second has its number as its samples."""
    count = round(seconds * SAMPLE_RATE) // BLOCK_SAMPLES * BLOCK_SAMPLES
    numbers = np.arange(count) // round(WORD_S * SAMPLE_RATE) + 1
    return (numbers / 1000).astype(np.float32), [True] * (count // BLOCK_SAMPLES)


def test_a_word_stands_one_recognition_after_it_was_first_heard() -> None:
    pcm, voiced = numbered(4.0)
    (text,) = Peer(read_off, spoken_times, Clock(counts=False)).play(pcm, voiced)
    assert text.last.source.text == " ".join(f"w{n}" for n in range(1, 9))
    assert text.last.final
    first, *_ = standing(text, recognized)
    assert first.at_s == pytest.approx(2 * peer.STEP_S, abs=0.1)
    assert erasure([text], recognized).total == 0


def test_computing_that_counts_makes_later_and_fewer_recognitions() -> None:
    pcm, voiced = numbered(6.0)

    def slow(part: Pcm) -> str:
        clock.free_s += 2.5  # as if it had taken so long
        return read_off(part)

    clock = Clock(counts=True)
    (late,) = Peer(slow, spoken_times, clock).play(pcm, voiced)
    (soon,) = Peer(read_off, spoken_times, Clock(counts=False)).play(pcm, voiced)
    assert len(late.sightings) < len(soon.sightings)
    assert late.last.source.text == soon.last.source.text
    assert late.sightings[-1].at_s > soon.sightings[-1].at_s + 1.0


def test_a_pause_ends_a_text() -> None:
    pcm, voiced = numbered(6.0)
    quiet = len(voiced) // 2
    voiced[quiet] = False
    texts = Peer(read_off, spoken_times, Clock(counts=False)).play(pcm, voiced)
    assert [text.id for text in texts] == [1, 2]
    assert all(text.last.final for text in texts)


def test_a_long_buffer_is_cut_behind_a_sentence_and_loses_nothing() -> None:
    pcm, voiced = numbered(30.0)
    lengths_s = []

    def sentences(part: Pcm) -> str:
        lengths_s.append(len(part) / SAMPLE_RATE)
        words = read_off(part).split()
        return " ".join(f"{w}." if int(w[1:]) % 4 == 0 else w for w in words)

    (text,) = Peer(sentences, spoken_times, Clock(counts=False)).play(pcm, voiced)
    assert [w.strip(".") for w in text.last.source.text.split()] == read_off(pcm).split()
    assert peer.LONG_S < max(lengths_s) < peer.LONG_S + 3 * peer.STEP_S


def test_a_table_has_a_column_for_each_way() -> None:
    material = recordings.demo("pauses")
    column = Column("LocalAgreement, infinitely fast", [], 0.5)
    head, *body = rows([column, column], material)
    assert head == ["", "LocalAgreement, infinitely fast", "LocalAgreement, infinitely fast"]
    told = {row[0]: row[1] for row in body}
    assert (told["WER"], told["erasure"], told["CPU, s/s"]) == ("100.0%", "-", "0.50")
    text = section([("pauses", [head, *body]), ("voices", [head, *body])])
    assert text.startswith(f"{peer.TITLE}\n")
    assert "| pauses | LocalAgreement, infinitely fast |" in text
    assert "| voices | LocalAgreement, infinitely fast |" in text


@pytest.mark.slow
def test_voice_goes_on_through_short_pauses() -> None:
    pcm = recordings.read_audio(VOICES / "jfk_1961.flac")
    voiced, cpu_s = voiced_blocks(pcm, load().settings)
    assert cpu_s > 0
    begins = sum(new and not old for old, new in pairwise([False, *voiced]))
    shortest = {"vad.silence_ms": 64, "vad.eager_ms": 0, "vad.reopen_ms": 0, "vad.join_ms": 0}
    cut = recordings.utterances(pcm, load(flags=shortest).settings.vad)
    assert 1 < begins < len(cut)


@pytest.mark.slow
def test_the_peer_hears_people(
    whisper_base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said, until_s = "And so, my fellow Americans,", 2.9
    (tmp_path / "voices.json").write_text(orjson.dumps({"jfk.flac": {"text": said}}).decode())
    pcm = recordings.read_audio(VOICES / "jfk_1961.flac")[: round(until_s * SAMPLE_RATE)]
    soundfile.write(tmp_path / "jfk.flac", pcm, SAMPLE_RATE)
    times = orjson.loads((VOICES / "jfk_1961.words.json").read_bytes())
    times["words"] = times["words"][: len(said.split())]
    (tmp_path / "jfk.words.json").write_bytes(orjson.dumps(times))
    page = tmp_path / "B.md"
    options = ["--alone", "--voices", str(tmp_path), "--markdown", str(page)]
    kept = ["--set", f"models.directory={whisper_base.parent}"]
    assert peer.main([*options, *kept]) == 0
    cells = next(line for line in page.read_text().splitlines() if line.startswith("| WER"))
    assert float(cells.split("|")[2].strip().rstrip("%")) <= 15
    assert "LocalAgreement" in capsys.readouterr().out
