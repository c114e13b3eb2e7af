"""The step that makes a training mix from the data folder and corpora, with a held-out part."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter

from pipeline.core.errors import LearningError, ProtocolError, reading, writing
from pipeline.core.files import write_whole
from pipeline.core.resources import bundled
from pipeline.dictionary.glossary import Term
from pipeline.dictionary.rules import Rule, key
from pipeline.learning.data.corpora import read_columns, read_general, shipped_bibles
from pipeline.learning.data.folder import CONFUSIONS, PAIRS, DataFolder
from pipeline.learning.data.pairs import LearningPair, pair_line
from pipeline.learning.data.terms import Confusion
from pipeline.learning.manifest import write_manifest
from pipeline.learning.mix.augment import Example
from pipeline.learning.mix.mix import Ingredients, Mix, MixSettings, make_mix
from pipeline.protocol.codec import parse_json

TRAIN = "train.jsonl"
HELD_OUT = "held_out.jsonl"
# A smaller held-out part is too small to measure with; a larger one takes too much from training,
# since churches have few reviews. One of so many pairs checked by a person is held out.
_HELD_OUT_OF = 8
_TALK = ("training", "data", "church_talk.tsv")
_MODERN = ("training", "data", "modern_speech.tsv")
_FRAMES = ("dictionary", "frames.tsv")
_CONFUSIONS = TypeAdapter(list[Confusion])


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The sources of a mix besides the data folder."""

    glossary: Path | None = None
    general: Path | None = None
    rules: Sequence[Rule] = ()
    """The dictionary's rules."""
    terms: Sequence[Term] = ()
    """The current glossary; `glossary` is used in addition."""
    ships: bool = True
    """Whether shipped Bibles, church talk, modern sentences and frames replace missing sources."""
    not_in: Sequence[Path] = ()
    """Files of test pairs, which must not be in the mix."""


def mix(
    data: DataFolder,
    out: Path,
    sources: Sources,
    settings: MixSettings,
    langs: tuple[str, str],
    *,
    dry_run: bool = False,
) -> tuple[Mix, int]:
    """Make train.jsonl, held_out.jsonl, manifest.json in `out`; return the mix and held-out count.

    With `dry_run` nothing is written. Raises LearningError (mix-empty, corpus-unreadable).
    """
    pairs = data.pairs()
    held_out = [pair for pair in pairs if is_held_out(pair)]
    # An unreadable test file raises: otherwise its sentences would be trained on.
    tests = [pair for file in sources.not_in for pair in read_general(file, *langs)]
    made = make_mix(_ingredients(data, pairs, sources, langs, [*held_out, *tests]), settings)
    # Before anything is written, so that the old mix stays.
    if not made.examples:
        raise LearningError(
            "mix-empty",
            f"There is nothing to learn from in {data.path}, and no corpus is given.",
            "Run `stark-translate learn collect`, or give --general or --glossary.",
        )
    # Of other languages they are only kept out: the trainers read them by the mix's two.
    measured = [pair for pair in held_out if (pair.source_lang, pair.target_lang) == langs]
    if not dry_run:
        used = [sources.glossary, sources.general, *sources.not_in]
        about = asdict(settings) | {"langs": langs}
        inputs = [data.path / PAIRS, *(file for file in used if file is not None)]
        _write(out, made, measured, inputs, about)
    return made, len(measured)


def is_held_out(pair: LearningPair) -> bool:
    """Whether a pair is held out for measuring: always the same pairs, all checked by people."""
    return holds_out(pair.source, pair.key[0])


def holds_out(source: str, key: str) -> bool:
    """Whether a text from `source` is held out; `key` is the text as words."""
    # Other sources may be wrong: a model would be measured against another model's mistakes.
    if source not in ("review", "operator"):
        return False
    # By the text, not at random: a pair stays on the same side in every later mix.
    return hashlib.sha256(key.encode()).digest()[0] % _HELD_OUT_OF == 0


def example_line(example: Example, langs: tuple[str, str]) -> bytes:
    """Return an example as a line of train.jsonl, with the languages as keys of its texts."""
    fields = {
        langs[0]: example.source,
        langs[1]: example.target,
        "part": example.part,
        "weight": round(example.weight, 3),
    }
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


def read_confusions(data: DataFolder) -> list[Confusion]:
    """Return the recognizer's confusions in the data folder. Raises LearningError."""
    path = data.path / CONFUSIONS
    with reading(path, LearningError, "confusions-unreadable", "Collect again.", (ProtocolError,)):
        return parse_json(_CONFUSIONS, path.read_bytes()) if path.exists() else []


def _ingredients(
    data: DataFolder,
    pairs: Iterable[LearningPair],
    sources: Sources,
    langs: tuple[str, str],
    held_out: Sequence[LearningPair],
) -> Ingredients:
    general = read_general(sources.general, *langs) if sources.general else []
    general = general or _shipped(_MODERN, sources, langs)
    table = read_general(sources.glossary, *langs) if sources.glossary else []
    # The data folder has pairs of every language that was ever set.
    learnt = [pair for pair in pairs if (pair.source_lang, pair.target_lang) == langs]
    return Ingredients(
        bibles=shipped_bibles(*langs) if sources.ships else (),
        # Without general pairs: the mix takes its share of those from their file.
        sermon=[_example(pair, "sermon") for pair in learnt if pair.tier != "general"],
        talk=[_example(pair, "sermon") for pair in _shipped(_TALK, sources, langs)],
        # Only terms with a single translation that does not depend on the sentence.
        glossary={
            key(said): term.write[0]
            for term in sources.terms
            if len(term.write) == 1 and not term.near and not term.not_near
            for said in term.say
        }
        | {key(pair.text): pair.translation for pair in table},
        frames=[(each.text, each.translation) for each in _shipped(_FRAMES, sources, langs)],
        rules=sources.rules,
        general=[_example(pair, "general") for pair in general],
        confusions=read_confusions(data),
        held_out=[pair.text for pair in held_out],
    )


def _shipped(parts: Sequence[str], sources: Sources, langs: tuple[str, str]) -> list[LearningPair]:
    return read_columns(bundled(*parts), *langs) if sources.ships else []


def _example(pair: LearningPair, part: str) -> Example:
    return Example(
        source=pair.text,
        target=pair.translation,
        part=part,
        weight=pair.weight,
        heard=pair.heard,
        session=pair.session_id,
        id=pair.id,
    )


def _write(
    out: Path,
    made: Mix,
    held_out: Sequence[LearningPair],
    inputs: Sequence[Path],
    about: Mapping[str, Any],
) -> None:
    """Write the files, the manifest last: a mix without one is incomplete."""
    langs = about["langs"]
    fix = "Make room, or give another --out; nothing is lost."
    with writing(out, LearningError, "learning-unwritable", fix):
        out.mkdir(parents=True, exist_ok=True)
        (out / "manifest.json").unlink(missing_ok=True)
        write_whole(out / TRAIN, b"".join(example_line(each, langs) for each in made.examples))
        write_whole(out / HELD_OUT, b"".join(map(pair_line, held_out)))
        write_manifest(
            out / "manifest.json",
            step="mix",
            inputs=[file for file in inputs if file.exists()],
            settings=about,
            figures={
                "pairs": len(made.examples),
                "held_out": len(held_out),
                "parts": made.parts,
                "lacking": made.lacking,
                "treated": made.treated,
            },
        )
