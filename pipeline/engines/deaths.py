"""What an engine's process died of, in words, and the errors that say so. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.core.errors import EngineError, ModelCrashError
from pipeline.engines.specification import EngineSpec, Part
from pipeline.models.crash_history import LOAD_CRASHES, Crashes

_NOT_AGAIN = (
    "Give another model. This one is tried again when its file changes, when `stark-translate "
    "check` finds it well, or after the machine has been restarted."
)


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a process ended: a fault's code, and the rest of a sentence that begins with its name."""

    code: str
    words: str


def died(spec: EngineSpec, part: Part, cause: Cause, *, has_loaded: bool) -> EngineError:
    """Return the error of a process whose first death is the last."""
    when = "with" if has_loaded else "while it loaded"
    return EngineError(cause.code, f"{sentence(part.name)} {cause.words} {when} {spec.model}.")


def crashes_always(spec: EngineSpec, part: Part, cause: Cause) -> ModelCrashError:
    """Return the error of a model that has crashed too often while it was loaded."""
    return ModelCrashError(
        "model-crashes",
        f"{sentence(part.name)} {cause.words} while it loaded {spec.model}, "
        f"{LOAD_CRASHES} times in a row.",
        _NOT_AGAIN,
    )


def crashed_before(spec: EngineSpec, crashes: Crashes) -> ModelCrashError:
    """Return the error of a model that has done so in an earlier run."""
    return ModelCrashError(
        "model-crashes",
        f"{spec.model} is not loaded: on {crashes.utc} its engine {crashes.reason}, "
        f"{crashes.count} times in a row.",
        _NOT_AGAIN,
    )


def sentence(words: str) -> str:
    """Return the words with a capital letter."""
    return words[:1].upper() + words[1:]
