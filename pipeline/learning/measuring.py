"""Test sets for engines: sentences with a reference, and sound with its transcript."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import orjson

from pipeline.core.errors import LearningError, reading
from pipeline.core.resources import bundled
from pipeline.evaluation.meaning import Meaning
from pipeline.evaluation.meaning import read as read_meanings
from pipeline.evaluation.reference import read_voices
from pipeline.evaluation.sentences import FILES, Sentence
from pipeline.evaluation.sentences import read as read_gate
from pipeline.learning.data.corpora import read_general
from pipeline.learning.data.folder import AUDIO, METADATA, DataFolder
from pipeline.learning.data.pairs import LearningPair
from pipeline.learning.mix.mix_files import is_held_out
from pipeline.learning.verdict import OWN_SERMONS, OWN_SOUND, PREACHING, VOICES

_RECORDED = ("demo", "voices")
_TEXTS = ("training", "data")
_PREACHED = {"es": (*_TEXTS, "sermon_test.tsv"), "fr": (*_TEXTS, "sermon_test_fr.tsv")}
"""Modern preaching in English with its translation, by target language."""

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class SentenceSet:
    """A named set of sentences of one kind."""

    name: str
    sentences: tuple[Sentence, ...]
    # By position, not by text: `few_sentences` thins out both in the same way.
    meanings: tuple[Meaning, ...] = ()
    """For each sentence, what a translation must say; empty if nobody has written that down."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A file of sound and its transcript."""

    file: Path
    text: str
    terms: tuple[str, ...] = ()
    """Church terms in the text."""
    set: str = OWN_SOUND


def sentence_sets(
    data: DataFolder, langs: tuple[str, str], more: Iterable[tuple[str, Path]] = ()
) -> list[SentenceSet]:
    """Return all sets to measure translators with, without empty ones.

    These are the church's own held-out pairs; the project's sentences of general and theological
    speech with their terms, of modern preaching and of the benchmark of meaning; and `more` files
    of pairs by name. Raises LearningError, UsageError.
    """
    # Never trained on, so that memorizing does not help a model here.
    held_out = [pair for pair in data.pairs() if is_held_out(pair)]
    sets = [SentenceSet(OWN_SERMONS, _sentences("sermon", held_out, langs))]
    # The other shipped files have the same languages.
    if langs in FILES:
        gate = read_gate(None, *langs)
        sets += [
            SentenceSet(f"gate, {kind}", tuple(each for each in gate if each.kind == kind))
            for kind in dict.fromkeys(each.kind for each in gate)
        ]
        preaching = read_general(bundled(*_PREACHED[langs[1]]), *langs)
        sets.append(SentenceSet(PREACHING, _sentences(PREACHING, preaching, langs)))
        sets.append(_meaning_set(langs[1]))
    sets += [
        SentenceSet(name, _sentences(name, read_general(file, *langs), langs))
        for name, file in more
    ]
    return [each for each in sets if each.sentences]


def sound_sets(data: DataFolder, lang: str, folder: Path | None = None) -> list[Spoken]:
    """Return the sound to measure recognizers with: a folder with metadata.jsonl, and voices.

    Without a folder it is the data folder's sound of held-out pairs. The voices are the project's
    English recordings of people outside any church: a recognizer that has learnt a church's words
    must still hear them well. Without own sound there is nothing to compare, so the voices are not
    returned either. Raises LearningError, SessionError.
    """
    own = _own_sound(data, lang) if folder is None else _read_metadata(folder, lang)
    if not own or lang != "en":
        return own
    voices = read_voices(bundled(*_RECORDED))
    return own + [Spoken(file, voice.text, set=VOICES) for file, voice in voices.items()]


def few_sentences(sets: Sequence[SentenceSet], count: int) -> list[SentenceSet]:
    """Return sets of at most `count` sentences each, spread evenly; 0 is all."""
    return [
        replace(
            each, sentences=_spread(each.sentences, count), meanings=_spread(each.meanings, count)
        )
        for each in sets
    ]


def few_spoken(sound: Sequence[Spoken], count: int) -> list[Spoken]:
    """Return at most `count` utterances of each set, spread evenly; 0 is all."""
    names = dict.fromkeys(each.set for each in sound)
    chosen = ([each for each in sound if each.set == name] for name in names)
    return [each for own in chosen for each in _spread(own, count)]


def _spread(items: Sequence[_Item], count: int) -> tuple[_Item, ...]:
    # Not the first ones, which would be about one subject or from the oldest service.
    chosen = min(count, len(items)) if count else len(items)
    return tuple(items[n * len(items) // chosen] for n in range(chosen))


def _meaning_set(lang: str) -> SentenceSet:
    cases = [
        (each.said, each.meanings[lang])
        for each in read_meanings()
        # The others need the sentence before them, and sentences are compared one at a time.
        if lang in each.meanings and not each.before
    ]
    return SentenceSet(
        "meaning",
        tuple(Sentence("meaning", said, meaning.ref, ()) for said, meaning in cases),
        tuple(meaning for _, meaning in cases),
    )


def _own_sound(data: DataFolder, lang: str) -> list[Spoken]:
    held_out = {pair.audio for pair in data.pairs() if pair.audio and is_held_out(pair)}
    # Without held-out sound the file may be missing.
    every = _read_metadata(data.path / AUDIO, lang) if held_out else []
    return [each for each in every if each.file.name in held_out]


def _sentences(
    kind: str, pairs: Sequence[LearningPair], langs: tuple[str, str]
) -> tuple[Sentence, ...]:
    return tuple(
        Sentence(kind, pair.text, pair.translation, ())
        for pair in pairs
        if (pair.source_lang, pair.target_lang) == langs
    )


def _read_metadata(folder: Path, lang: str) -> list[Spoken]:
    path = folder / METADATA
    fix = "It needs file_name and transcription in each line."
    wrong = (ValueError, KeyError, TypeError)
    with reading(path, LearningError, "sound-unreadable", fix, wrong):
        lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        return [
            Spoken(folder / each["file_name"], each["transcription"], tuple(each.get("terms", ())))
            for each in lines
            # Files of others do not say it: they are in one language.
            if each.get("lang", lang) == lang
        ]
