"""Teaching resumes where it was interrupted or where a server disappeared."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.core.errors import EngineError, LearningError
from pipeline.core.resources import bundled
from pipeline.core.types import Translation
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.learning.teach.teaching import (
    MIX,
    TAUGHT,
    TeachingOrder,
    teach,
    write_student_mix,
)
from tests.support.disk import fill_disk, small_disk
from tests.support.lessons import SAID, Stopping, asking, write_mix
from tests.support.model_servers import (
    Answer,
    answers,
    real_llama_server,
    real_server,
    says,
    scripted,
)


@pytest.fixture
def order(tmp_path: Path) -> TeachingOrder:
    return write_mix(tmp_path)


@pytest.fixture
def short(tmp_path: Path) -> TeachingOrder:
    return write_mix(tmp_path, SAID[:8])


@pytest.fixture(scope="module")
def marian() -> Marian:
    engine = Marian(bundled("models", "starter", "marian"))
    engine.load()
    return engine


@pytest.mark.slow
def test_a_teaching_that_was_cut_off_goes_on(short: TeachingOrder, marian: Marian) -> None:
    with pytest.raises(KeyboardInterrupt):
        teach(short, [Stopping(marian, KeyboardInterrupt(), 6)])  # type: ignore[list-item]
    with (short.out / TAUGHT).open("ab") as file:
        file.write(b'{"en": "half a li')
    starts: list[tuple[int, int]] = []
    again = Stopping(marian, KeyboardInterrupt(), 0)
    lessons = teach(short, [again], on_start=lambda *at: starts.append(at))  # type: ignore[list-item]
    assert starts == [(5, 8)]
    assert again.count == 8 - 5
    lines = [json.loads(line) for line in (short.out / TAUGHT).read_text().splitlines()]
    assert [line["en"] for line in lines] == SAID[:8]
    assert {"en", "es_reference", "es_teacher"} < lines[0].keys()
    assert [line["es_teacher"] for line in lines] == [each.teacher for each in lessons]
    assert lessons[3].teacher == marian.translate(SAID[3]).text


@pytest.mark.slow
def test_a_second_round_is_of_sermons_alone(short: TeachingOrder, marian: Marian) -> None:
    lessons = teach(replace(short, parts=("sermon",)), [marian])
    assert [each.source for each in lessons] == SAID[1:8:2]


@pytest.mark.slow
def test_another_teacher_does_not_go_on_with_the_first_ones_work(
    short: TeachingOrder, marian: Marian
) -> None:
    teach(short, [marian])
    for other in (replace(short, teacher_id="cd"), replace(short, parts=("bible",))):
        with pytest.raises(LearningError) as raised:
            teach(other, [marian])
        assert raised.value.code == "teacher-other"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "mix-missing"),
        ('{"en": "a"}\n', "mix-unreadable"),
        ("{\n", "mix-unreadable"),
        ('{"en": "a", "es": "b", "part": "bible", "weight": 1}\n', "mix-empty"),
    ],
)
def test_a_mix_that_cannot_be_taught_is_told(
    short: TeachingOrder, content: str | None, code: str
) -> None:
    path = short.mix / "train.jsonl"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(LearningError) as raised:
        teach(replace(short, parts=("sermon",)), [])
    assert raised.value.code == code


@pytest.mark.slow
def test_a_teacher_that_says_nothing_is_told(short: TeachingOrder, marian: Marian) -> None:
    class Silent:
        def translate(self, text: str) -> Translation:
            return replace(marian.translate(text), stopped="loop")

    with pytest.raises(LearningError) as raised:
        teach(short, [Silent()])  # type: ignore[list-item]
    assert raised.value.code == "teacher-silent"


@pytest.mark.slow
def test_a_full_disk_is_told_and_what_was_taught_is_kept(
    order: TeachingOrder, marian: Marian, tmp_path: Path
) -> None:
    with small_disk(tmp_path):
        full = replace(order, out=tmp_path / "disk" / "out")
        # More than fits into the file's last block, which is its own even on a full disk.
        with pytest.raises(KeyboardInterrupt):
            teach(full, [Stopping(marian, KeyboardInterrupt(), 17)])  # type: ignore[list-item]
        kept = (full.out / TAUGHT).read_bytes()
        fill_disk(tmp_path / "disk" / "rest")
        with pytest.raises(LearningError) as raised:
            teach(full, [marian])
        assert raised.value.code == "learning-unwritable"
        assert (full.out / TAUGHT).read_bytes().startswith(kept)
        (tmp_path / "disk" / "rest").unlink()
        assert len(teach(full, [marian])) == len(SAID)


def taught(order: TeachingOrder) -> list[str]:
    lines = (order.out / TAUGHT).read_text().splitlines()
    return [json.loads(line)["es_teacher"] for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("serve", [real_server, real_llama_server])
def test_a_server_that_is_killed_loses_nothing_and_another_one_goes_on(
    short: TeachingOrder, tmp_path: Path, serve: Callable[..., Any]
) -> None:
    said: list[int] = []
    with serve(tmp_path) as (url, process):

        def strike() -> None:
            said.append(1)
            if len(said) == 3:
                process.kill()
                process.wait()

        with pytest.raises(LearningError) as raised:
            teach(short, asking(url, 2), on_lesson=strike)
    assert raised.value.code == "teacher-gone"
    assert "ours does not translate any more" in raised.value.message
    kept = taught(short)
    # The request in flight when the server was killed may still have been answered.
    assert 3 <= len(kept) <= 4
    assert all(kept)
    begun: list[tuple[int, int]] = []
    with serve(tmp_path) as (elsewhere, _):
        lessons = teach(short, asking(elsewhere, 2), on_start=lambda *at: begun.append(at))
    assert begun == [(len(kept), 8)]
    assert taught(short)[: len(kept)] == kept
    assert [each.source for each in lessons] == SAID[:8], "in the mix's order, each once"
    assert all(each.teacher for each in lessons)


def test_a_sentence_that_a_server_refuses_is_left_out(short: TeachingOrder) -> None:
    bad = answers(400, b'{"error": {"message": "too long"}}')
    with scripted(says("Uno."), bad, bad, says("Cuatro.")) as server:
        lessons = teach(short, asking(server.url))
    assert [each.teacher for each in lessons[:5]] == ["Uno.", "", "", "Cuatro.", "Cuatro."]
    assert taught(short) == [each.teacher for each in lessons]


@pytest.mark.parametrize(
    ("turn", "says_what"),
    [
        (answers(401, b"{}"), "refuses the key"),
        (answers(400, b"{}"), "status 400"),
        (says("Otro.", model="another"), "does not serve 'starter'"),
    ],
)
def test_a_server_that_answers_nothing_any_more_is_told_and_no_empty_lesson_is_kept(
    short: TeachingOrder, turn: Answer, says_what: str
) -> None:
    with scripted(says("Uno."), says("Dos."), turn) as server:
        with pytest.raises(LearningError, match=says_what) as raised:
            teach(short, asking(server.url))
        assert raised.value.code == "teacher-gone"
        assert raised.value.fix.endswith("The same command goes on from there.")
    assert taught(short) == ["Uno.", "Dos."]
    with scripted(says("Tres.")) as server:
        teach(short, asking(server.url))
        assert len(server.asked) == 8 - 2
    assert taught(short)[:3] == ["Uno.", "Dos.", "Tres."]


def test_a_server_gets_as_many_sentences_at_a_time_as_it_is_asked(short: TeachingOrder) -> None:
    together = threading.Barrier(4)

    def answer(handler: Any) -> None:
        together.wait(30)  # four requests must wait here, or the barrier breaks
        text = orjson.loads(handler.request_body)["prompt"]
        (number,) = (word for word in text.split() if word.isdigit())
        says(f"Capítulo {number}.")(handler)

    with scripted(answer) as server:
        lessons = teach(short, asking(server.url, 4))
    assert [each.teacher for each in lessons] == [f"Capítulo {n}." for n in range(8)]


def test_a_teaching_that_is_stopped_does_not_wait_for_its_server(short: TeachingOrder) -> None:
    def stalls(handler: Any) -> None:
        handler.begin_stream()
        assert handler.server.ended.wait(60), "stopped before"

    with scripted(says("Uno."), stalls) as server:
        with pytest.raises(KeyboardInterrupt):
            teach(short, asking(server.url, deadline_s=600), on_lesson=_interrupt)
        server.ended.set()
    assert taught(short) == ["Uno."]


def _interrupt() -> None:
    raise KeyboardInterrupt


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
def test_where_the_teacher_failed_the_reference_stays(short: TeachingOrder, marian: Marian) -> None:
    lessons = teach(short, [Stopping(marian, EngineError("x", "y"), 5)])  # type: ignore[list-item]
    assert [each.teacher == "" for each in lessons].index(True) == 4
    write_student_mix(short, lessons)
    lines = [
        json.loads(line) for line in (short.out / MIX / "train.jsonl").read_text().splitlines()
    ]
    assert lines[4]["es"] == "Referencia 4."
