"""Decisions on the review queue: the pairs file stays correct even after an interruption."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import orjson
import pytest

from pipeline.core.errors import ProtocolError, SessionError
from pipeline.core.types import Word
from pipeline.review.store import REVIEWED, Review, priority
from pipeline.session.recorder import SessionRecorder
from pipeline.session.training_pairs import PAIRS, QUEUE, Pair, pair_of, parse_review_item
from scripts.support.journal import message, pair, reviewable, session
from tests.support.reviews import lines, outcomes, pairs
from tests.support.schemas import problems
from tests.support.services import Said, hold
from tests.support.utterances import draft, final, kept


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return reviewable(tmp_path)


@pytest.fixture
def review(folder: Path) -> Iterator[Review]:
    opened = Review(folder)
    yield opened
    opened.close()


def approve(review: Review, key: int, source: str = "", target: str = "") -> None:
    review.decide(
        key,
        "approved",
        source=source or f"Sentence {key}.",
        target=target or f"Frase {key}.",
        reviewer="Ana",
    )


GOOD = (1, "Frase 1.", "gemma")


def test_an_item_says_all_there_is_to_know(review: Review) -> None:
    assert asdict(review.items()[0]) == {
        "id": 2,
        "start_s": 20.0,
        "end_s": 22.5,
        "score": 0.61,
        "source_lang": "en",
        "target_lang": "es",
        "engine": "gemma",
        "reasons": ("the two translations are not alike",),
        "heard": "Sentence 2.",
        "shown": "Frase 2.",
        "source": "Sentence 2.",
        "target": "Frase 2.",
        "words": ({"text": "Sentence", "probability": 0.31}, {"text": "2.", "probability": 0.9}),
        "others": (
            {"engine": "marian", "model": "", "text": "Oración 2."},
            {"engine": "gemma", "model": "other.gguf", "text": "La frase 2."},
        ),
        "outcome": "open",
        "reviewer": "",
        "has_sound": False,
        "sentence": "",
    }
    assert (review.left, review.pairs) == (3, 1)
    assert len(review.item(3).others) == 1, "the same text is told once"


def test_the_worst_come_first_and_then_the_others_as_they_were_said(tmp_path: Path) -> None:
    folder = reviewable(tmp_path, 24)
    scores = {7: 0.2, 25: 0.1, 12: None, **dict.fromkeys((3, 4, 5, 6), 0.69)}
    queued = [parse_review_item(line) for line in (folder / QUEUE).read_bytes().splitlines()]
    scored = [replace(item, score=scores.get(item.id, 0.61)) for item in queued]
    (folder / QUEUE).write_bytes(b"".join(orjson.dumps(item) + b"\n" for item in scored))
    review = Review(folder)
    order = [item.id for item in review.items()]
    review.close()
    assert order[:5] == [12, 25, 7, 2, 8]
    assert order[20:] == [3, 4, 5, 6]
    assert sorted(order) == list(range(2, 26))


def test_what_is_approved_becomes_a_pair_with_who_and_when(folder: Path, review: Review) -> None:
    approve(review, 3)
    assert outcomes(review) == {2: "open", 3: "approved", 4: "open"}
    (decision,) = lines(folder / REVIEWED)
    assert problems("records/reviewed", decision) == []
    kept = lines(folder / PAIRS)
    assert [problems("records/pair", line) for line in kept[1:]] == [[]]
    decided = {"reviewer": "Ana", "reviewed_utc": decision["utc"]}
    assert kept[1] == kept[1] | pair(3, "Sentence 3.", "Frase 3.") | decided
    assert (review.left, review.pairs) == (2, 2)


def test_what_is_corrected_is_the_persons(folder: Path, review: Review) -> None:
    approve(review, 2, target="La frase dos.")
    approve(review, 3, source="Sentence three.")
    assert outcomes(review) == {2: "corrected", 3: "corrected", 4: "open"}
    assert pairs(folder) == [GOOD, (2, "La frase dos.", "operator"), (3, "Frase 3.", "gemma")]
    assert lines(folder / PAIRS)[2]["source"] == "Sentence three."
    assert review.item(2).target == "La frase dos."
    assert review.item(2).shown == "Frase 2."


def test_twice_is_once_and_the_last_word_holds(folder: Path, review: Review) -> None:
    for _ in range(2):
        approve(review, 2)
    assert len(lines(folder / REVIEWED)) == 1
    approve(review, 2, target="Otra.")
    assert pairs(folder) == [GOOD, (2, "Otra.", "operator")]
    review.decide(2, "rejected", source="", target="", reviewer="Ben")
    assert pairs(folder) == [GOOD]
    assert review.item(2).target == "Frase 2."
    review.decide(2, "open", source="", target="", reviewer="Ben")
    assert outcomes(review)[2] == "open"
    approve(review, 2)
    assert pairs(folder) == [GOOD, (2, "Frase 2.", "gemma")]
    assert [line["outcome"] for line in lines(folder / REVIEWED)] == [
        "approved", "corrected", "rejected", "open", "approved",
    ]  # fmt: skip


def test_taking_back_what_was_never_decided_is_nothing(folder: Path, review: Review) -> None:
    review.decide(2, "open", source="", target="", reviewer="Ana")
    assert lines(folder / REVIEWED) == []


def test_an_item_that_is_not_there(review: Review) -> None:
    with pytest.raises(ProtocolError, match=r"no item 99 .*\[unknown-item\]"):
        approve(review, 99)


def test_it_goes_on_where_it_was(folder: Path) -> None:
    first = Review(folder)
    approve(first, 2)
    first.close()
    second = Review(folder)
    assert outcomes(second) == {2: "approved", 3: "open", 4: "open"}
    assert second.item(2).reviewer == "Ana"
    approve(second, 3)
    second.close()
    assert [key for key, *_ in pairs(folder)] == [1, 2, 3]


def test_killed_between_decision_and_pair_it_mends_itself(folder: Path) -> None:
    review = Review(folder)
    before = (folder / PAIRS).read_bytes()
    approve(review, 2)
    review.close()
    (folder / PAIRS).write_bytes(before)  # as if the power failed before the replacement
    with (folder / REVIEWED).open("ab") as file:
        file.write(b'{"id":3,"utc":"2026')  # and in the middle of the next decision
    again = Review(folder)
    assert outcomes(again) == {2: "approved", 3: "open", 4: "open"}
    assert pairs(folder) == [GOOD, (2, "Frase 2.", "gemma")]
    approve(again, 3)
    again.close()
    assert [line["id"] for line in lines(folder / REVIEWED)] == [2, 3]


KILLED = """
import os, sys
from pathlib import Path
from pipeline.review.store import Review
review = Review(Path(sys.argv[1]))
for key in (2, 3, 4):
    review.decide(key, "approved", source="s", target=f"t{key}", reviewer="Ana")
    print(key, flush=True)
    if key == 3:
        os.kill(os.getpid(), 9)
"""


@pytest.mark.slow
def test_a_kill_loses_nothing_that_was_confirmed(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["2", "3"], done.stderr
    assert [key for key, *_ in pairs(folder)] == [1, 2, 3]
    review = Review(folder)
    assert outcomes(review) == {2: "corrected", 3: "corrected", 4: "open"}
    review.close()


def test_a_full_disk_is_told_and_nothing_is_half_done(folder: Path, review: Review) -> None:
    approve(review, 2)
    review._file._fd, kept = os.open("/dev/full", os.O_WRONLY), review._file._fd
    with pytest.raises(SessionError, match=r"cannot be written.*\[session-unwritable\]"):
        approve(review, 3)
    os.close(review._file._fd)
    review._file._fd = kept
    assert outcomes(review)[3] == "open"
    assert [key for key, *_ in pairs(folder)] == [1, 2]
    approve(review, 3)
    assert [key for key, *_ in pairs(folder)] == [1, 2, 3]


def test_a_queue_that_did_not_fit_on_the_disk_is_reviewed_once_there_is_room(
    tmp_path: Path,
) -> None:
    made = SessionRecorder(tmp_path, source="en", targets=("es",), on_fault=lambda _: None)
    made.start()
    made.on_caption(message(1, "Turn to extra.", "Vayan a extra."), "es")
    made.record(replace(kept(final(), draft()), id=1, flags=("doubt:flag",)))
    # Only this file cannot be written, like the largest one on a disk that is nearly full.
    blocked = made.folder / f"{QUEUE}.tmp"
    blocked.mkdir()
    assert not made.close(5.0)
    assert (made.folder / PAIRS).exists()
    blocked.rmdir()
    with closing(Review(made.folder)) as review:
        assert review.left == 1


def test_a_torn_last_pair_goes(folder: Path) -> None:
    with (folder / PAIRS).open("ab") as file:
        file.write(b'{"id":9,"sou')
    Review(folder).close()
    assert pairs(folder) == [GOOD]


def test_one_at_a_time(folder: Path, review: Review) -> None:
    assert review.left
    with pytest.raises(SessionError, match=r"\[session-in-use\]"):
        Review(folder)


def test_a_session_that_is_being_written_has_to_wait(folder: Path) -> None:
    with (folder / "captions.jsonl").open("ab") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(SessionError, match=r"still being written.*\[session-in-use\]"):
            Review(folder)
    Review(folder).close()


def test_a_session_without_a_queue_has_nothing_to_review(tmp_path: Path) -> None:
    empty = session(tmp_path, [message(1, "one", "uno")])
    review = Review(empty)
    assert (review.items(), review.left, review.pairs) == ((), 0, 0)
    review.close()
    assert not (empty / PAIRS).exists()


@pytest.mark.parametrize(
    ("file", "line"),
    [
        (QUEUE, b'{"id":"x"}\n{"id":3}\n'),
        (REVIEWED, b'{"id":2,"outcome":"maybe"}\n{"id":3}\n'),
    ],
)
def test_a_line_that_makes_no_sense_is_named(folder: Path, file: str, line: bytes) -> None:
    (folder / file).write_bytes(line)
    with pytest.raises(SessionError, match=rf"{file}, line 1: .*\[session-unreadable\]"):
        Review(folder)
    with pytest.raises(SessionError, match=rf"{file}, line 1"):  # and the lock is free again
        Review(folder)


def test_rejected_speech_is_reviewed_and_a_piece_is_shown_in_its_sentence(tmp_path: Path) -> None:
    bad = Said(source="that every diagnosis is good.", target="Nada.", translated=-0.9, draft="xyz")
    before = Said(source="He does not say.", target="Él no dice.")
    hidden = Said(source="a secret,", target="Un secreto.", edit="")
    folder = hold(tmp_path, [before, hidden, bad])
    with closing(Review(folder)) as review:
        item = next(each for each in review.items() if each.id == 3)
    assert item.sentence == "He does not say. that every diagnosis is good."


MADE = pair_of(kept(final(), draft()), "s")
assert MADE is not None
PAIR: Pair = replace(MADE, source="The letter to the Romans.", stt_confidence=0.8)


def test_disagreement_terms_and_doubt_each_raise_it() -> None:
    usual = priority(PAIR, (), [])
    assert priority(replace(PAIR, marian_agreement=0.2), (), []) > usual
    assert priority(PAIR, (), ["Romans"]) > usual
    assert priority(PAIR, (Word("Romans", 0.1),), []) > usual
    assert priority(PAIR, (), ["Romania"]) == usual


def test_without_measures_the_lowest_score_comes_first() -> None:
    bare = replace(PAIR, marian_agreement=None, stt_confidence=None)
    ranks = [priority(replace(bare, score=score), (), []) for score in (None, 0.3, 0.6)]
    assert ranks == sorted(ranks, reverse=True)


def test_a_term_is_worth_a_look_although_all_seems_well() -> None:
    sure = replace(PAIR, marian_agreement=1.0, stt_confidence=1.0)
    assert priority(sure, (), ["Romans"]) > priority(sure, (), []) > 0
