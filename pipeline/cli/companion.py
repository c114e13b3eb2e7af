"""A page of buttons for Bitfocus Companion to import: its own format of a page, version 4. Pure.

Companion 3 writes that version, and later ones convert it.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson

_COLUMNS = 8
"""As many as its own pages have."""
_CONNECTION = "captions"
_WHITE, _BLACK = 0xFFFFFF, 0


def page(name: str, addresses: Mapping[str, str]) -> bytes:
    """Return a page that gets an address at each press, as a file's content.

    `addresses` are in order, by what stands on the button.
    """
    rows: dict[str, dict[str, object]] = {}
    for number, (says, address) in enumerate(addresses.items()):
        row, column = divmod(number, _COLUMNS)
        rows.setdefault(str(row), {})[str(column)] = _button(f"captions-{number}", says, address)
    last_row = max(3, len(rows) - 1)
    grid = {"minColumn": 0, "maxColumn": _COLUMNS - 1, "minRow": 0, "maxRow": last_row}
    connection = {
        "instance_type": "generic-http",
        "label": _CONNECTION,
        "enabled": True,
        "isFirstInit": False,
        "lastUpgradeIndex": -1,
        "config": {"prefix": "", "rejectUnauthorized": True},
    }
    return orjson.dumps(
        {
            "version": 4,
            "type": "page",
            "page": {"name": name, "controls": rows, "gridSize": grid},
            "instances": {_CONNECTION: connection},
            "oldPageNumber": 1,
        },
        option=orjson.OPT_INDENT_2,
    )


def _button(key: str, says: str, address: str) -> dict[str, object]:
    pressed = {
        "id": key,
        "instance": _CONNECTION,
        "action": "get",
        "options": {"url": address, "header": ""},
    }
    look = {"text": says.replace("-", " "), "size": "auto", "alignment": "center:center"}
    return {
        "type": "button",
        "style": look | {"color": _WHITE, "bgcolor": _BLACK, "show_topbar": "default"},
        "options": {"rotaryActions": False, "stepAutoProgress": True},
        "feedbacks": [],
        "steps": {"0": {"action_sets": {"down": [pressed], "up": []}}},
    }
