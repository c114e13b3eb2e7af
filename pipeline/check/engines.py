"""Check every engine before a service: loading, accuracy and speed on one sentence, memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Self

import psutil

from pipeline.check.result import Check, Passed
from pipeline.config.schema import Settings
from pipeline.core.errors import ConfigError, EngineError, ModelError
from pipeline.core.formats import human_size
from pipeline.core.languages import language
from pipeline.core.resources import bundled
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process import factory
from pipeline.engines.process.deaths import sentence
from pipeline.engines.process.engine_process import (
    EngineProcess,
    RecognizerProcess,
    SpeakerProcess,
    TranslatorProcess,
)
from pipeline.engines.process.model_specs import server_specs, speech_languages
from pipeline.engines.protocols import Recognizer, Translator
from pipeline.engines.remote.api_server import RemoteEngine
from pipeline.engines.remote.openai import OpenAi
from pipeline.engines.remote.openai_speech import OpenAiSpeech
from pipeline.engines.specification import FINAL, QUICK, SECOND, EngineSpec, Part
from pipeline.engines.speech.espeak import RATE_HZ
from pipeline.evaluation.reference import Golden, read_golden
from pipeline.models.identity import advice, fingerprint
from pipeline.models.registry import Role
from pipeline.text.language_check import gibberish
from pipeline.tuning.plan import HEADROOM_BYTES

Describe = Callable[[Settings], EngineSpec | None]
"""Returns an engine's specification. Raises ModelError, ConfigError."""

_BUSY = 0.5
"""Real-time factor above which a recognizer has little time left for partials."""

_SLOW_VOICE = 0.8
"""Real-time factor, summed over all languages, above which a voice cannot keep up."""
_NUMBERS = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10."
"""A text that every language can speak."""

_SERVER_S = 5.0
"""Seconds for a server to list its models; after that it counts as unreachable."""
_KEYS = {
    "stt": "stt",
    "marian": "translate.partial",
    "gemma": "translate.final",
    "server-partial": "translate.partial",
    "server-final": "translate.final",
    "server-stt": "stt",
    "compare": "translate.compare",
}
_ON_GPU = {"stt": 'device = "cpu"', "gemma": "gpu_layers = 0"}
_LATE = ("gemma", "server-final", "compare")
"""Engines that make finals; they may be slow."""


class EngineChecks:
    """Loads the engines of the settings and keeps them loaded, to measure their total memory.

    Each engine gets the golden sentence itself: a translator gets the reference text, not the
    recognizer's. Each engine runs in its own process, as in a service, until the `with` block
    ends. If the process dies, the check fails and gives the reason.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._recognizer: RecognizerProcess | None = None
        self._translators: dict[str, TranslatorProcess] = {}
        self._speaker: SpeakerProcess | None = None
        # Measured before the engines are loaded, since they take free memory.
        self._free_before = psutil.virtual_memory().available

    def __enter__(self) -> Self:
        """Do nothing yet: each engine starts with its check."""
        return self

    def __exit__(self, *_: object) -> None:
        for engine in self._engines:
            engine.close()

    def checks(self) -> Iterator[Check]:
        """Yield the checks: each engine's loading, then its sentence; the memory last."""
        doing, needs = "Loading the recognizer", ("dictionary",)  # for its hotwords
        yield Check("model-stt", doing, self._load_recognizer, needs, another("stt"))
        doing, needs = "Recognizing a sentence", ("model-stt",)
        yield Check("golden-stt", doing, self._recognize, needs, another("stt"))
        yield from self._translator_checks(self._settings)
        missing = factory.missing_pairs(self._settings)
        for narrowed in self._settings.by_target():
            translate = narrowed.translate
            if (translate.source, translate.target) not in missing:
                yield from self._translator_checks(narrowed, f"-{translate.target}")
        for pair in missing:
            doing = "Looking for a translator"
            yield Check(f"pair-{'-'.join(pair)}", doing, partial(self._lacks, pair))
        yield from self._server_checks()
        if self._settings.speech.enabled:
            yield Check("speech", "Trying the voice", self._speak)
        # After the others: only now are all engines loaded, as they will be in the service.
        yield Check("memory", "Adding up the memory", self._memory)
        if self._settings.translate.compare.engine != "none":
            doing = "Trying the translator to compare with"
            yield Check("compare", doing, self._compare)

    def _translator_checks(self, narrowed: Settings, suffix: str = "") -> Iterator[Check]:
        translate = narrowed.translate
        engines: dict[str, tuple[Role, Describe, Part]] = {}
        if translate.partial.engine == "marian" or factory.has_local(narrowed):
            engines["marian"] = ("marian", _quick_spec, QUICK)
        if translate.final.engine == "gemma":
            engines["gemma"] = ("gemma", factory.final_spec, FINAL)
        for engine, (role, describe, part) in engines.items():
            name, lang = f"{engine}{suffix}", translate.target
            into = f" for {language(lang).name}" if suffix else ""
            load = partial(self._load_translator, name, role, narrowed, describe, part)
            yield Check(f"model-{name}", f"Loading {engine.title()}{into}", load, (), another(name))
            doing = f"Translating a sentence with {engine.title()}{into}"
            run = partial(self._translate, name, lang, translate.source)
            yield Check(f"golden-{name}", doing, run, (f"model-{name}",), faster(name))

    def _lacks(self, pair: tuple[str, str]) -> Passed:
        return Passed(*factory.what_stands_in(self._settings, pair), "pair-no-model")

    def _load_recognizer(self) -> Passed:
        # No restart: a check must report that an engine died.
        self._recognizer = factory.recognizer_process(self._settings, restarts=False, local=True)
        if self._settings.stt.hotwords:
            self._recognizer.hotwords = Dictionary(self._settings).hotwords
        return self._loaded("stt", "stt", self._recognizer)

    def _load_translator(
        self, name: str, role: Role, narrowed: Settings, describe: Describe, part: Part
    ) -> Passed:
        is_first = narrowed is self._settings
        spec = describe(narrowed) if is_first else factory.extra_spec(describe, narrowed)
        for other in self._translators.values():
            if spec is not None and other.spec.is_like(spec):
                self._translators[name] = other
                return Passed(f"{other.name} is loaded: languages take turns at it.")
        # No restart, as for the recognizer.
        translator = factory.translator_process(narrowed, spec, part, restarts=False)
        if translator is None:
            return Passed("Not asked for.")
        self._translators[name] = translator
        return self._loaded(name, role, translator)

    def _loaded(self, name: str, role: Role, engine: EngineProcess) -> Passed:
        start_s = time.perf_counter()
        engine.load()
        took_s = time.perf_counter() - start_s
        kernels = f"; kernels: {engine.kernels}" if engine.kernels else ""
        message = (
            f"{engine.name} ({fingerprint(engine.spec.model)}) loaded in {took_s:.1f} s, "
            f"{human_size(engine.memory_bytes)}{kernels}."
        )
        cpu = f"{_section(name)}.{_ON_GPU.get(role, 'engine')}"
        fix = f"Mend the GPU's driver, or set {cpu}."
        return runs(engine, message, fix, "gpu-unavailable")

    def _server_checks(self) -> Iterator[Check]:
        if self._settings.stt.engine == "openai":
            yield from self._speech_server_checks("server-stt")
        asked: dict[tuple[str, ...], str] = {}
        for part, spec in server_specs(self._settings).items():
            name, lang = f"server-{part}", spec.arguments["target"]
            server = OpenAi(str(spec.model), section=spec.section, **spec.arguments)
            # Several languages may use one server: one check that it answers is enough.
            first = asked.setdefault(place_of(spec), name)
            if first == name:
                doing = f"Asking the server of [{spec.section}]"
                yield Check(
                    name, doing, partial(ask_to_translate, server, spec), (), _server_fix(name)
                )
            doing = f"Having it translate a sentence into {language(lang).name}"
            run = partial(self._judged_by_server, name, server, lang)
            yield Check(f"golden-{name}", doing, run, (first,), _server_fix(name))

    def _speech_server_checks(self, name: str) -> Iterator[Check]:
        spec = factory.recognizer_spec(self._settings)
        server = OpenAiSpeech(**spec.arguments["server"])
        ask = partial(ask_to_hear, server, self._settings.stt.server_model)
        yield Check(name, "Asking the server of [stt]", ask, (), _server_fix(name))
        run = partial(try_recognizer, name, server, self._settings.translate.source)
        doing = "Having it recognize a sentence"
        yield Check(f"golden-{name}", doing, run, (name,), _server_fix(name))

    def _compare(self) -> Passed:
        """Try the engine that finals are compared with. Rehearsals need it, a service does not."""
        compare = self._settings.translate.compare
        role: Role = "marian" if compare.engine == "marian" else "gemma"
        translate, describe = self._settings.translate, factory.compare_spec
        try:
            loaded = self._load_translator("compare", role, self._settings, describe, SECOND)
            tried = self._translate("compare", translate.target, translate.source)
        except (ConfigError, EngineError, ModelError) as error:
            fix = f"{error.fix} A service goes on without it; a rehearsal needs it.".lstrip()
            return Passed(error.message, fix, error.code)
        return Passed(f"{loaded.message} {tried.message}", tried.advice, tried.code)

    def _speak(self) -> Passed:
        """Try the voice in each language; a service goes on without it."""
        try:
            self._speaker = factory.speaker_process(self._settings, restarts=False)
            if self._speaker is None:
                return Passed("Not asked for.")
            # Loading is not timed: a service loads the voice once.
            self._speaker.load()
            langs, start_s, spoken_s = speech_languages(self._settings), time.perf_counter(), 0.0
            for lang in langs:
                spoken_s += len(self._speaker.speak(_NUMBERS, lang, 1.0)) / RATE_HZ
        except (ConfigError, EngineError, ModelError) as error:
            fix = f"{error.fix} A service goes on without a voice; phones have their own."
            return Passed(error.message, fix.lstrip(), error.code)
        factor = (time.perf_counter() - start_s) / max(spoken_s, 0.1)
        named = " and ".join(language(lang).name for lang in langs)
        said = f"{self._speaker.name} speaks {named}, real-time factor {factor:.2f}"
        if factor * len(langs) <= _SLOW_VOICE:
            return Passed(f"{said}.")
        fix = 'Speak fewer languages (speech.languages), or set speech.engine = "espeak".'
        return Passed(f"{said}: it will be silent when the machine is busy.", fix, "speech-slow")

    @property
    def _engines(self) -> list[EngineProcess]:
        alone = [each for each in (self._recognizer, self._speaker) if each]
        every: list[EngineProcess] = [*alone, *self._translators.values()]
        # Each process once: several languages may share one, and its memory counts once.
        return list({id(each): each for each in every}.values())

    def _recognize(self) -> Passed:
        source = self._settings.translate.source
        if self._recognizer is None:
            return untried(source)
        return try_recognizer("stt", self._recognizer, source)

    def _translate(self, name: str, lang: str, source: str) -> Passed:
        translator = self._translators.get(name)
        if translator is None:  # this pair has no model for this pass
            return Passed("Not asked for.")
        translator.target = lang  # several languages may share it
        return try_translator(name, translator, source, lang)

    def _judged_by_server(self, name: str, server: OpenAi, lang: str) -> Passed:
        server.open()  # if the server check ran for another language, the key is not read yet
        return try_translator(name, server, self._settings.translate.source, lang)

    def _memory(self) -> Passed:
        """Compare the engines' memory with the memory that was free before. Raises ModelError."""
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


@cache
def golden_sentence() -> Golden:
    """Return the golden sentence that ships with the program."""
    return read_golden(bundled("demo", "golden.json"))


def try_recognizer(name: str, recognizer: Recognizer, lang: str) -> Passed:
    """Have the golden sentence recognized. Raises EngineError; `name` is as in `judge`."""
    golden = golden_sentence()
    if lang != golden.spoken:
        return untried(lang)
    # Loading is not timed here; it has its own check.
    start_s = time.perf_counter()
    text = recognizer.recognize(golden.pcm, final=True).text
    return judge(golden, name, text, lang, time.perf_counter() - start_s)


def try_translator(name: str, translator: Translator, source: str, lang: str) -> Passed:
    """Have the golden sentence translated. Raises EngineError; `name` is as in `judge`."""
    golden = golden_sentence()
    if source not in golden.text:
        return untried(source)
    start_s = time.perf_counter()
    text = translator.translate(golden.text[source]).text
    return judge(golden, name, text, lang, time.perf_counter() - start_s)


def judge(golden: Golden, name: str, text: str, lang: str, took_s: float) -> Passed:
    """Judge an engine's text and its time. Raises EngineError: golden-missed, engine-slow.

    `name` is the engine's: `stt`, `marian`, `gemma`, `compare`, `server-stt`, `server-partial` or
    `server-final`, followed by the language for an extra target. A recognizer must get every
    word, a translator every content word. Engines for finals may be slow: if a final is late, the
    quick translator's text is used.
    """
    hears = name.endswith("stt")
    if text.strip() and not hears and lang not in golden.must:
        return _unjudged(golden, text, lang)
    missing = golden.unheard(text) if hears else golden.missing(text, lang)
    if missing or not text.strip():
        raise EngineError(
            "golden-missed",
            f"{text!r} lacks {' and '.join(map(repr, missing)) or 'all words'}.",
            f"It may be made for other languages or damaged. {another(name)}",
        )
    # Below 1 the engine is faster than the speaker.
    factor = took_s / golden.duration_s
    result = (
        f"{text!r} in {took_s * 1000:.0f} ms for {golden.duration_s:.1f} s of speech, "
        f"real-time factor {factor:.2f}"
    )
    if factor > 1 and not name.startswith(_LATE):
        raise EngineError("engine-slow", f"{result}: it cannot keep up.", faster(name))
    if factor > (1 if name.startswith(_LATE) else _BUSY):
        return Passed(f"{result}: it will fall behind at times.", faster(name), "engine-slow")
    return Passed(f"{result}.")


def _unjudged(golden: Golden, text: str, lang: str) -> Passed:
    """Return the result for a text in a language without a golden text.

    Raises EngineError if it is in another language, or in another script.
    """
    # If another language's golden words are all in the text, it is in that language.
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


def _quick_spec(settings: Settings) -> EngineSpec | None:
    # With a server: the local fallback, since the server has its own checks.
    return factory.local_spec(settings) or factory.partial_spec(settings)


def runs(engine: EngineProcess, message: str, fix: str, code: str) -> Passed:
    """Return the result of an engine that runs; `fix` and `code` are for a degraded one."""
    # Some reasons end with another error's message, which already has a full stop.
    if reason := engine.degraded_reason.rstrip("."):
        return Passed(f"{message} {sentence(reason)}.", fix, code)
    better = advice(engine.spec.model)
    return Passed(message, better, "starter-model" if better else "")


def untried(lang: str) -> Passed:
    """Return the result for a language without a golden sentence: no engine can be tried."""
    return Passed(
        f"Not tried: there is no golden sentence in {lang!r}.",
        "Rehearse with a recording that you understand (`stark-translate dry-run --input FILE`).",
        "golden-untried",
    )


def _section(name: str) -> str:
    """Return the settings table of an engine; an extra target's name ends with its language."""
    return next(section for key, section in _KEYS.items() if name.startswith(key))


def _server_fix(name: str) -> str:
    key = f"{_section(name)}.server"
    return f"Is the server running, and the url of {key} right? Captions go on without it."


def another(name: str) -> str:
    """Return what to do about a bad engine. `name` is as in `judge`."""
    if name == "server-stt":
        return "Look which model the server has, and what translate.source is."
    if name.startswith("server-"):
        return f"Look which model the server has, and {_section(name)}.prompt."
    if name == "stt":
        return "Copy the model again, or give another in stt.model (`stark-translate models list`)."
    return f"Copy the model again, or give another in {_section(name)}.model."


def faster(name: str) -> str:
    """Return what to do about an engine that is too slow. `name` is as in `judge`."""
    section = _section(name)
    if name == "server-stt":
        return 'Have the server take a smaller model, or hear here (stt.engine = "whisper").'
    if name.startswith("server-"):
        return f"Have the server take a smaller model, or make finals here ({section}.engine)."
    return (
        "If another program keeps the machine busy, check again without it. Else give it more "
        f"{section}.threads if there are idle cores, or a smaller {section}.model."
    )


def place_of(spec: EngineSpec) -> tuple[str, ...]:
    """Return the settings that decide whether a server answers and serves a model."""
    return str(spec.model), *(spec.arguments[key] for key in ("url", "key_file", "ca_file"))


def _answered(server: RemoteEngine, model: str) -> str:
    """Return a sentence: a server answers and has the model. Raises EngineError, ModelError."""
    server.open()
    start_s = time.perf_counter()
    # A check is never cancelled: only its time limit ends it.
    server.server.check_model(until_s=time.monotonic() + _SERVER_S, check=lambda: None)
    took_ms = (time.perf_counter() - start_s) * 1000
    return f"{server.server.place} serves {model} and answered in {took_ms:.0f} ms."


def ask_to_hear(server: OpenAiSpeech, model: str) -> Passed:
    """Check that a recognizer's server has its model. Raises EngineError, ModelError."""
    said = f"{_answered(server, model)} All that is spoken is sent there, as sound"
    if not server.server.is_open:
        return Passed(f"{said}.")
    fix = "Give the url of stt.server as https://, or keep that network to yourselves."
    return Passed(f"{said}, unencrypted.", fix, "server-sound-open")


def ask_to_translate(server: OpenAi, spec: EngineSpec) -> Passed:
    """Check that a translator's server has its model. Raises EngineError, ModelError."""
    said = _answered(server, str(spec.model))
    if server.server.shows_key:
        key = f"{spec.section}.server"
        fix = f"Give the url of {key} as https://, or keep that network to yourselves."
        return Passed(f"{said} Its key is sent unencrypted.", fix, "server-key-open")
    return Passed(said)
