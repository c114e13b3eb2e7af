from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.server.origins import foreign

CHURCH = "https://captions.example.org/"


@pytest.mark.parametrize(
    ("host", "origin", "address"),
    [
        ("127.0.0.1:8765", "http://127.0.0.1:8765", ""),
        ("192.168.1.20:8765", "http://192.168.1.20:8765", ""),
        ("[fe80::1]:8765", "http://[fe80::1]:8765", ""),
        ("localhost:8765", "http://localhost:8765", ""),
        ("church-pc:8765", "http://church-pc:8765", ""),
        ("Church-PC.local:8765", "http://church-pc.local:8765", ""),
        ("captions.lan", "http://captions.lan", ""),
        ("captions.lan", "https://captions.lan", ""),
        ("192.168.1.20", "http://192.168.1.20:80", ""),
        ("192.168.1.20:8765", None, ""),  # a program, not a browser
        ("captions.example.org", "https://captions.example.org", CHURCH),
        ("captions.example.org", None, CHURCH),
        ("127.0.0.1:8765", "https://captions.example.org", CHURCH),  # a proxy asks by its own name
        ("192.168.1.20:8765", "http://192.168.1.20:8765", CHURCH),
    ],
)
def test_our_own_pages_may(host: str, origin: str | None, address: str) -> None:
    assert not foreign(host, origin, address)


@pytest.mark.parametrize(
    ("host", "origin", "address"),
    [
        ("192.168.1.20:8765", "https://evil.example", ""),
        ("192.168.1.20:8765", "http://192.168.1.21:8765", ""),
        ("192.168.1.20:8765", "http://192.168.1.20", ""),  # another server of this machine
        ("192.168.1.20:8765", "http://192.168.1.20:8766", ""),
        ("192.168.1.20:8765", "null", ""),
        ("192.168.1.20:8765", "", ""),
        ("192.168.1.20:8765", "http://[", ""),
        ("192.168.1.20:8765", "http://192.168.1.20:99999", ""),
        ("evil.example:8765", "http://evil.example:8765", ""),  # a name pointed at us
        ("evil.example:8765", None, ""),
        ("evil.local.example", "http://evil.local.example", ""),
        ("192.168.1.20.evil.example", "http://192.168.1.20.evil.example", ""),
        ("evil.example", "http://evil.example", CHURCH),
        ("192.168.1.20:8765", "http://captions.example.org", CHURCH),  # not by its https
        ("", "http://192.168.1.20:8765", ""),
        (None, None, ""),
        ("user@:80", None, ""),
    ],
)
def test_others_may_not(host: str | None, origin: str | None, address: str) -> None:
    assert foreign(host, origin, address)


@given(st.none() | st.text(), st.none() | st.text(), st.sampled_from(["", CHURCH]))
def test_whatever_is_sent_gets_an_answer(
    host: str | None, origin: str | None, address: str
) -> None:
    assert foreign(host, origin, address) in (True, False)
