"""Which captions are kept as pairs, and that pairs follow the operator's edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import ProtocolError
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
    ReviewItem,
    file_pair,
    file_pairs,
    operator_edits,
    pair_of,
    parse_pair,
    parse_review_item,
    write_pairs,
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


def test_what_has_no_caption_is_no_pair() -> None:
    assert pair_of(replace(spoken(), quality=None, final=None), "s") is None


def filed(records: Sequence[UtteranceRecord], *messages: CaptionMessage) -> dict[str, list[Pair]]:
    found = file_pairs(records, operator_edits(messages), "s")
    return {name: pairs for name, pairs in found.items() if pairs}


def named(pairs: dict[str, list[Pair]]) -> dict[str, list[tuple[int, str]]]:
    return {name: [(pair.id, pair.target) for pair in each] for name, each in pairs.items()}


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (spoken(1), PAIRS),
        (spoken(1, "moderate", 0.8), MODERATE),
        (spoken(1, "review", 0.6), QUEUE),
        (spoken(1, "reject", flags=("estimate:reject",)), REJECTED),
    ],
)
def test_every_edit_makes_a_pair_and_an_undone_one_makes_none(
    made: UtteranceRecord, name: str
) -> None:
    assert named(filed([made])) == {name: [(1, "La gracia de Dios.")]}
    change = edited(1, "La gracia de nuestro Dios")
    assert named(filed([made], change)) == {PAIRS: [(1, "La gracia de nuestro Dios")]}
    undone = message(1, "Grace", "La gracia de Dios.", seq=2)
    assert named(filed([made], change, undone)) == {name: [(1, "La gracia de Dios.")]}


@pytest.mark.parametrize("decision", ["accept", "review"])
def test_a_hidden_captions_pair_comes_back_with_its_caption(decision: Decision) -> None:
    made = spoken(1, decision)
    assert filed([made], edited(1, "")) == {}
    back = message(1, "Grace", "La gracia de Dios.", seq=5)
    assert filed([made], edited(1, ""), back) == filed([made])


def test_where_the_spoken_words_stand_in_the_language_is_still_that_of_the_captions() -> None:
    made = spoken(1, "reject")
    assert made.final is not None
    left = replace(made, final=replace(made.final, lang="en", engine="source"))
    corrected = replace(message(1, "Grace", "Grace", lang="en", engine="source"), corrected=True)
    for messages in ([], [corrected]):
        found = file_pairs([left], operator_edits(messages), "s", "es")
        assert [pair.target_lang for pairs in found.values() for pair in pairs] == ["es"]


def test_a_whole_session_is_filed_in_its_order() -> None:
    records = [spoken(1), spoken(2, "moderate", 0.8), spoken(3, "reject", 0.2), spoken(4)]
    messages = [edited(3, "Tres", seq=1), edited(4, "Cuatro", seq=2), edited(4, "", seq=3)]
    messages += [edited(9, "Nueve", seq=4), message(1, "Grace", "Otra", seq=5)]
    assert named(filed(records, *messages)) == {
        PAIRS: [(1, "La gracia de Dios."), (3, "Tres")],
        MODERATE: [(2, "La gracia de Dios.")],
    }


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    found = file_pairs([spoken(1), spoken(2, "review", 0.6)], {}, tmp_path.name)
    write_pairs(tmp_path, found)
    assert {path.name for path in tmp_path.iterdir()} == set(NAMES)
    assert [parse_pair(line) for line in (tmp_path / PAIRS).read_bytes().splitlines()] == (
        found[PAIRS]
    )
    (queued,) = (tmp_path / QUEUE).read_bytes().splitlines()
    assert parse_review_item(queued) == found[QUEUE][0]
    assert parse_pair(queued).id == 2


def test_a_corrected_text_makes_a_pair_that_somebody_has_to_look_at() -> None:
    """The score belonged to the translation of a different text."""
    made = replace(message(3, "the grace of God", "la gracia de Dios", seq=5), corrected=True)
    (item,) = filed([spoken(3)], made)[QUEUE]
    assert (item.source, item.target, item.engine) == (
        "the grace of God",
        "la gracia de Dios",
        made.target.engine,
    )
    assert (item.score, item.decision, item.raw_source) == (None, "review", "the grace of gods")
    undone = message(3, "the grace of God", "La gracia de Dios.", seq=6)
    assert filed([spoken(3)], made, undone) == filed([spoken(3)]), "it has its score again"


@pytest.mark.parametrize("line", [b'{"id": 2, "sour', b"[]", b'{"id": 2}'])
def test_a_damaged_line_is_told_as_one(line: bytes) -> None:
    """`read_session_lines` skips a line on this error. Any other error would end the review."""
    with pytest.raises(ProtocolError):
        parse_pair(line)
