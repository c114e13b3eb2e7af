"""What counts as played, and as a break, in a listener's hour."""

from __future__ import annotations

from scripts.reliability.listener import Break, Played


def test_a_break_is_what_plays_nothing_and_a_new_connection_begins_at_zero() -> None:
    played = Played(began_s=100.0)
    played.take(100.5, "blob:1", 0.5, 1.0)
    played.take(101.0, "blob:1", 1.0, 1.5)
    played.take(104.0, "blob:1", 1.0, 1.0)  # the connection is cut
    played.take(106.0, "blob:2", 0.5, 3.0)
    played.take(106.5, "blob:2", 2.5, 3.0)  # it has moved on to the current speech
    assert played.breaks == [Break(1.0, 4.5)]
    assert played.played_s == 3.5
    assert played.ahead_s == 2.5
