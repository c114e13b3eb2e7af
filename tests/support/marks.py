"""Find the marks that a module gives to all its tests, without importing it."""

from __future__ import annotations

import re

_WHOLE = re.compile(r"^pytestmark = (?:\[(?P<list>[^\]]*)\]|(?P<one>.*))", re.MULTILINE)


def marks_of_all(text: str) -> frozenset[str]:
    """Return the names in a module's `pytestmark`; none without it."""
    found = _WHOLE.search(text)
    return frozenset(re.findall(r"pytest\.mark\.(\w+)", found[0])) if found else frozenset()


def left_out(expression: str) -> frozenset[str]:
    """Return the marks that a `-m` expression always excludes: `not a and not b`."""
    if " or " in expression:
        return frozenset()
    parts = (part.strip() for part in expression.split(" and "))
    return frozenset(part[4:] for part in parts if re.fullmatch(r"not \w+", part))
