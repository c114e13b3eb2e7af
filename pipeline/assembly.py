"""Makes the engines that the settings ask for. Nothing heavy is imported before they load."""

from __future__ import annotations

from pathlib import Path

from pipeline.config import Settings
from pipeline.dictionary import Dictionary
from pipeline.engines import AudioSource, Recognizer, SpeechDetector, Translator
from pipeline.engines.gemma import Gemma
from pipeline.engines.marian import Marian
from pipeline.engines.microphone import Microphone
from pipeline.engines.silero import Silero
from pipeline.engines.wavfile import WavFile
from pipeline.engines.whisper import Whisper
from pipeline.models import resolve
from pipeline.prompts import style_for

_HOTWORDS = 40


def audio_source(settings: Settings, *, loop: bool = False) -> AudioSource:
    """Return the file of `audio.input`, or else the microphone."""
    audio = settings.audio
    if audio.input:
        return WavFile(Path(audio.input), channel=audio.channel, pace=audio.pace, loop=loop)
    return Microphone(audio.device, channel=audio.channel)


def speech_detector() -> SpeechDetector:
    """Return Silero."""
    return Silero()


def recognizer(settings: Settings, dictionary: Dictionary) -> Recognizer:
    """Return Whisper, told the dictionary's rare words. Raises ModelError."""
    stt = settings.stt
    return Whisper(
        resolve("stt", stt.model, settings.models.directory),
        device=stt.device,
        compute_type=stt.compute_type,
        threads=stt.threads,
        lang=settings.translate.source,
        window_s=stt.window_s,
        hotwords=dictionary.lexicon.hotwords(_HOTWORDS) if stt.hotwords else "",
        word_probabilities=stt.word_probabilities,
    )


def partial_translator(settings: Settings) -> Translator | None:
    """Return the translator of the partial pass, None where there is none. Raises ModelError."""
    partial = settings.translate.partial
    if partial.engine == "none":
        return None
    return Marian(
        resolve("marian", partial.model, settings.models.directory),
        compute_type=partial.compute_type,
        threads=partial.threads,
    )


def final_translator(settings: Settings) -> Translator | None:
    """Return the translator of the final pass, None where the partial's text is final at once."""
    final = settings.translate.final
    if final.engine == "marian":
        return None
    return Gemma(
        resolve("gemma", final.model, settings.models.directory),
        prompt=style_for(final.model) if final.prompt == "auto" else final.prompt,
        source=settings.translate.source,
        target=settings.translate.target,
        gpu_layers=final.gpu_layers,
        threads=final.threads,
        context=final.context,
        flash_attention=final.flash_attention,
        batch=final.batch,
        draft=final.draft,
        deadline_s=final.deadline_s,
    )
