from __future__ import annotations

from typing import Any

from pipeline.core.types import Kind
from pipeline.protocol.messages import DisplayGroup, GlassTimes
from pipeline.server import clients as clients_module
from pipeline.server.clients import WINDOW_S, Client, DisplayLatency


class Peer:
    """A connection that has only an address."""

    remote_address = ("10.0.0.7", 1234)


def client(kind: Kind = "audience", lang: str = "es", number: int = 1) -> Client:
    connection: Any = Peer()
    return Client(connection, lang, kind, "es", number=number)


def painting(measured: DisplayLatency, display: Client, *took_ms: float) -> None:
    """Have a display paint captions one after the other, a second apart."""
    for number, each_ms in enumerate(took_ms, display.acked + 1):
        measured.published(number, float(number), "es")
        measured.painted(display, number, number + each_ms / 1000)


def test_a_late_ack_of_the_session_before_hides_none_of_the_next() -> None:
    measured, display = DisplayLatency(), client()
    measured.published(500, 1.0, "es")
    measured.forget()
    display.acked = 0  # as `Hub.adopt` does
    assert measured.painted(display, 500, 2.0) is None
    measured.published(1, 3.0, "es")
    assert measured.painted(display, 1, 3.5) == 0.5


def test_a_row_for_each_kind_and_language() -> None:
    measured = DisplayLatency()
    phone, other, wall = client(), client(number=2), client("projector", "en", 3)
    painting(measured, phone, *range(10, 210, 10))
    clients = [wall, phone, other]
    now_s = 21.0
    assert measured.displays(clients, now_s) == (
        DisplayGroup(kind="audience", lang="es", clients=2, glass_ms=GlassTimes(p50=100, p95=190)),
        DisplayGroup(kind="projector", lang="en", clients=1, glass_ms=None),
    )
    late = measured.displays(clients, now_s + WINDOW_S - 0.9)
    assert late[0].glass_ms == GlassTimes(p50=200, p95=200)
    assert measured.displays(clients, now_s + WINDOW_S)[0].glass_ms is None


def test_the_slowest_come_first_and_waiting_counts() -> None:
    measured = DisplayLatency()
    quick, slow, stuck, mute = (client(number=n) for n in (1, 2, 3, 4))
    painting(measured, quick, 10, 10, 10)
    painting(measured, slow, 500, 700, 600)
    painting(measured, stuck, 10)
    rows = measured.slowest([quick, slow, stuck, mute], {"es": 3}, 3.7)
    assert [(row.name, row.glass_ms, row.behind) for row in rows] == [
        ("3 (10.0.0.7)", 1700, 2),
        ("2 (10.0.0.7)", 600, 0),
        ("1 (10.0.0.7)", 10, 0),
    ]
    assert {(row.kind, row.lang) for row in rows} == {("audience", "es")}
    many = [client(number=n) for n in range(30)]
    for each in many:
        each.painted_s.append(each.number / 1000)
    assert [row.glass_ms for row in measured.slowest(many, {"es": 0}, 0.0)] == list(
        range(29, 19, -1)
    )


def test_memory_is_bounded() -> None:
    measured, display = DisplayLatency(), client()
    painting(measured, display, *([5.0] * (clients_module._TIMED + 100)))
    assert len(measured._published["es"]) == clients_module._TIMED
    assert next(iter(measured._published["es"])) == 101
    assert len(measured._measured["audience", "es"]) == clients_module._MEASURED
    assert len(display.painted_s) == 16
    forgotten = client()
    forgotten.painted_s.append(0.01)
    (row,) = measured.slowest(
        [forgotten], {"es": clients_module._TIMED + 100}, clients_module._TIMED + 101.0
    )
    assert row.glass_ms == clients_module._TIMED * 1000  # at least: older times are forgotten
