"""Check the input for a few seconds: present, loud enough, not too loud, and speech?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.audio.file import AudioFile
from pipeline.audio.level import CLIPPED, FLOOR_DBFS, level_dbfs
from pipeline.audio.protocols import AudioSource, SpeechDetector
from pipeline.audio.silero_vad import Silero
from pipeline.check.result import Check, Passed
from pipeline.config.schema import Settings
from pipeline.core.errors import AudioError
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE
from pipeline.engines.process import factory

NOTHING_DBFS = -90.0
"""Every analog input is louder; below this it is muted, or the channel has no signal."""
SILENT_DBFS = -50.0
"""The loudest quarter second of speech is well above this."""
QUIET_DBFS = -40.0
CLIPPED_SHARE = 0.1
"""Share of clipped quarter seconds from which recognition suffers."""
_MOST_CHANNELS = 8
_FILE_S = 60.0
"""Seconds of an audio file that are checked; reading them takes no time."""
_FIX = "See `stark-translate devices`, and set audio.device."
# A quarter of a second: 8 blocks of 32 ms.
_WINDOW_BLOCKS = 8
_SPEECH_BLOCKS = 5
"""160 ms: a vowel, not a click."""


@dataclass(frozen=True, slots=True)
class Heard:
    """Measurements of the input. `loudest_dbfs` is the level of the loudest quarter second."""

    seconds: float
    loudest_dbfs: float
    clipped_share: float
    """Share of quarter seconds with a sample at full scale, 0..1."""
    speech_s: float


def checks(settings: Settings, seconds: float) -> Iterator[Check]:
    """Yield the checks of the voice detector and of the input; a microphone runs for `seconds`."""
    audio = settings.audio
    detector = Silero()
    source = factory.audio_source(settings)
    doing = f"Speak into the microphone: listening for {seconds:g} s"
    if audio.input:
        # At full speed, regardless of `audio.pace`.
        source = AudioFile(Path(audio.input), channel=audio.channel, pace="fast")
        doing, seconds = f"Listening to {audio.input}", _FILE_S

    def load() -> Passed:
        detector.load()
        return Passed("Silero is there.")

    def opened() -> Passed:
        # A separate check, so that "cannot be opened" and "is too quiet" are two results.
        source.open()
        source.close()
        return Passed(f"{source.name} opens.")

    def level() -> Passed:
        threshold = settings.vad.threshold
        heard = listen(source, detector, seconds=seconds, threshold=threshold)
        try:
            return judge(heard, source.name)
        except AudioError as error:
            if error.code == "audio-silent" and (other := loud_channel(audio.input, detector)):
                fix = f"Channel {other} has sound: --channel {other}, or audio.channel = {other}."
                raise AudioError(error.code, error.message, fix) from None
            raise

    yield Check("voice-detector", "Loading the voice detector", load)
    yield Check("audio", f"Opening {source.name}", opened, fix=_FIX)
    yield Check("level", doing, level, ("audio", "voice-detector"), _FIX)


def listen(
    source: AudioSource, detector: SpeechDetector, *, seconds: float, threshold: float
) -> Heard:
    """Open `source`, read so many seconds or to its end, and close it.

    A block is speech from the probability `threshold` on. Raises what the source raises.
    """
    # Silero has a state: earlier audio would influence the first blocks.
    detector.reset()
    blocks = []
    speech_blocks = 0
    source.open()
    try:
        for block in source.blocks():
            blocks.append(block.pcm)
            speech_blocks += detector.probability(block.pcm) >= threshold
            if len(blocks) * BLOCK_SAMPLES >= seconds * SAMPLE_RATE:
                break
    finally:
        source.close()
    # Quarter seconds: in a longer window pauses would hide a voice, in a block a click counts.
    windows = [
        np.concatenate(blocks[start : start + _WINDOW_BLOCKS])
        for start in range(0, len(blocks), _WINDOW_BLOCKS)
    ]
    clipped = [bool(np.max(np.abs(window)) >= CLIPPED) for window in windows]
    return Heard(
        seconds=len(blocks) * BLOCK_SAMPLES / SAMPLE_RATE,
        loudest_dbfs=max(map(level_dbfs, windows), default=FLOOR_DBFS),
        clipped_share=sum(clipped) / max(1, len(clipped)),
        speech_s=speech_blocks * BLOCK_SAMPLES / SAMPLE_RATE,
    )


def loud_channel(file: str, detector: SpeechDetector) -> int:
    """Return the first channel of a recording that is not silent, 0 if there is none."""
    # Only for recordings: at a microphone somebody would have to speak for each channel.
    for channel in range(1, _MOST_CHANNELS + 1 if file else 1):
        source = AudioFile(Path(file), channel=channel, pace="fast")
        try:
            # Only the level counts here, not the detector's result.
            heard = listen(source, detector, seconds=_FILE_S, threshold=1.0)
        except AudioError:  # there is no such channel
            return 0
        if heard.loudest_dbfs >= SILENT_DBFS:
            return channel
    return 0


def judge(heard: Heard, name: str) -> Passed:
    """Judge if the audio is good enough for captions. Raises AudioError.

    Codes: audio-silent, audio-clipping. `name` is the input's name for the message.
    """
    summary = f"{name}: {heard.loudest_dbfs:.0f} dBFS at its loudest in {heard.seconds:.0f} s"
    spoken = heard.speech_s * SAMPLE_RATE >= _SPEECH_BLOCKS * BLOCK_SAMPLES
    # Regardless of the detector: even the noise of a preamplifier is louder than this.
    if heard.loudest_dbfs < NOTHING_DBFS:
        raise AudioError(
            "audio-silent",
            f"{name} gives nothing but silence.",
            "Switch the microphone on and unmute its channel in the mixer and in the system's "
            "sound settings; see whether audio.channel is the one it is plugged into.",
        )
    # A quiet voice that the detector recognizes is not silence: it gets advice below.
    if heard.loudest_dbfs < SILENT_DBFS and not spoken:
        raise AudioError(
            "audio-silent",
            f"{summary}: nobody can be heard.",
            "Speak while the check listens; if you did, turn the gain up or choose another "
            "audio.device or audio.channel (`stark-translate devices --meter`).",
        )
    if heard.clipped_share >= CLIPPED_SHARE:
        raise AudioError(
            "audio-clipping",
            f"{summary}, and distorted: {heard.clipped_share:.0%} of it is at full scale.",
            "Turn the gain down until the loudest words reach about -12 dBFS.",
        )
    if not spoken:
        return Passed(
            f"{summary}, but no speech.",
            "Speak while the check listens, to be sure that it hears the right thing.",
            "audio-no-speech",
        )
    summary += f", {heard.speech_s:.1f} s of speech"
    if heard.clipped_share:
        return Passed(
            f"{summary}, now and then at full scale.",
            "Turn the gain down a little.",
            "audio-clipping",
        )
    if heard.loudest_dbfs < QUIET_DBFS:
        return Passed(f"{summary}, quiet.", "Turn the gain up a little.", "audio-quiet")
    return Passed(f"{summary}.")
