"""The church's voice: espeak-ng in its process, the sound that listeners get, and failures."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import av
import numpy as np
import pytest

from pipeline.captions.redaction import Redaction
from pipeline.core.errors import ModelError
from pipeline.core.reports import Report
from pipeline.core.types import Pcm
from pipeline.engines.process.engine_process import SpeakerProcess
from pipeline.engines.process.factory import BrokenEngine
from pipeline.engines.specification import SPEECH, EngineSpec
from pipeline.voice.playout import RATE_HZ
from pipeline.voice.voice import STEP_S, Voice
from scripts.support.journal import message
from tests.support.needs import needs_program
from tests.support.patience import wait_for

if TYPE_CHECKING:
    from pipeline.engines.protocols import Speaker


@pytest.fixture(scope="module")
def speaker() -> Iterator[SpeakerProcess]:
    needs_program("espeak-ng")
    spec = EngineSpec("espeak", "espeak", Path("espeak-ng"), {"deadline_s": 20.0}, "speech")
    # A process that gives way to all others would take minutes to start on a busy machine.
    process = SpeakerProcess(spec, replace(SPEECH, niceness=0))
    process.load()
    yield process
    process.close()


@pytest.fixture(autouse=True)
def _four_times_as_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sound is sent sooner than a player plays it."""
    monkeypatch.setattr("pipeline.voice.voice.STEP_S", STEP_S / 4)


class Hall:
    """A voice and a listener."""

    def __init__(self, speaker: SpeakerProcess | BrokenEngine) -> None:
        self.listening = {"es"}
        self.faults: list[str] = []
        self.sound = b""
        self.spared = self.gone = False
        self.voice = Voice(("es", "fr"), 1.25, lambda: self.listening)
        self.voice.start(
            speaker, self._hear, self._tell, spare=lambda: self.spared, gone=self._gone
        )

    def _hear(self, lang: str, sound: bytes) -> None:
        assert lang == "es" or not sound
        self.sound += sound

    def _tell(self, report: Report) -> None:
        self.faults.append(report.code)  # type: ignore[union-attr]

    def _gone(self) -> None:
        self.gone = True

    def say(self, key: int, text: str, *, final: bool = True, lang: str = "es") -> None:
        self.voice.on_caption(message(key, text and "said", text, final=final, lang=lang), lang)

    def wait(self, count: int) -> None:
        """Wait for so many more bytes of sound: 6000 are a second."""
        at = len(self.sound)
        wait_for(lambda: len(self.sound) > at + count)

    @property
    def heard(self) -> Pcm:
        with av.open(io.BytesIO(self.sound), "r", format="mp3") as sound:
            frames = [frame.to_ndarray()[0] for frame in sound.decode(audio=0)]
        return np.concatenate(frames).astype(np.float32)

    @property
    def spoken_s(self) -> float:
        """Seconds of sound that are not silent."""
        return float((np.abs(self.heard) > 0.01).sum()) / RATE_HZ if self.sound else 0.0


@pytest.fixture
def hall(speaker: SpeakerProcess) -> Iterator[Hall]:
    made = Hall(speaker)
    yield made
    made.voice.close()
    wait_for(lambda: not voices())  # a slow engine keeps it for a while


def voices() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith("voice")]


@contextmanager
def standing_still(speaker: SpeakerProcess) -> Iterator[None]:
    wait_for(lambda: speaker.pid)
    os.kill(speaker.pid or 0, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(speaker.pid or 0, signal.SIGCONT)


def test_settled_words_are_heard_and_silence_goes_on_where_none_are(hall: Hall) -> None:
    hall.wait(5000)
    assert hall.spoken_s == 0
    hall.say(1, "Esto puede cambiar", final=False)
    hall.say(2, "😀")
    hall.say(3, "Dios es fiel.")
    hall.say(3, "Dieu est fidèle.", lang="fr")  # nobody listens to it
    wait_for(lambda: hall.spoken_s > 0.3)
    hall.wait(12_000)
    assert hall.spoken_s < 1.5
    assert hall.faults == []


def test_a_dead_engine_costs_one_clause_and_no_listener(
    hall: Hall, speaker: SpeakerProcess
) -> None:
    wait_for(lambda: speaker.pid)
    pid = speaker.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: speaker.pid not in (None, pid))
    hall.say(1, "Ha vuelto.")
    wait_for(lambda: hall.spoken_s > 0.2)
    assert hall.faults == []  # its keeper reports it


def test_an_engine_that_stands_still_keeps_nobody_waiting_and_no_word_is_lost(
    hall: Hall, speaker: SpeakerProcess
) -> None:
    with standing_still(speaker):
        hall.say(1, "Dios es fiel en todo.")
        wait_for(lambda: hall.voice._channels["es"].making == 1)
        began_s = time.monotonic()
        hall.voice.on_caption(message(2, "Amen.", "Amen.", lang="en"), "es")
        hall.say(3, "")  # hidden; it costs no other caption its words
        assert time.monotonic() - began_s < 0.2  # captions go on
        hall.wait(6000)  # and so does the sound
    wait_for(lambda: hall.spoken_s > 0.2)


@pytest.mark.parametrize("way", ["hidden", "blank", "off the record", "a notice taken back"])
def test_what_is_hidden_blank_or_off_the_record_is_cut_off(hall: Hall, way: str) -> None:
    text = "Esta frase es tan larga que nadie la quiere oír hasta su final, " * 4
    if way == "a notice taken back":
        hall.voice.on_notice({"es": text})
    else:
        hall.say(1, text)
    wait_for(lambda: hall.spoken_s > 0.2)
    match way:
        case "hidden":
            hall.say(1, "")
        case "a notice taken back":
            hall.voice.on_notice({})
        case "blank":
            hall.voice.on_blank(is_blank=True)
        case _:
            hall.voice.on_redaction(Redaction(0.0, 9.0), {})
    hall.wait(3000)  # some of it is on its way
    spoken_s = hall.spoken_s
    hall.wait(9000)
    assert hall.spoken_s == pytest.approx(spoken_s, abs=0.1)


def test_a_notice_is_said_once_and_not_before_the_screens_show_it(hall: Hall) -> None:
    hall.voice.on_blank(is_blank=True)
    hall.voice.on_notice({"en": "There is coffee.", "es": "Hay café."})
    hall.wait(9000)
    assert hall.spoken_s == 0
    hall.voice.on_blank(is_blank=False)
    wait_for(lambda: hall.spoken_s > 0.2)
    hall.voice.on_notice({"en": "There is coffee.", "es": "Hay un café.", "fr": "Il y a du café."})
    assert hall.voice._channels["es"].narrator.next(time.monotonic(), 0.0) is None


def test_where_nobody_listens_or_the_machine_is_behind_nothing_is_made(hall: Hall) -> None:
    hall.listening.clear()
    hall.say(1, "Nadie oye esto.")
    hall.listening.add("es")
    hall.spared = True
    wait_for(lambda: hall.voice._is_spared)
    hall.say(2, "Ni esto.")
    hall.wait(9000)
    assert hall.spoken_s == 0
    hall.spared = False
    wait_for(lambda: not hall.voice._is_spared)
    hall.voice.on_notice({"es": "Hay café.", "fr": "Il y a du café."})
    wait_for(lambda: hall.spoken_s > 0.2)


def test_an_engine_that_cannot_be_had_is_told_and_nothing_is_offered() -> None:
    hall = Hall(BrokenEngine(ModelError("model-not-pulled", "It is not there.", "Pull it.")))
    wait_for(lambda: hall.gone)
    assert hall.faults == ["model-not-pulled"]
    hall.voice.close()
    assert not voices()


class Ones:
    """A speaker that is always there, and says everything in one second."""

    def load(self) -> None:
        """Do nothing."""

    def speak(self, text: str, lang: str, rate: float) -> Pcm:
        """Return a second of sound."""
        return np.ones(RATE_HZ, np.float32)


def test_what_is_hidden_while_it_is_encoded_is_taken_back_after_it_was_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[bytes] = []
    voice = Voice(("es",), 1.25, lambda: {"es"})
    hidden = threading.Thread(target=lambda: voice.on_caption(message(1, "", ""), "es"))

    class Encoding:
        def encode(self, pcm: Pcm) -> bytes:
            if pcm.any() and not hidden.ident:
                hidden.start()
                hidden.join(0.3)
            return b"sound" if pcm.any() else b"silence"

    monkeypatch.setattr("pipeline.voice.voice.Encoder", Encoding)
    voice.start(
        cast("Speaker", Ones()),
        lambda _, sound: sent.append(sound),
        lambda _: None,
        spare=lambda: False,
        gone=lambda: None,
    )
    voice.on_caption(message(1, "said", "Dios es fiel."), "es")
    wait_for(lambda: b"sound" in sent and sent[-1] == b"silence")
    voice.close()
    assert b"" in sent[sent.index(b"sound") :]
