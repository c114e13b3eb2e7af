"""Certificates on disk, good and bad. Over real sockets: tests/unit/server/test_transport.py."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from pipeline.config.schema import Server
from pipeline.core.errors import ServerError
from pipeline.server import tls
from pipeline.server.tls import Certificate
from tests.support.certificates import NAME, make


def read(cert: Path, key: Path) -> Certificate:
    return Certificate(Server(tls_cert=str(cert), tls_key=str(key)))


def test_it_says_for_whom_and_until_when_it_is(tmp_path: Path) -> None:
    certificate = read(*make(tmp_path, days=90))
    now = datetime.now(UTC)
    assert certificate.facts.names == (NAME, "localhost", "127.0.0.1")
    assert abs(certificate.facts.until - now - timedelta(days=90)) < timedelta(minutes=1)
    assert certificate.facts.since < now
    certificate.check(now)
    assert certificate.exposed == ""


def test_whether_phones_know_who_signed_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cert, key = make(tmp_path, days=-1)  # the expiry is checked elsewhere
    assert not read(cert, key).facts.is_public
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    assert read(cert, key).facts.is_public


def test_the_names_that_browsers_take(tmp_path: Path) -> None:
    facts = read(*make(tmp_path, name="*.example.org")).facts
    assert facts.fits("captions.example.org")
    assert facts.fits("127.0.0.1")
    assert not facts.fits("a.captions.example.org")
    assert not facts.fits("192.168.1.20")
    assert not facts.fits("")


def test_names_are_compared_as_browsers_do(tmp_path: Path) -> None:
    """A certificate has FD00:0:0:0:0:0:0:1 for the address fd00::1."""
    facts = read(*make(tmp_path, name="Captions.Example.org", address="fd00::1")).facts
    assert facts.fits("captions.example.org")
    assert facts.fits("fd00::1")
    assert not facts.fits("fd00::2")


def test_what_cannot_be_used_is_refused_with_its_name(tmp_path: Path) -> None:
    cert, key = make(tmp_path)
    _, other_key = make(tmp_path, name="other.example.org")
    _, locked_key = make(tmp_path, name="locked.example.org", password=b"psalm 23")
    text = tmp_path / "notes.txt"
    text.write_text("no certificate")
    folder = tmp_path / "folder"
    folder.mkdir()
    for files, code, named in (
        ((tmp_path / "gone.pem", key), "tls-unreadable", "gone.pem"),
        ((cert, tmp_path / "gone.key"), "tls-unreadable", "gone.key"),
        ((folder, key), "tls-unreadable", "folder"),
        ((cert, other_key), "tls-mismatch", "other.example.org.key"),
        ((cert, locked_key), "tls-unusable", "locked.example.org.key"),
        ((text, key), "tls-unusable", "notes.txt"),
        ((cert, text), "tls-unusable", "notes.txt"),
    ):
        with pytest.raises(ServerError, match=named) as refused:
            read(*files)
        assert refused.value.code == code
        assert refused.value.fix


@pytest.mark.parametrize(
    ("made", "code"),
    [({"days": -1}, "tls-expired"), ({"begins_in_days": 2}, "tls-not-yet-valid")],
)
def test_a_certificate_of_another_time_is_read_and_judged(
    tmp_path: Path, made: dict[str, float], code: str
) -> None:
    certificate = read(*make(tmp_path, **made))  # type: ignore[arg-type]
    with pytest.raises(ServerError, match=NAME) as refused:
        certificate.check(datetime.now(UTC))
    assert refused.value.code == code
    with capture_logs() as logs:
        certificate.tell()
    assert logs[-1]["code"] == code


def test_a_key_that_others_can_read_is_told(tmp_path: Path) -> None:
    cert, key = make(tmp_path)
    key.chmod(0o644)
    certificate = read(cert, key)
    assert certificate.exposed == f"chmod o-r {key}"
    with capture_logs() as logs:
        certificate.tell()
    assert logs[-1]["code"] == "tls-key-open"


def test_where_files_have_no_modes_nobody_is_told_to_change_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = make(tmp_path)
    key.chmod(0o666)  # what Windows reports for every file
    monkeypatch.setattr(tls, "_HAS_MODES", False)
    assert read(cert, key).exposed == ""


def test_changed_files_are_taken_up_and_bad_ones_are_not(tmp_path: Path) -> None:
    certificate = read(*make(tmp_path, days=5))
    first = certificate.facts
    assert not certificate.renew()  # nothing has changed
    cert, key = make(tmp_path, days=90)
    assert certificate.renew()
    second = certificate.facts
    assert second.until - first.until > timedelta(days=80)
    for damage in (cert.unlink, lambda: cert.write_text("half of it"), key.unlink):
        damage()
        with capture_logs() as logs:
            assert not certificate.renew()
            assert not certificate.renew()
        assert [line["event"] for line in logs] == ["certificate not renewed"]  # logged once
        assert certificate.facts == second
    make(tmp_path, days=120)
    assert certificate.renew()


def test_nobody_is_asked_for_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cert, key = make(tmp_path, password=b"psalm 23")
    ours, theirs = os.pipe()
    os.close(theirs)
    with os.fdopen(ours) as empty, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", empty)
        with pytest.raises(ServerError, match="without a password"):
            read(cert, key)
