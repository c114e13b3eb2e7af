"""The operator's token: created once, readable by its owner only."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import SessionError
from pipeline.server.operator_token import FILE, kept_token, operator_token


def test_it_is_made_once_and_kept_from_others(tmp_path: Path) -> None:
    token = operator_token(tmp_path)
    assert len(token) >= 20
    assert operator_token(tmp_path) == token
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert operator_token(tmp_path.parent) != token
    (tmp_path.parent / FILE).unlink()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe"])
def test_a_spoilt_file_is_refused_with_the_fix(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(SessionError, match=r"operator-token.*Delete it"):
        operator_token(tmp_path)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="token-unusable"):
        operator_token(tmp_path / "nowhere")


def test_another_program_reads_it_and_makes_none(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="--sessions") as caught:
        kept_token(tmp_path)
    assert caught.value.code == "token-missing"
    assert list(tmp_path.iterdir()) == []
    token = operator_token(tmp_path)
    assert kept_token(tmp_path) == token


def test_a_spoilt_one_is_not_read(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(SessionError, match="it is not text"):
        kept_token(tmp_path)
