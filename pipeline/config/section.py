"""What every section of the settings is made of: its base, types of values, times of effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(min_length=0)]  # with a length, pydantic refuses text that is not UTF-8
Threads = Annotated[int, Field(ge=1, le=256)]
Share = Annotated[float, Field(ge=0, le=1)]
Lang = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]


@dataclass(frozen=True, slots=True)
class Applies:
    """When a change of a setting takes effect in a running service."""

    effect: Literal["live", "next-utterance"]


LIVE = Applies("live")
NEXT_UTTERANCE = Applies("next-utterance")


class Section(BaseModel):
    """A table of the file. Unknown keys are errors."""

    # Frozen: several threads read one tree, and a reload swaps it for another.
    model_config = ConfigDict(extra="forbid", frozen=True)
