"""The corpora of the starter models and their fixed split into training and held-out pairs.

The Bible is a TSV with the header `book chapter verse es_rv1909 en_kjv en_asv en_nheb en_bbe`.
Tatoeba is `English TAB Spanish` without a header; the sermon phrases have the same form and may be
absent. A language other than Spanish has its own Bible, with a column whose name begins with its
code (`fr_lsg1910`) and the verse numbers of the first Bible. It has phrases but no Tatoeba. All
languages learn modern preaching from `modern_speech.tsv` and `church_talk.tsv`, which have a column
for each language. Files may be plain, .xz or .gz. The held-out set has whole books, so that no
other English version of a verse leaks into training, and 500 Tatoeba pairs chosen with a fixed
seed.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import lzma
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from pipeline.core.errors import ModelError
from pipeline.text.words import words as compared

HELD_OUT_BOOKS = ("Philippians", "Ruth", "I John")
# The demo sermon reads this chapter, and it measures the models too.
EXCLUDED_CHAPTERS = {("Psalms", "121")}
HELD_OUT_TATOEBA = 500
SEED = 20240601
BIBLE_VERSIONS = ("kjv", "asv", "nheb", "bbe")
SERMON_PHRASES = Path(__file__).with_name("sermon_phrases.tsv")
SERMON_TEST = Path(__file__).with_name("sermon_test.tsv")
MODERN_SPEECH = Path(__file__).with_name("modern_speech.tsv")
CHURCH_TALK = Path(__file__).with_name("church_talk.tsv")
"""Frequent translator errors by kind: idioms, numbers, negation, fragments, testimonies."""
MODERN = "modern"
TALK = "talk"
TAUGHT = "taught"
SPANISH = "es"

_QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'"})
_SPANISH = _QUOTES | str.maketrans("âêîôûÂÊÎÔÛ", "áéíóúÁÉÍÓÚ")
_CAPITALS = re.compile(r"^(\W*)((?:[A-ZÁÉÍÓÚÑ] )?[A-ZÁÉÍÓÚÑ]{2,})\b")
_OTHER_NUMBER = re.compile(r"^\(\d+:\d+\) *")  # a verse's number in the printed edition
_LONE_VOWEL = re.compile(r"\b[áéóúÁÉÓÚ]\b")
_OLD_VERBS = re.compile(r"\b(fu|di|vi)(é|í|ó)\b", re.IGNORECASE)
_MODERN_VERBS = {"fué": "fue", "fuí": "fui", "dió": "dio", "vió": "vio"}
_PLAIN_VOWEL = str.maketrans("áéíóúÁÉÍÓÚ", "aeiouAEIOU")


@dataclass(frozen=True)
class Pair:
    """An English sentence or verse and its translation.

    `source` is a version, tatoeba, sermon, everyday, modern, talk or taught.
    """

    en: str
    target: str
    source: str


@dataclass(frozen=True)
class Split:
    """Training pairs by source, and the held-out pairs (the books in NHEB English).

    `sermon_test` is modern preaching, written for evaluation. `is_mixed` tells that the pairs are
    already mixed and processed (`stark-translate learn mix`).
    """

    training: dict[str, tuple[Pair, ...]]
    held_out_tatoeba: tuple[Pair, ...]
    held_out_books: tuple[Pair, ...]
    sermon_test: tuple[Pair, ...]
    is_mixed: bool = False
    target: str = SPANISH
    """The code of the target language."""

    def named(self, held_out: str) -> str:
        """Return the name of a held-out set among those of several languages."""
        return held_out if self.target == SPANISH else f"{held_out} {self.target}"


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in comparable form, for use as a key."""
    return tuple(compared(text.translate(_QUOTES)))


def modern_spanish(text: str) -> str:
    """Replace single-letter `á é ó ú` and `fué fuí dió vió` by their modern unaccented forms.

    Circumflexes become acute accents. The capitals that begin a chapter become lower case.
    """
    text = _LONE_VOWEL.sub(lambda m: m[0].translate(_PLAIN_VOWEL), text.translate(_SPANISH))
    text = _OLD_VERBS.sub(_modern_verb, text).strip()
    return _CAPITALS.sub(lambda m: m[1] + m[2].capitalize(), text)


def _modern_verb(match: re.Match[str]) -> str:
    form = match[0]
    if form.lower() not in _MODERN_VERBS:
        return form
    return form[:2] + form[2:].translate(_PLAIN_VOWEL)


def balanced(text: str) -> str:
    """Drop all double quotes if they are not paired: a speech may span many verses."""
    text = text.translate(_QUOTES).strip()
    return text if text.count('"') % 2 == 0 else text.replace('"', "").strip()


def _open(path: Path) -> TextIO:
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
    return opener(path, "rt", encoding="utf-8", newline="")  # type: ignore[operator,no-any-return]


def read_pairs(path: Path, source: str) -> Iterator[Pair]:
    """Yield the pairs of a file like Tatoeba's; raise ValueError for a line without a tab."""
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            cells = line.rstrip("\r\n").split("\t")
            if not line.strip() or line.startswith("#"):
                continue
            if len(cells) < 2:
                raise ValueError(f"{path}:{number}: expected English, a tab and its translation")
            yield Pair(cells[0].translate(_QUOTES).strip(), cells[1].strip(), source)


def _verses(path: Path) -> Iterator[tuple[str, Pair]]:
    spanish = {key: modern_spanish(text) for key, text in _target_verses(path, "es")}
    for key, version, english in _english_verses(path):
        if key in spanish:
            yield key[0], Pair(english, spanish[key], version)


def _hold_out(pairs: Iterable[Pair], count: int) -> tuple[Pair, ...]:
    # Sort before drawing, so that the choice depends on the sentences, not on the file's order.
    by_english: dict[tuple[str, ...], list[Pair]] = {}
    for pair in sorted(pairs, key=lambda p: (p.en, p.target)):
        by_english.setdefault(words(pair.en), []).append(pair)
    draw = random.Random(SEED)
    chosen = draw.sample(sorted(by_english), min(count, len(by_english)))
    return tuple(draw.choice(by_english[key]) for key in chosen)


def add_options(options: argparse.ArgumentParser) -> None:
    """Add the options that tell a trainer where its pairs are."""
    options.add_argument("--bible", type=Path, help="with --tatoeba, or else --mix")
    options.add_argument("--tatoeba", type=Path, help="for Spanish")
    options.add_argument("--mix", type=Path, help="the --out of `stark-translate learn mix`")
    options.add_argument("--target", nargs="+", default=[SPANISH], metavar="LANG",
        help="code of the language to translate into (es)")  # fmt: skip
    options.add_argument("--target-bible", type=Path, help="where a target is not Spanish")
    options.add_argument("--taught", type=Path, help="the --out of teach: a teacher's translations")


def split_of(options: argparse.Namespace) -> Split:
    """Return the pairs of the one language that the options name. Raises ModelError."""
    if len(options.target) > 1:
        message = "This model learns one language."
        raise ModelError("targets-several", message, "Give --target one code.")
    return splits_of(options)[0]


def splits_of(options: argparse.Namespace) -> list[Split]:
    """Return the pairs that the options name, by language. Raises ModelError (corpora-missing)."""
    if options.mix is not None:
        return [load_mix(options.mix, target) for target in options.target]
    return [_split(options, target) for target in options.target]


def _split(options: argparse.Namespace, target: str) -> Split:
    beside = "tatoeba" if target == SPANISH else "target_bible"
    if options.bible is None or getattr(options, beside) is None:
        wanted = f"--bible and --{beside.replace('_', '-')}"
        raise ModelError("corpora-missing", f"Nothing is named to learn {target} from.",
            f"Give --mix, or {wanted}.")  # fmt: skip
    if target == SPANISH:
        split = load(options.bible, options.tatoeba)
    else:
        split = load_other(options.bible, options.target_bible, target)
    if options.taught is None:
        return split
    taught = tuple(read_pairs(taught_file(options.taught, target), TAUGHT))
    return replace(split, training={**split.training, TAUGHT: taught})


def taught_file(folder: Path, target: str) -> Path:
    """Return the file of a teacher's translations into a language, in Tatoeba's format."""
    return folder / f"{TAUGHT}_{target}.tsv"


def inputs_of(options: argparse.Namespace) -> list[Path]:
    """Return the files that the pairs come from."""
    if options.mix is not None:
        return [options.mix / name for name in ("train.jsonl", "held_out.jsonl")]
    found = [options.bible, options.tatoeba, options.target_bible]
    found += [MODERN_SPEECH, CHURCH_TALK]
    if options.taught is not None:
        found += [taught_file(options.taught, target) for target in options.target]
    for target in options.target:
        found += [SERMON_PHRASES, *_phrases(target)] if target == SPANISH else _phrases(target)
    return [path for path in found if path is not None]


def load_mix(folder: Path, target: str = SPANISH) -> Split:
    """Read a training mix from English. Raises ModelError (mix-unreadable).

    Its own held-out pairs replace Tatoeba's; without any, the modern preaching replaces them.
    """
    preaching = preaching_of(target)
    unseen = {words(pair.en) for pair in preaching}
    training: dict[str, list[Pair]] = {}
    try:
        for fields in _json_lines(folder / "train.jsonl"):
            pair = Pair(fields["en"], fields[target], f"mix-{fields['part']}")
            if words(pair.en) not in unseen:
                training.setdefault(pair.source, []).append(pair)
        held_out = tuple(
            Pair(fields["en"], fields[target], "held-out")
            for fields in _json_lines(folder / "held_out.jsonl")
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            "mix-unreadable",
            f"{folder} is no whole mix, or not from English to {target}: {error}.",
            "Make it with `stark-translate learn mix`.",
        ) from None
    found = {name: tuple(pairs) for name, pairs in training.items()}
    return Split(found, held_out or preaching, (), preaching, is_mixed=True, target=target)


def _json_lines(path: Path) -> Iterator[Any]:
    for line in path.read_bytes().splitlines():
        yield json.loads(line)


def load(
    bible: Path,
    tatoeba: Path,
    sermon: Path | None = SERMON_PHRASES,
    held_out_count: int = HELD_OUT_TATOEBA,
) -> Split:
    """Read the corpora and split them; the same files always give the same split.

    A training pair whose English has the same words as a held-out one is dropped.
    """
    sources: dict[str, list[Pair]] = {name: [] for name in ("tatoeba", *BIBLE_VERSIONS, "sermon")}
    sources |= written_for_us(SPANISH)
    sources["tatoeba"] = list(read_pairs(tatoeba, "tatoeba"))
    if sermon is not None and sermon.exists():
        sources["sermon"] = list(read_pairs(sermon, "sermon"))
    held_out: list[Pair] = []
    for book, pair in _verses(bible):
        (held_out if book in HELD_OUT_BOOKS else sources[pair.source]).append(pair)
    held_out_tatoeba = _hold_out(sources["tatoeba"], held_out_count)
    sermon_test = preaching_of(SPANISH)
    unseen = {words(pair.en) for pair in (*held_out, *held_out_tatoeba, *sermon_test)}
    training = {
        name: tuple(pair for pair in pairs if words(pair.en) not in unseen)
        for name, pairs in sources.items()
    }
    books = tuple(pair for pair in held_out if pair.source == "nheb")
    return Split(training, held_out_tatoeba, books, sermon_test)


def load_other(bible: Path, target_bible: Path, target: str) -> Split:
    """Read the corpora of a language other than Spanish, with the same books held out.

    Raises ValueError where the second Bible has no column of that language.
    """
    verses = dict(_target_verses(target_bible, target))
    training: dict[str, list[Pair]] = {name: [] for name in BIBLE_VERSIONS}
    books: list[Pair] = []
    for key, version, english in _english_verses(bible):
        if key not in verses:
            continue
        pair = Pair(english, verses[key], version)
        if key[0] not in HELD_OUT_BOOKS:
            training[version].append(pair)
        elif version == "nheb":
            books.append(pair)
    sermon_test = preaching_of(target)
    for path in _phrases(target):
        source = path.stem.partition("_")[0]
        training[source] = list(read_pairs(path, source))
    training |= written_for_us(target)
    unseen = {words(pair.en) for pair in (*books, *sermon_test)}
    kept = {
        name: tuple(pair for pair in pairs if words(pair.en) not in unseen)
        for name, pairs in training.items()
    }
    return Split(kept, (), tuple(books), sermon_test, target=target)


def written_for_us(target: str) -> dict[str, list[Pair]]:
    """Return pairs of modern preaching (modern) and of frequent translator errors (talk).

    A file that has no column of `target` is left out.
    """
    found: dict[str, list[Pair]] = {}
    for source, path in ((MODERN, MODERN_SPEECH), (TALK, CHURCH_TALK)):
        with _open(path) as file:
            rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            if target in (rows.fieldnames or ()):
                found[source] = [Pair(row["en"], row[target], source) for row in rows]
    return found


def preaching_of(target: str) -> tuple[Pair, ...]:
    """Return the modern preaching that evaluates the models of a language.

    Raises ModelError (preaching-missing).
    """
    ending = "" if target == SPANISH else f"_{target}"
    path = SERMON_TEST.with_stem(SERMON_TEST.stem + ending)
    if not path.exists():
        raise ModelError(
            "preaching-missing",
            f"Nothing is there to measure a translation into {target!r} with.",
            f"Translate {SERMON_TEST.name} into {path.name} beside it; that must be done by a "
            "person, since models are judged by it.",
        )
    return tuple(read_pairs(path, "sermon-test"))


def _phrases(target: str) -> list[Path]:
    """Return the files of English and `target` pairs that were written for this project."""
    here = Path(__file__).parent
    names = (f"sermon_phrases_{target}.tsv", f"everyday_{target}.tsv")
    return [here / name for name in names if (here / name).exists()]


_VerseKey = tuple[str, str, str]


def _target_verses(path: Path, target: str) -> Iterator[tuple[_VerseKey, str]]:
    with _open(path) as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        column = next((n for n in rows.fieldnames or () if n.startswith(f"{target}_")), None)
        if column is None:
            raise ValueError(f"{path}: no column begins with {target}_")
        for row in rows:
            text = balanced(_OTHER_NUMBER.sub("", row[column]))
            if text:
                yield (row["book"], row["chapter"], row["verse"]), text


def _english_verses(path: Path) -> Iterator[tuple[_VerseKey, str, str]]:
    with _open(path) as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if (row["book"], row["chapter"]) in EXCLUDED_CHAPTERS:
                continue
            for version in BIBLE_VERSIONS:
                english = balanced(row[f"en_{version}"])
                if english:
                    yield (row["book"], row["chapter"], row["verse"]), version, english
