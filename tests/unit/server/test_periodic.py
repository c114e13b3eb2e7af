"""What is done again and again goes on after an error, and ends when it is closed."""

from __future__ import annotations

import asyncio
from typing import Any

from pipeline.server.periodic import Periodic


def test_an_error_ends_no_series_and_closing_ends_them_all() -> None:
    async def series() -> tuple[list[int], list[dict[str, Any]]]:
        calls: list[int] = []
        errors: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: errors.append(told))
        enough = asyncio.Event()
        periodic = Periodic()

        def act() -> None:
            calls.append(len(calls))
            if len(calls) == 3:
                periodic.close()
                enough.set()
            raise ValueError("of ours")

        periodic.start(0.001, act)
        async with asyncio.timeout(30):
            await enough.wait()
        await asyncio.sleep(0.02)  # no fourth one comes
        return calls, errors

    calls, errors = asyncio.run(series())
    assert calls == [0, 1, 2]
    assert [type(told["exception"]) for told in errors] == [ValueError] * 3
