"""Messages between two processes, whole or not at all."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from pipeline.core.standing import Standing
from pipeline.engines.process.channel import Channel, Patience


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    here, there = map(Channel, socket.socketpair())
    yield here, there
    here.close()
    there.close()


def test_a_message_and_minutes_of_samples_come_through_as_they_were(
    ends: tuple[Channel, Channel],
) -> None:
    here, there = ends
    samples = np.random.default_rng(1).standard_normal(16_000 * 60).astype(np.float32)
    sender = threading.Thread(
        target=here.send, args=({"do": "recognize", "ñ": 1}, samples.data),
        kwargs={"patience": Patience()},
    )  # fmt: skip
    sender.start()
    message, data = there.receive(Patience())
    sender.join()
    assert message == {"do": "recognize", "ñ": 1}
    assert np.array_equal(np.frombuffer(data, np.float32), samples)


@pytest.mark.parametrize(("said", "arrives"), [("grace ñ", "grace ñ"), ("grace \ud800", "grace ?")])
def test_values_arrive_as_plain_ones_with_tuples_for_lists(
    ends: tuple[Channel, Channel], said: str, arrives: str
) -> None:
    here, there = ends
    standing = Standing(source=3, pieces=(("a", "b"), ()))
    told = {"text": said, "standing": standing, "rivals": ["one", "two"], "deadline_s": None}
    here.send(told, patience=Patience())
    message, _ = there.receive(Patience())
    assert message["text"] == arrives
    assert Standing(**message["standing"]) == standing
    assert (message["rivals"], message["deadline_s"]) == (("one", "two"), None)


def test_a_side_that_is_silent_or_does_not_read_costs_no_more_than_the_patience(
    ends: tuple[Channel, Channel],
) -> None:
    with pytest.raises(TimeoutError):
        ends[0].receive(Patience(0.05))
    with pytest.raises(TimeoutError):
        ends[0].send({}, bytes(5_000_000), patience=Patience(0.05))


def test_a_message_that_breaks_off_is_an_end(ends: tuple[Channel, Channel]) -> None:
    here, there = ends
    here._socket.sendall(b"\x10\0\0\0\0\0\0\0{")
    here.end()
    with pytest.raises(EOFError):
        there.receive(Patience())


def test_an_end_wakes_whoever_waits_on_either_side(ends: tuple[Channel, Channel]) -> None:
    here = ends[0]
    caught: list[BaseException] = []

    def wait(channel: Channel) -> None:
        try:
            channel.receive(Patience())
        except EOFError as end:
            caught.append(end)

    waiters = [threading.Thread(target=wait, args=(end,)) for end in ends]
    for waiter in waiters:
        waiter.start()
    here.end()
    for waiter in waiters:
        waiter.join(10)
    assert len(caught) == 2
    here.end()  # harmless when repeated


def test_whether_there_is_a_message_is_known_without_taking_it(
    ends: tuple[Channel, Channel],
) -> None:
    ours, its = ends
    assert not its.has_message()
    for number in range(3):
        ours.send({"number": number}, patience=Patience())
    for number in range(3):
        assert its.has_message()
        assert its.receive(Patience()) == ({"number": number}, bytearray())
    assert not its.has_message(0.01)
    ours.end()
    assert its.has_message(), "the end is read as well"
