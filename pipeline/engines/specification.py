"""Descriptions of engines as plain values, from which any process can make them; their parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

Kind = Literal["whisper", "moonshine", "marian", "gemma", "openai", "kokoro", "espeak"]

GPU_SHARES: Mapping[Kind, tuple[float, ...]] = {"whisper": (1.0, 0.0), "gemma": (1.0, 0.5, 0.0)}
"""Shares of the requested GPU layers, tried in this order after GPU failures."""

_CLASSES: Mapping[Kind, tuple[str, str]] = {
    "whisper": ("ctranslate2.whisper", "Whisper"),
    "moonshine": ("streaming.moonshine", "Moonshine"),
    "marian": ("ctranslate2.marian", "Marian"),
    "gemma": ("llama_cpp.gemma", "Gemma"),
    "openai": ("remote.openai", "OpenAi"),
    "kokoro": ("speech.kokoro", "Kokoro"),
    "espeak": ("speech.espeak", "Espeak"),
}
"""Module and class of each kind, by name, so that a process imports only its own engine."""


def setting(section: str, key: str) -> str:
    """Return the name of a setting for messages; an engine without a section has none."""
    return f"{section}.{key}" if section else key


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """An engine's kind, its model and the other arguments of its constructor (JSON values)."""

    kind: Kind
    name: str
    """The name in records."""
    model: Path
    """The model's files, or the server's name for a model on a server."""
    arguments: Mapping[str, Any]
    section: str = ""
    """The table of the settings that requests it, such as "translate.compare", for messages."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether the model is on a server, without local files."""
        return self.kind == "openai"

    @property
    def wants_gpu(self) -> bool:
        """Whether the settings ask for a GPU."""
        if self.kind == "gemma":
            return bool(self.arguments.get("gpu_layers"))
        return bool(self.arguments.get("device", "cpu") != "cpu")

    def is_like(self, other: EngineSpec) -> bool:
        """Whether one process can serve both; False for servers.

        Servers answer several requests at a time: see `sharing.Turns`.
        """
        # Each request brings its language and deadline, so these may differ.
        ours, theirs = (
            {**each.arguments, "target": "", "deadline_s": 0.0} for each in (self, other)
        )
        same = (self.kind, self.model, ours) == (other.kind, other.model, theirs)
        return same and not self.is_elsewhere

    def with_gpu_share(self, share: float) -> EngineSpec:
        """Return this engine with `share` (0..1) of the GPU work that it asks for."""
        arguments = dict(self.arguments)
        if self.kind == "gemma":
            arguments["gpu_share"] = share
        elif share < 1 and self.wants_gpu:
            # Whisper runs on a GPU entirely or not at all, and float16 is for GPUs only.
            arguments |= {"device": "cpu", "compute_type": "int8"}
        return replace(self, arguments=arguments)

    def as_json(self) -> dict[str, Any]:
        """Return the values for another process."""
        # JSON has no paths.
        return asdict(self) | {"model": str(self.model)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> EngineSpec:
        """Return the description from the values of `as_json`."""
        return cls(**{**values, "model": Path(values["model"])})


@dataclass(frozen=True, slots=True)
class Part:
    """The role of an engine, and the effect of its absence."""

    key: str
    """The name in log lines and in the process's name."""
    name: str
    meanwhile: str
    """What happens until the engine is back."""
    waits: bool
    """Whether a call waits for the next process; else it raises EngineGoneError at once."""
    oom_score_adj: int
    """The higher, the sooner the kernel kills it when memory is short. The daemon has 0."""
    niceness: int = 0


# The less an engine is needed, the sooner the kernel should kill it.
RECOGNIZER = Part(
    "stt", "the recognizer", "captions come late until it is back", waits=True, oom_score_adj=300
)
QUICK = Part(
    "partial",
    "the quick translator",
    "the spoken words stand in for its captions",
    waits=False,
    oom_score_adj=500,
)
FINAL = Part(
    "final",
    "the final translator",
    "the quick one makes the finals",
    waits=False,
    oom_score_adj=700,
)
SECOND = Part(
    "compare",
    "the second translator",
    "nothing is compared",
    waits=False,
    oom_score_adj=900,
    niceness=10,
)
"""Niceness 10 is about a tenth of the others' share of a busy core."""
SPEECH = Part(
    "speech", "the voice", "nobody hears the captions", waits=False, oom_score_adj=950, niceness=10
)


def make(spec: EngineSpec) -> Any:
    """Return the Recognizer, Translator or Speaker of a description, not yet loaded."""
    arguments = dict(spec.arguments)
    # Not arguments of the engine: the server that is asked before it, and what stands in for it.
    server, local = arguments.pop("server", None), arguments.pop("local", None)
    # A model on a server is given by the server's name for it, not by a file.
    model = str(spec.model) if spec.is_elsewhere else spec.model
    made = _class(*_CLASSES[spec.kind])(model, section=spec.section, **arguments)
    if server:
        there = _class("remote.openai_speech", "OpenAiSpeech")(**server)
        return _class("remote.stand_in", "RecognizerStandIn")(there, made)
    if local:
        return _class("remote.stand_in", "StandIn")(made, make(EngineSpec.from_json(local)))
    return made


def _class(module: str, name: str) -> Any:
    return getattr(import_module(f"pipeline.engines.{module}"), name)
