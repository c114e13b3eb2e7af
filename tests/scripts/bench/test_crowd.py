"""A hall with abusive clients: the arithmetic, the document, and a small hall of real processes."""

from __future__ import annotations

import pytest
from websockets.frames import Frame, Opcode

from scripts.bench.crowd.__main__ import P99, judge, rows, run
from scripts.bench.crowd.displays import frames


def told(p99_ms: float, *, missed: int = 0) -> dict[str, float]:
    return {P99: p99_ms, "delivered": 162_000, "missed": missed, "lost": 0}


def test_p99_decides_and_so_does_a_caption_missed() -> None:
    assert judge(told(20.0), told(39.0)) == []
    (late,) = judge(told(20.0), told(41.0))
    assert "2.05 times" in late
    assert judge(told(20.0), told(20.0, missed=1)) == ["missed: 1"]


def test_the_table_has_the_ratio_of_times() -> None:
    head, p99, delivered, *_ = rows(told(20.0), told(30.0))
    assert head == ["", "alone", "with abusive clients", "ratio"]
    assert p99 == ["delivery p99, ms", "20", "30", "1.50"]
    assert delivered == ["delivered", "162000", "162000", ""]


@pytest.mark.parametrize("step", [3, 1000, 100_000])
def test_displays_take_frames_apart_however_they_come(step: int) -> None:
    sent = [(1, b"x" * size) for size in (0, 1, 125, 126, 65_535, 65_536)] + [(9, b"ping")]
    stream = b"".join(Frame(Opcode(code), content).serialize(mask=False) for code, content in sent)
    buffer, got = bytearray(), list[tuple[int, bytes]]()
    for at in range(0, len(stream), step):
        buffer += stream[at : at + step]
        got += frames(buffer)
    assert got == sent
    assert not buffer


@pytest.mark.slow
def test_a_small_hall_gets_every_caption_whatever_abusive_clients_do() -> None:
    beset = run(8, 12, 3.0)
    assert (beset["missed"], beset["lost"]) == (0, 0)
    assert beset["delivered"] == 8 * 18
    assert 0 < beset["delivery p50, ms"] <= beset[P99]
    assert beset["flooding"] > 0
    assert beset["wrong tokens"] > 0
