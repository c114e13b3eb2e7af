"""Write the pictures of the pages in docs/images/: `python -m scripts.docs.screenshots [NAME ...]`.

Each shows a page in one of the states of `page_states`, in Debian's chromium; `demo` is the film.
"""

from __future__ import annotations

import sys

from playwright.sync_api import Browser, ViewportSize

from scripts.docs.contact_sheet import FILM_BYTES, TooBusyError, film, picture
from scripts.docs.page_states import page_states
from scripts.support.browser import chromium
from scripts.support.paths import ROOT

IMAGES = ROOT / "docs" / "images"
MOST_BYTES = 160_000
PHONE: ViewportSize = {"width": 390, "height": 844}
TABLET: ViewportSize = {"width": 1024, "height": 700}
HD: ViewportSize = {"width": 1280, "height": 720}
PHONE_SCALE = 1.5

PICTURES: dict[str, tuple[str, ViewportSize]] = {
    "audience-light": ("reader", PHONE),
    "audience-dark": ("reader, dark", PHONE),
    "audience-settings": ("reader, settings", PHONE),
    "audience-history": ("reader, read back", PHONE),
    "projector": ("wall", HD),
    "projector-both": ("wall, both languages", HD),
    "projector-beside": ("wall, side by side", HD),
    "obs": ("video mixer", HD),
    "obs-help": ("video mixer, help", HD),
    "operator": ("desk, a correction", TABLET),
    "operator-rule": ("desk, dictionary", TABLET),
    "operator-correct": ("desk, editing", TABLET),
    "operator-invite": ("desk, a volunteer more", TABLET),
    "join": ("poster", TABLET),
    "services": ("services", PHONE),
    "services-read": ("one service", PHONE),
    "review": ("review", HD),
}
"""The name of a state and the size of the page, by file name."""


def take(browser: Browser, wanted: set[str]) -> bool:
    """Write the wanted pictures; return whether none was too large."""
    fits = True
    for state in page_states():
        for name, (of, size) in PICTURES.items():
            if name in wanted and of == state.name:
                scale = PHONE_SCALE if size is PHONE else 1.0
                fits &= write(f"{name}.png", picture(browser, state, size, scale), MOST_BYTES)
    return fits


def write(name: str, content: bytes, most: int) -> bool:
    """Write a picture; return whether it is small enough for the repository."""
    (IMAGES / name).write_bytes(content)
    print(f"docs/images/{name}  {len(content) / 1000:.0f} kB of {most / 1000:.0f}")
    return len(content) <= most


def main() -> int:
    """Take all pictures, or the named ones; return 1 if one failed or is too large."""
    wanted = set(sys.argv[1:]) or {*PICTURES, "demo"}
    if unknown := wanted - {*PICTURES, "demo"}:
        print(f"No picture: {', '.join(sorted(unknown))}.", file=sys.stderr)
        return 2
    with chromium() as browser:
        fits = take(browser, wanted)
        if "demo" in wanted:
            try:
                fits &= write("demo.webp", film(browser), FILM_BYTES)
            except TooBusyError as error:
                print(f"demo: {error}", file=sys.stderr)
                return 1
    return int(not fits)


if __name__ == "__main__":
    sys.exit(main())
