"""Name the cause of an engine process's death, decide what follows it, make the errors.

A first death is followed by a new process at once, more deaths by longer and longer waits. On a
GPU the same is tried once more, with the empty caches of a new process; then less of the GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pipeline.core.errors import EngineError, ModelCrashError, StarkError
from pipeline.core.formats import human_size
from pipeline.engines.process.memory import free_bytes, is_enough, size_bytes
from pipeline.engines.specification import EngineSpec, Part, setting
from pipeline.models.crash_history import LOAD_CRASHES, Crashes

_NOT_AGAIN = (
    "Give another model. This one is tried again when its file changes, when `stark-translate "
    "check` finds it well, or after the machine has been restarted."
)
_FIRST_S, _MOST_S = 1.0, 60.0
_CALM_S = 120.0
"""Seconds without a death after which those before no longer count."""

OUT_OF_MEMORY_CODE: Final = "engine-out-of-memory"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a process ended: a code, and words to follow its name: "crashed (SIGSEGV)"."""

    code: str
    words: str

    @property
    def is_models(self) -> bool:
        """Whether it says something about the model: memory may be there at the next start."""
        return self.code != OUT_OF_MEMORY_CODE


@dataclass(frozen=True, slots=True)
class Life:
    """How a process ended."""

    cause: Cause
    on_gpu: bool
    has_loaded: bool = False
    refusal: StarkError | None = None
    """What the engine itself has against its model: another process would have it too."""

    def with_gpu_lost(self) -> Life:
        """Return a refusal as a death on the GPU that the process before was on.

        One that has fallen off the bus is refused to every process after that; at the first start
        it is a mistake in the settings.
        """
        said = self.refusal.message.rstrip(".") if self.refusal else "it was refused"
        return replace(self, cause=Cause("gpu-failed", f"could not go back to the GPU: {said}"))


def explained(cause: Cause, spec: EngineSpec, addresses: int | None, *, loading: bool) -> Cause:
    """Return the cause, for a want of memory with how much there is.

    `addresses` is the limit that the process had. A crash while it loaded, with too little memory
    to load, is a want of memory whatever the library said last.
    """
    # Looked at after the death: what the process itself held is free again.
    free = free_bytes()
    # One that had loaded had memory enough to load: its crash is about something else.
    crashed = loading and cause.code == "engine-crashed"
    if crashed and not is_enough(spec.model, addresses=addresses, free=free):
        cause = Cause(OUT_OF_MEMORY_CODE, f"{cause.words}, with too little memory to load")
    if cause.is_models:
        return cause
    return without_memory(cause, spec, free if addresses is None else min(free, addresses))


def without_memory(cause: Cause, spec: EngineSpec, free_bytes: int) -> Cause:
    """Return the cause with the memory that there was, and what would need less."""
    free = f"{human_size(free_bytes)} were free"
    if spec.is_elsewhere:
        return Cause(cause.code, f"{cause.words} ({free}; its model is on a server)")
    needed = f"its model's files alone have {human_size(size_bytes(spec.model))}"
    facts = f"{free}, {needed}; {_smaller(spec)}"
    return Cause(cause.code, f"{cause.words} ({facts})")


def _smaller(spec: EngineSpec) -> str:
    """Return which setting lowers what an engine needs."""
    model, compute_type, context = (
        setting(spec.section, key) for key in ("model", "compute_type", "context")
    )
    match spec.kind:
        case "moonshine" | "marian":
            return f"a smaller {model} needs less"
        case "whisper":
            return f'a smaller {model}, or {compute_type} = "int8", needs less'
        case "kokoro" | "espeak":
            return "fewer speech.languages, or speech.enabled = false, needs less"
    return f"a smaller {model} or {context} needs less"


def died(spec: EngineSpec, part: Part, cause: Cause, *, has_loaded: bool) -> EngineError:
    """Return the error of a process whose first death is the last."""
    when = "with" if has_loaded else "while it loaded"
    return EngineError(cause.code, f"{sentence(part.name)} {cause.words} {when} {spec.model}.")


def crashes_always(spec: EngineSpec, part: Part, cause: Cause) -> ModelCrashError:
    """Return the error of a model that has crashed too often while it was loaded."""
    # Then the model is not to blame, and may be tried again as it is.
    lacked_memory = cause.code == OUT_OF_MEMORY_CODE
    return ModelCrashError(
        cause.code if lacked_memory else "model-crashes",
        f"{sentence(part.name)} {cause.words} while it loaded {spec.model}, "
        f"{LOAD_CRASHES} times in a row.",
        "End other programs, or take what needs less." if lacked_memory else _NOT_AGAIN,
    )


def crashed_before(spec: EngineSpec, crashes: Crashes) -> ModelCrashError:
    """Return the error of a model that crashed too often in an earlier run."""
    return ModelCrashError(
        "model-crashes",
        f"{spec.model} is not loaded: on {crashes.utc} its engine {crashes.reason}, "
        f"{crashes.count} times in a row.",
        _NOT_AGAIN,
    )


def sentence(words: str) -> str:
    """Return the words with a capital letter."""
    return words[:1].upper() + words[1:]


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows a death."""

    delay_s: float = 0.0
    """Seconds until the next process is started."""
    less_gpu: bool = False
    """Whether that has less work on the GPU."""
    given_up: bool = False
    """There is no next process."""


class Supervision:
    """Counts one engine's deaths. Times are monotonic seconds."""

    def __init__(self, gpu_shares: Sequence[float] = (1.0,)) -> None:
        """Take the shares of the GPU work that may be tried."""
        self._shares = gpu_shares
        self._step = 0
        self._loaded_s: float | None = None
        self._deaths = 0
        self._gpu_deaths = 0
        self.load_crashes = 0
        """Deaths in a row while loading."""

    @property
    def gpu_share(self) -> float:
        """The share of the GPU work that the next process gets, 0..1."""
        return self._shares[self._step]

    @property
    def given_up(self) -> bool:
        """Whether the model has crashed too often while it was loaded."""
        return self.load_crashes >= LOAD_CRASHES

    def loaded(self, now_s: float) -> None:
        """Note that a process has loaded its model."""
        self._loaded_s = now_s
        self.load_crashes = 0

    def died(self, now_s: float, *, on_gpu: bool) -> Decision:
        """Note a death, while loading unless `loaded` was noted; decide what follows."""
        loading = self._loaded_s is None
        if self._loaded_s is not None and now_s - self._loaded_s >= _CALM_S:
            self._deaths = self._gpu_deaths = 0
        self._loaded_s = None
        # With nothing of the GPU left to give up it is a death like any other.
        if on_gpu and self._step + 1 < len(self._shares):
            return self._died_on_gpu()
        if loading:
            self.load_crashes += 1
            if self.given_up:
                return Decision(given_up=True)
            return Decision(_wait_s(self.load_crashes))
        self._deaths += 1
        # A model that has loaded may do so again at once; one that has not waits from the first on.
        return Decision(_wait_s(self._deaths - 1))

    def _died_on_gpu(self) -> Decision:
        self._gpu_deaths += 1
        # The same once more: a new process begins with empty caches on the GPU.
        if self._gpu_deaths < 2:
            return Decision()
        self._gpu_deaths = 0
        self._step += 1
        return Decision(less_gpu=True)


def _wait_s(deaths: int) -> float:
    """Return 0 for none, then 1, 2, 4 ... seconds."""
    # The inner limit keeps the power from overflowing after days of deaths.
    return min(_MOST_S, _FIRST_S * 2.0 ** min(deaths - 1, 32)) if deaths > 0 else 0.0
