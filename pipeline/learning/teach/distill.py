"""Distilling: a quick translator learns from what a better one makes of the same sentences.

Half of what the student learns is the teacher's, half the references: Kim and Rush 2016,
"Sequence-Level Knowledge Distillation", EMNLP.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from pipeline.core.errors import EngineError
from pipeline.core.files import write_whole
from pipeline.engines.protocols import Translator
from pipeline.evaluation.paired_bootstrap import scores
from pipeline.learning.manifest import write_manifest
from pipeline.learning.measuring import SentenceSet
from pipeline.learning.mix.mix_files import HELD_OUT, TRAIN
from pipeline.learning.teach.teaching import (
    GONE,
    TAUGHT,
    Lesson,
    TeachingOrder,
    teacher_gone,
    translated,
    writing_to,
)

MIX = "mix"
BEAM = 4
"""Translations that a Marian teacher weighs; llama.cpp knows no beam, so that a Gemma takes the
likeliest word each time."""
SHARE = 0.5
"""Of what the student learns, the teacher's part."""
MEASURE = "chrF++"


@dataclass(frozen=True, slots=True)
class Row:
    """One model's measures by set; the measures are those of `learn compare`."""

    name: str
    scores: Mapping[str, Mapping[str, float]]


def write_student_mix(order: TeachingOrder, lessons: Sequence[Lesson]) -> Mapping[str, int]:
    """Write the mix that the student is trained on; return how many pairs are whose.

    Raises LearningError (learning-unwritable).
    """
    source, target = order.langs
    place = order.out / MIX
    counts = {"teacher": 0, "reference": 0}
    lines = []
    for lesson in lessons:
        whose = "teacher" if lesson.teacher and _is_taught(lesson.source) else "reference"
        counts[whose] += 1
        fields = {
            source: lesson.source,
            target: lesson.teacher if whose == "teacher" else lesson.reference,
            "part": lesson.part,
            "weight": lesson.weight,
        }
        lines.append(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE))
    with writing_to(place):
        place.mkdir(parents=True, exist_ok=True)
        write_whole(place / TRAIN, b"".join(lines))
        # As it is: the student is measured against what people wrote, not against its teacher.
        shutil.copyfile(order.mix / HELD_OUT, place / HELD_OUT)
        write_manifest(
            place / "manifest.json",
            step="distill",
            inputs=[order.mix / TRAIN, order.out / TAUGHT],
            settings={"teacher": order.teacher, "share": SHARE, "parts": list(order.parts)},
            figures=counts,
        )
    return counts


def measure(
    name: str,
    translator: Translator,
    sets: Sequence[SentenceSet],
    on_answer: Callable[[], None] = lambda: None,
) -> Row:
    """Return one model's row; the translator must have been loaded.

    A sentence that fails counts as none. Raises LearningError (teacher-gone) where a server is not
    there any more, whose row would be of no worth.
    """
    found = {}
    for each in sets:
        texts = []
        for sentence in each.sentences:
            try:
                texts.append(translated(translator, sentence.source))
            except EngineError as error:
                if error.code in GONE:
                    raise teacher_gone(name, error, "What was taught and trained is kept") from None
                texts.append("")
            on_answer()
        found[each.name] = scores(texts, each.sentences)
    return Row(name, found)


def gap_closed(rows: Mapping[str, Row]) -> dict[str, float | None]:
    """Return by set how much of the way from `base` to `teacher` the `distilled` one has gone.

    1 is all of it; None where the teacher is no better than the base, and so there is no way.
    """
    found: dict[str, float | None] = {}
    for name in rows["base"].scores:
        base, distilled, teacher = (
            rows[row].scores[name][MEASURE] for row in ("base", "distilled", "teacher")
        )
        gap = teacher - base
        found[name] = round((distilled - base) / gap, 3) if gap > 0 else None
    return found


def write_rows(order: TeachingOrder, rows: Mapping[str, Row], inputs: Sequence[Path]) -> None:
    """Keep the comparison beside the student. Raises LearningError (learning-unwritable)."""
    with writing_to(order.out):
        write_manifest(
            order.out / "distilled.json",
            step="distill",
            inputs=inputs,
            settings={"teacher": order.teacher, "teacher_id": order.teacher_id},
            figures={
                "rows": [asdict(row) for row in rows.values()],
                "gap closed": gap_closed(rows),
            },
        )


def _is_taught(source: str) -> bool:
    """Whether a pair has the teacher's translation: always the same half."""
    # By its text, not by chance: a teaching that goes on divides as the one before did.
    return hashlib.sha256(source.encode()).digest()[0] < 256 * SHARE
