"""Estimate, without measuring, models' memory and a translator's speed. Pure.

File sizes give the weights; the rest is computed from a model's layers and the settings.
Bytes count in thousands: 1 GB is 10^9 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pipeline.models.registry import STARTER, Model, Role, shipped
from pipeline.tuning.plan import Machine

Where = Literal["gpu", "ram"]

CUDA_CONTEXT_BYTES: Final = 400_000_000
"""GPU memory of CUDA itself for each process that uses it. Each engine is a process."""
SERVICE_BYTES: Final = 300_000_000
"""Memory of the daemon itself: displays, history, the voice detector."""
TOKENS_NEEDED: Final = 5.3
"""Tokens a second needed to keep up with fluent speech (docs/MODELS.md)."""

_WHISPER_SHARES: Final[Mapping[str, float]] = {
    **dict.fromkeys(("int8", "int8_float16", "int8_float32", "int8_bfloat16"), 0.5),
    **dict.fromkeys(("float16", "bfloat16", "default", "auto"), 1.0),
    "float32": 2.0,
}
"""Memory of the weights by compute type, per byte of the file, which has 16 bits per weight."""
_WHISPER_WORK_BYTES = 140_000_000
"""Encoder states and buffers of one utterance, for the largest model and a window of 30 s."""
_LOGITS_BYTES = 262_144 * 4
"""Memory of one token of a batch in Gemma's last layer: a number for each vocabulary entry."""
_GEMMA_WORK_BYTES = 50_000_000
_KEY_AND_VALUE_BYTES = 2 * 2  # both of 16 bits
_EFFICIENCY = (0.15, 0.8)
"""Shares of the memory's bandwidth that llama.cpp reaches while it writes token by token. With the
2 ms below, the upper share gives the speeds cited for RTX 3090 and 4090 (189 and 195 tokens a
second of Gemma 3 4B, Q4_K_M); the lower one, the least reported for llama-cpp-python on RTX 2070,
3060 and A2000."""
_STEP_S = 0.002
"""Fixed time of a token, even with a very small model."""
RAM_BANDWIDTH: Final = 40.0
"""Nominal GB a second of two channels of DDR4-2400..2666, assumed if nothing else is known."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers that determine the size of a decoder's cache."""

    layers: int
    heads: int
    """Heads with keys and values, in each layer."""
    head_size: int

    def cache_bytes(self, context: int) -> int:
        """Return the size of the cache for `context` tokens, all layers at full length."""
        return _KEY_AND_VALUE_BYTES * self.layers * self.heads * self.head_size * context


_SHAPES: Final[Mapping[str, Shape]] = {
    "270m": Shape(18, 1, 256),
    "1b": Shape(26, 1, 256),
    "4b": Shape(34, 4, 256),
    "12b": Shape(48, 8, 256),
    "27b": Shape(62, 16, 128),
}
"""Gemma 3 models, including TranslateGemma, by the size in their names."""


@dataclass(frozen=True, slots=True)
class KnownGpu:
    """A GPU by its maker's data: memory in GB, bandwidth in GB a second."""

    name: str
    memory_gb: float
    bandwidth: float


GPUS: Final = (
    KnownGpu("RTX 2070", 8, 448),
    KnownGpu("RTX 3060", 12, 360),
    KnownGpu("RTX 4060", 8, 272),
    KnownGpu("RTX A2000", 6, 288),
    KnownGpu("RTX 2000 Ada", 16, 224),
    KnownGpu("T4", 16, 320),
    KnownGpu("RTX 4070", 12, 504),
    KnownGpu("RTX 3090", 24, 936),
    KnownGpu("RTX 4090", 24, 1008),
    KnownGpu("L4", 24, 300),
    KnownGpu("A100", 40, 1555),
    KnownGpu("H100", 80, 3350),
    KnownGpu("H200", 141, 4800),
)


@dataclass(frozen=True, slots=True)
class Need:
    """One part of the memory that is needed, and where."""

    what: str
    bytes: int
    where: Where


@dataclass(frozen=True, slots=True)
class Writing:
    """The setup of a final translator."""

    model: str
    size_bytes: int
    context: int
    batch: int
    on_gpu: bool


@dataclass(frozen=True, slots=True)
class Place:
    """The memory for models: a GPU, and RAM for the models that cannot use it; or RAM only."""

    name: str
    gpu_bytes: int
    ram_bytes: int
    bandwidth: float | None
    """Nominal bandwidth of the memory that holds the weights, GB a second; None if not known."""
    has_gpu: bool


@dataclass(frozen=True, slots=True)
class Level:
    """A final translator at one place, with everything else that a service needs."""

    model: str
    gpu_bytes: int
    ram_bytes: int
    fits: bool
    tokens_per_second: tuple[float, float] | None
    """The expected minimum and maximum, None if the memory's bandwidth is not known."""

    @property
    def keeps_up(self) -> bool:
        """Whether it may be quick enough for fluent speech."""
        speed = self.tokens_per_second
        # An unknown speed is not ruled out.
        return speed is None or speed[1] >= TOKENS_NEEDED


def shape_of(name: str) -> Shape | None:
    """Return the shape of a Gemma by the size in its name, None if there is none."""
    # Not inside another word: "v0.4b" and "q4_b" are no sizes.
    found = re.search(r"(?<![\w.])(\d+)([bm])(?![a-z0-9])", name.casefold().replace("_", "-"))
    return _SHAPES.get(found[0]) if found else None


def hearing_needs(
    model: str, size_bytes: int, compute_type: str, *, on_gpu: bool
) -> tuple[Need, ...]:
    """Return the needs of a 16-bit Whisper of `size_bytes`, converted to `compute_type`."""
    weights = round(size_bytes * _WHISPER_SHARES.get(compute_type, 1.0))
    where: Where = "gpu" if on_gpu else "ram"
    need = Need(f"recognizer: {model}, {compute_type}", weights + _WHISPER_WORK_BYTES, where)
    return (need, *_context("Whisper's", on_gpu=on_gpu))


def writing_needs(final: Writing) -> tuple[Need, ...]:
    """Return a final translator's needs: weights, cache, work and CUDA's context."""
    where: Where = "gpu" if final.on_gpu else "ram"
    shape = shape_of(final.model)
    needs = [Need(f"final translator: {final.model}", final.size_bytes, where)]
    if shape is not None:
        cache = Need(f"cache of {final.context} tokens", shape.cache_bytes(final.context), where)
        work = _GEMMA_WORK_BYTES + final.batch * _LOGITS_BYTES
        needs += [cache, Need(f"work, {final.batch} tokens at once", work, where)]
    return (*needs, *_context("llama.cpp's", on_gpu=final.on_gpu))


def total(needs: Iterable[Need], where: Where) -> int:
    """Return the sum of all needs at one place."""
    return sum(need.bytes for need in needs if need.where == where)


def fits(needs: Sequence[Need], *, ram_bytes: int, gpu_bytes: int) -> bool:
    """Return whether RAM and GPU have room for all needs and for the service itself."""
    in_ram = total(needs, "ram") + SERVICE_BYTES
    return in_ram <= ram_bytes and total(needs, "gpu") <= gpu_bytes


def tokens_per_second(size_bytes: int, bandwidth: float) -> tuple[float, float]:
    """Return the expected minimum and maximum of tokens a second for a model of that size.

    Each token reads all weights once, so memory limits the speed. `bandwidth` is the nominal one in
    GB a second.
    """
    read_s = size_bytes / (bandwidth * 1e9)
    least, most = (1 / (read_s / share + _STEP_S) for share in _EFFICIENCY)
    return least, most


def level_of(final: Writing, others: Sequence[Need], place: Place) -> Level:
    """Return whether a final translator fits a place beside `others`, and its expected speed."""
    needs = [*others, *writing_needs(final)]
    speed = tokens_per_second(final.size_bytes, place.bandwidth) if place.bandwidth else None
    return Level(
        final.model,
        total(needs, "gpu"),
        total(needs, "ram") + SERVICE_BYTES,
        fits(needs, ram_bytes=place.ram_bytes, gpu_bytes=place.gpu_bytes),
        speed,
    )


def known_gpu(name: str) -> KnownGpu | None:
    """Return the GPU that `name` contains, e.g. "NVIDIA GeForce RTX 3090"; None if not known."""
    # "A2000 Ada" is a common name of the A2000's successor, which has over twice its memory.
    name = re.sub(r"\b(RTX )?A?2000 Ada\b", "RTX 2000 Ada", name, flags=re.IGNORECASE)
    matching = [
        gpu for gpu in GPUS if re.search(rf"\b{re.escape(gpu.name)}\b", name, re.IGNORECASE)
    ]
    # The longest: a driver's name may contain both "RTX A2000" and a shorter name.
    return max(matching, key=lambda gpu: len(gpu.name), default=None)


def _context(whose: str, *, on_gpu: bool) -> tuple[Need, ...]:
    return (Need(f"{whose} CUDA context", CUDA_CONTEXT_BYTES, "gpu"),) if on_gpu else ()


_COST_PER_BYTE: Final = 0.41 / 147_882_941
"""Processor seconds per second of speech and byte of a recognizer, measured with Whisper base."""
_SHARE: Final = 0.55
"""Share of the cores for the recognizer; translators and displays need the others."""
_CORES_FOR_DRAFT = 4
_CORES_FOR_FINAL = 8
"""With so many cores a processor is quick enough for a 4B model (docs/MODELS.md)."""
# The defaults of [translate.final].
_CONTEXT, _BATCH = 2048, 128


@dataclass(frozen=True, slots=True)
class Proposal:
    """Names of models by role. A role is missing if no model knows the languages."""

    models: Mapping[Role, str]
    on_gpu: bool = False
    """Whether recognizer and final translator should use the GPU."""


def propose(
    known: Iterable[Model], source: str, targets: Sequence[str], machine: Machine
) -> Proposal:
    """Return the best models that probably fit and keep up with fluent speech on this machine.

    `known` are the registry's models; models that measured worse than the starter are left out. A
    role without a fitting model gets the starter, if the starter knows the languages.
    """
    usable = [
        model
        for model in known
        if not model.is_behind_starter and all(model.can(source, target) for target in targets)
    ]
    # Both engines or neither, since a proposal has one place for the two.
    on_gpu = bool(machine.gpus) and machine.cuda and machine.llama_gpu
    gpu = max(machine.gpus, key=lambda each: each.free_bytes) if on_gpu else None
    of_gpu = known_gpu(gpu.name) if gpu else None
    # None for a GPU that is not in the table, since its speed is unknown.
    bandwidth = (of_gpu.bandwidth if of_gpu else None) if gpu else RAM_BANDWIDTH
    free = gpu.free_bytes if gpu else 0
    place = Place("here", free, machine.ram_free_bytes, bandwidth, on_gpu)

    hears = max(
        (model for model in usable if model.role == "stt" and _can_hear(model, place, machine)),
        key=lambda model: model.size_bytes,
        default=None,
    )
    taken: list[Need] = list(_hearing(hears, place)) if hears else []
    drafts = (model for model in usable if model.role == "marian")
    draft = next(drafts, None) if machine.cores >= _CORES_FOR_DRAFT else None
    if draft:
        taken.append(Need(draft.name, draft.memory_bytes, "ram"))
    finals = list(_finals(usable, taken, place, machine, len(targets)))
    # A GPU is large and fast enough for the largest; a processor gets the smallest.
    best = (max if on_gpu else min)(finals, key=lambda model: model.size_bytes, default=None)
    models: dict[Role, str] = {
        "stt": hears.name if hears else STARTER,
        "marian": draft.name if draft else starter("marian", source, targets),
        "gemma": best.name if best else starter("gemma", source, targets),
    }
    return Proposal({role: name for role, name in models.items() if name}, on_gpu)


def starter(role: Role, source: str, targets: Sequence[str]) -> str:
    """Return the name of the model that ships for this role, "" if it lacks the languages."""
    known = shipped(role, STARTER)
    wanted = {source} if role == "stt" else {f"{source}-{target}" for target in targets}
    return STARTER if known is not None and wanted <= set(known.languages) else ""


def _can_hear(model: Model, place: Place, machine: Machine) -> bool:
    keeps_up = place.has_gpu or model.size_bytes * _COST_PER_BYTE <= machine.cores * _SHARE
    return keeps_up and fits(
        _hearing(model, place), ram_bytes=place.ram_bytes, gpu_bytes=place.gpu_bytes
    )


def _hearing(model: Model, place: Place) -> Sequence[Need]:
    if place.has_gpu:
        # `tune` tries int8_float16 on a GPU; its weights have the same size.
        return hearing_needs(model.name, model.size_bytes, "int8", on_gpu=True)
    return [Need(model.name, model.memory_bytes, "ram")]  # including the peak while loading


def _finals(
    usable: Iterable[Model], taken: Sequence[Need], place: Place, machine: Machine, languages: int
) -> Iterator[Model]:
    """Yield the final translators that fit beside the other models and probably keep up."""
    if not place.has_gpu and machine.cores < _CORES_FOR_FINAL:
        return
    for model in usable:
        if model.role == "gemma":
            final = Writing(model.name, model.size_bytes, _CONTEXT, _BATCH, place.has_gpu)
            level = level_of(final, taken, place)
            # An unknown GPU counts as just fast enough.
            least, most = level.tokens_per_second or (TOKENS_NEEDED * languages,) * 2
            pace = least if place.has_gpu else (least + most) / 2
            if level.fits and pace >= TOKENS_NEEDED * languages:
                yield model
