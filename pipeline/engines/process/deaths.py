"""Name the cause of an engine process's death, decide what follows, and create the errors.

After a first death a new process starts at once; after further deaths the back-off grows. On a
GPU the same setup is tried once more, as a new process has empty caches; then with less GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pipeline.core.errors import EngineError, ModelCrashError, StarkError
from pipeline.core.files import size_bytes
from pipeline.core.formats import human_size
from pipeline.engines.process.memory import free_bytes, is_enough
from pipeline.engines.specification import EngineSpec, Part, setting
from pipeline.models.crash_history import LOAD_CRASHES, Crashes

_NOT_AGAIN = (
    "Give another model. This one is tried again when its file changes, when `stark-translate "
    "check` finds it well, or after the machine has been restarted."
)
_FIRST_S, _MOST_S = 1.0, 60.0
_CALM_S = 120.0
"""Seconds without a death after which earlier deaths no longer count."""

OUT_OF_MEMORY_CODE: Final = "engine-out-of-memory"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a process ended: a code, and words that follow its name: "crashed (SIGSEGV)"."""

    code: str
    words: str

    @property
    def is_models(self) -> bool:
        """Whether the model may be at fault; after a lack of memory the next start may work."""
        return self.code != OUT_OF_MEMORY_CODE


@dataclass(frozen=True, slots=True)
class Life:
    """How a process ended."""

    cause: Cause
    on_gpu: bool
    has_loaded: bool = False
    refusal: StarkError | None = None
    """The engine's own error about its model, which a new process would raise too."""

    def with_gpu_lost(self) -> Life:
        """Return a refusal as a death on the GPU that the previous process used.

        A GPU that has fallen off the bus refuses every later process. At the first start, a refusal
        is a mistake in the settings.
        """
        said = self.refusal.message.rstrip(".") if self.refusal else "it was refused"
        return replace(self, cause=Cause("gpu-failed", f"could not go back to the GPU: {said}"))


def explained(cause: Cause, spec: EngineSpec, addresses: int | None, *, loading: bool) -> Cause:
    """Return the cause, with the free memory if memory was lacking.

    `addresses` is the process's address space limit. A crash during loading, with too little memory
    to load, counts as a lack of memory, whatever the library said last.
    """
    # Read after the death: the process's own memory is free again.
    free = free_bytes()
    # A process that had loaded had enough memory: its crash has another cause.
    crashed = loading and cause.code == "engine-crashed"
    if crashed and not is_enough(spec.model, addresses=addresses, free=free):
        cause = Cause(OUT_OF_MEMORY_CODE, f"{cause.words}, with too little memory to load")
    if cause.is_models:
        return cause
    return without_memory(cause, spec, free if addresses is None else min(free, addresses))


def without_memory(cause: Cause, spec: EngineSpec, free_bytes: int) -> Cause:
    """Return the cause with the free memory, and a setting that needs less."""
    free = f"{human_size(free_bytes)} were free"
    if spec.is_elsewhere:
        return Cause(cause.code, f"{cause.words} ({free}; its model is on a server)")
    needed = f"its model's files alone have {human_size(size_bytes(spec.model))}"
    facts = f"{free}, {needed}; {_smaller(spec)}"
    return Cause(cause.code, f"{cause.words} ({facts})")


def _smaller(spec: EngineSpec) -> str:
    """Return which setting lowers an engine's memory use."""
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
    """Return the error of a process that is not restarted after its first death."""
    when = "with" if has_loaded else "while it loaded"
    return EngineError(cause.code, f"{sentence(part.name)} {cause.words} {when} {spec.model}.")


def crashes_always(spec: EngineSpec, part: Part, cause: Cause) -> ModelCrashError:
    """Return the error of a model that has crashed too often during loading."""
    # Without enough memory the model is not at fault, and may be tried again unchanged.
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
    """The reaction to a death."""

    delay_s: float = 0.0
    """Seconds until the next process starts."""
    less_gpu: bool = False
    """Whether the next process gets less work on the GPU."""
    given_up: bool = False
    """There is no next process."""


class Supervision:
    """Counts one engine's deaths. Times are monotonic seconds."""

    def __init__(self, gpu_shares: Sequence[float] = (1.0,)) -> None:
        """`gpu_shares` are the shares of the GPU work to try, in order."""
        self._shares = gpu_shares
        self._step = 0
        self._loaded_s: float | None = None
        self._deaths = 0
        self._gpu_deaths = 0
        self.load_crashes = 0
        """Consecutive deaths during loading."""

    @property
    def gpu_share(self) -> float:
        """The share of the GPU work that the next process gets, 0..1."""
        return self._shares[self._step]

    @property
    def given_up(self) -> bool:
        """Whether the model has crashed too often during loading."""
        return self.load_crashes >= LOAD_CRASHES

    def loaded(self, now_s: float) -> None:
        """Note that a process has loaded its model."""
        self._loaded_s = now_s
        self.load_crashes = 0

    def died(self, now_s: float, *, on_gpu: bool) -> Decision:
        """Note a death and decide what follows; without `loaded` before, it was during loading."""
        loading = self._loaded_s is None
        if self._loaded_s is not None and now_s - self._loaded_s >= _CALM_S:
            self._deaths = self._gpu_deaths = 0
        self._loaded_s = None
        # Without a smaller GPU share it is a death like any other.
        if on_gpu and self._step + 1 < len(self._shares):
            return self._died_on_gpu()
        if loading:
            self.load_crashes += 1
            if self.given_up:
                return Decision(given_up=True)
            return Decision(_wait_s(self.load_crashes))
        self._deaths += 1
        # A model that had loaded restarts at once the first time; one that had not always waits.
        return Decision(_wait_s(self._deaths - 1))

    def _died_on_gpu(self) -> Decision:
        self._gpu_deaths += 1
        # Try the same once more: a new process begins with empty caches on the GPU.
        if self._gpu_deaths < 2:
            return Decision()
        self._gpu_deaths = 0
        self._step += 1
        return Decision(less_gpu=True)


def _wait_s(deaths: int) -> float:
    """Return the back-off: 0 for no deaths, then 1, 2, 4 ... seconds."""
    # The inner limit prevents an overflow of the power after days of deaths.
    return min(_MOST_S, _FIRST_S * 2.0 ** min(deaths - 1, 32)) if deaths > 0 else 0.0
