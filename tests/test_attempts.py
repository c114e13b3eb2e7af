from __future__ import annotations

from pipeline.attempts import _ADDRESSES, LIMIT, LOCK_S, Attempts


def failed(attempts: Attempts, address: str, times: int) -> None:
    for _ in range(times):
        attempts.failed(address, 100.0)


def test_an_address_is_locked_after_the_limit_and_no_other_is() -> None:
    attempts = Attempts()
    failed(attempts, "10.0.0.7", LIMIT - 1)
    assert not attempts.locked("10.0.0.7", 100.0)
    failed(attempts, "10.0.0.7", 1)
    assert attempts.locked("10.0.0.7", 100.0)
    assert not attempts.locked("10.0.0.8", 100.0)


def test_the_lock_ends_and_the_count_starts_again() -> None:
    attempts = Attempts()
    failed(attempts, "10.0.0.7", LIMIT)
    assert attempts.locked("10.0.0.7", 100.0 + LOCK_S - 0.1)
    assert not attempts.locked("10.0.0.7", 100.0 + LOCK_S)
    failed(attempts, "10.0.0.7", LIMIT - 1)
    assert not attempts.locked("10.0.0.7", 100.0)


def test_the_right_token_clears_the_count() -> None:
    attempts = Attempts()
    failed(attempts, "10.0.0.7", LIMIT - 1)
    attempts.succeeded("10.0.0.7")
    failed(attempts, "10.0.0.7", LIMIT - 1)
    assert not attempts.locked("10.0.0.7", 100.0)


def test_only_so_many_addresses_are_remembered() -> None:
    attempts = Attempts()
    failed(attempts, "first", LIMIT)
    for number in range(_ADDRESSES):
        attempts.failed(str(number), 100.0)
    assert not attempts.locked("first", 100.0)
    assert len(attempts._failures) == _ADDRESSES
