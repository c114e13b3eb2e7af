from __future__ import annotations

import asyncio

from pipeline.server.hub import Timers
from tests.support.hub import in_loop


@in_loop
async def test_a_function_that_fails_is_called_again_until_the_end() -> None:
    calls, told, enough = [], [], asyncio.Event()
    asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(what))

    def act() -> None:
        calls.append(1)
        if len(calls) == 3:
            timers.stop()
            enough.set()
        raise ValueError

    timers = Timers()
    timers.every(0.001, act)
    await enough.wait()
    await asyncio.sleep(0.02)
    assert (len(calls), len(told)) == (3, 3)
