"""Synthetic speech at 16 kHz: espeak-ng and flite, varied rate and pitch, rooms and noise."""

from __future__ import annotations

import io
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

Audio = NDArray[np.float32]
SAMPLE_RATE_HZ = 16_000

ESPEAK_LANGUAGES = {
    "en-us": 6, "en-gb": 4, "en-gb-x-rp": 2, "en-us-nyc": 1, "en-gb-scotland": 1,
    "en-gb-x-gbclan": 1, "en-gb-x-gbcwmd": 1, "en-029": 1,
}  # fmt: skip
ESPEAK_VARIANTS = {
    "": 4, "m1": 2, "m2": 2, "m3": 2, "m4": 2, "m5": 1, "m6": 2, "m7": 2, "m8": 1,
    "f1": 2, "f2": 2, "f3": 2, "f4": 2, "f5": 1, "Andy": 1, "Annie": 1, "Lee": 1, "steph": 1,
    "Michael": 1, "Alex": 1, "Denis": 1, "klatt2": 1,
}  # fmt: skip
FLITE_VOICES = {"rms": 3, "slt": 3, "awb": 2, "kal16": 1}
FLITE_SHARE = 0.35
# The two voices of the demo's sermon are used often, at any rate and pitch.
SERMON_VOICES = (("espeak-ng", "en-us+m3"), ("flite", "slt"))
SERMON_VOICE_SHARE = 0.15


@dataclass(frozen=True)
class Voice:
    """One way to speak; `rate` and `pitch` are relative to the synthesizer's own."""

    synthesizer: str
    name: str
    rate: float = 1.0
    pitch: float = 1.0


def draw_voice(draw: random.Random) -> Voice:
    """Return a random voice, more often a common one."""
    rate, pitch = draw.uniform(0.82, 1.12), draw.uniform(0.85, 1.2)
    if draw.random() < SERMON_VOICE_SHARE:
        return Voice(*draw.choice(SERMON_VOICES), rate, pitch)
    if draw.random() < FLITE_SHARE:
        return Voice("flite", _weighted(draw, FLITE_VOICES), rate, pitch)
    variant = _weighted(draw, ESPEAK_VARIANTS)
    name = _weighted(draw, ESPEAK_LANGUAGES) + (f"+{variant}" if variant else "")
    return Voice("espeak-ng", name, rate, pitch)


def _weighted(draw: random.Random, choices: dict[str, int]) -> str:
    return draw.choices(list(choices), list(choices.values()))[0]


def speak(text: str, voice: Voice) -> Audio:
    """Return mono float32 speech, 16 kHz. Raises CalledProcessError if the synthesizer fails."""
    if voice.synthesizer == "espeak-ng":
        command = ["espeak-ng", "-v", voice.name, "-s", str(round(175 * voice.rate))]
        command += ["-p", str(round(min(99, 50 * voice.pitch))), "--stdout"]
        done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
        return _wave(done.stdout)
    with TemporaryDirectory(prefix="flite-") as folder:
        path = Path(folder, "speech.wav")
        command = [
            "flite",
            "-voice",
            voice.name,
            "--setf",
            f"duration_stretch={1 / voice.rate:.3f}",
        ]
        command += ["--setf", f"f0_shift={voice.pitch:.3f}", "-t", text, "-o", str(path)]
        subprocess.run(command, capture_output=True, check=True)
        return _wave(path.read_bytes())


def _wave(data: bytes) -> Audio:
    # To a pipe, espeak-ng writes a header without a true length; samples begin at byte 44.
    if data[:4] == b"RIFF" and data[40:44] in (b"\xff\xff\xff\xff", b"\x00\xf0\xff\x7f"):
        rate_hz = int.from_bytes(data[24:28], "little")
        audio = np.frombuffer(data[44 : len(data) // 2 * 2], "<i2").astype(np.float32) / 32768
    else:
        audio, rate_hz = soundfile.read(io.BytesIO(data), dtype="float32")
    if rate_hz != SAMPLE_RATE_HZ:
        audio = soxr.resample(audio, rate_hz, SAMPLE_RATE_HZ)
    return np.asarray(audio, np.float32)


def in_room(audio: Audio, draw: random.Random) -> Audio:
    """Return the speech in a simple room, whose echo is noise that decays in 0.15 to 0.6 s."""
    reverberation_s = draw.uniform(0.15, 0.6)
    noise = np.random.default_rng(draw.getrandbits(32))
    time_s = np.arange(round(reverberation_s * SAMPLE_RATE_HZ)) / SAMPLE_RATE_HZ
    tail = noise.standard_normal(len(time_s)) * 10 ** (-3 * time_s / reverberation_s)
    tail[: round(draw.uniform(0.002, 0.02) * SAMPLE_RATE_HZ)] = 0
    tail *= 10 ** (draw.uniform(-16, -3) / 20) / (np.sqrt(np.sum(tail**2)) + 1e-9)
    tail[0] = 1.0
    length = len(audio) + len(tail)
    size = 1 << (length - 1).bit_length()
    wet = np.fft.irfft(np.fft.rfft(audio, size) * np.fft.rfft(tail, size), size)[:length]
    return np.asarray(wet, np.float32)


def with_silence(audio: Audio, draw: random.Random) -> Audio:
    """Add up to half a second of silence before and after, as a segmenter leaves it."""
    before, after = (round(draw.uniform(0, 0.5) * SAMPLE_RATE_HZ) for _ in range(2))
    return np.pad(audio, (before, after))


def with_noise(audio: Audio, snr_db: float, draw: random.Random) -> Audio:
    """Add coloured noise, `snr_db` below the mean power of the audio."""
    noise = coloured_noise(len(audio), draw)
    power = float(np.mean(audio**2)) + 1e-12
    return np.asarray(audio + noise * np.sqrt(power / 10 ** (snr_db / 10)), np.float32)


def coloured_noise(samples: int, draw: random.Random) -> Audio:
    """Return noise of unit power with a random spectral slope (0 white, 1 pink, 2 brown)."""
    white = np.random.default_rng(draw.getrandbits(32)).standard_normal(samples)
    spectrum = np.fft.rfft(white)
    frequency = np.maximum(np.arange(len(spectrum)), 20 * samples / SAMPLE_RATE_HZ)
    noise = np.fft.irfft(spectrum / frequency ** (draw.uniform(0, 2) / 2), samples)
    return np.asarray(noise / (np.std(noise) + 1e-12), np.float32)


def level(audio: Audio, draw: random.Random) -> Audio:
    """Return the audio with its peak at a random level from -26 to -1 dBFS."""
    peak = float(np.max(np.abs(audio))) + 1e-9
    return np.asarray(audio * (10 ** (draw.uniform(-26, -1) / 20) / peak), np.float32)
