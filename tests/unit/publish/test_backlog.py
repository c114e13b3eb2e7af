from __future__ import annotations

from pipeline.publish.backlog import Backlog
from pipeline.publish.stream import StreamMessage


def message(
    subject: int, revision: int = 1, *, final: bool = True, takes_back: bool = False
) -> StreamMessage:
    data = f"{subject},{revision}".encode()
    return StreamMessage(str(subject), data, takes_back=takes_back, is_final=final)


def drained(backlog: Backlog) -> list[str]:
    found = []
    while first := backlog.first():
        found.append(first.data.decode())
        backlog.done(first)
    return found


def test_messages_come_in_the_order_of_their_last_change() -> None:
    backlog = Backlog(10)
    for each in (message(1), message(2), message(1, 2), message(3)):
        backlog.put(each)
    assert drained(backlog) == ["2,1", "1,2", "3,1"]


def test_what_changes_while_it_is_sent_is_sent_again() -> None:
    backlog = Backlog(10)
    backlog.put(message(1))
    sending = backlog.first()
    assert sending
    backlog.put(message(1, 2))
    backlog.done(sending)
    assert drained(backlog) == ["1,2"]


def test_what_has_not_arrived_stays() -> None:
    backlog = Backlog(10)
    backlog.put(message(1))
    assert backlog.first() is backlog.first()
    assert len(backlog) == 1


def test_beyond_the_bound_partials_go_before_finals_and_the_oldest_first() -> None:
    backlog = Backlog(3)
    for each in (message(1), message(2, final=False), message(3), message(4), message(5)):
        backlog.put(each)
    assert drained(backlog) == ["3,1", "4,1", "5,1"]
    assert backlog.dropped == 2


def test_what_takes_text_back_is_never_given_up() -> None:
    backlog = Backlog(2)
    back = [message(1, 2, takes_back=True), message(2, 2, takes_back=True)]
    for each in (*back, message(3), message(4)):
        backlog.put(each)
    assert drained(backlog) == ["1,2", "2,2", "4,1"]


def test_for_another_stream_the_newest_of_each_subject_waits_again() -> None:
    backlog = Backlog(10)
    for each in (message(1), message(2), message(1, 2), message(3)):
        backlog.put(each)
    drained(backlog)
    backlog.put(message(2, 2))
    backlog.again()
    assert drained(backlog) == ["1,2", "3,1", "2,2"]


def test_what_takes_text_back_waits_again_although_many_came_after_it() -> None:
    backlog = Backlog(2)
    for each in (message(1, 2, takes_back=True), message(2), message(3)):
        backlog.put(each)
    backlog.again()
    assert drained(backlog) == ["1,2", "2,1", "3,1"]
