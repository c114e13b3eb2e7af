"""Limits by address: pure counting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.server import rate_limits
from pipeline.server.rate_limits import (
    REQUESTS_AT_ONCE,
    REQUESTS_PER_S,
    ConnectionLimiter,
    TokenBucket,
)


@given(st.lists(st.floats(0, 1), max_size=200))
def test_a_bucket_never_gives_more_than_its_rate(gaps: list[float]) -> None:
    bucket, now_s, given_out = TokenBucket(10, 5), 0.0, 0
    for gap in gaps:
        now_s += gap
        given_out += bucket.take(now_s)
    assert given_out <= 5 + now_s * 10 + 1e-6


def test_the_many_addresses_of_one_holder_are_one() -> None:
    here = ConnectionLimiter(most=1000, per_address=3)
    for number in range(4):
        here.enter(f"2001:db8::{number}")
    assert here.refusal("2001:db8::9", 1.0) == "too-many-connections"


def test_a_congregation_behind_one_address_gets_its_pages_and_a_flood_does_not() -> None:
    here = ConnectionLimiter(most=1000, per_address=600)
    pages = 500 * 8
    assert pages <= REQUESTS_AT_ONCE
    assert {here.refusal("10.0.0.1", 1.0) for _ in range(pages)} == {None}
    flood = [here.refusal("10.0.0.1", 1.0 + n / 1000) for n in range(10_000)]
    assert flood.count(None) == pytest.approx(10 * REQUESTS_PER_S, abs=2)
    assert here.refusal("10.0.0.2", 11.0) is None


def test_an_attack_from_everywhere_fills_no_memory() -> None:
    here = ConnectionLimiter(most=1000, per_address=600)
    for number in range(5000):
        here.refusal(f"10.{number // 250}.{number % 250}.1", 1.0)
    assert len(here._requests) == rate_limits._ADDRESSES
