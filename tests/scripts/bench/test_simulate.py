"""The program on the recording's clock: with engines that read off samples, and with real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.audio.file import read_audio
from pipeline.config.loader import changed
from pipeline.config.schema import Settings
from pipeline.core.resources import bundled
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, Pcm
from scripts.bench import simulate
from scripts.bench.recordings import Material, demo
from scripts.bench.sightings import History
from scripts.bench.simulate import (
    Column,
    Engines,
    Simulation,
    rows,
)
from tests.support.fakes import FakeRecognizer, FakeTranslator, Speech, pcm_of
from tests.support.needs import needs_file

SCRIPT = [Speech(1.0, 3.0, "the lord is good"), Speech(3.4, 5.0, "and so we praise him.")]
SETTINGS = changed(
    Settings(), {"vad.silence_ms": 160, "vad.eager_ms": 64, "vad.reopen_ms": 512, "vad.join_ms": 0}
)


def played(settings: Settings) -> list[History]:
    engines = Engines(FakeRecognizer(SCRIPT), FakeTranslator("es"), FakeTranslator("best"))
    pcm = pcm_of(SCRIPT, 7.0)
    return Simulation(settings, engines).play(pcm, loud(pcm))


def loud(pcm: Pcm) -> list[float]:
    blocks = pcm[: len(pcm) // BLOCK_SAMPLES * BLOCK_SAMPLES].reshape(-1, BLOCK_SAMPLES)
    return [float(np.count_nonzero(block) * 2 >= BLOCK_SAMPLES) for block in blocks]


@pytest.mark.slow
def test_a_final_is_there_when_the_pause_is_long_enough() -> None:
    captions = played(changed(SETTINGS, {"vad.reopen_ms": 0}))
    assert [each.last.final for each in captions] == [True, True]
    for caption, end_s in zip(captions, (3.0, 5.0), strict=True):
        assert caption.sightings[-1].at_s == pytest.approx(end_s + 0.16, abs=0.04)
        assert not caption.sightings[0].message.final, "partials come before"


def test_speech_that_returns_goes_on_behind_what_the_final_said() -> None:
    (caption,) = played(SETTINGS)
    statuses = [each.message.status for each in caption.sightings]
    assert "resumed" in statuses
    first = next(each.message for each in caption.sightings if each.message.final)
    assert caption.last.target.text != first.target.text
    later = caption.sightings[statuses.index("resumed") :]
    assert all(each.message.target.text.startswith("the-") for each in later)


def test_a_table_has_a_section_of_its_own_and_one_explanation(tmp_path: Path) -> None:
    captions = played(SETTINGS)
    material = Material("script", Path(), (), "the lord is good and so we praise him.", 7.0)
    table = rows([Column("these", captions, 0.5)], material)
    assert table[0][:2] == ["script", "last syllable to final, ms"]
    assert table[1][-1] == "0.50"
    file = tmp_path / "page.md"
    for name in ("script, fake", "other, fake", "script, fake"):
        simulate.write(file, name, table)
    text = file.read_text()
    assert text.count("## Simulated: ") == 2
    assert text.count("Made by") == 1
    assert text.count("| these |") == 2


@pytest.mark.slow
def test_the_starter_on_the_demo_comes_out_the_same_twice(
    tmp_path: Path,
) -> None:
    needs_file(bundled("models", "tiny", "gemma"))
    sermon = demo("sermon")
    audio = tmp_path / "begin.wav"
    soundfile.write(audio, read_audio(sermon.audio)[: 10 * SAMPLE_RATE], SAMPLE_RATE)
    settings = simulate._settings(["stt.model=starter"])
    spoken = tuple(word for word in sermon.words if word.end_s < 10)
    text = " ".join(word.text for word in spoken)
    material = Material("sermon", audio, spoken, text, 10.0, sermon.reference)
    columns = simulate.simulate(material, {"one": settings, "two": settings})
    assert columns[0].captions == columns[1].captions
    head, *body = rows(columns, material)
    assert [row[0] for row in body] == ["one", "two"]
    assert all(len(row) == len(head) for row in body)
    assert body[0][1:-1] == body[1][1:-1], "but for the CPU"
