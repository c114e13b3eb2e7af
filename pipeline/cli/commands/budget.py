"""`budget`: calculate in a second which models this machine has memory for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict

import psutil
from rich.table import Table
from rich.text import Text

from pipeline.cli.console import Console
from pipeline.cli.options import Commands, add_command, print_json, settings_of
from pipeline.config.schema import Settings
from pipeline.core.errors import UsageError
from pipeline.core.files import size_bytes
from pipeline.core.formats import human_size
from pipeline.engines.process.gpu_use import gpu_use
from pipeline.models.automatic import recognizer_name, translator_name
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import Role
from pipeline.models.resolve import resolve
from pipeline.tuning.budget import (
    GPUS,
    RAM_BANDWIDTH,
    SERVICE_BYTES,
    Level,
    Need,
    Place,
    Writing,
    fits,
    hearing_needs,
    known_gpu,
    level_of,
    total,
    writing_needs,
)
from pipeline.tuning.hardware import gpus
from pipeline.tuning.plan import Gpu

_SAYS = "Estimate memory and speed of the models on this machine, without measuring."
_EPILOG = """\
examples:
  stark-translate budget                      this machine
  stark-translate budget --gpu "RTX 3060"     one that you think of buying

Sizes are those of the files, the rest is worked out: `tune` measures. Speeds are what llama.cpp
reaches of a memory's bandwidth as others report it.
exit codes: 0 the models of the settings fit, 1 they do not
"""


def add(commands: Commands) -> None:
    parser = add_command(commands, "budget", _budget, _SAYS, _EPILOG)
    option = parser.add_argument
    option("--gpu", metavar="NAME", help="estimate for another GPU")
    option("--bandwidth", type=float, metavar="GB/S", help="memory bandwidth to assume")
    option("--json", action="store_true", help="print one JSON object")


def _budget(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments).settings
    if arguments.bandwidth is not None and not 0 < arguments.bandwidth < 1e6:
        message = f"--bandwidth {arguments.bandwidth:g} is no number of GB a second."
        raise UsageError("option-bad-value", message, "Give one above 0, such as 40.")
    models = _Models(settings)
    needs = models.needs()
    places = _places(arguments)
    levels = {place.name: models.levels(place) for place in places}
    here = places[0]
    ok = fits(needs, ram_bytes=here.ram_bytes, gpu_bytes=here.gpu_bytes)
    if arguments.json:
        report = {
            "ok": ok,
            "needs": [asdict(need) for need in needs],
            "places": [asdict(place) | {"levels": levels[place.name]} for place in places],
        }
        print_json(report)
        return 0 if ok else 1
    tables = (_table(place, levels[place.name]) for place in places)
    Console().print(_parts(needs, here, ok=ok), *tables, sep="\n")
    return 0 if ok else 1


class _Models:
    """The models of the settings, and every final translator that is known."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._library = ModelLibrary.of(settings)
        self._known = self._library.known
        final = settings.translate.final
        name = translator_name(settings, "gemma")
        self._final = self._writing(name) if final.engine == "gemma" else None

    def others(self, *, on_gpu: bool | None) -> list[Need]:
        """Return what the recognizer and draft translator need; None: as in the settings."""
        stt, partial = self._settings.stt, self._settings.translate.partial
        name = recognizer_name(self._settings)
        there = stt.device == "cuda" if on_gpu is None else on_gpu
        size = self._size("stt", name)
        needs = list(hearing_needs(name, size, stt.compute_type, on_gpu=there))
        if not there and name in self._known:  # the peak while it loads counts
            needs = [Need(needs[0].what, self._known[name].memory_bytes, "ram")]
        if partial.engine == "marian":
            name = translator_name(self._settings, "marian")
            model = self._known.get(name)
            # A model outside the registry was not measured: this is calculated from its files.
            used = model.memory_bytes if model else self._size("marian", name) * 3 // 2 + 30_000_000
            needs.append(Need(f"quick translator: {name}", used, "ram"))
        return needs

    def needs(self) -> list[Need]:
        """Return what all models need with the settings as they are."""
        final = writing_needs(self._final) if self._final else ()
        return [*self.others(on_gpu=None), *final]

    def levels(self, place: Place) -> list[Level]:
        """Return every final translator, with the other models beside it."""
        others = self.others(on_gpu=place.has_gpu)
        return [
            level_of(self._writing(model.name, on_gpu=place.has_gpu), others, place)
            for model in self._known.values()
            if model.role == "gemma"
        ]

    def _writing(self, name: str, *, on_gpu: bool | None = None) -> Writing:
        final = self._settings.translate.final
        there = final.gpu_layers != 0 if on_gpu is None else on_gpu
        return Writing(name, self._size("gemma", name), final.context, final.batch, there)

    def _size(self, role: Role, name: str) -> int:
        if model := self._known.get(name):
            return model.size_bytes
        return size_bytes(resolve(role, name, self._library))


def _places(arguments: argparse.Namespace) -> list[Place]:
    """Return the places to calculate for; the first is for the models of the settings."""
    # Free memory, not installed memory: other programs keep theirs.
    ram = psutil.virtual_memory().available
    asked = arguments.bandwidth
    if arguments.gpu:
        gpu = known_gpu(arguments.gpu)
        if gpu is None:
            names = ", ".join(each.name for each in GPUS)
            message = f"--gpu: nothing is known of {arguments.gpu!r}."
            raise UsageError("gpu-unknown", message, f"Known are {names}.")
        pace = asked or gpu.bandwidth
        return [Place(gpu.name, round(gpu.memory_gb * 1e9), ram, pace, has_gpu=True)]
    # Only the first: an engine uses one GPU.
    here = [_installed(gpu, ram, asked) for gpu in gpus()[:1]]
    return [*here, Place("the processor", 0, ram, asked or RAM_BANDWIDTH, has_gpu=False)]


def _installed(gpu: Gpu, ram: int, bandwidth: float | None) -> Place:
    known = known_gpu(gpu.name)
    # The speed of a GPU outside the list is unknown, only whether the models fit.
    pace = bandwidth or (known.bandwidth if known else None)
    return Place(gpu.name, gpu.free_bytes, ram, pace, has_gpu=True)


def running_services() -> list[psutil.Process]:
    """Return the processes of services on this machine: engines, and their parent programs."""
    found: dict[int, psutil.Process] = {}
    for each in psutil.process_iter():
        # A process may end during the loop, or belong to another user.
        with suppress(psutil.Error):
            # Engines are called stark-stt, stark-final, ...; their program is the parent.
            if each.name().startswith("stark-") and each.name() != "stark-translate":
                found |= {of.pid: of for of in (each, each.parent()) if of and of.pid > 1}
    return list(found.values())


def _parts(needs: Sequence[Need], here: Place, *, ok: bool) -> Table:
    table = Table("with these settings", title="Needed, worked out", title_justify="left")
    for place in ("GPU", "RAM"):
        table.add_column(place, justify="right")
    for need in (*needs, Need("the service itself", SERVICE_BYTES, "ram")):
        cells = [human_size(need.bytes) if need.where == at else "" for at in ("gpu", "ram")]
        table.add_row(need.what, *cells)
    sums = [human_size(total(needs, "gpu")), human_size(total(needs, "ram") + SERVICE_BYTES)]
    table.add_section()
    table.add_row(Text("together", "bold"), *sums)
    free = [human_size(here.gpu_bytes) if here.has_gpu else "no GPU", human_size(here.ram_bytes)]
    if running := running_services():
        # Its memory is missing from the free memory that is shown below.
        took = 0
        for each in running:
            with suppress(psutil.Error):  # it may have ended since
                took += each.memory_info().rss
        on_gpus = [use.memory_bytes for each in running if (use := gpu_use(each.pid))]
        table.add_row("a service runs now, with", human_size(sum(on_gpus)), human_size(took))
    table.add_row("free", *free)
    table.add_row(Text("all of it fits", "green") if ok else Text("does not fit", "bold red"))
    return table


def _table(place: Place, levels: Sequence[Level]) -> Table:
    free = human_size(place.gpu_bytes if place.has_gpu else place.ram_bytes)
    title = f"All on {place.name}, {free} {'of memory' if place.has_gpu else 'free'}"
    table = Table("final translator", title=title, title_justify="left")
    table.add_column("needs", justify="right")
    table.add_column("fits")
    table.add_column("tokens/s", justify="right")
    for level in levels:
        need = level.gpu_bytes if place.has_gpu else level.ram_bytes
        fit = Text("yes", "green") if level.fits else Text("no", "red")
        slow = "" if level.keeps_up else ", too slow"
        table.add_row(level.model, human_size(need), fit, f"{_pace(level)}{slow}")
    return table


def _pace(level: Level) -> str:
    speed = level.tokens_per_second
    return "not known" if speed is None else f"{speed[0]:.0f}-{speed[1]:.0f}"
