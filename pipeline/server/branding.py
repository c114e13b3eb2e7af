"""A church's own name, logo and colour on phones, wall and poster (`[church]`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path
from xml.etree import ElementTree as ET

import structlog

from pipeline.config.schema import Church
from pipeline.core.errors import ServerError

log = structlog.get_logger()

MOST_BYTES = 100_000
"""Maximum size of a logo: each phone fetches it."""
STYLE = "/css/church.css"
LOGO = "/church-logo"

_TYPES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}
_SVG = "{http://www.w3.org/2000/svg}"
_ACTIVE = ("script", "foreignObject", "iframe", "handler")
# A link inside the file, or an embedded picture; every other link leads outside.
_INSIDE = re.compile(r"\s*(#|data:image/(png|jpeg|webp|gif);base64,)")
_OUTSIDE = re.compile(r"@import|url\(\s*['\"]?(?!['\"#]|data:image/)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Branding:
    """What the pages show of a church; nothing without name, logo and colour."""

    name: str = ""
    colour: str = ""
    """`#rrggbb`"""
    logo: bytes = b""
    logo_type: str = ""

    def __bool__(self) -> bool:
        return bool(self.name or self.logo or self.colour)

    @property
    def markup(self) -> str:
        """The name and the logo as HTML, "" without both."""
        # The name is next to it: a screen reader need not say it twice.
        alt = "" if self.name else "Logo"
        logo = f'<img class="mark" src="{LOGO}" alt="{alt}">' if self.logo else ""
        name = f'<span translate="no" dir="auto">{escape(self.name)}</span>' if self.name else ""
        return f'<p class="church">{logo}{name}</p>' if logo or name else ""

    @property
    def style(self) -> str:
        """The colour, and black or white on it, as CSS properties."""
        if not self.colour:
            return ""
        on = "#000000" if _luminance(self.colour) > _MIDDLE else "#ffffff"
        return f":root {{ --church: {self.colour}; --on-church: {on}; --church-line: 3px; }}\n"


def branding(church: Church) -> Branding:
    """Return what the settings say. Raises ServerError: `logo-unreadable`, `logo-unusable`."""
    logo, logo_type = _logo(Path(church.logo)) if church.logo else (b"", "")
    return Branding(church.name, church.colour, logo, logo_type)


def branding_at_start(church: Church) -> Branding:
    """Return what the settings say; log why and omit a logo that cannot be used."""
    try:
        return branding(church)
    except ServerError as error:
        log.warning("church logo not shown", code=error.code, reason=str(error))
        return Branding(church.name, church.colour)


def _logo(path: Path) -> tuple[bytes, str]:
    try:
        if not path.is_file():
            raise ServerError(
                "logo-unreadable",
                f"church.logo: {path} is not there, or no file.",
                "Correct the path; a relative one starts where the program is started.",
            )
        with path.open("rb") as file:
            # One byte more shows that it is too large, without reading the rest.
            body = file.read(MOST_BYTES + 1)
    except OSError as problem:
        raise ServerError(
            "logo-unreadable",
            f"church.logo: {path} cannot be read: {problem.strerror}.",
            "Let the user that the service runs as read it.",
        ) from None
    if len(body) > MOST_BYTES:
        raise _unusable(
            path,
            f"is larger than {MOST_BYTES // 1000} kB, which each phone would have to fetch",
            "Save it smaller: 512 pixels wide are enough.",
        )
    for begins, content_type in _TYPES.items():
        if body.startswith(begins) and (begins != b"RIFF" or body[8:12] == b"WEBP"):
            return body, content_type
    if reason := _svg_fault(body):
        raise _unusable(path, reason, "Save it as PNG, or as plain SVG.")
    return body, "image/svg+xml"


def _svg_fault(body: bytes) -> str:
    """Return why a file cannot be shown as SVG, "" if it can."""
    if b"<!ENTITY" in body:  # a few bytes could expand to gigabytes
        return "is an SVG with entities"
    try:
        root = ET.fromstring(body)  # noqa: S314 - small, and without entities
    except (ET.ParseError, ValueError, LookupError):
        return "is no PNG, JPEG, WebP or SVG"
    if root.tag != f"{_SVG}svg":
        return "is no PNG, JPEG, WebP or SVG"
    for element in root.iter():
        tag = str(element.tag).rpartition("}")[2]
        # An attribute whose name begins with "on", such as onload, holds a script.
        if tag in _ACTIVE or any(key.lower().startswith("on") for key in element.attrib):
            return f"is an SVG with a script ({tag})"
        links = [value for key, value in element.attrib.items() if key.endswith("href")]
        styles = [element.text or "" if tag == "style" else "", *element.attrib.values()]
        if not all(map(_INSIDE.match, links)) or any(map(_OUTSIDE.search, styles)):
            return f"is an SVG that fetches something else ({tag})"
    return ""


def _unusable(path: Path, reason: str, fix: str) -> ServerError:
    return ServerError("logo-unusable", f"church.logo: {path} {reason}.", fix)


_MIDDLE = 0.179
"""Luminance at which black and white on a colour have the same contrast (WCAG): 4.6 to 1."""


def _luminance(colour: str) -> float:
    """Return the relative luminance of `#rrggbb` by WCAG, 0 to 1."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
