from __future__ import annotations

import pytest

from pipeline.core.sizes import human_size


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (2_489_757_856, "2.49 GB"),
        (253_113_024, "0.25 GB"),
        (68_000_000, "68 MB"),
        (600_000, "0.6 MB"),
        (6_000_000, "6 MB"),
        (0, "0 MB"),
    ],
)
def test_bytes_are_told_as_people_read_them(size: int, shown: str) -> None:
    assert human_size(size) == shown
