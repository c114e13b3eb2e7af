"""What may be shown of the settings: tokens are "set", addresses their host and port."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pipeline.config.schema import Settings
from pipeline.config.section import Secret, keys

SECRETS: Mapping[str, Secret] = {
    path: mark for path, marks in keys(Settings) for mark in marks if isinstance(mark, Secret)
}
"""By key path, as the schema has it beside each key."""


def shown(path: str, value: Any) -> Any:
    """Return what may be printed, logged or written down of the valid value of a setting."""
    secret = SECRETS.get(path)
    if secret is None or not value:
        return value
    if isinstance(value, list | tuple):  # [[outputs]]
        return [{**each, "url": _place(each["url"]) if each["url"] else ""} for each in value]
    if not secret.is_address:
        return "set"
    return _place(value)


def _place(value: str) -> str:
    parts = urlsplit(value)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")


def is_secret(path: str) -> bool:
    """Whether a key path is that of a secret, or has one above or below it."""
    return any(f"{path}.".startswith(f"{each}.") or each.startswith(f"{path}.") for each in SECRETS)
