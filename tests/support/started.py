"""The threads that `run` starts, each with the checks that test it.

A test starts a service with all features on. It compares the service's threads with this table,
and this table with the plan of `check`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.config.schema import Settings
from pipeline.outputs.feed import _NAMES

_SOUND = ("voice-detector", "audio", "level")


def started(settings: Settings, *, compare: bool) -> dict[str, tuple[str, ...]]:
    """Return the threads of a service by name, each with the names of its checks.

    `compare`: in a rehearsal. `main` is the main thread, which serves the pages.
    """
    langs = settings.translate.langs
    certificate = ("certificate",) if settings.server.tls_cert else ()
    stt: tuple[str, ...] = ("model-stt", "golden-stt")
    if settings.stt.engine == "openai":
        stt = (*stt, "server-stt", "golden-server-stt")
    quick, final = zip(*_translators(settings), strict=True)
    found: dict[str, tuple[str, ...]] = {
        "main": ("settings", "pages", "port", *certificate),
        "listen": _SOUND,
        "transcribe": ("dictionary", *stt, *quick[0]),
        "translate": final[0],
        "diagnostics": ("sessions", "disk"),
        "model hashes": ("model-stt",),
        "verse index": ("verses", *(f"verses-{lang}" for lang in langs[1:])),
    }
    for number, lang in enumerate(langs[1:], 1):
        found |= {f"quick-{lang}": quick[number], f"translate-{lang}": final[number]}
    if compare and settings.translate.compare.engine != "none":
        found["compare"] = ("compare",)
    if not compare and settings.publish.nats:
        found["publish"] = ("publish",)
    if not compare:
        sent = [each.program for each in settings.outputs if each.url]
        found |= {f"output {_NAMES[program]}": (f"output-{program}",) for program in sent}
    return found


def _translators(settings: Settings) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the checks of each language's quick and final translator."""
    for alone in settings.for_each_target():
        suffix = "" if alone is settings else f"-{alone.translate.target}"
        partial, final = alone.translate.partial.engine, alone.translate.final.engine
        yield _tried(partial, "partial", suffix), _tried(final, "final", suffix)


def _tried(engine: str, part: str, suffix: str) -> tuple[str, ...]:
    if engine == "openai":
        return (f"golden-server-{part}{suffix}",)
    if engine == "none" or (engine == "marian" and part == "final"):  # quick makes the finals
        return ()
    return (f"model-{engine}{suffix}", f"golden-{engine}{suffix}")
