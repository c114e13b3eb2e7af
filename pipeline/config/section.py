"""What every section of the settings is made of: its base, types of values, times of effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError


def _web_address(address: str) -> str:
    if not address:
        return ""
    parts = urlsplit(address)  # raises ValueError for what it cannot parse, `port` too
    more = parts.username or parts.password or parts.query or parts.fragment
    place = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    if more or not place or not address.isprintable() or " " in address:
        msg = f"{address!r} is not a web address such as https://captions.example.org/"
        raise ValueError(msg)
    return address if address.endswith("/") else f"{address}/"


Text = Annotated[str, Field(min_length=0)]  # with a length, pydantic refuses text that is not UTF-8
Threads = Annotated[int, Field(ge=1, le=256)]
Share = Annotated[float, Field(ge=0, le=1)]
# Small letters only: the codes are parts of file names and subjects, compared as they are.
Lang = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]
WebAddress = Annotated[Text, AfterValidator(_web_address)]
"""Where a browser finds something, with a slash at its end; "" for nowhere."""


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

    @field_validator("*", mode="before")
    @classmethod
    def _no_switch_for_a_number(cls, value: Any, field: ValidationInfo) -> Any:
        # pydantic takes true for 1: port 1, or one thread.
        is_number = cls.model_fields[str(field.field_name)].annotation in (int, float)
        if is_number and isinstance(value, bool):
            raise PydanticCustomError("no_number", "a number is expected")
        return value
