"""Check every engine before a service: it loads, gets one sentence right, in time, and fits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Self

import psutil

from pipeline.check.result import Check, Passed
from pipeline.config.schema import Settings
from pipeline.core.errors import EngineError, ModelError
from pipeline.core.languages import language
from pipeline.core.resources import bundled
from pipeline.core.sizes import human_size
from pipeline.dictionary.store import Dictionary
from pipeline.engines import factory
from pipeline.engines.process import EngineProcess, RecognizerProcess, TranslatorProcess
from pipeline.engines.specification import FINAL, QUICK
from pipeline.evaluation.golden_sentence import Golden, read_golden
from pipeline.models.identity import advice, fingerprint
from pipeline.models.registry import Role
from pipeline.text.language_check import gibberish
from pipeline.tuning.verdicts import HEADROOM_BYTES

_BUSY = 0.5
"""Real-time factor above which a recognizer has little time left for partials."""

_KEYS = {"stt": "stt", "marian": "translate.partial", "gemma": "translate.final"}


class EngineChecks:
    """Loads the engines of the settings and keeps them loaded, so that their memory adds up.

    The golden sentence goes to each engine by itself: a translator gets what was really said, not
    what the recognizer made of it. Each runs in a process of its own, as in a service, until the
    `with` block ends: one that dies is red, and says of what.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._recognizer: RecognizerProcess | None = None
        self._translators: dict[str, TranslatorProcess] = {}
        # Now: when the engines are loaded, what they took is no longer free.
        self._free_before = psutil.virtual_memory().available

    def __enter__(self) -> Self:
        """Do nothing yet: each engine starts with its check."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the engines."""
        for engine in self._engines:
            engine.close()

    def checks(self) -> Iterator[Check]:
        """Yield the checks: each engine's loading, then its sentence; the memory last."""
        doing, needs = "Loading the recognizer", ("dictionary",)  # for its hotwords
        yield Check("model-stt", doing, self._load_recognizer, needs, _another("stt"))
        doing, needs = "Recognizing a sentence", ("model-stt",)
        yield Check("golden-stt", doing, self._recognize, needs, _another("stt"))
        makers: dict[Role, Callable[[], TranslatorProcess | None]] = {
            "marian": self._quick,
            "gemma": self._final,
        }
        asked = {self._settings.translate.partial.engine, self._settings.translate.final.engine}
        for name, make in makers.items():
            if name in asked:
                doing = f"Loading {name.title()}"
                run = partial(self._load_translator, name, make)
                yield Check(f"model-{name}", doing, run, (), _another(name))
                doing = f"Translating a sentence with {name.title()}"
                run = partial(self._translate, name)
                yield Check(f"golden-{name}", doing, run, (f"model-{name}",), _faster(name))
        # Last: only now are all of them loaded, as they will be in the service.
        yield Check("memory", "Adding up the memory", self._memory)

    def _load_recognizer(self) -> Passed:
        # No second try: a check is to say that an engine died, not to get over it.
        self._recognizer = factory.recognizer_process(self._settings, restarts=False)
        if self._settings.stt.hotwords:
            self._recognizer.hotwords = Dictionary(self._settings).hotwords
        return self._loaded("stt", self._recognizer)

    def _load_translator(self, name: Role, make: Callable[[], TranslatorProcess | None]) -> Passed:
        translator = make()
        if translator is None:
            return Passed("Not asked for.")
        self._translators[name] = translator
        return self._loaded(name, translator)

    def _loaded(self, role: Role, engine: EngineProcess) -> Passed:
        start_s = time.perf_counter()
        engine.load()
        took_s = time.perf_counter() - start_s
        model = engine.spec.model
        kernels = f"; kernels: {engine.kernels}" if engine.kernels else ""
        message = (
            f"{engine.name} ({fingerprint(model)}) loaded in {took_s:.1f} s, "
            f"{human_size(engine.memory_bytes)}{kernels}."
        )
        better = advice(role, model, self._settings)
        return Passed(message, better, "starter-model" if better else "")

    def _quick(self) -> TranslatorProcess | None:
        spec = factory.partial_spec(self._settings)
        return factory.translator_process(self._settings, spec, QUICK, restarts=False)

    def _final(self) -> TranslatorProcess | None:
        spec = factory.final_spec(self._settings)
        return factory.translator_process(self._settings, spec, FINAL, restarts=False)

    @property
    def _engines(self) -> list[EngineProcess]:
        return [*([self._recognizer] if self._recognizer else ()), *self._translators.values()]

    def _recognize(self) -> Passed:
        golden, lang = self._golden, self._settings.translate.source
        if self._recognizer is None or lang not in golden.text:
            return _untried(lang)
        # Loading is not in it; that has its own check.
        start_s = time.perf_counter()
        text = self._recognizer.recognize(golden.pcm, final=True).text
        return judge(golden, "stt", text, lang, time.perf_counter() - start_s)

    def _translate(self, name: str) -> Passed:
        golden, translate = self._golden, self._settings.translate
        if name not in self._translators or translate.source not in golden.text:
            return _untried(translate.source)
        start_s = time.perf_counter()
        text = self._translators[name].translate(golden.text[translate.source]).text
        return judge(golden, name, text, translate.target, time.perf_counter() - start_s)

    def _memory(self) -> Passed:
        """Compare what the engines took with what was free before. Raises ModelError."""
        used = sum(engine.memory_bytes for engine in self._engines)
        need = used + HEADROOM_BYTES
        memory = (
            f"The engines took {human_size(used)}, a service needs about {human_size(need)}; "
            f"{human_size(self._free_before)} was free"
        )
        if need > self._free_before:
            raise ModelError(
                "memory-short", f"{memory}.", "Close other programs, or choose smaller models."
            )
        return Passed(f"{memory}.")

    @cached_property
    def _golden(self) -> Golden:
        return read_golden(bundled("demo", "golden.json"))


def judge(golden: Golden, name: str, text: str, lang: str, took_s: float) -> Passed:
    """Judge an engine's text and its time. Raises EngineError: golden-missed, engine-slow.

    `name` is the engine's: `stt`, `marian` or `gemma`. Gemma may be slow: a late final is taken
    from Marian.
    """
    if text.strip() and lang not in golden.must:
        return _unjudged(golden, text, lang)
    missing = golden.missing(text, lang)
    if missing or not text.strip():
        raise EngineError(
            "golden-missed",
            f"{text!r} lacks {' and '.join(map(repr, missing)) or 'all words'}.",
            f"It may be made for other languages or damaged. {_another(name)}",
        )
    factor = took_s / golden.duration_s
    result = (
        f"{text!r} in {took_s * 1000:.0f} ms for {golden.duration_s:.1f} s of speech, "
        f"real-time factor {factor:.2f}"
    )
    if factor > 1 and name != "gemma":
        raise EngineError("engine-slow", f"{result}: it cannot keep up.", _faster(name))
    if factor > (1 if name == "gemma" else _BUSY):
        return Passed(f"{result}: it will fall behind at times.", _faster(name), "engine-slow")
    return Passed(f"{result}.")


def _unjudged(golden: Golden, text: str, lang: str) -> Passed:
    """Return what can be said of a text in a language of which no golden text is known.

    Raises EngineError where it is in another language, or in another script.
    """
    others = [each for each in golden.must if not golden.missing(text, each)]
    wrong = language(others[0]).name if others else gibberish(text, lang)
    if wrong:
        raise EngineError(
            "golden-missed",
            f"{text!r} is no {language(lang).name}: {wrong}.",
            "The model was made for other languages: choose one for these "
            "(`stark-translate models list`).",
        )
    return Passed(
        f"{text!r}: nobody has said what it must say in {language(lang).name}.",
        "Have somebody read it who speaks that language, or rehearse "
        "(`stark-translate dry-run --input FILE`).",
        "golden-unjudged",
    )


def _untried(lang: str) -> Passed:
    return Passed(
        f"Not tried: there is no golden sentence in {lang!r}.",
        "Rehearse with a recording that you understand (`stark-translate dry-run --input FILE`).",
        "golden-untried",
    )


def _another(name: str) -> str:
    return f'Copy the model again, or give another in {_KEYS[name]}.model ("starter" works).'


def _faster(name: str) -> str:
    section = _KEYS[name]
    return f"Choose a smaller {section}.model, or more {section}.threads if there are idle cores."
