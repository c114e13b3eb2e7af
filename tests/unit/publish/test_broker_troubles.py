from __future__ import annotations

import pytest

from pipeline.publish.broker import explain, place_of


def test_a_place_has_no_password_in_it() -> None:
    assert place_of("nats://user:secret@host:4333") == "host:4333"
    assert place_of("tls://host") == "host:4222"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("nats: 'Authorization Violation'", "publish-refused"),
        ("insufficient storage resources available", "publish-full"),
        ("nats: JetStream.APIError no space left on device", "publish-full"),
        ("certificate verify failed", "publish-tls"),
        ("Connection refused", "publish-unreachable"),
    ],
)
def test_troubles_have_a_code_and_the_place(said: str, code: str) -> None:
    problem = explain(OSError(said), "host:4222")
    assert problem.code == code
    assert "host:4222" in problem.message
    assert problem.fix
