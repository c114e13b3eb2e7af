"""Check a server of a model: is it there, has it the model, and what goes to it unencrypted?"""

from __future__ import annotations

import time

from pipeline.check.result import Passed
from pipeline.engines.remote.engine import RemoteEngine
from pipeline.engines.remote.openai import OpenAi
from pipeline.engines.remote.openai_speech import OpenAiSpeech
from pipeline.engines.specification import EngineSpec

_SERVER_S = 5.0
"""A server that has not told its models by then is as good as none."""


def place_of(spec: EngineSpec) -> tuple[str, ...]:
    """Return what decides whether a server is there and serves a model."""
    return str(spec.model), *(spec.arguments[key] for key in ("url", "key_file", "ca_file"))


def _answered(server: RemoteEngine, model: str) -> str:
    """Return that a server is there and has the model. Raises EngineError, ModelError."""
    server.open()
    start_s = time.perf_counter()
    # Nobody breaks a check off: its time alone ends it.
    server.server.check_model(until_s=time.monotonic() + _SERVER_S, check=lambda: None)
    took_ms = (time.perf_counter() - start_s) * 1000
    return f"{server.server.place} serves {model} and answered in {took_ms:.0f} ms."


def ask_to_hear(server: OpenAiSpeech, model: str) -> Passed:
    """See the same of a recognizer's server. Raises EngineError, ModelError."""
    said = f"{_answered(server, model)} All that is spoken is sent there, as sound"
    if not server.server.is_open:
        return Passed(f"{said}.")
    fix = "Give stt.url as https://, or keep that network to yourselves."
    return Passed(f"{said}, unencrypted.", fix, "server-sound-open")


def ask_to_translate(server: OpenAi, spec: EngineSpec) -> Passed:
    """See the same of a translator's server. Raises EngineError, ModelError."""
    said = _answered(server, str(spec.model))
    if server.server.shows_key:
        fix = f"Give {spec.section}.url as https://, or keep that network to yourselves."
        return Passed(f"{said} Its key is sent unencrypted.", fix, "server-key-open")
    return Passed(said)
