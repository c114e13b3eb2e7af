"""Makes the engines that the settings ask for. Nothing heavy is imported before they load."""

from __future__ import annotations

from pathlib import Path

from pipeline.audio.file import WavFile
from pipeline.audio.microphone import Microphone
from pipeline.audio.protocols import AudioSource, SpeechDetector
from pipeline.audio.silero_vad import Silero
from pipeline.config.schema import Compare, Final, Partial, Settings
from pipeline.core.errors import ModelError
from pipeline.dictionary.store import Dictionary
from pipeline.engines.gemma import Gemma
from pipeline.engines.marian import Marian
from pipeline.engines.prompts import Style, style_for
from pipeline.engines.protocols import Recognizer, Translator
from pipeline.engines.whisper import Whisper
from pipeline.models.automatic import recognizer_name, require_languages
from pipeline.models.registry import read_registry
from pipeline.models.resolve import resolve
from pipeline.models.store import directory_of


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
    """Return Whisper, told the dictionary's rare words. Raises ModelError, ConfigError."""
    stt, name = settings.stt, recognizer_name(settings)
    require_languages("stt", name, settings)
    return Whisper(
        resolve("stt", name, settings.models.directory),
        device=stt.device,
        compute_type=stt.compute_type,
        threads=stt.threads,
        lang=settings.translate.source,
        window_s=stt.window_s,
        hotwords=dictionary.hotwords if stt.hotwords else "",
        word_probabilities=stt.word_probabilities,
    )


def partial_translator(settings: Settings) -> Translator | None:
    """Return the translator of the partial pass, None where there is none. Raises ModelError."""
    partial = settings.translate.partial
    return None if partial.engine == "none" else _marian(settings, partial)


def final_translator(settings: Settings) -> Translator | None:
    """Return the translator of the final pass, None where the partial's text is final at once."""
    final = settings.translate.final
    return None if final.engine == "marian" else _gemma(settings, final, draft=final.draft)


def compare_translator(settings: Settings) -> Translator | None:
    """Return the translator that finals are compared with, None if there is none.

    Raises ModelError.
    """
    compare = settings.translate.compare
    try:
        match compare.engine:
            case "gemma":
                return _gemma(settings, compare)
            case "marian":
                return _marian(settings, compare)
    except ModelError as error:
        raise of_compare(error) from None
    return None


def _marian(settings: Settings, chosen: Partial | Compare) -> Marian:
    require_languages("marian", chosen.model, settings)
    path = resolve("marian", chosen.model, settings.models.directory)
    return Marian(path, compute_type=chosen.compute_type, threads=chosen.threads)


def _gemma(settings: Settings, chosen: Final | Compare, draft: int = 0) -> Gemma:
    require_languages("gemma", chosen.model, settings)
    return Gemma(
        resolve("gemma", chosen.model, settings.models.directory),
        prompt=_style(settings, chosen) if chosen.prompt == "auto" else chosen.prompt,
        source=settings.translate.source,
        target=settings.translate.target,
        gpu_layers=chosen.gpu_layers,
        threads=chosen.threads,
        context=chosen.context,
        batch=chosen.batch,
        draft=draft,
        flash_attention=chosen.flash_attention,
        deadline_s=chosen.deadline_s,
    )


def _style(settings: Settings, chosen: Final | Compare) -> Style:
    """Return how the model is asked: as the registry has it, else as it looks."""
    model = read_registry(directory_of(settings.models.directory)).get(chosen.model)
    return (model.prompt if model else "") or style_for(chosen.model)


def of_compare(error: ModelError) -> ModelError:
    """Return the error with the keys of `translate.compare` for those of the other translators."""

    def ours(text: str) -> str:
        for theirs in ("translate.final.", "translate.partial."):
            text = text.replace(theirs, "translate.compare.")
        return text

    return ModelError(error.code, ours(error.message), ours(error.fix))
