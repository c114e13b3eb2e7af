"""A reader of HTML that checks that every tag is closed."""

from __future__ import annotations

import re
from html.parser import HTMLParser


class Reader(HTMLParser):
    """Reads what a browser would: elements, attributes, text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.text = ""
        self.feed(str(page))  # Markup escapes the text that it is added to
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.elements.append(("comment", ((data, None),)))


def rows(table: str) -> list[list[str]]:
    """Return the text of each cell of each row."""
    body = table.partition("<tbody>")[2]
    return [
        [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row, re.DOTALL)]
        for row in re.findall(r"<tr.*?>(.*?)</tr>", body, re.DOTALL)
    ]
