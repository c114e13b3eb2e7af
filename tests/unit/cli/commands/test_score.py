"""`score` on the files of a real session."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.cli.main import main
from tests.support.schemas import problems
from tests.support.services import GOOD, WRONG, hold
from tests.support.sessions import Session, eventful


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return eventful(tmp_path_factory.mktemp("score") / "sessions")


@pytest.mark.slow
def test_it_judges_again_and_leaves_the_record_alone(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name: path.read_bytes() for path in session.folder.iterdir()}
    assert main(["score", str(session.folder)]) == 0
    assert main(["score", "last", "--sessions", str(session.folder.parent)]) == 0
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
    said = capsys.readouterr().out
    assert "accept" in said
    assert "quality.jsonl" in said.replace("\n", "")


@pytest.mark.slow
def test_cometkiwi_without_its_extra(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    if importlib.util.find_spec("comet") is not None:
        pytest.skip("the extra is installed here")
    assert main(["score", str(session.folder), "--estimator", "cometkiwi"]) == 1
    said = capsys.readouterr().err
    assert "pip install 'stark-translate[comet]'" in said
    assert "[comet-missing]" in said


@pytest.mark.slow
def test_agreement_by_an_embedding_model_and_limits_of_its_own(
    tmp_path: Path, gemma_270m: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = hold(tmp_path, [GOOD, WRONG])
    (tmp_path / "limits.json").write_text('{"cosine": {"flag": 1, "reject": 0}}')

    def judged() -> list[Any]:
        lines = (folder / "quality.jsonl").read_bytes().splitlines()
        return [orjson.loads(line) for line in lines]

    asked = ["score", "last", "--sessions", str(tmp_path)]
    assert main([*asked, "--embedding", str(gemma_270m)]) == 0
    same, other = judged()
    assert (same["agreement_by"], other["agreement_by"]) == ("cosine", "cosine")
    assert same["quality"]["parts"]["agreement"] > other["quality"]["parts"]["agreement"]
    assert "agreement:flag" in other["flags"], "by the limits beside the sessions"
    assert main([*asked, "--embedding", str(tmp_path / "none.gguf")]) == 1
    assert "learn.embedding: there is no" in capsys.readouterr().err
    assert main(asked) == 0
    assert [each["agreement_by"] for each in judged()] == ["chrf", "chrf"]


@pytest.mark.slow
def test_a_model_without_an_estimator_that_takes_one(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(session.folder), "--model", "x.ckpt"]) == 2
    assert "[model-unused]" in capsys.readouterr().err


def test_a_session_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "last", "--sessions", str(tmp_path)]) == 1
    assert "[session-missing]" in capsys.readouterr().err


@pytest.mark.slow
def test_a_folder_that_cannot_be_written(
    tmp_path: Path, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    for path in session.folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "quality.jsonl").unlink(missing_ok=True)
    (folder / "quality.jsonl").mkdir()
    assert main(["score", str(folder)]) == 1
    assert "[session-unwritable]" in capsys.readouterr().err
