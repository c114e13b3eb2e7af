"""A hall with abusive clients: the arithmetic, the document, and a small one of real processes."""

from __future__ import annotations

from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from scripts.bench.crowd.__main__ import judge, rows, run, section
from scripts.bench.crowd.displays import frames


def told(slowest_ms: float, *, missed: int = 0) -> dict[str, Any]:
    return {
        "delivery_ms": [10.0] * 90 + [slowest_ms] * 10,
        "missed": missed,
        "lost": 0,
        "cut_off": 1,
        "flooding": 2,
        "wrong_tokens": 3,
        "cpu_share": 0.25,
    }


def result(alone: list[dict[str, Any]], beset: list[dict[str, Any]]) -> dict[str, Any]:
    found = judge({"alone": alone, "with abusive clients": beset}, 2.0)
    return found | {"displays": 450, "abusive": 50, "made": "2026-11-20, two cores"}


def test_p99_decides_and_so_does_a_caption_missed() -> None:
    good = result([told(20.0)], [told(39.0)])
    assert (good["ratio"], good["ok"]) == (1.95, True)
    assert good["figures"]["alone"]["delivery_ms"] == {
        "p50": 10.0, "p95": 20.0, "p99": 20.0, "most": 20.0,
    }  # fmt: skip
    assert not result([told(20.0)], [told(41.0)])["ok"]
    assert not result([told(20.0)], [told(20.0, missed=1)])["ok"]


def test_turns_are_taken_together() -> None:
    both = result([told(20.0), told(30.0)], [told(20.0), told(30.0)])
    assert both["figures"]["with abusive clients"]["delivered"] == 200
    assert both["figures"]["with abusive clients"]["wrong_tokens"] == 6
    assert both["figures"]["with abusive clients"]["hub_cpu_share"] == 0.25


def test_the_section_has_the_ratio() -> None:
    ours = section(result([told(20.0)], [told(30.0)]))
    assert "| delivery p99, ms | 20.0 | 30.0 | 1.50 |" in ours


@pytest.mark.parametrize("step", [1, 3, 1000, 100_000])
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
    assert len(beset["delivery_ms"]) == 8 * 18
    assert min(beset["delivery_ms"]) > 0
    assert beset["flooding"] > 0
    assert beset["wrong_tokens"] > 0
    assert len(rows(result([told(20.0)], [beset]))) == 11 + 1
