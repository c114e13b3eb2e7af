"""HTML by construction: whatever is not made by `tag` is text, and text is escaped. Pure."""

from __future__ import annotations

from html import escape

_VOID = frozenset({"br", "col", "hr", "link", "meta"})
# Control characters are errors in HTML, and nobody can read them.
_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


class Markup(str):
    """HTML that needs no more escaping."""

    __slots__ = ()


def tag(name: str, /, *content: str, **attributes: object) -> Markup:
    """Return an element. Attributes that are None are left out.

    A name that Python keeps for itself ends with an underscore (`class_`), one with a hyphen has an
    underscore in its place (`text_anchor`).
    """
    filled = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{filled}>")
    return Markup(f"<{name}{filled}>{join(*content)}</{name}>")


def join(*content: str) -> Markup:
    """Return pieces as one; those that are not Markup are escaped."""
    return Markup("".join(piece if isinstance(piece, Markup) else text(piece) for piece in content))


def text(raw: str) -> Markup:
    """Return a text, escaped."""
    return Markup(escape(raw.translate(_CONTROLS)))
