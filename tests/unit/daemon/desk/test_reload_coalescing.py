"""However often work is requested, one run goes at a time, and one more after the last call."""

from __future__ import annotations

import asyncio

from pipeline.daemon.desk.reload import Coalesced
from tests.support.hub import in_loop


class Work:
    """Counts how often it is begun, and waits until it may end."""

    def __init__(self) -> None:
        self.begun = self.at_once = 0
        self.may_end = asyncio.Event()

    async def __call__(self) -> int:
        self.begun += 1
        self.at_once += 1
        assert self.at_once == 1
        number = self.begun
        await self.may_end.wait()
        await asyncio.sleep(0)
        self.at_once -= 1
        return number


@in_loop
async def test_many_requests_are_two_times_of_the_work() -> None:
    work = Work()
    coalesced = Coalesced(work)
    first = coalesced.request()
    await asyncio.sleep(0)
    rest = [coalesced.request() for _ in range(100)]
    work.may_end.set()
    assert await first == 1
    assert set(await asyncio.gather(*rest)) == {2}
    assert await coalesced.request() == 3
    assert work.begun == 3


@in_loop
async def test_a_request_right_after_the_end_of_one_shares_the_next() -> None:
    """The request comes between the end of one run and the start of the next, requested one."""
    work = Work()
    work.may_end.set()
    coalesced = Coalesced(work)
    first = coalesced.request()
    await asyncio.sleep(0)
    second = coalesced.request()
    await first
    assert await coalesced.request() in {2, 3}
    assert await second == 2
    assert work.begun <= 3


@in_loop
async def test_who_gives_up_waiting_ends_nothing() -> None:
    work = Work()
    coalesced = Coalesced(work)
    impatient = asyncio.ensure_future(coalesced.request())
    await asyncio.sleep(0)
    impatient.cancel()
    work.may_end.set()
    assert await coalesced.request() == 2
