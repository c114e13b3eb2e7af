"""Errors of the hub, the network and the disk. test_download.py has them from real sockets."""

from __future__ import annotations

import errno

import pytest

from pipeline.models.hub_client import explain, may_pass, missing_file


class ConnectError(Exception):
    """As httpx2 has it, for what no test can bring about here."""

    __module__ = "httpx2"


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "disk-full", "Make room"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "disk-full", "Make room"),
        (OSError(errno.EFBIG, "File too large"), "disk-full", "Make room"),
        (PermissionError(13, "Permission denied", "/models/x"), "models-unwritable", "/models/x"),
        (OSError(errno.EIO, "Input/output error"), "models-unwritable", "Check the disk"),
        (ConnectError("CERTIFICATE_VERIFY_FAILED"), "hub-unreachable", "SSL_CERT_FILE"),
        (ConnectError("Name or service not known"), "hub-unreachable", "HTTPS_PROXY"),
    ],
)
def test_every_error_gets_its_code_and_fix(error: Exception, code: str, says: str) -> None:
    told = explain(error, "owner/name", "main")
    assert told is not None
    assert told.code == code
    assert says in f"{told.message} {told.fix}"


def test_our_own_mistakes_are_not_explained_away() -> None:
    assert explain(KeyError("x"), "owner/name", "main") is None
    assert explain(ValueError("x"), "owner/name", "main") is None


def test_what_may_pass_is_tried_again() -> None:
    assert may_pass(ConnectError("reset"))
    assert not may_pass(OSError(errno.ENOSPC, "full"))
    assert not may_pass(KeyError("x"))


def test_the_page_is_that_of_the_hub_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert "https://huggingface.co/o/n/tree/main" in missing_file("o/n", "main", "f").fix
    monkeypatch.setenv("HF_ENDPOINT", "http://mirror/")
    assert "http://mirror/o/n/tree/main" in missing_file("o/n", "main", "f").fix
