"""Compare a new model with the one in use: both get the same input, in turns, in one process.

Each measure of each set is bootstrapped (pipeline.evaluation.paired_bootstrap) with no loss
allowed; pipeline.learning.verdict draws the conclusion.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from pipeline.audio.file import read_audio
from pipeline.config.loader import Loaded, load
from pipeline.config.schema import Settings
from pipeline.core.errors import EngineError, LearningError
from pipeline.core.formats import utc_now
from pipeline.core.percentiles import Spread, spread
from pipeline.core.types import Recognition, Translation
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process.factory import final_translator, partial_translator, recognizer
from pipeline.engines.protocols import Translator
from pipeline.evaluation.paired_bootstrap import LIMITS, TERMS, compare, compare_errors, judged_on
from pipeline.evaluation.word_errors import word_errors
from pipeline.learning.data.folder import Ledger
from pipeline.learning.data.terms import terms_in
from pipeline.learning.manifest import sha256
from pipeline.learning.measuring import SentenceSet, Spoken
from pipeline.learning.verdict import MEANING, WORDS_HEARD, Advice, Measured, advise, in_words
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import KEYS, Role
from pipeline.models.resolve import resolve

T = TypeVar("T")
# Not the gate's limits: they allow a small loss for a smaller file; here no loss is allowed.
_EXACT = dict.fromkeys(LIMITS, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """A line of comparisons.jsonl."""

    utc: str
    role: Role
    old: str
    new: str
    old_sha256: str
    new_sha256: str
    # Stored with the verdict: a later version may judge the same figures differently.
    measured: tuple[Measured, ...]
    old_ms: Spread | None
    """Wall time of an answer, both models in turns; only the ratio is meaningful."""
    new_ms: Spread | None
    verdict: Advice
    reasons: tuple[str, ...]
    """The figures that the verdict rests on."""
    words: tuple[str, ...] = ()
    """The verdict in plain sentences; empty in comparisons of earlier versions."""
    prompt: str = ""
    """Prompt style of a new Gemma; "" is that of the settings."""
    # Stored, since a short trial is no proof; earlier versions did not write it.
    at_most: int = 0
    """Sentences or utterances that each set was cut to; 0 means all."""


COMPARISONS = Ledger("comparisons.jsonl", ModelComparison)


def compare_translators(
    loaded: Loaded,
    role: Literal["gemma", "marian"],
    models: tuple[str, str],
    sets: Sequence[SentenceSet],
    *,
    prompt: str = "",
    on_answer: Callable[[], None] = lambda: None,
) -> ModelComparison:
    """Return how the second of two translation models compares with the first.

    `prompt` is the second model's prompt style, "" for that of the settings. Raises LearningError
    (nothing-to-measure), ModelError, ConfigError.
    """
    if not sets:
        raise _nothing()
    # The old model keeps its prompt of the service.
    settings = [_with(loaded, role, models[0]), _with(loaded, role, models[1], prompt)]
    engines = [_translator(each, role) for each in settings]
    # Load both before the first answer: a load in between would slow only one of them.
    for engine in engines:
        engine.load()
    times: tuple[list[float], list[float]] = ([], [])
    measured: list[Measured] = []
    for each in sets:
        # One set at a time: sentences are resampled only within their set.
        sources = [sentence.source for sentence in each.sentences]
        texts = _answers([engine.translate for engine in engines], sources, times, on_answer)
        found = compare(*texts, each.sentences, _EXACT)
        # A set without terms has no term that a model could miss.
        if not any(sentence.terms for sentence in each.sentences):
            del found[TERMS]
        counts = {name: len(judged_on(name, each.sentences)) for name in found}
        measured += [
            Measured(set=each.name, measure=name, count=counts[name], difference=difference)
            for name, difference in found.items()
        ]
        if each.meanings:
            measured.append(_measured_meaning(each, texts))
    return replace(_comparison(role, models, settings, measured, times), prompt=prompt)


def compare_recognizers(
    loaded: Loaded,
    models: tuple[str, str],
    sound: Sequence[Spoken],
    *,
    on_answer: Callable[[], None] = lambda: None,
) -> ModelComparison:
    """Return how the second of two recognizers compares with the first, by WER and by terms.

    Raises LearningError (nothing-to-measure), ModelError, AudioError.
    """
    if not sound:
        raise _nothing()
    settings = [_with(loaded, "stt", model) for model in models]
    engines = [recognizer(each, Dictionary(each)) for each in settings]
    for engine in engines:
        engine.load()
    times: tuple[list[float], list[float]] = ([], [])
    asks = [partial(engine.recognize, final=True) for engine in engines]
    # Read one by one, outside the measured time: it is the same for both.
    heard = _answers(asks, (read_audio(spoken.file) for spoken in sound), times, on_answer)
    measured = _measured_sound(sound, heard)
    return _comparison("stt", models, settings, measured, times)


def _measured_meaning(each: SentenceSet, texts: tuple[Sequence[str], Sequence[str]]) -> Measured:
    """Return how many sentences of 100 keep the whole meaning and add nothing."""
    wrong = [
        [
            (int(bool(meaning.mistakes(text))), 1)
            for meaning, text in zip(each.meanings, side, strict=True)
        ]
        for side in texts
    ]
    difference = compare_errors(wrong[0], wrong[1], limit=0.0)
    return Measured(set=each.name, measure=MEANING, count=len(each.meanings), difference=difference)


def _measured_sound(
    sound: Sequence[Spoken], heard: tuple[Sequence[str], Sequence[str]]
) -> list[Measured]:
    """Return the measures of each set: words, and terms where there are any."""
    found = []
    # In the order of the sets, so that a table is easy to compare with the last one.
    for name in dict.fromkeys(spoken.set for spoken in sound):
        chosen = [n for n, spoken in enumerate(sound) if spoken.set == name]
        # Subtracted from 100, so that more is better, as with translations.
        measures: dict[str, tuple[list[tuple[int, int]], ...]] = {
            WORDS_HEARD: tuple(
                [word_errors(sound[n].text, side[n]) for n in chosen] for side in heard
            )
        }
        if with_terms := [n for n in chosen if sound[n].terms]:
            measures[TERMS] = tuple(
                [_missed(sound[n].terms, side[n]) for n in with_terms] for side in heard
            )
        for measure, (old, new) in measures.items():
            difference = compare_errors(old, new, limit=0.0)
            count = len(old)
            found.append(Measured(set=name, measure=measure, count=count, difference=difference))
    return found


def weights_of(model: Path) -> Path:
    """Return a model's file of weights: the model itself, or model.bin in its folder."""
    # CTranslate2 always uses this name.
    return model / "model.bin" if model.is_dir() else model


def _comparison(
    role: Role,
    models: tuple[str, str],
    settings: Sequence[Settings],
    measured: Sequence[Measured],
    times: tuple[list[float], list[float]],
) -> ModelComparison:
    verdict, reasons = advise(measured)
    hashes = [
        # Hash the file, since names can be reused: `deploy` requires this exact content.
        sha256(weights_of(resolve(role, model, ModelLibrary.of(each))))
        for model, each in zip(models, settings, strict=True)
    ]
    return ModelComparison(
        utc=utc_now(),
        role=role,
        old=models[0],
        new=models[1],
        old_sha256=hashes[0],
        new_sha256=hashes[1],
        measured=tuple(measured),
        old_ms=spread(times[0]),
        new_ms=spread(times[1]),
        verdict=verdict,
        reasons=reasons,
        words=tuple(in_words(measured)),
    )


def _with(loaded: Loaded, role: Role, model: str, prompt: str = "") -> Settings:
    """Return the settings with another model for a role. Raises ConfigError."""
    flags: dict[str, Any] = {**loaded.flags, KEYS[role]: model}
    if role == "gemma":
        # A late answer would count as none; here quality is judged, and speed separately.
        flags |= {"translate.final.engine": "gemma", "translate.final.deadline_s": 60}
    if prompt:
        flags["translate.final.prompt"] = prompt
    # Flags override the same file: all other settings stay those of the service.
    return load(loaded.file, flags).settings


def _translator(settings: Settings, role: Role) -> Translator:
    made = final_translator(settings) if role == "gemma" else partial_translator(settings)
    if made is None:
        message = "translate.partial.engine is none: there is no Marian to compare."
        raise LearningError("role-unused", message, 'Set translate.partial.engine = "marian".')
    return made


def _answers(
    asks: Sequence[Callable[[T], Translation | Recognition]],
    questions: Iterable[T],
    times: tuple[list[float], list[float]],
    on_answer: Callable[[], None],
) -> tuple[list[str], list[str]]:
    """Return both models' answers; add their milliseconds to `times`."""
    texts: tuple[list[str], list[str]] = ([], [])
    for number, question in enumerate(questions):
        # The models take turns at being first, so that a slow machine slows both alike.
        for side in (0, 1) if number % 2 else (1, 0):
            began_s = time.perf_counter()
            try:
                text = asks[side](question).text
            except EngineError:
                text = ""  # as in a service: no translation, all words missed
            texts[side].append(text)
            times[side].append(round((time.perf_counter() - began_s) * 1000, 2))
        on_answer()
    return texts


def _missed(terms: Sequence[str], heard: str) -> tuple[int, int]:
    """Return how many terms were not heard, and how many were spoken."""
    return len(terms) - len(terms_in(heard, terms)), len(terms)


def _nothing() -> LearningError:
    return LearningError(
        "nothing-to-measure",
        "There is no held-out text or sound to compare the models with.",
        "Review captions and collect, or name files with --set or --audio.",
    )
