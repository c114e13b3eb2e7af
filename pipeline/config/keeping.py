"""The settings of what is kept of a service, and for how long: [session]."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from pipeline.config.section import LIVE, Section, Text

_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):[0-5]\d")


class Session(Section):
    """[session]"""

    directory: Annotated[str, Field(min_length=1)] = "sessions"
    drain_s: Annotated[float, Field(ge=0, le=600), LIVE] = 10.0
    # Short: a machine that is off after the first service must not show it to those of the second.
    resume_s: Annotated[float, Field(ge=0, le=86_400)] = 1800.0
    # 0, for ever: nobody's sermon is deleted unasked.
    keep_days: Annotated[int, Field(ge=0, le=36_500), LIVE] = 0
    keep_mb: Annotated[int, Field(ge=0, le=10_000_000), LIVE] = 0
    keep_audio: Annotated[Literal["none", "doubtful", "all"], LIVE] = "none"
    new_at: Annotated[Text, LIVE] = "04:00"

    @field_validator("new_at")
    @classmethod
    def _time_of_day(cls, new_at: str) -> str:
        if new_at and not _TIME_OF_DAY.fullmatch(new_at):
            msg = f'{new_at!r} is no time such as "04:00", nor "" for never'
            raise ValueError(msg)
        return new_at
