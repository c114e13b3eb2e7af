"""Half of what the student learns is the teacher's; how much of the gap was closed is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.core.errors import EngineError, LearningError
from pipeline.core.resources import bundled
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.evaluation.sentences import few, read
from pipeline.learning.measuring import SentenceSet
from pipeline.learning.teach.distill import (
    BEAM,
    MIX,
    Row,
    gap_closed,
    measure,
    write_rows,
    write_student_mix,
)
from pipeline.learning.teach.teaching import TeachingOrder, teach
from tests.support.lessons import SAID, Stopping, asking, write_mix
from tests.support.model_servers import answers, says, scripted


@pytest.fixture
def order(tmp_path: Path) -> TeachingOrder:
    return write_mix(tmp_path)


@pytest.fixture(scope="module")
def marian() -> Marian:
    engine = Marian(bundled("models", "starter", "marian"), beam=BEAM)
    engine.load()
    return engine


@pytest.mark.slow
def test_half_of_what_the_student_learns_is_the_teachers(
    order: TeachingOrder, marian: Marian
) -> None:
    lessons = teach(order, [marian])
    counts = write_student_mix(order, lessons)
    assert counts["teacher"] + counts["reference"] == len(SAID)
    assert 10 <= counts["teacher"] <= 30
    lines = [
        json.loads(line) for line in (order.out / MIX / "train.jsonl").read_text().splitlines()
    ]
    references = [line for line in lines if line["es"].startswith("Referencia")]
    assert len(references) == counts["reference"]
    assert {line["weight"] for line in lines} == {1.5}
    assert write_student_mix(order, lessons) == counts, "always the same half"


@pytest.mark.slow
def test_where_the_teacher_failed_the_reference_stays(order: TeachingOrder, marian: Marian) -> None:
    lessons = teach(order, [Stopping(marian, EngineError("x", "y"), 5)])  # type: ignore[list-item]
    assert [each.teacher == "" for each in lessons].index(True) == 4
    write_student_mix(order, lessons)
    lines = [
        json.loads(line) for line in (order.out / MIX / "train.jsonl").read_text().splitlines()
    ]
    assert lines[4]["es"] == "Referencia 4."


def row(name: str, chrf: float) -> Row:
    return Row(name, {"preaching": {"chrF++": chrf}})


@pytest.mark.parametrize(
    ("base", "distilled", "teacher", "share"),
    [(50.0, 56.0, 60.0, 0.6), (50.0, 48.0, 60.0, -0.2), (60.0, 61.0, 60.0, None)],
)
def test_the_share_of_the_gap(
    order: TeachingOrder, base: float, distilled: float, teacher: float, share: float | None
) -> None:
    given = {"base": base, "distilled": distilled, "teacher": teacher}
    rows = {name: row(name, chrf) for name, chrf in given.items()}
    assert gap_closed(rows) == {"preaching": share}
    order.out.mkdir()
    write_rows(order, rows, [])
    kept = json.loads((order.out / "distilled.json").read_text())["figures"]
    assert kept["gap closed"] == {"preaching": share}
    assert [each["name"] for each in kept["rows"]] == ["base", "distilled", "teacher"]


def test_a_row_of_a_server_that_has_gone_is_none(order: TeachingOrder) -> None:
    sets = [SentenceSet("gate", few(read(), 1))]
    with scripted(says("Uno."), answers(401, b"{}")) as server:
        (teacher,) = asking(server.url)
        with pytest.raises(LearningError) as told:
            measure("teacher", teacher, sets)
    assert told.value.code == "teacher-gone"
    assert "What was taught and trained is kept" in told.value.message


@pytest.mark.slow
def test_a_row_has_every_measure_of_every_set(marian: Marian) -> None:
    answers: list[int] = []
    sets = [SentenceSet("gate", few(read(), 2))]
    made = measure("base", marian, sets, lambda: answers.append(1))
    assert made.scores["gate"].keys() == {"BLEU", "chrF++", "terms, %"}
    assert len(answers) == 4
