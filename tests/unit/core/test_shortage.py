"""Errors that say that the system gave no memory or no thread, whoever raises them."""

from __future__ import annotations

import errno

import pytest

from pipeline.core.shortage import without_resources


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
