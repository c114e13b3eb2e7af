"""The queue of utterances: every final in order, only the newest partial."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.types import Cause, Recognition, Transcript, Utterance
from pipeline.workers.queues import DraftQueue, Retranslation, UtteranceQueue
from pipeline.workers.steps import source_caption


def step(id: int, revision: int = 1, cause: Cause = "silence") -> Utterance:  # noqa: A002
    final = cause in ("silence", "length", "gap", "end")
    return Utterance(id, revision, final, cause, 0, 1, np.zeros(1, np.float32))


def drain(utterances: UtteranceQueue) -> list[tuple[int, int]]:
    utterances.close()
    out = []
    while isinstance(taken := utterances.take(), Utterance):
        out.append((taken.id, taken.revision))
    return out


def test_finals_come_in_order_and_before_the_newest_partial() -> None:
    utterances = UtteranceQueue()
    utterances.put(step(1))
    utterances.put(step(2, 1, "partial"))
    utterances.put(step(2, 2))
    for revision in (1, 2, 3):
        utterances.put(step(3, revision, "partial"))
    assert (len(utterances), utterances.replaced_partials) == (2, 3)
    taken = [utterances.take() for _ in range(3)]
    found = [(u.id, u.revision) for u in taken if isinstance(u, Utterance)]
    assert found == [(1, 1), (2, 2), (3, 3)]


def test_a_full_queue_makes_the_listener_wait_and_loses_nothing() -> None:
    utterances = UtteranceQueue(limit=2)
    done = threading.Event()

    def put() -> None:
        for number in range(1, 11):
            utterances.put(step(number))
        done.set()

    thread = threading.Thread(target=put)
    thread.start()
    assert not done.wait(0.1)
    assert len(utterances) == 2
    taken = [utterances.take() for _ in range(10)]
    thread.join(5)
    assert [u.id for u in taken if isinstance(u, Utterance)] == list(range(1, 11))


def test_closing_frees_a_waiting_listener() -> None:
    utterances = UtteranceQueue(limit=1)
    utterances.put(step(1))
    thread = threading.Thread(target=lambda: utterances.put(step(2)))
    thread.start()
    utterances.close()
    thread.join(5)
    assert not thread.is_alive()
    assert drain(utterances) == [(1, 1), (2, 1)]


def test_who_waits_until_all_is_done_waits_for_the_work_too() -> None:
    utterances, done = UtteranceQueue(), threading.Event()
    utterances.put(step(1))
    taken = utterances.take()

    def wait() -> None:
        utterances.wait_until_done(5)
        done.set()

    threads = [threading.Thread(target=wait), threading.Thread(target=utterances.take)]
    threads[0].start()
    # Taken, but in work.
    assert isinstance(taken, Utterance)
    assert not done.wait(0.1)
    threads[1].start()
    assert done.wait(5)
    utterances.close()
    for thread in threads:
        thread.join(5)


def test_who_waits_until_all_is_done_waits_for_ever_neither_for_a_hang_nor_after_the_end() -> None:
    utterances = UtteranceQueue()
    utterances.put(step(1))
    utterances.wait_until_done(0.01)
    utterances.close()
    utterances.wait_until_done(1000)


@given(st.lists(st.booleans(), max_size=30))
def test_every_final_comes_out_once_and_no_partial_after_the_end(kinds: list[bool]) -> None:
    utterances = UtteranceQueue()
    for number, final in enumerate(kinds):
        utterances.put(step(number, 1, "silence" if final else "partial"))
    expected = [(number, 1) for number, final in enumerate(kinds) if final]
    assert drain(utterances) == expected


def test_what_is_thrown_away_never_comes_and_makes_room() -> None:
    utterances = UtteranceQueue(limit=1)
    utterances.put(step(1))
    waiting = threading.Thread(target=utterances.put, args=(step(2),))
    waiting.start()
    utterances.discard()
    waiting.join(10)
    assert not waiting.is_alive()
    utterances.put(step(3, 1, "partial"))
    utterances.discard()
    assert drain(utterances) == []


def test_an_eager_utterance_has_the_place_of_its_final() -> None:
    utterances = UtteranceQueue()
    utterances.put(step(1, 1, "eager"))
    utterances.put(step(1, 2, "silence"))
    assert drain(utterances) == [(1, 2)], "it waited still: the final itself is as good"
    utterances = UtteranceQueue()
    utterances.put(step(1, 1, "eager"))
    taken = utterances.take()
    assert taken is not None
    utterances.put(step(1, 2, "silence"))
    utterances.put(step(2, 1, "silence"))
    assert drain(utterances) == [(2, 1)], "who took the eager one makes the final"


def test_a_final_without_an_eager_utterance_of_its_own_is_handed_over() -> None:
    utterances = UtteranceQueue()
    utterances.put(step(1, 1, "eager"))
    assert utterances.take() is not None
    utterances.put(step(1, 2, "resumed"))
    utterances.put(step(1, 3, "silence"))
    assert drain(utterances) == [(1, 3)]


def test_what_waits_of_an_utterance_goes_when_speech_returns() -> None:
    utterances = UtteranceQueue()
    utterances.put(step(1, 1, "silence"))
    utterances.put(step(2, 1, "eager"))
    utterances.put(step(2, 2, "silence"))
    before = step(2, 2, "silence")
    assert not utterances.is_stale(before)
    utterances.put(step(2, 3, "resumed"))
    assert utterances.is_stale(before)
    assert not utterances.is_stale(step(2, 3, "partial"))
    assert not utterances.is_stale(step(1, 1, "silence"))
    utterances.put(step(2, 4, "partial"))
    taken = [utterances.take(), utterances.take()]
    found = [(u.id, u.revision) for u in taken if isinstance(u, Utterance)]
    assert found == [(1, 1), (2, 4)]


def test_only_the_last_resumptions_are_remembered() -> None:
    utterances = UtteranceQueue()
    for number in range(1, 40):
        utterances.put(step(number, 5, "resumed"))
    assert not utterances.is_stale(step(1, 1, "eager"))
    assert utterances.is_stale(step(39, 1, "eager"))


def asked(ticket: int) -> Retranslation:
    transcript = Transcript(step(1), "en", "amen", "amen", Recognition("amen"))
    return Retranslation(ticket, transcript)


def ticket_of(work: object) -> int:
    assert isinstance(work, Retranslation)
    return work.ticket


def test_a_retranslation_comes_after_finals_and_before_a_partial() -> None:
    utterances = UtteranceQueue()
    utterances.put(step(1))
    utterances.ask(asked(5))
    utterances.put(step(2, 1, "partial"))
    taken = [utterances.take() for _ in range(3)]
    assert isinstance(taken[0], Utterance)
    assert taken[0].final
    assert ticket_of(taken[1]) == 5
    assert isinstance(taken[2], Utterance)
    assert not taken[2].final


def test_a_retranslation_wakes_who_waits_and_goes_with_what_is_thrown_away() -> None:
    utterances, taken = UtteranceQueue(), list[object]()
    thread = threading.Thread(target=lambda: taken.append(utterances.take()))
    thread.start()
    utterances.ask(asked(5))
    thread.join(10)
    assert [ticket_of(each) for each in taken] == [5]
    utterances.ask(asked(6))
    utterances.discard()
    utterances.close()
    assert utterances.take() is None


def test_drafts_come_before_retranslations_and_are_not_limited_by_them() -> None:
    drafts = DraftQueue(1)
    for ticket in range(3):
        drafts.ask(asked(ticket))
    draft = (source_caption(asked(0).transcript), 0.0)
    drafts.put(draft, block=False)
    assert drafts.take() == draft
    assert ticket_of(drafts.take()) == 0
    drafts.discard_asked()
    drafts.put(None)
    assert drafts.take() is None


def test_what_an_operator_has_written_comes_before_what_was_left_in_the_spoken_language() -> None:
    drafts = DraftQueue(4)
    for ticket, is_speech in ((1, True), (2, True), (3, False), (4, False)):
        drafts.ask(replace(asked(ticket), is_speech=is_speech))
    assert [ticket_of(drafts.take()) for _ in range(4)] == [3, 4, 1, 2]
