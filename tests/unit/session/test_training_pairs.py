"""Which captions are kept as pairs, and that their files follow the operator."""

from __future__ import annotations

import os
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.captions.redaction import Redaction, RedactionFilter
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.quality import Decision, Flag
from pipeline.records.utterance import UtteranceRecord
from pipeline.session.training_pairs import (
    MODERATE,
    NAMES,
    PAIRS,
    QUEUE,
    REJECTED,
    Pair,
    Pairs,
    ReviewItem,
    file_pair,
    file_pairs,
    operator_edits,
    pair_of,
    parse_pair,
)
from scripts.support.journal import message
from tests.support.utterances import UTC, draft, final, kept


def spoken(
    id: int = 7,  # noqa: A002
    decision: Decision = "accept",
    score: float | None = 0.9,
    flags: tuple[Flag, ...] = (),
) -> UtteranceRecord:
    made = kept(final(), draft())
    assert made.quality is not None
    judged = replace(made.quality, decision=decision, score=score)
    return replace(made, id=id, quality=judged, flags=flags)


def edited(id: int, text: str, seq: int = 1) -> CaptionMessage:  # noqa: A002
    made = message(id, text and "Grace", text, seq=seq)
    return replace(made, target=replace(made.target, engine="operator"))


def written(folder: Path, name: str = "sermon_pairs.jsonl") -> list[tuple[int, str]]:
    lines = [orjson.loads(line) for line in (folder / name).read_bytes().splitlines()]
    return [(line["id"], line["target"]) for line in lines]


def test_an_accepted_caption_is_a_pair() -> None:
    pair = pair_of(spoken(), "2026-11-22T09-30-00")
    assert pair is not None
    assert file_pair(pair) == (PAIRS, pair)
    assert pair == Pair(
        session="2026-11-22T09-30-00",
        id=7,
        utc=UTC,
        start_s=2.0,
        end_s=4.0,
        source_lang="en",
        source="the grace of God",
        raw_source="the grace of gods",
        target_lang="es",
        target="La gracia de Dios.",
        engine="gemma",
        score=0.9,
        stt_confidence=0.7062,
        translation_qe=0.9003,
        marian_agreement=0.8508,
        decision="accept",
    )


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"decision": "review", "score": 0.6}, ("low-score",)),
        ({"decision": "review", "score": None}, ("no-score",)),
        ({"flags": ("agreement:flag",)}, ("agreement:flag",)),
        ({"decision": "moderate", "flags": ("agreement:flag",)}, ("agreement:flag",)),
        (
            {"decision": "review", "score": 0.6, "flags": ("estimate:flag", "agreement:flag")},
            ("estimate:flag", "agreement:flag", "low-score"),
        ),
    ],
)
def test_a_doubtful_one_is_for_review(changes: dict[str, Any], reasons: tuple[str, ...]) -> None:
    pair = pair_of(spoken(**changes), "s")
    assert pair is not None
    name, item = file_pair(pair)
    assert name == QUEUE
    assert isinstance(item, ReviewItem)
    assert item.reasons == reasons


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (spoken(decision="moderate", score=0.8), MODERATE),
        (spoken(decision="reject", score=0.2), REJECTED),
        (spoken(decision="reject", flags=("estimate:reject",)), REJECTED),
    ],
)
def test_others_are_kept_apart(record: UtteranceRecord, name: str) -> None:
    pair = pair_of(record, "s")
    assert pair is not None
    assert file_pair(pair) == (name, pair)


def test_what_has_no_caption_is_no_pair() -> None:
    assert pair_of(replace(spoken(), quality=None, final=None), "s") is None


@pytest.mark.parametrize(
    ("decision", "name"),
    [("accept", PAIRS), ("moderate", MODERATE), ("review", QUEUE), ("reject", REJECTED)],
)
def test_every_edit_makes_a_pair_and_an_undone_one_makes_none(
    tmp_path: Path, decision: Decision, name: str
) -> None:
    pairs = Pairs(tmp_path)
    pairs.add(spoken(1, decision, 0.4))
    pairs.flush()
    pairs.follow(edited(1, "La gracia de nuestro Dios"))
    pairs.flush()
    assert written(tmp_path) == [(1, "La gracia de nuestro Dios")]
    assert [each for other in NAMES[1:] for each in written(tmp_path, other)] == []
    pairs.follow(message(1, "Grace", "La gracia de Dios.", seq=2))
    pairs.flush()
    pairs.close()
    assert written(tmp_path, name) == [(1, "La gracia de Dios.")]
    assert sum(len(written(tmp_path, other)) for other in NAMES) == 1


def test_a_whole_session_is_filed_as_it_was_line_by_line(tmp_path: Path) -> None:
    records = [spoken(1), spoken(2, "moderate", 0.8), spoken(3, "reject", 0.2), spoken(4)]
    messages = [edited(3, "Tres", seq=1), edited(4, "Cuatro", seq=2), edited(4, "", seq=3)]
    pairs = Pairs(tmp_path)
    for record in records:
        pairs.add(record)
    for each in messages:
        pairs.follow(each)
    pairs.flush()
    pairs.close()
    filed = file_pairs(records, operator_edits(messages), tmp_path.name)
    assert {name: sorted(pair.id for pair in each) for name, each in filed.items()} == {
        PAIRS: [1, 3],
        QUEUE: [],
        MODERATE: [2],
        REJECTED: [],
    }
    for name in NAMES:
        lines = (tmp_path / name).read_bytes().splitlines()
        assert sorted(map(parse_pair, lines), key=lambda pair: pair.id) == filed[name]


def test_an_edit_before_the_final_counts_too(tmp_path: Path) -> None:
    pairs = Pairs(tmp_path)
    pairs.follow(edited(1, "La gracia"))
    pairs.follow(edited(2, ""))
    pairs.follow(message(3, "Grace", "Otra", seq=3))  # a translator's final
    for id in (1, 2, 3):  # noqa: A001
        pairs.add(spoken(id))
    pairs.flush()
    pairs.close()
    assert written(tmp_path) == [(1, "La gracia"), (3, "La gracia de Dios.")]


def test_edits_keep_the_order(tmp_path: Path) -> None:
    pairs = Pairs(tmp_path)
    for id in (1, 2, 3):  # noqa: A001
        pairs.add(spoken(id))
    pairs.flush()
    pairs.follow(edited(1, "Uno"))
    pairs.follow(edited(3, ""))
    pairs.follow(edited(9, "Nueve"))  # not a pair
    pairs.add(spoken(4, "review", 0.6))
    pairs.add(spoken(5))
    pairs.add(spoken(6, "reject", 0.2))
    pairs.flush()
    assert written(tmp_path) == [(1, "Uno"), (2, "La gracia de Dios."), (5, "La gracia de Dios.")]
    assert written(tmp_path, REJECTED) == [(6, "La gracia de Dios.")]
    assert written(tmp_path, "review_queue.jsonl") == [(4, "La gracia de Dios.")]
    pairs.follow(edited(4, ""))
    pairs.flush()
    assert written(tmp_path, "review_queue.jsonl") == []
    assert (len(pairs.accepted), len(pairs.review)) == (3, 0)
    pairs.close()


@pytest.mark.parametrize("decision", ["accept", "review"])
def test_a_hidden_captions_pair_comes_back_with_its_caption(
    tmp_path: Path, decision: Decision
) -> None:
    pairs = Pairs(tmp_path)
    pairs.add(spoken(1, decision))
    pairs.follow(edited(2, ""))
    pairs.add(spoken(2, decision))  # it was hidden before its final was there
    pairs.flush()
    (name,) = [name for name in NAMES if written(tmp_path, name)]
    before = (tmp_path / name).read_bytes()
    pairs.follow(edited(1, ""))
    pairs.flush()
    assert [written(tmp_path, each) for each in NAMES] == [[], [], [], []]
    for id in (1, 2):  # noqa: A001
        pairs.follow(message(id, "Grace", "La gracia de Dios.", seq=5 + id))
    pairs.flush()
    pairs.follow(message(1, "Grace", "La gracia de Dios.", seq=9))  # once more changes nothing
    pairs.flush()
    assert written(tmp_path, name) == [(1, "La gracia de Dios."), (2, "La gracia de Dios.")]
    assert (tmp_path / name).read_bytes().startswith(before)
    pairs.close()


def test_what_went_off_the_record_does_not_come_back_from_memory(tmp_path: Path) -> None:
    pairs = Pairs(tmp_path)
    pairs.add(spoken(1))
    pairs.follow(edited(1, ""))
    pairs.flush()
    for file in pairs.files.values():
        file.sift(RedactionFilter(Redaction(0.0, 60.0)).line)
    pairs.follow(message(1, "Grace", "La gracia de Dios.", seq=5))
    pairs.flush()
    pairs.close()
    assert [written(tmp_path, each) for each in NAMES] == [[], [], [], []]


def test_an_undone_correction_has_its_score_again(tmp_path: Path) -> None:
    pairs = Pairs(tmp_path)
    pairs.add(spoken(3))
    pairs.flush()
    before = (tmp_path / PAIRS).read_bytes()
    pairs.follow(replace(message(3, "the grass", "la hierba", seq=5), corrected=True))
    pairs.flush()
    assert written(tmp_path, QUEUE) == [(3, "la hierba")]
    pairs.follow(message(3, "the grace of God", "La gracia de Dios.", seq=6))
    pairs.flush()
    pairs.close()
    assert (tmp_path / PAIRS).read_bytes() == before
    assert written(tmp_path, QUEUE) == []


@pytest.mark.slow
def test_nothing_of_the_pairs_stays_in_memory(tmp_path: Path) -> None:
    pairs, one = Pairs(tmp_path), spoken()
    tracemalloc.start()
    try:
        for id in range(2_000):  # noqa: A001
            pairs.add(replace(one, id=id))
            pairs.flush()
            if id == 500:
                before = tracemalloc.get_traced_memory()[0]
        assert tracemalloc.get_traced_memory()[0] - before < 100_000
    finally:
        tracemalloc.stop()
    pairs.close()
    assert len(pairs.accepted) == len(written(tmp_path)) == 2_000


def test_what_the_disk_refused_comes_with_the_next_flush(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = Pairs(tmp_path)
    pairs.add(spoken(1))
    pairs.flush()
    pairs.add(spoken(2))
    with monkeypatch.context() as full:
        full.setattr(os, "write", refuse)
        with pytest.raises(OSError, match="No space left"):
            pairs.flush()
        pairs.follow(edited(1, "Uno"))
        with pytest.raises(OSError, match="No space left"):
            pairs.flush()
    assert written(tmp_path) == [(1, "La gracia de Dios.")]
    pairs.flush()
    assert written(tmp_path) == [(1, "Uno"), (2, "La gracia de Dios.")]
    assert {path.name for path in tmp_path.iterdir()} == set(NAMES)
    pairs.close()


def refuse(_fd: int, _data: object) -> int:
    raise OSError(28, "No space left on device")


def test_a_corrected_text_makes_a_pair_that_somebody_has_to_look_at(tmp_path: Path) -> None:
    """The score was that of a translation of something else."""
    pairs = Pairs(tmp_path)
    pairs.add(spoken(3))
    made = replace(message(3, "the grace of God", "la gracia de Dios", seq=5), corrected=True)
    pairs.follow(made)
    pairs.flush()
    assert written(tmp_path) == []
    (line,) = (tmp_path / QUEUE).read_bytes().splitlines()
    told = parse_pair(line)
    assert (told.source, told.target, told.engine) == (
        "the grace of God",
        "la gracia de Dios",
        made.target.engine,
    )
    assert (told.score, told.decision, told.raw_source) == (None, "review", "the grace of gods")
    assert operator_edits([made]) == {3: made}
