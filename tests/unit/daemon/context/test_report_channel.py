"""Reports of other threads arrive on the event loop, in their order."""

from __future__ import annotations

import asyncio
import threading

from pipeline.core.reports import Report, WorkerReady
from pipeline.daemon.context.report_channel import ReportChannel


def test_reports_of_a_thread_arrive_in_order_on_the_loops_thread() -> None:
    channel, seen = ReportChannel(), list[tuple[Report, int]]()

    def work() -> None:
        for number in range(50):
            channel.emit(WorkerReady(str(number)))

    async def main() -> None:
        channel.open(lambda report: seen.append((report, threading.get_ident())))
        worker = threading.Thread(target=work)
        worker.start()
        await asyncio.to_thread(worker.join)
        await asyncio.sleep(0)

    asyncio.run(main())
    assert [report for report, _ in seen] == [WorkerReady(str(number)) for number in range(50)]
    assert {thread for _, thread in seen} == {threading.get_ident()}


def test_a_report_after_the_end_harms_nobody() -> None:
    channel, seen = ReportChannel(), list[Report]()

    async def main() -> None:
        channel.open(seen.append)

    asyncio.run(main())
    channel.emit(WorkerReady("late"))
    assert seen == []
