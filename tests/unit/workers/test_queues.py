"""The mailbox: every final in order, only the newest partial."""

from __future__ import annotations

import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.types import Cause, Utterance
from pipeline.workers.queues import UtteranceQueue


def utterance(id: int, revision: int, *, final: bool) -> Utterance:  # noqa: A002
    pcm = np.zeros(1, np.float32)
    return Utterance(id, revision, final, "silence" if final else "partial", 0, 1, pcm)


def drain(mailbox: UtteranceQueue) -> list[tuple[int, int]]:
    mailbox.close()
    out = []
    while (taken := mailbox.get()) is not None:
        out.append((taken.id, taken.revision))
    return out


def test_only_the_newest_partial_is_kept() -> None:
    mailbox = UtteranceQueue()
    for revision in (1, 2, 3):
        mailbox.put(utterance(1, revision, final=False))
    taken = mailbox.get()
    assert taken is not None
    assert taken.revision == 3
    assert mailbox.replaced_partials == 2


def test_finals_come_in_order_and_before_a_partial() -> None:
    mailbox = UtteranceQueue()
    mailbox.put(utterance(1, 1, final=True))
    mailbox.put(utterance(2, 1, final=False))
    mailbox.put(utterance(2, 2, final=True))
    mailbox.put(utterance(3, 1, final=False))
    assert len(mailbox) == 2
    taken = [mailbox.get() for _ in range(3)]
    assert [(u.id, u.revision) for u in taken if u] == [(1, 1), (2, 2), (3, 1)]


def test_close_forgets_the_partial_and_keeps_finals() -> None:
    mailbox = UtteranceQueue()
    mailbox.put(utterance(1, 1, final=True))
    mailbox.put(utterance(2, 1, final=False))
    assert drain(mailbox) == [(1, 1)]


def test_get_wakes_up_when_closed() -> None:
    mailbox = UtteranceQueue()
    taken: list[Utterance | None] = []
    thread = threading.Thread(target=lambda: taken.append(mailbox.get()))
    thread.start()
    mailbox.close()
    thread.join(5)
    assert taken == [None]


def test_a_full_mailbox_makes_the_listener_wait_and_loses_nothing() -> None:
    mailbox = UtteranceQueue(limit=2)
    done = threading.Event()

    def put() -> None:
        for number in range(1, 11):
            mailbox.put(utterance(number, 1, final=True))
        done.set()

    thread = threading.Thread(target=put)
    thread.start()
    assert not done.wait(0.1)
    assert len(mailbox) == 2
    taken = [mailbox.get() for _ in range(10)]
    thread.join(5)
    assert [u.id for u in taken if u] == list(range(1, 11))


def test_closing_frees_a_waiting_listener() -> None:
    mailbox = UtteranceQueue(limit=1)
    mailbox.put(utterance(1, 1, final=True))
    thread = threading.Thread(target=lambda: mailbox.put(utterance(2, 1, final=True)))
    thread.start()
    mailbox.close()
    thread.join(5)
    assert not thread.is_alive()
    assert drain(mailbox) == [(1, 1), (2, 1)]


@given(st.lists(st.booleans(), max_size=30))
def test_every_final_comes_out_once(kinds: list[bool]) -> None:
    mailbox = UtteranceQueue()
    for number, final in enumerate(kinds):
        mailbox.put(utterance(number, 1, final=final))
    expected = [(number, 1) for number, final in enumerate(kinds) if final]
    assert drain(mailbox) == expected


def test_what_is_thrown_away_never_comes_and_makes_room() -> None:
    mailbox = UtteranceQueue(limit=1)
    mailbox.put(utterance(1, 1, final=True))
    waiting = threading.Thread(target=mailbox.put, args=(utterance(2, 1, final=True),))
    waiting.start()
    mailbox.discard()
    waiting.join(10)
    assert not waiting.is_alive()
    mailbox.put(utterance(3, 1, final=False))
    mailbox.discard()
    assert drain(mailbox) == []


def step(id: int, revision: int, cause: Cause) -> Utterance:  # noqa: A002
    final = cause in ("silence", "length", "gap", "end")
    return Utterance(id, revision, final, cause, 0, 1, np.zeros(1, np.float32))


def test_an_eager_utterance_has_the_place_of_its_final() -> None:
    mailbox = UtteranceQueue()
    mailbox.put(step(1, 1, "eager"))
    mailbox.put(step(1, 2, "silence"))
    assert drain(mailbox) == [(1, 2)], "it waited still: the final itself is as good"
    mailbox = UtteranceQueue()
    mailbox.put(step(1, 1, "eager"))
    taken = mailbox.get()
    assert taken is not None
    mailbox.put(step(1, 2, "silence"))
    mailbox.put(step(2, 1, "silence"))
    assert drain(mailbox) == [(2, 1)], "who took the eager one makes the final"


def test_a_final_without_an_eager_utterance_of_its_own_is_handed_over() -> None:
    mailbox = UtteranceQueue()
    mailbox.put(step(1, 1, "eager"))
    assert mailbox.get() is not None
    mailbox.put(step(1, 2, "resumed"))
    mailbox.put(step(1, 3, "silence"))
    assert drain(mailbox) == [(1, 3)]


def test_what_waits_of_an_utterance_goes_when_speech_returns() -> None:
    mailbox = UtteranceQueue()
    mailbox.put(step(1, 1, "silence"))
    mailbox.put(step(2, 1, "eager"))
    mailbox.put(step(2, 2, "silence"))
    before = step(2, 2, "silence")
    assert not mailbox.is_stale(before)
    mailbox.put(step(2, 3, "resumed"))
    assert mailbox.is_stale(before)
    assert not mailbox.is_stale(step(2, 3, "partial"))
    assert not mailbox.is_stale(step(1, 1, "silence"))
    mailbox.put(step(2, 4, "partial"))
    assert [(u.id, u.revision) for u in (mailbox.get(), mailbox.get()) if u] == [(1, 1), (2, 4)]


def test_only_the_last_resumptions_are_remembered() -> None:
    mailbox = UtteranceQueue()
    for number in range(1, 40):
        mailbox.put(step(number, 5, "resumed"))
    assert not mailbox.is_stale(step(1, 1, "eager"))
    assert mailbox.is_stale(step(39, 1, "eager"))
