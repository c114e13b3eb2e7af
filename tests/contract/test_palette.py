"""The pages' colours: each used colour is defined, and none of the desk's is defined twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DISPLAYS = Path(__file__).parents[2] / "displays"
PAGES = sorted(path.stem for path in DISPLAYS.glob("*.html"))


def sheets(page: str) -> dict[str, str]:
    """Return the style sheets that a page links, by path."""
    html = (DISPLAYS / f"{page}.html").read_text(encoding="utf-8")
    linked = re.findall(r'<link rel="stylesheet" href="/(css/[^"]+)"', html)
    return {path: (DISPLAYS / path).read_text(encoding="utf-8") for path in linked}


@pytest.mark.parametrize("page", PAGES)
def test_each_value_that_a_page_uses_is_defined_for_it(page: str) -> None:
    html = (DISPLAYS / f"{page}.html").read_text(encoding="utf-8")
    scripts = "".join(
        path.read_text(encoding="utf-8") for path in sorted((DISPLAYS / "js").rglob("*.js"))
    )
    css = "".join(sheets(page).values())
    # With a second value after a comma, a page works without the first.
    used = set(re.findall(r"var\((--[\w-]+)\)", css))
    defined = set(re.findall(r"(--[\w-]+)\s*:", css + html))
    defined |= set(re.findall(r"""["'`](--[\w-]+)""", scripts))
    assert used - defined == set()


def test_the_pages_that_are_read_at_a_desk_have_one_palette() -> None:
    for page in ("services", "dashboard", "review"):
        linked = sheets(page)
        assert next(iter(linked)) == "css/palette.css", page
        own = "".join(css for path, css in linked.items() if path != "css/palette.css")
        for name in ("--paper", "--ink", "--accent", "--bad"):
            assert f"{name}:" not in own, f"{page}: {name} stands in css/palette.css"
