"""Errors give the problem, its fix and a code."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from pipeline.core import errors
from pipeline.core.errors import (
    AudioError,
    AudioLostError,
    ConfigError,
    ModelCrashError,
    StarkError,
    UsageError,
    reading,
    without_resources,
    writing,
)


def family(kind: type[StarkError]) -> list[type[StarkError]]:
    return [kind, *(member for child in kind.__subclasses__() for member in family(child))]


def test_an_error_reads_as_a_sentence_a_fix_and_a_code() -> None:
    error = AudioError("audio-missing", "sermon.wav is not there.", "Check --input.")
    assert str(error) == "sermon.wav is not there. Check --input. [audio-missing]"
    assert str(StarkError("odd", "It broke.")) == "It broke. [odd]"


def test_exit_codes() -> None:
    codes = {kind.__name__: kind.exit_code for kind in family(StarkError) if kind.exit_code != 1}
    assert codes == {
        ConfigError.__name__: 78,
        ModelCrashError.__name__: 70,
        UsageError.__name__: 2,
    }
    assert issubclass(AudioLostError, AudioError)


def test_what_somebody_sent_is_quoted_briefly() -> None:
    assert errors.quoted("x") == "'x'"
    assert len(errors.quoted("x" * 1000)) == 40
    assert errors.quoted(10**5000) == "a very large number"


def test_a_block_that_cannot_write_says_what_and_why(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match=r"^there cannot be written: No such.* Do it\."),
        writing("there", ConfigError, "a-b", "Do it."),
    ):
        (tmp_path / "none" / "file").write_bytes(b"")


def test_what_cannot_be_read_is_named_with_the_reason_and_the_fix(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match=r"^here cannot be read: No such.* Do it\."),
        reading("here", ConfigError, "config-unreadable", "Do it."),
    ):
        (tmp_path / "none").read_bytes()
    with (
        pytest.raises(ConfigError, match=r"^here cannot be read: it lacks 'key'\."),
        reading("here", ConfigError, "config-unreadable", wrong=(KeyError,)),
    ):
        raise KeyError("key")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("libonnx.so: failed to map segment from shared object"),
        RuntimeError("could not create a memory object"),
    ],
)
def test_a_shortage_is_known(error: BaseException) -> None:
    shown = without_resources(error)
    assert shown is not None
    assert (shown.code, shown.exit_code) == ("no-memory", 1)
    assert "raise the limit" in shown.fix


@pytest.mark.parametrize("error", [ValueError("out of memory"), OSError(errno.ENOSPC, "full")])
def test_other_errors_are_left_alone(error: BaseException) -> None:
    assert without_resources(error) is None
