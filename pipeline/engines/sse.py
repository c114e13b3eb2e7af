"""Read server-sent events line by line, as servers stream their answers. Pure.

The part of the format (WHATWG HTML, section 9.2) that carries data: fields other than `data` mean
nothing to a completion.
"""

from __future__ import annotations


class EventReader:
    """Collects lines, and gives the data of each event when its blank line has come."""

    def __init__(self) -> None:
        self._data: list[str] = []

    def add(self, line: str) -> str | None:
        """Take the next line, without its end; return the data of the event that it ends."""
        if not line:
            if not self._data:
                return None
            data, self._data = "\n".join(self._data), []
            return data
        name, _, value = line.partition(":")
        if name == "data":  # a comment begins with a colon, so its name is empty
            # One space belongs to the format; any more are the text's.
            self._data.append(value.removeprefix(" "))
        return None
