"""Build HTML elements in Python, for plots: whatever `tag` did not make is escaped. Pure."""

from __future__ import annotations

from markupsafe import Markup, escape

# Control characters are errors in HTML, and nobody can read them.
_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


def tag(name: str, /, *content: str, **attributes: object) -> Markup:
    """Return an element. Attributes that are None are left out.

    A name that Python keeps for itself ends with an underscore (`class_`), one with a hyphen has an
    underscore in its place (`text_anchor`).
    """
    filled = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(printable(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{filled}>{join(*content)}</{name}>")  # noqa: S704 - escaped above


def join(*content: str) -> Markup:
    """Return pieces as one; those that are not Markup are escaped."""
    return Markup("").join(printable(piece) for piece in content)


def printable(text: str) -> str:
    """Return a text (or Markup) with its control characters replaced."""
    return text.translate(_CONTROLS)
