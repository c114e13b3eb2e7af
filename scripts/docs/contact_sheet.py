"""One image of every page in every state, on a phone and on a desktop, to be looked through."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, ViewportSize

from scripts.docs.page_states import PageState, page_states

SIZES: tuple[ViewportSize, ...] = ({"width": 390, "height": 844}, {"width": 1280, "height": 800})
CALM_MS = 700
HIGH, GAP, LINE, COLUMNS = 420, 12, 16, 2
QUALITY = 70


def pictures(browser: Browser, state: PageState) -> Iterator[bytes]:
    """Open a page at each size, bring it into its state, take the picture."""
    for size in SIZES:
        context = browser.new_context(**{"locale": "en-GB", **state.options}, viewport=size)
        try:
            page = context.new_page()
            page.goto(state.url)
            page.locator(state.ready).wait_for(state="attached")
            state.act(page)
            page.wait_for_timeout(CALM_MS)
            yield page.screenshot()
        finally:
            context.close()


def contact_sheet(browser: Browser, folder: Path) -> bytes:
    """Return all as one WebP image; each picture in its own size is written to `folder`."""
    cells: list[tuple[str, list[Image.Image]]] = []
    for state in page_states():
        taken = []
        for picture, size in zip(pictures(browser, state), SIZES, strict=True):
            name = "".join(each if each.isalnum() else "-" for each in state.name)
            (folder / f"{name}-{size['width']}.png").write_bytes(picture)
            image = Image.open(BytesIO(picture)).convert("RGB")
            taken.append(image.resize((image.width * HIGH // image.height, HIGH)))
        cells.append((state.name, taken))
    return _laid_out(cells)


def _laid_out(cells: list[tuple[str, list[Image.Image]]]) -> bytes:
    wide = sum(image.width + GAP for image in cells[0][1])
    rows = -(-len(cells) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * (wide + GAP), rows * (HIGH + LINE + GAP)), "#707070")
    draw = ImageDraw.Draw(sheet)
    for number, (name, taken) in enumerate(cells):
        left = (number % COLUMNS) * (wide + GAP) + GAP
        top = (number // COLUMNS) * (HIGH + LINE + GAP)
        draw.text((left, top + 2), name, fill="white")
        for image in taken:
            sheet.paste(image, (left, top + LINE))
            left += image.width + GAP
    out = BytesIO()
    sheet.save(out, "WEBP", quality=QUALITY, method=4)
    return out.getvalue()
