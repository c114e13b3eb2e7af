from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config.schema import Church
from pipeline.core.errors import ServerError
from pipeline.server.branding import MOST_BYTES, Branding, branding, branding_at_start

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{}</svg>'


def logo(tmp_path: Path, body: bytes | str) -> Branding:
    path = tmp_path / "logo"
    path.write_bytes(body if isinstance(body, bytes) else body.encode())
    return branding(Church(logo=str(path)))


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0JFIF", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (SVG.format('<path d="M0 0h9"/>'), "image/svg+xml"),
        # As drawing programs write SVG: internal styles, a gradient, an embedded picture.
        (
            SVG.format(
                "<style>.a{fill:url(#g)}</style><use xlink:href='#p'/>"
                "<image href='data:image/png;base64,AAAA'/>"
            ),
            "image/svg+xml",
        ),
    ],
)
def test_pictures_are_known_by_what_is_in_them(
    tmp_path: Path, body: bytes | str, content_type: str
) -> None:
    assert logo(tmp_path, body).logo_type == content_type


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"RIFF\0\0\0\0WAVE", "is no PNG"),
        ("<html><p>not found</p></html>", "is no PNG"),
        (SVG.format("<script>alert(1)</script>"), "script"),
        (SVG.format('<path onclick="alert(1)"/>'), "script"),
        (SVG.format("<foreignObject/>"), "script"),
        (SVG.format('<image href="https://example.org/x.png"/>'), "fetches"),
        (SVG.format('<a xlink:href="javascript:alert(1)"/>'), "fetches"),
        (SVG.format("<style>@import 'https://example.org/x.css'</style>"), "fetches"),
        (SVG.format('<path fill="url(https://example.org/x.svg#a)"/>'), "fetches"),
        ('<!DOCTYPE svg [<!ENTITY a "b">]>' + SVG.format("&a;"), "entities"),
        (PNG + b"\0" * MOST_BYTES, "is larger than 100 kB"),
    ],
)
def test_a_logo_that_cannot_be_shown_is_refused(
    tmp_path: Path, body: bytes | str, says: str
) -> None:
    with pytest.raises(ServerError, match=says) as error:
        logo(tmp_path, body)
    assert error.value.code == "logo-unusable"
    assert error.value.fix


def test_a_logo_that_is_not_there_does_not_stop_a_service(tmp_path: Path) -> None:
    church = Church(name="Grace", logo=str(tmp_path / "none.png"))
    with pytest.raises(ServerError, match=r"none\.png") as error:
        branding(church)
    assert error.value.code == "logo-unreadable"
    assert branding_at_start(church) == Branding("Grace")


def test_a_name_is_text_and_no_markup() -> None:
    assert "&lt;b&gt;Grace &amp; Peace" in Branding("<b>Grace & Peace").markup


@pytest.mark.parametrize(
    ("colour", "on"),
    [
        ("#ffffff", "#000000"),
        ("#000000", "#ffffff"),
        ("#7a1f3d", "#ffffff"),
        ("#e8b04b", "#000000"),
    ],
)
def test_what_stands_on_the_colour_can_be_read(colour: str, on: str) -> None:
    assert f"--church: {colour}; --on-church: {on};" in Branding(colour=colour).style
