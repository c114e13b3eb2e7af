from __future__ import annotations

import pytest
from pydantic import ValidationError

from pipeline.config.section import Session


@pytest.mark.parametrize("at", ["", "00:00", "04:00", "23:59"])
def test_a_new_session_begins_at_a_time_of_day_or_never(at: str) -> None:
    assert Session(new_at=at).new_at == at


@pytest.mark.parametrize("at", ["4:00", "24:00", "12:60", "noon", "04:00:00"])
def test_what_is_no_time_of_day_is_refused(at: str) -> None:
    with pytest.raises(ValidationError, match="is no time such as"):
        Session(new_at=at)
