"""Descriptions of engines: which settings each kind of engine gets."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.config.schema import Compare, Settings, Stt
from pipeline.config.targets import Final, Partial
from pipeline.core.errors import ConfigError
from pipeline.core.resources import require_extra
from pipeline.engines.prompts import Style, style_for
from pipeline.engines.specification import EngineSpec
from pipeline.engines.speech import espeak, kokoro
from pipeline.models.automatic import require_languages, translator_name
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import Role
from pipeline.models.resolve import resolve


def moonshine_spec(stt: Stt, model: Path) -> EngineSpec:
    """Return the description of a streaming recognizer. Raises ConfigError."""
    require_extra("moonshine_voice", "moonshine", 'stt.engine = "moonshine"')
    if stt.device == "cuda":
        raise ConfigError(
            "config-bad-value",
            'stt.device = "cuda": moonshine hears on the CPU here.',
            'Set stt.device to "cpu", or stt.engine to "whisper".',
        )
    # Moonshine has no setting for the number of threads.
    return EngineSpec("moonshine", f"moonshine:{model.name}", model, {}, section="stt")


def behind_server(local: EngineSpec, settings: Settings) -> EngineSpec:
    """Return the description of a recognizer on a server, with `local` as its fallback.

    It has the local one's kind: only that one can crash, grow too large or lose a GPU here.
    """
    stt = settings.stt
    server = {
        "model": stt.server_model,
        **settings.server_of(stt).model_dump(),
        # A single language: a server is not allowed with several spoken languages.
        "lang": settings.translate.source,
        "deadline_s": stt.deadline_s,
        "section": "stt",
    }
    name = f"openai:{stt.server_model}"
    return replace(local, name=name, arguments={**local.arguments, "server": server})


def openai_spec(
    settings: Settings,
    chosen: Partial | Final | Compare,
    section: str,
    *,
    local: EngineSpec | None = None,
) -> EngineSpec:
    """Return the description of a translator on a server; `local` is its fallback."""
    server = settings.server_of(chosen).model_dump()
    arguments: dict[str, Any] = {**_asked(settings, chosen), **server}
    if local is not None:
        # As plain values: the description goes to another process.
        arguments["local"] = local.as_json()
    # Not a file but the server's name for the model (`EngineSpec.model`).
    return EngineSpec("openai", "openai", Path(_named(settings, chosen)), arguments, section)


def server_specs(settings: Settings) -> dict[str, EngineSpec]:
    """Return the descriptions of the translators on servers, without local fallbacks.

    The keys are `partial` and `final`; an extra target adds its language, such as `final-fr`.
    """
    found: dict[str, EngineSpec] = {}
    for each in settings.for_each_target():
        lang = "" if each is settings else f"-{each.translate.target}"
        partial, final = each.translate.partial, each.translate.final
        if partial.engine == "openai":
            found[f"partial{lang}"] = openai_spec(each, partial, "translate.partial")
        if final.engine == "openai":
            found[f"final{lang}"] = openai_spec(each, final, "translate.final")
    return found


def marian_spec(
    settings: Settings,
    chosen: Partial | Compare,
    section: str,
    *,
    key: str = "model",
    name: str = "",
) -> EngineSpec:
    """Return the description of a Marian model: `name`, or else that of the settings.

    `key` is the setting for messages. Raises ModelError, ConfigError.
    """
    model = _model("marian", name or chosen.model, settings, section, key)
    # A multilingual model needs the target language.
    arguments = {"threads": chosen.threads, "target": settings.translate.target}
    return EngineSpec("marian", "marian", model, arguments, section)


def gemma_spec(settings: Settings, chosen: Final | Compare, section: str) -> EngineSpec:
    """Return the description of a GGUF model. Raises ModelError, ConfigError."""
    model = _model("gemma", chosen.model, settings, section)
    arguments = {
        **_asked(settings, chosen),
        "gpu_layers": chosen.gpu_layers,
        "threads": chosen.threads,
        "batch": chosen.batch,
        # Only finals have a draft that can be checked.
        "draft": chosen.draft if isinstance(chosen, Final) else 0,
    }
    return EngineSpec("gemma", "gemma", model, arguments, section)


_CONTEXT = 2048
"""Tokens that a server gives a draft translator's request."""
_CLAUSE_S = 8.0
"""A clause that takes longer than this to speak is left out."""


def _asked(settings: Settings, chosen: Partial | Final | Compare) -> dict[str, Any]:
    """Return the arguments that all models with a prompt have in common."""
    return {
        "prompt": _style(settings, chosen) if chosen.prompt == "auto" else chosen.prompt,
        "source": settings.translate.source,
        "target": settings.translate.target,
        "context": _CONTEXT if isinstance(chosen, Partial) else chosen.context,
        "deadline_s": chosen.deadline_s,
    }


def _model(role: Role, name: str, settings: Settings, section: str, key: str = "model") -> Path:
    key = f"{section}.{key}"
    name = translator_name(settings, role, name)
    require_languages(role, name, settings, key=key)
    return resolve(role, name, ModelLibrary.of(settings), key=key)


def _named(settings: Settings, chosen: Partial | Final | Compare) -> str:
    """Return the name of a model with a prompt, local or on a server."""
    return translator_name(
        settings, "marian" if isinstance(chosen, Partial) else "gemma", chosen.model
    )


def _style(settings: Settings, chosen: Partial | Final | Compare) -> Style:
    """Return the model's prompt style: from the registry, else guessed from its name."""
    name = _named(settings, chosen)
    model = ModelLibrary.of(settings).known.get(name)
    return (model.prompt if model else "") or style_for(name)


def speech_languages(settings: Settings) -> tuple[str, ...]:
    """Return the caption languages to speak for which the engine has a voice."""
    speech = settings.speech
    wanted = speech.languages or settings.translate.langs
    if speech.engine == "kokoro":
        return tuple(lang for lang in wanted if lang in kokoro.LANGUAGES)
    return tuple(lang for lang in wanted if espeak.can_speak(lang))


def speech_spec(settings: Settings) -> EngineSpec | None:
    """Return the speaker's description, None if there is none. Raises ModelError, ConfigError."""
    speech = settings.speech
    if not speech.enabled:
        return None
    langs, wanted = speech_languages(settings), speech.languages or settings.translate.langs
    if not langs:
        raise ConfigError(
            "lang-unsupported",
            f"[speech] {speech.engine} has no voice for {', '.join(wanted)}.",
            'Set speech.engine = "espeak", or enabled = false: phones have voices of their own.',
        )
    arguments: dict[str, Any] = {"deadline_s": _CLAUSE_S}
    if speech.engine == "espeak":
        # If the program is not installed, `load` reports it.
        program = Path(shutil.which(espeak.PROGRAM) or espeak.PROGRAM)
        return EngineSpec("espeak", "espeak", program, arguments, section="speech")
    model = resolve("speech", speech.model, ModelLibrary.of(settings))
    arguments |= {"languages": langs, "threads": 1}
    return EngineSpec("kokoro", "kokoro", model, arguments, section="speech")
