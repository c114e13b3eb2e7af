from __future__ import annotations

from pipeline.server.attempts import _ADDRESSES, LIMIT, LIMIT_IN_ALL, LOCK_S, LoginThrottle


def failed(attempts: LoginThrottle, address: str, times: int) -> None:
    for _ in range(times):
        attempts.failed(address, 100.0)


def test_an_address_is_locked_after_the_limit_and_no_other_is() -> None:
    attempts = LoginThrottle()
    failed(attempts, "10.0.0.7", LIMIT - 1)
    assert not attempts.locked("10.0.0.7", 100.0)
    failed(attempts, "10.0.0.7", 1)
    assert attempts.locked("10.0.0.7", 100.0)
    assert not attempts.locked("10.0.0.8", 100.0)


def test_the_lock_ends_and_the_count_starts_again() -> None:
    attempts = LoginThrottle()
    failed(attempts, "10.0.0.7", LIMIT)
    assert attempts.locked("10.0.0.7", 100.0 + LOCK_S - 0.1)
    assert not attempts.locked("10.0.0.7", 100.0 + LOCK_S)
    failed(attempts, "10.0.0.7", LIMIT - 1)
    assert not attempts.locked("10.0.0.7", 100.0)


def test_the_right_token_clears_the_count() -> None:
    attempts = LoginThrottle()
    failed(attempts, "10.0.0.7", LIMIT - 1)
    attempts.succeeded("10.0.0.7")
    failed(attempts, "10.0.0.7", LIMIT - 1)
    assert not attempts.locked("10.0.0.7", 100.0)


def test_only_so_many_addresses_are_remembered() -> None:
    attempts = LoginThrottle()
    failed(attempts, "first", LIMIT)
    attempts.succeeded("desk")
    for number in range(_ADDRESSES):
        attempts.failed(str(number), 100.0)
        attempts.succeeded(f"desk {number}")
    assert not attempts.locked("first", 100.0 + LOCK_S)
    assert len(attempts._failures) == len(attempts._trusted) == _ADDRESSES
    assert "desk" not in attempts._trusted


def test_guesses_from_everywhere_lock_all_but_the_desk() -> None:
    attempts = LoginThrottle()
    attempts.succeeded("10.0.0.2")
    for number in range(LIMIT_IN_ALL):
        assert not attempts.locked("10.0.0.9", 100.0)
        attempts.failed(f"10.1.0.{number}", 100.0)
    assert attempts.locked("10.0.0.9", 100.0 + LOCK_S - 0.1)
    for coordinator in ("10.0.0.2", "127.0.0.1", "::1"):
        assert not attempts.locked(coordinator, 100.0)
    failed(attempts, "127.0.0.1", LIMIT)
    assert attempts.locked("127.0.0.1", 100.0)
    assert not attempts.locked("10.0.0.9", 100.0 + LOCK_S)


def test_a_network_of_ipv6_is_oneholder() -> None:
    attempts = LoginThrottle()
    for number in range(LIMIT):
        attempts.failed(f"2001:db8:0:1::{number:x}", 100.0)
    assert attempts.locked("2001:db8:0:1:ffff::1", 100.0)
    assert not attempts.locked("2001:db8:0:2::1", 100.0)
    failed(attempts, "::ffff:10.0.0.7", LIMIT)
    assert attempts.locked("10.0.0.7", 100.0)
    assert not attempts.locked("10.0.0.8", 100.0)
    failed(attempts, "fe80::1%eth0", LIMIT)
    assert attempts.locked("fe80::2%eth0", 100.0)
