"""Makes an engine from its description, in the process that it runs in."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pipeline.engines.protocols import Recognizer, Translator
from pipeline.engines.specification import RECOGNIZERS, EngineSpec, Kind

_CLASSES: Mapping[Kind, tuple[str, str]] = {
    "whisper": ("ctranslate2.whisper", "Whisper"),
    "moonshine": ("streaming.moonshine", "Moonshine"),
    "marian": ("ctranslate2.marian", "Marian"),
    "gemma": ("llama_cpp.gemma", "Gemma"),
    "exllamav2": ("exllama", "ExLlama"),
    "openai": ("remote.openai", "OpenAi"),
}
"""Module and class of each kind, by name: a process for one engine imports that one only."""


def make(spec: EngineSpec) -> Recognizer | Translator:
    """Return the engine, not yet loaded."""
    return make_recognizer(spec) if spec.kind in RECOGNIZERS else make_translator(spec)


def make_recognizer(spec: EngineSpec) -> Recognizer:
    """Return the engine of a recognizer's description, not yet loaded."""
    arguments = dict(spec.arguments)
    server = arguments.pop("server", None)
    made = _class_of(spec.kind)(spec.model, section=spec.section, **arguments)
    if spec.kind == "moonshine":
        made = _class("streaming.incremental", "IncrementalRecognizer")(made)
    if server:
        there = _class("remote.openai_speech", "OpenAiSpeech")(**server)
        made = _class("remote.stand_in", "RecognizerStandIn")(there, made)
    recognizer: Recognizer = made
    return recognizer


def make_translator(spec: EngineSpec) -> Translator:
    """Return the engine of a translator's description, not yet loaded."""
    arguments = dict(spec.arguments)
    local = arguments.pop("local", None)
    # The model of a server is that server's name for it, and no file.
    model = str(spec.model) if spec.is_elsewhere else spec.model
    made = _class_of(spec.kind)(model, section=spec.section, **arguments)
    if local:
        made = _class("remote.stand_in", "StandIn")(
            made, make_translator(EngineSpec.from_json(local))
        )
    translator: Translator = made
    return translator


def _class_of(kind: Kind) -> Any:
    return _class(*_CLASSES[kind])


def _class(module: str, name: str) -> Any:
    return getattr(import_module(f"pipeline.engines.{module}"), name)
