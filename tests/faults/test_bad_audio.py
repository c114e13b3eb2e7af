"""Bad recordings through the real chain: file, resampling, Silero, segmenter, queues, files.

The recognized text does not matter here, so a scripted recognizer is used unless stated otherwise.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import soxr
import structlog.testing

from pipeline.audio.file import AudioFile
from pipeline.audio.silero_vad import Silero
from pipeline.cli.main import main
from pipeline.core.types import SAMPLE_RATE, Pcm, Recognition
from pipeline.engines.protocols import never
from tests.support.daemon import Service, send
from tests.support.fakes import FakeDetector, FakeRecognizer, FakeSource, Speech, pcm_of
from tests.support.patience import reached
from tests.support.sounds import speech, wav

pytestmark = pytest.mark.slow

HEARD_S = 12.9
"""The sermon's first four sentences."""


class Ears:
    """A recognizer whose text is the duration that it heard."""

    name = "ears"
    hotwords = ""
    degraded_reason = ""

    def __init__(self) -> None:
        self.is_cancelled = never

    def load(self) -> None: ...

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        assert np.isfinite(pcm).all()
        text = f"{len(pcm) / SAMPLE_RATE:.1f} seconds of a sermon"
        return Recognition(text, avg_logprob=-0.1, no_speech_prob=0.0, compression_ratio=1.0)


def hear(
    tmp_path: Path, file: Path, *, channel: int = 1, silero: bool = True, **more: Any
) -> Service:
    """Run a service on a file at full speed. It must end cleanly."""
    service = Service(
        tmp_path / "sessions",
        source=AudioFile(file, channel=channel, pace="fast"),
        detector=Silero() if silero else FakeDetector(),
        recognizer=Ears(),
        **more,
    )
    assert service.run() == 0
    return service


@pytest.fixture(scope="module")
def spans(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[float, float]]:
    """Return the spans of speech in the undamaged recording."""
    path = tmp_path_factory.mktemp("good")
    return said(hear(path, wav(path / "good.wav", speech(HEARD_S))))


def said(service: Service) -> list[tuple[float, float]]:
    """Return the spans of the last versions: a continued final has two journal lines."""
    last = {line["id"]: (line["start_s"], line["end_s"]) for line in service.journal()}
    return list(last.values())


def at(rate: int) -> Callable[[Pcm], Any]:
    return lambda pcm: soxr.resample(pcm, 16_000, rate)


@pytest.mark.parametrize("rate", [8000, 44_100, 96_000])
def test_another_rate_is_heard_like_the_usual_one(
    tmp_path: Path, spans: list[tuple[float, float]], rate: int
) -> None:
    heard = said(hear(tmp_path, wav(tmp_path / "a.wav", at(rate)(speech(HEARD_S)), rate)))
    assert len(spans) >= 4
    assert len(heard) == len(spans)
    np.testing.assert_allclose(heard, spans, atol=0.15)


def test_a_dead_channel_is_no_captions_and_the_other_all(
    tmp_path: Path, spans: list[tuple[float, float]]
) -> None:
    alive = speech(HEARD_S)
    file = wav(tmp_path / "a.wav", np.stack([alive, np.zeros_like(alive)], axis=1))
    assert said(hear(tmp_path / "1", file, channel=1)) == spans
    assert said(hear(tmp_path / "2", file, channel=2)) == []
    assert len(said(hear(tmp_path / "0", file, channel=0))) == len(spans)  # half as loud


def test_samples_that_are_no_numbers_are_silence_and_are_told_once(
    tmp_path: Path, spans: list[tuple[float, float]]
) -> None:
    pcm = speech(HEARD_S)
    for n, bad in enumerate([np.nan, np.inf, -np.inf]):
        pcm[n * 5_000 :: 16_000] = bad
    service = hear(tmp_path, wav(tmp_path / "a.wav", pcm))
    assert len(said(service)) == len(spans)
    assert service.faults() == ["audio-bad-samples"]


def test_nothing_but_no_numbers_is_silence(tmp_path: Path) -> None:
    service = hear(tmp_path, wav(tmp_path / "a.wav", np.full(16_000 * 5, np.nan)))
    assert said(service) == []
    assert service.faults() == ["audio-bad-samples"]


def test_full_scale_clipping_is_heard_and_on_record(
    tmp_path: Path, spans: list[tuple[float, float]]
) -> None:
    file = wav(tmp_path / "a.wav", np.clip(speech(HEARD_S) * 100, -1, 1), subtype="PCM_16")
    service = hear(tmp_path, file)
    assert len(said(service)) >= len(spans) // 2  # noise is louder too, and pauses are shorter
    assert {record["peak_dbfs"] for record in service.records()} == {0.0}


@pytest.mark.parametrize(
    ("shape", "rate"),
    [((1, 2), 96_000), ((513,), 8000), ((511,), 16_000), ((512,), 16_000), ((513,), 16_000)],
)
def test_a_recording_of_a_moment_ends_cleanly(
    tmp_path: Path, shape: tuple[int, ...], rate: int
) -> None:
    service = hear(tmp_path, wav(tmp_path / "a.wav", np.ones(shape), rate))
    assert said(service) == []
    (end,) = [e for e in service.records("event") if e["event"] == "end"]
    assert end["unfinished"] == 0
    assert end["audio_s"] == pytest.approx(shape[0] / rate, abs=0.064)


def test_minutes_of_silence_are_no_captions_and_no_trouble(tmp_path: Path) -> None:
    """Digital silence, and the noise of a room at -60 dBFS."""
    noise = np.random.default_rng(1).normal(0, 0.001, 16_000 * 90)
    file = wav(tmp_path / "a.wav", np.concatenate([np.zeros(16_000 * 90), noise]), subtype="PCM_16")
    service = hear(tmp_path, file)
    assert service.records() == []
    assert service.journal() == []
    assert service.faults() == []
    (end,) = [e for e in service.records("event") if e["event"] == "end"]
    assert (end["unfinished"], round(end["audio_s"])) == (0, 180)


def test_minutes_without_a_pause_are_cut_and_lose_nothing(tmp_path: Path) -> None:
    file = wav(tmp_path / "a.wav", np.full(16_000 * 180, 0.1), subtype="PCM_16")
    service = hear(tmp_path, file, silero=False)
    spans = said(service)
    longest_s = service.settings.vad.max_utterance_s
    assert all(end_s - start_s <= longest_s + 0.04 for start_s, end_s in spans)
    assert spans[0][0] == 0
    assert spans[-1][1] == pytest.approx(180, abs=0.04)
    for (_, end_s), (start_s, _) in pairwise(spans):
        assert start_s == pytest.approx(end_s, abs=0.002)  # neither a gap nor a repeated word
    assert {r["filtered"] for r in service.records()} == {""}
    assert service.faults() == []


def test_a_recording_damaged_further_on_ends_with_1_and_keeps_what_was_said(
    tmp_path: Path,
) -> None:
    pcm = np.concatenate([speech(HEARD_S)] * 2)
    file = tmp_path / "a.flac"
    soundfile.write(file, pcm, 16_000)
    data = bytearray(file.read_bytes())
    half = len(data) // 2
    data[half : half + 4000] = bytes(4000)
    file.write_bytes(data)
    service = Service(
        tmp_path / "sessions",
        source=AudioFile(file, pace="fast"),
        detector=Silero(),
        recognizer=Ears(),
    )
    assert service.run() == 1
    (broken,) = [e for e in service.records("event") if e["event"] == "broken"]
    assert (broken["worker"], broken["code"]) == ("listen", "audio-unreadable")
    assert len(service.journal()) >= 4
    (end,) = [e for e in service.records("event") if e["event"] == "end"]
    assert end["unfinished"] == 0


def test_a_source_that_breaks_in_the_middle_of_a_word_leaves_it_as_a_final(tmp_path: Path) -> None:
    script = [Speech(0.5, 3.0, "the Lord is my shepherd")]

    class Breaks(FakeSource):
        def blocks(self) -> Any:
            yield from super().blocks()
            raise RuntimeError("a bug in a driver")

    service = Service(
        tmp_path, source=Breaks(pcm_of(script, 2.5)), recognizer=FakeRecognizer(script)
    )
    assert service.run() == 1
    assert [line["source"]["text"] for line in service.journal()] == ["the Lord is my"]


def test_what_is_no_recording_is_refused_by_the_real_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.wav").touch()
    wav(tmp_path / "header.wav", np.zeros(0))
    (tmp_path / "text.wav").write_text("In the beginning\n" * 100)
    (tmp_path / "folder").mkdir()
    for name in ("empty.wav", "header.wav", "text.wav", "folder"):
        assert main(["run", "--port", "0", "--input", name]) == 1
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith(f"stark-translate: {name}")
        code = "audio-empty" if name in ("empty.wav", "header.wav") else "audio-unreadable"
        assert last.endswith(f"[{code}]")


def test_a_file_of_many_hours_says_its_length_first_and_how_far_it_is(tmp_path: Path) -> None:
    """A sparse file with a 12 h header; such a file was once read without any message."""
    seconds = 12 * 3600
    file = wav(tmp_path / "a.wav", np.zeros(16_000), subtype="PCM_16")
    header = bytearray(file.read_bytes()[:44])
    header[4:8] = (36 + seconds * 32_000).to_bytes(4, "little")
    header[40:44] = (seconds * 32_000).to_bytes(4, "little")
    with file.open("wb") as sparse:
        sparse.write(header)
        sparse.truncate(44 + seconds * 32_000)

    async def beside(_: Service) -> None:
        await reached(lambda: any(line["event"] == "played" for line in log))
        send(signal.SIGTERM)

    source = AudioFile(file, pace="fast")
    service = Service(tmp_path / "sessions", source=source, recognizer=Ears())
    with structlog.testing.capture_logs() as log:
        assert service.run(beside) == 0
    assert [line["length"] for line in log if line["event"] == "file"] == ["12:00:00"]
    assert {line["of"] for line in log if line["event"] == "played"} == {"12:00:00"}
