"""`score` on the files of a real session."""

from __future__ import annotations

import importlib.util
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.cli.commands.score import refile
from pipeline.core.errors import SessionError
from pipeline.evaluation.rescore import QualityRecord, judge_again
from pipeline.review.store import Review
from pipeline.session import reader
from pipeline.session.recorder import SessionRecorder
from pipeline.session.training_pairs import MODERATE, NAMES, PAIRS, QUEUE, REJECTED, parse_pair
from tests.support.cli import Cli
from tests.support.schemas import problems
from tests.support.services import GOOD, UNSURE, WRONG, decide, hold
from tests.support.sessions import Session, eventful


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return eventful(tmp_path_factory.mktemp("score") / "sessions")


@pytest.mark.slow
def test_it_judges_again_and_leaves_the_record_alone(session: Session, cli: Cli) -> None:
    before = {path.name: path.read_bytes() for path in session.folder.iterdir()}
    cli("score", str(session.folder))
    output = cli("score last --sessions", str(session.folder.parent)).out
    after = {path.name: path.read_bytes() for path in session.folder.iterdir()}
    made = after.pop("quality.jsonl")
    assert after == before
    judged = [orjson.loads(line) for line in made.splitlines()]
    live = [record for record in session.records("utterance") if record["final"] is not None]
    assert [(each["id"], each["flags"], each["quality"]) for each in judged] == [
        (record["id"], record["flags"], record["quality"]) for record in live
    ]
    for each in judged:
        assert problems("records/quality", each) == []
    assert "accept" in output
    assert "quality.jsonl" in output.replace("\n", "")


@pytest.mark.slow
def test_cometkiwi_without_its_extra(session: Session, cli: Cli) -> None:
    if importlib.util.find_spec("comet") is not None:
        pytest.skip("the extra is installed here")
    output = cli("score", str(session.folder), "--estimator", "cometkiwi", code=1).err
    assert "-m pip install 'stark-translate[comet]'" in output
    assert "[comet-missing]" in output


@pytest.mark.slow
def test_agreement_by_an_embedding_model(tmp_path: Path, gemma_270m: Path, cli: Cli) -> None:
    folder = hold(tmp_path, [GOOD, WRONG])

    def judged() -> list[Any]:
        lines = (folder / "quality.jsonl").read_bytes().splitlines()
        return [orjson.loads(line) for line in lines]

    command = ["score", "last", "--sessions", str(tmp_path)]
    cli(*command, "--embedding", str(gemma_270m))
    same, other = judged()
    assert (same["agreement_by"], other["agreement_by"]) == ("cosine", "cosine")
    assert same["quality"]["parts"]["agreement"] > other["quality"]["parts"]["agreement"]
    missing = cli(*command, "--embedding", str(tmp_path / "none.gguf"), code=1).err
    assert "learn.embedding: there is no" in missing
    cli(*command)
    assert [each["agreement_by"] for each in judged()] == ["chrf", "chrf"]


@pytest.mark.slow
def test_a_folder_that_cannot_be_written(tmp_path: Path, session: Session, cli: Cli) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    for path in session.folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "quality.jsonl").unlink(missing_ok=True)
    (folder / "quality.jsonl").mkdir()
    assert "[session-unwritable]" in cli("score", str(folder), code=1).err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    hidden = replace(GOOD, source="Somebody has hidden this one.", edit="")
    return hold(tmp_path, [GOOD, UNSURE, replace(WRONG, edit="Cantaremos otra vez."), hidden])


def judged(folder: Path, **scores: float) -> list[QualityRecord]:
    """Return the judgement of a session, with `scores` instead of some of its own: `u1=0.3`."""
    made = judge_again(reader.Session(folder).utterances)
    return [
        replace(
            each,
            quality=replace(
                each.quality,
                score=scores[f"u{each.id}"],
                decision="review" if scores[f"u{each.id}"] < 0.7 else "accept",
            ),
        )
        if f"u{each.id}" in scores
        else each
        for each in made
    ]


def filed(folder: Path) -> dict[str, list[int]]:
    return {
        name: [parse_pair(line).id for line in (folder / name).read_bytes().splitlines()]
        for name in NAMES
    }


def test_the_same_judgement_changes_nothing(folder: Path) -> None:
    before = filed(folder)
    assert before == {PAIRS: [1, 3], QUEUE: [], MODERATE: [2], REJECTED: []}
    assert refile(folder, judged(folder)) == {PAIRS: 2, QUEUE: 0, MODERATE: 1, REJECTED: 0}
    assert filed(folder) == before


def test_another_one_moves_the_pairs_and_edits_stay(folder: Path) -> None:
    refile(folder, judged(folder, u1=0.6, u2=0.9))
    assert filed(folder) == {PAIRS: [2, 3], QUEUE: [1], MODERATE: [], REJECTED: []}


def test_what_people_decided_holds(folder: Path) -> None:
    refile(folder, judged(folder, u1=0.6))
    with closing(Review(folder)) as review:
        review.decide(
            1, "approved", source=GOOD.source, target="La gracia es grande.", reviewer="Ana"
        )
    refile(folder, judged(folder, u1=0.95, u2=0.95))
    assert filed(folder) == {PAIRS: [2, 3, 1], QUEUE: [1], MODERATE: [], REJECTED: []}
    with closing(Review(folder)) as review:
        assert [(item.id, item.outcome) for item in review.items()] == [(1, "corrected")]
    decide(folder, 1, "rejected")
    refile(folder, judged(folder, u1=0.95))
    assert filed(folder)[PAIRS] == [3]


def test_a_session_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    recorder = SessionRecorder(tmp_path, source="en", targets=("es",), on_fault=print)
    try:
        with pytest.raises(SessionError) as caught:
            refile(recorder.folder, [])
    finally:
        recorder.start()
        recorder.close(5.0)
    assert caught.value.code == "session-in-use"
