from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.server.access import (
    _ADDRESSES,
    _TRUSTED,
    LIMIT,
    LIMIT_IN_ALL,
    LOCK_S,
    LoginThrottle,
    is_cross_origin,
    is_foreign,
)


def failed(attempts: LoginThrottle, address: str, times: int) -> None:
    for _ in range(times):
        attempts.failed(address, 100.0)


def test_an_address_is_locked_for_a_while_and_then_the_count_starts_again() -> None:
    attempts = LoginThrottle()
    failed(attempts, "10.0.0.7", LIMIT - 1)
    assert not attempts.is_locked("10.0.0.7", 100.0)
    failed(attempts, "10.0.0.7", 1)
    assert attempts.is_locked("10.0.0.7", 100.0 + LOCK_S - 0.1)
    assert not attempts.is_locked("10.0.0.8", 100.0)
    assert not attempts.is_locked("10.0.0.7", 100.0 + LOCK_S)
    failed(attempts, "10.0.0.7", LIMIT - 1)
    assert not attempts.is_locked("10.0.0.7", 100.0)


def test_the_right_token_clears_the_count() -> None:
    attempts = LoginThrottle()
    failed(attempts, "10.0.0.7", LIMIT - 1)
    attempts.succeeded("10.0.0.7")
    failed(attempts, "10.0.0.7", LIMIT - 1)
    assert not attempts.is_locked("10.0.0.7", 100.0)


def test_only_so_many_addresses_are_remembered() -> None:
    attempts = LoginThrottle()
    failed(attempts, "first", LIMIT)
    for number in range(_ADDRESSES):
        attempts.failed(str(number), 100.0)
    assert not attempts.is_locked("first", 100.0 + LOCK_S)
    assert len(attempts._failures) == _ADDRESSES


def test_who_logged_in_first_is_trusted_whoever_comes_after() -> None:
    attempts = LoginThrottle()
    attempts.succeeded("desk")
    for number in range(_TRUSTED):
        attempts.succeeded(f"network {number}")
    for number in range(LIMIT_IN_ALL):
        attempts.failed(f"guesser {number}", 100.0)
    assert len(attempts.trusted._networks) == _TRUSTED
    assert attempts.is_locked("somebody", 100.0)
    for trusted in ("desk", "network 1100", "127.0.0.1", "::1"):
        assert not attempts.is_locked(trusted, 100.0), trusted


def test_guesses_from_everywhere_lock_all_but_the_desk() -> None:
    attempts = LoginThrottle()
    attempts.succeeded("10.0.0.2")
    for number in range(LIMIT_IN_ALL):
        assert not attempts.is_locked("10.0.0.9", 100.0)
        attempts.failed(f"10.1.0.{number}", 100.0)
    assert attempts.is_locked("10.0.0.9", 100.0 + LOCK_S - 0.1)
    for coordinator in ("10.0.0.2", "127.0.0.1", "::1"):
        assert not attempts.is_locked(coordinator, 100.0)
    failed(attempts, "127.0.0.1", LIMIT)
    assert attempts.is_locked("127.0.0.1", 100.0)
    assert not attempts.is_locked("10.0.0.9", 100.0 + LOCK_S)


def test_a_network_of_the_ipv6_internet_is_one_client() -> None:
    attempts = LoginThrottle()
    for number in range(LIMIT):
        attempts.failed(f"2001:db8:0:1::{number:x}", 100.0)
    assert attempts.is_locked("2001:db8:0:1:ffff::1", 100.0)
    assert not attempts.is_locked("2001:db8:0:2::1", 100.0)
    failed(attempts, "::ffff:10.0.0.7", LIMIT)
    assert attempts.is_locked("10.0.0.7", 100.0)
    assert not attempts.is_locked("10.0.0.8", 100.0)


@pytest.mark.parametrize("network", ["fd00:1:2:3::", "fe80::"])
def test_in_a_local_network_each_address_of_ipv6_is_a_client(network: str) -> None:
    """A hall's phones and tablets share its /64: one that guesses must not lock out all."""
    attempts = LoginThrottle()
    failed(attempts, f"{network}1%eth0", LIMIT)
    assert attempts.is_locked(f"{network}1%eth0", 100.0)
    assert not attempts.is_locked(f"{network}2%eth0", 100.0)


CHURCH = "https://captions.example.org/"


@pytest.mark.parametrize(
    ("host", "origin", "address"),
    [
        ("192.168.1.20:8765", "http://192.168.1.20:8765", ""),
        ("[fe80::1]:8765", "http://[fe80::1]:8765", ""),
        ("church-pc:8765", "http://church-pc:8765", ""),
        ("Church-PC.local:8765", "http://church-pc.local:8765", ""),
        ("192.168.1.20", "http://192.168.1.20:80", ""),
        ("192.168.1.20:8765", None, ""),  # a program, not a browser
        ("captions.example.org", None, CHURCH),
        ("127.0.0.1:8765", "https://captions.example.org", CHURCH),  # a proxy sends its own name
        ("192.168.1.20:8765", "http://192.168.1.20:8765", CHURCH),
    ],
)
def test_our_own_pages_may(host: str, origin: str | None, address: str) -> None:
    assert not is_cross_origin(host, origin, address)


@pytest.mark.parametrize(
    ("host", "origin", "address"),
    [
        ("192.168.1.20:8765", "https://evil.example", ""),
        ("192.168.1.20:8765", "http://192.168.1.20", ""),  # another server on this machine
        ("192.168.1.20:8765", "null", ""),
        ("192.168.1.20:8765", "http://192.168.1.20:99999", ""),
        ("evil.example:8765", "http://evil.example:8765", ""),  # a foreign name that resolves to us
        ("evil.local.example", None, ""),
        ("192.168.1.20.evil.example", "http://192.168.1.20.evil.example", CHURCH),
        ("192.168.1.20:8765", "http://captions.example.org", CHURCH),  # http, not https
        (None, None, ""),
        ("user@:80", None, ""),
    ],
)
def test_others_may_not(host: str | None, origin: str | None, address: str) -> None:
    assert is_cross_origin(host, origin, address)


def test_two_headers_of_a_kind_come_from_no_page_of_ours() -> None:
    host, origin = ["127.0.0.1:8765"], ["http://127.0.0.1:8765"]
    assert not is_foreign(host, origin, "")
    assert not is_foreign(host, [], "")
    for hosts, origins in (([], []), (2 * host, origin), (host, 2 * origin)):
        assert is_foreign(hosts, origins, "")


@given(st.none() | st.text(), st.none() | st.text(), st.sampled_from(["", CHURCH]))
def test_whatever_is_sent_gets_an_answer(
    host: str | None, origin: str | None, address: str
) -> None:
    assert is_cross_origin(host, origin, address) in (True, False)
