"""The judge of finals fitted to people's decisions."""

from __future__ import annotations

import random
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.church.fidelity.doubt import OWN, Evidence, Judge, in_use, shipped
from pipeline.core.errors import LearningError
from pipeline.core.types import Check, Mode, Opinion, Word
from pipeline.learning.fitting import evidence_of_record, fit_judge, reviewed, write_judge
from pipeline.records.utterance import FinalRecord, UtteranceRecord, judged
from pipeline.review.store import Review
from pipeline.session.reader import RECORDS
from scripts.support.journal import message, session
from scripts.support.records import utterance_record
from tests.support.services import GOOD, decide, hold
from tests.support.utterances import draft, final, kept


def decided(count: int, *, wrong: float = 0.4) -> list[tuple[Evidence, bool]]:
    """Return decisions that only the recognizer's confidence predicts."""
    rng = random.Random(8)
    judged = [rng.random() < wrong for _ in range(count)]
    return [(Evidence(heard=rng.gauss(-3 if bad else -0.5, 0.7)), bad) for bad in judged]


def evidence(folders: list[Path], told: list[Path] | None = None) -> list[tuple[Evidence, bool]]:
    """Return the evidence of what was reviewed; `told` gets the sessions that are left out."""
    left_out = [] if told is None else told
    return reviewed(folders, demos=False, on_skipped=lambda folder, _: left_out.append(folder))


def in_doubt(key: int, said: str, target: str, mode: Mode = "live") -> UtteranceRecord:
    """Return the record of a final of which the quick translator has an opinion."""
    translated = FinalRecord(lang="es", text=target, engine="gemma", avg_logprob=-0.5)
    opinion = Opinion(-1.0, -3.0, 0.4)
    return judged(utterance_record(key, said, mode=mode, final=translated, opinion=opinion))


def test_what_people_decided_is_learnt(tmp_path: Path) -> None:
    made = fit_judge(decided(300), shipped())
    assert made.auc > 0.95 > made.auc_in_use
    assert made.is_better
    write_judge(made.model, tmp_path / OWN)
    assert in_use(tmp_path) == made.model
    judge = Judge(made.model)
    assert judge.is_among_worst(made.model.probability(Evidence(heard=-4.0)))


@pytest.mark.parametrize(("count", "wrong"), [(99, 0.4), (300, 0.0), (300, 1.0)])
def test_too_few_decisions_are_refused(count: int, wrong: float) -> None:
    with pytest.raises(LearningError) as raised:
        fit_judge(decided(count, wrong=wrong), shipped())
    assert raised.value.code == "judge-too-few"


def test_a_broken_file_leaves_the_judge_that_ships(tmp_path: Path) -> None:
    assert in_use(tmp_path) == shipped()
    (tmp_path / OWN).write_text("{}")
    assert in_use(tmp_path) == shipped()


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(LearningError, match="cannot be written"):
        write_judge(shipped(), tmp_path / "none" / OWN)


def test_a_record_gives_the_evidence_of_its_final() -> None:
    record = replace(
        kept(final(), draft()),
        opinion=Opinion(-1.0, -4.0, 0.7),
        words=(Word("a", 1.0), Word("b", 0.0)),
        checks=(Check("negation", "doubtful", "not"),),
    )
    evidence = evidence_of_record(record)
    assert (evidence.quick_mean, evidence.quick_least, evidence.rules) == (-1.0, -4.0, 1.0)
    assert evidence.heard == pytest.approx(-9.21, abs=0.01)


def test_approving_an_operator_s_correction_does_not_approve_what_was_corrected(
    tmp_path: Path,
) -> None:
    captions = [message(key, "Turn to extra.", "Vayan a extra.") for key in (1, 2)]
    captions += [replace(message(1, "Turn to Ezra.", "Vayan a Esdras.", seq=3), corrected=True)]
    records = [in_doubt(key, "Turn to extra.", "Vayan a extra.") for key in (1, 2)]
    folder = session(tmp_path, captions, records=records)
    with closing(Review(folder)) as review:
        for item in review.items():
            texts = {"source": item.source, "target": item.target}
            review.decide(item.id, "approved", reviewer="Ana", **texts)
        assert {item.source for item in review.items()} == {"Turn to Ezra.", "Turn to extra."}
    assert len(evidence([folder])) == 1


def test_finals_without_an_opinion_teach_nothing(tmp_path: Path) -> None:
    folder = hold(tmp_path, [GOOD])
    decide(folder, 1, "approved", GOOD.source, GOOD.target)
    assert evidence([folder]) == []


def test_a_demo_teaches_nothing_and_a_damaged_session_costs_only_itself(tmp_path: Path) -> None:
    folders = []
    services: dict[str, Mode] = {"live": "live", "demo": "demo", "broken": "live"}
    for directory, mode in services.items():
        record = in_doubt(1, GOOD.source, GOOD.target, mode)
        caption = message(1, GOOD.source, GOOD.target)
        folders.append(session(tmp_path / directory, [caption], records=[record]))
        decide(folders[-1], 1, "approved", GOOD.source, GOOD.target)
    live, demo, broken = folders
    (broken / RECORDS).write_bytes(b"{\n{\n")
    told: list[Path] = []
    assert len(evidence([broken, demo, live], told)) == 1
    assert told == [broken]
    assert len(reviewed([demo, live], demos=True, on_skipped=print)) == 2
