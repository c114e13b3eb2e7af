"""The arithmetic of the voice benchmark, on espeak-ng sound; `make bench-voice` runs it."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from structlog.processors import TimeStamper
from structlog.testing import capture_logs

from pipeline.engines.speech.espeak import Espeak
from pipeline.evaluation.reference import Sentence
from pipeline.voice.playout import FRAME, RATE_HZ, Encoder
from pipeline.voice.voice import STEP_S, Voice
from scripts.bench import voice
from scripts.support.journal import message
from tests.support.needs import needs_program
from tests.support.patience import wait_for


def test_there_are_fifty_captions_of_each_language_and_none_has_digits() -> None:
    for lang in voice.CAPTIONS:
        texts = voice.captions(lang, 50)
        assert len(texts) == 50
        assert not any(sign.isdigit() for text in texts for sign in text)
        assert all(text.endswith((".", "?")) for text in texts)
    assert len(voice.captions("es", 2)) == 2


def test_a_number_is_the_same_in_words_and_digits() -> None:
    said, written = "La página novecientos setenta y seis.", "La página 976."
    assert voice.comparable(said, "es") == voice.comparable(written, "es") == written
    assert voice.comparable("às sete horas", "pt") == "às sete horas"


def test_errors_and_seconds_are_those_of_all_captions_together() -> None:
    row = voice.row("es", [(1, 15), (0, 25)], speech_s=20.0, cpu_s=12.0)
    assert row == ["es", "2", "40", "2.5%", "20", "0.60"]


def test_a_part_that_comes_late_is_a_gap_and_moves_what_follows() -> None:
    needs_program("espeak-ng")
    speech = Espeak(Path("espeak-ng"), section="speech", deadline_s=20.0).speak("Amén.", "es", 1.0)
    step = 10 * FRAME
    pcm = np.concatenate([np.zeros(3 * step, np.float32), speech])
    pcm = np.pad(pcm, (0, -len(pcm) % step))
    encoder, sound, arrivals = Encoder(), b"", []
    for number, start in enumerate(range(0, len(pcm), step)):
        part = encoder.encode(pcm[start : start + step])
        arrivals.append((len(sound), 100.0 + number * STEP_S + (0.5 if number > 1 else 0.0)))
        sound += part
    heard = voice.heard(sound, arrivals)
    assert max(heard.gaps_s) == pytest.approx(0.5, abs=0.05)  # an encoder's first part is shorter
    loud_s = np.flatnonzero(np.abs(speech) > 0.01)[0] / RATE_HZ
    at_s = heard.first_sound_s(100.0, 110.0)
    assert at_s == pytest.approx(100.0 + 3 * STEP_S + 0.5 + loud_s, abs=0.1)
    assert heard.first_sound_s(100.0, 101.0) is None
    assert np.abs(heard.between(100.0, 101.0)).max() < 0.01
    assert np.abs(heard.between(101.0, 110.0)).max() > 0.1


@pytest.mark.slow
def test_a_clause_is_late_from_the_end_of_its_words() -> None:
    """The program's own voice speaks; its log lines lead to the sound that arrived."""
    needs_program("espeak-ng")
    sound, arrivals = b"", list[tuple[int, float]]()

    def spread(_lang: str, part: bytes) -> None:
        nonlocal sound
        arrivals.append((len(sound), time.monotonic()))
        sound += part

    speaker = Espeak(Path("espeak-ng"), section="speech", deadline_s=20.0)
    church = Voice(("es",), 1.25, lambda: {"es"})
    first = message(
        1, "He finds us, and he heals us.", "Nos halla, y nos cura.", start_s=1.0, end_s=4.0
    )
    with capture_logs(processors=[TimeStamper("iso", utc=True, key="utc")]) as log:
        start_s = time.monotonic() - 4.0  # so that the caption ends now
        church.start(speaker, spread, lambda _: None, lambda: False, lambda: None)
        church.on_caption(replace(first, seq=1, final=False, stable=len("Nos halla,")), "es")
        wait_for(lambda: any(line["event"] == "clause" for line in log))
        church.on_caption(first, "es")
        wait_for(lambda: sum(line["event"] == "clause" for line in log) == 2)
        wait_for(lambda: time.monotonic() - arrivals[0][1] > 4.0)
        church.close()
    clauses = voice.clauses(log)
    assert [clause["words"] for clause in clauses] == [2, 3]
    spoken = [Sentence(0, "", first.start_s, 3.5, "", "", ())]
    heard = voice.heard(sound, arrivals)
    one, two = voice.delays_s(clauses, [first], spoken, heard, start_s)
    ends = [first.start_s + share * (3.5 - first.start_s) for share in (0.4, 1.0)]
    # The first clause is the first sound; the second starts when the first is over.
    at_s = heard.first_sound_s(0.0, float("inf"))
    assert at_s is not None
    assert one == pytest.approx(at_s - start_s - ends[0])
    after_s = one + ends[0] + clauses[0]["length_s"]
    assert two + ends[1] == pytest.approx(after_s, abs=0.5)


@pytest.mark.slow
def test_every_listener_gets_every_byte() -> None:
    _, one, several = voice.crowd(3, 1.0)
    assert (one[:2], several[:2]) == (["1", "100% to 100%"], ["3", "100% to 100%"])
