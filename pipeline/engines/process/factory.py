"""Make the engines that the settings ask for, in this process or each in its own process.

No heavy library is imported before an engine loads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from pipeline.audio.file import AudioFile
from pipeline.audio.microphone import Microphone
from pipeline.audio.protocols import AudioSource
from pipeline.config.schema import Compare, Settings
from pipeline.config.targets import Final
from pipeline.core.errors import ConfigError, EngineError, ModelError
from pipeline.core.types import Pcm, Translation
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process.engine_process import (
    EngineProcess,
    RecognizerProcess,
    SpeakerProcess,
    TranslatorProcess,
)
from pipeline.engines.process.model_specs import (
    behind_server,
    gemma_spec,
    marian_spec,
    moonshine_spec,
    openai_spec,
    speech_spec,
)
from pipeline.engines.process.sharing import LanguageTranslator, Turns, process_of
from pipeline.engines.prompts import language
from pipeline.engines.protocols import (
    PLAIN,
    Recognizer,
    TargetEngines,
    TranslationRequest,
    Translator,
    never,
)
from pipeline.engines.specification import (
    FINAL,
    QUICK,
    RECOGNIZER,
    SECOND,
    SPEECH,
    EngineSpec,
    Part,
    make,
)
from pipeline.models.automatic import own_window_s, recognizer_name, require_languages
from pipeline.models.crash_history import crash_history
from pipeline.models.library import ModelLibrary
from pipeline.models.resolve import resolve

_PARTIAL, _FINAL, _COMPARE = "translate.partial", "translate.final", "translate.compare"

_GROWTH_BYTES = 1_500_000_000
"""An engine whose memory grows by more than this is replaced."""
_TEST_HANG_S = 120.0
"""A call may take this long in a test: a test measures how slow an engine is."""


def audio_source(settings: Settings, *, loop: bool = False) -> AudioSource:
    """Return the file of `audio.input` if it is set, else the microphone."""
    audio = settings.audio
    if audio.input:
        return audio_file(settings, loop=loop)
    return Microphone(audio.device, channel=audio.channel)


def audio_file(settings: Settings, *, loop: bool = False) -> AudioFile:
    """Return the file of `audio.input`, not yet opened."""
    audio = settings.audio
    return AudioFile(Path(audio.input), channel=audio.channel, pace=audio.pace, loop=loop)


def recognizer(settings: Settings, dictionary: Dictionary) -> Recognizer:
    """Return this machine's recognizer with its hotwords. Raises ModelError, ConfigError."""
    made: Recognizer = make(local_recognizer_spec(settings))
    made.hotwords = dictionary.hotwords if settings.stt.hotwords else ""
    return made


def partial_translator(settings: Settings) -> Translator | None:
    """Return the translator of the partial pass, None if there is none. Raises ModelError."""
    spec = partial_spec(settings)
    return make(spec) if spec else None


def final_translator(settings: Settings) -> Translator | None:
    """Return the translator of the final pass, None if there is none. Raises ModelError."""
    spec = final_spec(settings)
    return make(spec) if spec else None


def recognizer_spec(settings: Settings) -> EngineSpec:
    """Return the recognizer's description. Raises ModelError, ConfigError."""
    local = local_recognizer_spec(settings)
    return behind_server(local, settings) if settings.stt.engine == "openai" else local


def local_recognizer_spec(settings: Settings) -> EngineSpec:
    """Return the recognizer's description without its server. Raises ModelError, ConfigError."""
    stt = settings.stt
    spoken = settings.translate.spoken
    if len(spoken) > 1 and stt.engine != "whisper":
        raise ConfigError(
            "lang-unsupported",
            f'stt.engine = "{stt.engine}" hears one language, and translate.source names '
            f"{' and '.join(spoken)}.",
            'Set stt.engine = "whisper", or translate.source to one language.',
        )
    name, library = recognizer_name(settings), ModelLibrary.of(settings)
    require_languages("stt", name, settings)
    model = resolve("stt", name, library)
    if stt.local_engine != "whisper":
        return moonshine_spec(stt, model)
    arguments = {
        "device": stt.device,
        "compute_type": stt.compute_type,
        "threads": stt.threads,
        "lang": spoken[0],
        "window_s": stt.window_s or own_window_s(model, library),
    }
    if len(spoken) > 1:
        # Pairs without a quick translator take Whisper's own English as the draft.
        drafts = missing_pairs(settings, (partial_spec,))
        langs = {said for said, into in drafts if said != "en"}
        arguments |= {"also_spoken": spoken[1:], "to_english": sorted(langs)}
    return EngineSpec("whisper", f"whisper:{model.name}", model, arguments, section="stt")


def partial_spec(settings: Settings) -> EngineSpec | None:
    """Return the description of the partial pass's translator, if any. Raises ModelError."""
    partial = settings.translate.partial
    match partial.engine:
        case "openai":
            return openai_spec(settings, partial, _PARTIAL, local=local_spec(settings))
        case "marian":
            return marian_spec(settings, partial, _PARTIAL)
    return None


def local_spec(settings: Settings) -> EngineSpec | None:
    """Return the description of a server's local quick translator, if any. Raises ModelError."""
    if not has_local(settings):
        return None
    partial = settings.translate.partial
    return marian_spec(settings, partial, _PARTIAL, key="local", name=partial.local)


def has_local(settings: Settings) -> bool:
    """Whether a local quick translator is the fallback of one on a server."""
    partial = settings.translate.partial
    return partial.engine == "openai" and bool(partial.local)


def final_spec(settings: Settings) -> EngineSpec | None:
    """Return the description of the final pass's translator, if any. Raises ModelError."""
    return _final_spec(settings, settings.translate.final, _FINAL)


def compare_spec(settings: Settings) -> EngineSpec | None:
    """Return the description of the second final translator, if any. Raises ModelError."""
    return _final_spec(settings, settings.translate.compare, _COMPARE)


def _final_spec(settings: Settings, chosen: Final | Compare, section: str) -> EngineSpec | None:
    match chosen.engine:
        case "gemma":
            return gemma_spec(settings, chosen, section)
        case "openai":
            return openai_spec(settings, chosen, section)
        # Finals by Marian come from the partial pass: they need no translator of their own.
        case "marian" if isinstance(chosen, Compare):
            return marian_spec(settings, chosen, section)
    return None


class BrokenEngine:
    """A Translator or a Speaker that cannot be made: it tells why when its thread loads it."""

    name = ""
    deadline_s = 0.0
    degraded_reason = ""

    def __init__(self, error: ModelError | ConfigError) -> None:
        self._error = error
        # Set by workers as on every engine, and never asked.
        self.is_cancelled: Callable[[], bool] = never

    def load(self) -> None:
        """Raises ModelError, ConfigError."""
        raise self._error

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:  # noqa: ARG002 - the protocol's
        """Raises EngineError."""
        raise EngineError(self._error.code, self._error.message)

    def speak(self, text: str, lang: str, rate: float) -> Pcm:  # noqa: ARG002 - the protocol's
        """Raises EngineError."""
        raise EngineError(self._error.code, self._error.message)


@dataclass(frozen=True, slots=True)
class EngineProcesses:
    """The engines of a service, each in a process of its own while the `with` block lasts."""

    recognizer: RecognizerProcess
    targets: tuple[TargetEngines, ...]
    """In the order of the settings."""
    compare: TranslatorProcess | None
    speaker: SpeakerProcess | BrokenEngine | None

    def __enter__(self) -> Self:
        """Start all of them at once."""
        for engine in self._all:
            engine.start()
        return self

    def __exit__(self, *_: object) -> None:
        for engine in self._all:
            engine.close()

    @property
    def _all(self) -> list[EngineProcess]:
        every: list[object] = [self.recognizer, self.compare, self.speaker]
        for target in self.targets:
            every += [target.partial, target.final]
        found = map(process_of, every)
        # Several languages may share one process: list it once.
        return list({id(engine): engine for engine in found if engine is not None}.values())


def engine_processes(settings: Settings, *, compare: bool, speech: bool = False) -> EngineProcesses:
    """Return the engines that the settings ask for, not yet started. Raises ModelError.

    `compare` adds the second final translator, `speech` adds the speaker, if there is one.
    """
    second = compare_spec(settings) if compare else None
    # First: where no model here knows the pair, the advice names final translators, not quick ones.
    finals = _final_processes(settings)
    quick = {settings.translate.target: translator_process(settings, partial_spec(settings), QUICK)}
    extra = {each.translate.target: _extra_partial(each) for each in settings.by_target()}
    return EngineProcesses(
        recognizer=recognizer_process(settings),
        targets=tuple(
            TargetEngines(lang, partial, finals[lang]) for lang, partial in (quick | extra).items()
        ),
        compare=translator_process(settings, second, SECOND),
        speaker=_speaker(settings) if speech else None,
    )


def _speaker(settings: Settings) -> SpeakerProcess | BrokenEngine | None:
    try:
        return speaker_process(settings)
    except (ModelError, ConfigError) as error:
        # A missing voice is reported at loading: captions continue without speech.
        return BrokenEngine(error)


def speaker_process(settings: Settings, *, restarts: bool = True) -> SpeakerProcess | None:
    """Return the speaker in its own process, not yet started; None if there is none.

    Raises ModelError, ConfigError.
    """
    if (spec := speech_spec(settings)) is None:
        return None
    return SpeakerProcess(spec, SPEECH, **_process_options(settings, restarts=restarts))


def _extra_partial(narrowed: Settings) -> Translator | None:
    spec = _of_target(partial_spec, narrowed)
    if isinstance(spec, BrokenEngine):
        return spec
    return translator_process(narrowed, spec, _part(QUICK, narrowed.translate.target))


def _final_processes(settings: Settings) -> dict[str, Translator | None]:
    """Return the final translator of each target language; similar languages share a process."""
    first = settings.translate.target
    # The main target is first: a process that it shares is named after it.
    made: dict[str, EngineSpec | BrokenEngine | None] = {first: final_spec(settings)}
    for narrowed in settings.by_target():
        made[narrowed.translate.target] = _of_target(final_spec, narrowed)
    specs = {lang: spec for lang, spec in made.items() if isinstance(spec, EngineSpec)}
    alike: list[tuple[EngineSpec, list[str]]] = []
    for lang, spec in specs.items():
        # Languages with equal specs share a process, so the weights are in memory once.
        same = next((langs for other, langs in alike if other.is_like(spec)), None)
        if same is not None:
            same.append(lang)
        else:
            alike.append((spec, [lang]))
    finals: dict[str, Translator | None] = {
        lang: each if isinstance(each, BrokenEngine) else None for lang, each in made.items()
    }
    # Languages on one server share its limit of requests; each has its own process.
    servers: dict[str, Turns] = {}  # by the server's address
    for each in settings.for_each_target():
        final = each.translate.final
        if final.engine == "openai":
            # If several targets name one server, the first sets how many requests it takes.
            servers.setdefault(each.server_of(final).url, Turns(final.requests))
    for spec, langs in alike:
        part = FINAL if first in langs else _part(FINAL, ", ".join(langs))
        process = TranslatorProcess(spec, part, **_process_options(settings, restarts=True))
        # `langs` has one language on a server: `is_like` never merges servers.
        at_server = spec.is_elsewhere and len(specs) > 1
        if len(langs) == 1 and not at_server:
            finals[langs[0]] = process
            continue
        turns = servers[spec.arguments["url"]] if at_server else Turns()
        for lang in langs:
            finals[lang] = LanguageTranslator(turns, process, lang, is_first=lang == first)
    return finals


def _part(part: Part, langs: str) -> Part:
    """Return the part of extra targets, with its own name in faults and logs."""
    return replace(part, key=f"{part.key}-{langs}", name=f"{part.name} ({langs})")


def _of_target(
    describe: Callable[[Settings], EngineSpec | None], narrowed: Settings
) -> EngineSpec | BrokenEngine | None:
    """Return the description of an extra target's engine, or a BrokenEngine.

    Raises as `extra_spec` does if the settings are wrong.
    """
    try:
        return extra_spec(describe, narrowed)
    except ModelError as error:
        if error.code == "model-broken":  # only this language is lost
            return BrokenEngine(error)
        raise


def extra_spec(
    describe: Callable[[Settings], EngineSpec | None], narrowed: Settings
) -> EngineSpec | None:
    """Return the description of an extra target's engine.

    Return None also if the language is spoken too and its pair has no known model.
    Raises ModelError and ConfigError that name the target.
    """
    lang = narrowed.translate.target
    try:
        if (spec := describe(narrowed)) is not None and spec.kind != "marian":
            language(lang)  # a prompt must name the language
    except (ModelError, ConfigError) as error:
        # A language that is also spoken has captions without a translator.
        if error.code == "lang-unsupported" and lang in narrowed.translate.spoken:
            return None
        message = f"translate.targets, {lang!r}: {error.message}"
        raise type(error)(error.code, message, error.fix) from None
    return spec


def recognizer_process(
    settings: Settings, *, restarts: bool = True, local: bool = False
) -> RecognizerProcess:
    """Return the recognizer in its own process, not yet started. Raises ModelError.

    Without `restarts` (for a test) the first death is final, and the hang limit is longer.
    `local` asks for the recognizer on this machine, not one on a server.
    """
    spec = local_recognizer_spec(settings) if local else recognizer_spec(settings)
    return RecognizerProcess(spec, RECOGNIZER, **_process_options(settings, restarts=restarts))


def translator_process(
    settings: Settings, spec: EngineSpec | None, part: Part, *, restarts: bool = True
) -> TranslatorProcess | None:
    """Return a translator in its own process, not yet started; None if `spec` is None."""
    if spec is None:
        return None
    return TranslatorProcess(spec, part, **_process_options(settings, restarts=restarts))


def missing_pairs(
    settings: Settings,
    passes: Sequence[Callable[[Settings], EngineSpec | None]] = (partial_spec, final_spec),
) -> tuple[tuple[str, str], ...]:
    """Return the pairs (spoken, caption language) without a translator, if several are spoken.

    A translator for one of the `passes` is enough.
    """
    if not settings.translate.also_spoken:
        return ()
    translated = {(settings.translate.source, settings.translate.target)}
    for narrowed in settings.by_target():
        # A generator: a broken model raises only within the block below.
        specs = (extra_spec(describe, narrowed) for describe in passes)
        with suppress(ModelError):  # a broken model is reported when it is loaded
            if not any(specs):
                continue
        translated.add((narrowed.translate.source, narrowed.translate.target))
    return tuple(pair for pair in settings.translate.pairs if pair not in translated)


def what_stands_in(settings: Settings, pair: tuple[str, str]) -> tuple[str, str]:
    """Return a sentence about a pair without a translator, and the fix."""
    said, into = (language(code) for code in pair)
    first = settings.translate.source
    meanwhile = f"{said} captions are shown in {said}"
    if pair[1] == "en":
        meanwhile = "the recognizer's own translation stands in"
    elif first == "en":
        meanwhile = "it goes by way of the recognizer's own English"
    known = ModelLibrary.of(settings).known.values()
    names = [each.name for each in known if each.role in ("marian", "gemma") and each.can(*pair)]
    fix = "No known model translates it."
    if names and pair[1] in settings.translate.spoken:
        fix = f"stark-translate models pull {names[0]}"
    message = f"{said} to {into} needs a model for {pair[0]} to {pair[1]}; until then {meanwhile}."
    return message, fix


def _process_options(settings: Settings, *, restarts: bool) -> dict[str, Any]:
    engines = settings.engines
    return {
        "crashes": crash_history(settings),
        "growth_bytes": _GROWTH_BYTES,
        "hang_s": engines.hang_s if restarts else max(engines.hang_s, _TEST_HANG_S),
        "restarts": restarts,
    }
