"""One image of every page in every state, on a phone and on a desktop, to be looked through."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, ViewportSize

from scripts.docs.page_states import PageState, page_states

SIZES: tuple[ViewportSize, ...] = ({"width": 390, "height": 844}, {"width": 1280, "height": 800})
CALM_MS = 700
HIGH, GAP, LINE, COLUMNS = 420, 12, 16, 2
QUALITY = 70


def picture(browser: Browser, state: PageState, size: ViewportSize, scale: float = 1.0) -> bytes:
    """Open a page, bring it into its state, take the picture."""
    options: dict[str, Any] = {"locale": "en-GB", **state.options}
    context = browser.new_context(**options, viewport=size, device_scale_factor=scale)
    try:
        page = context.new_page()
        page.goto(state.url)
        page.locator(state.ready).wait_for(state="attached")
        state.act(page)
        page.wait_for_timeout(CALM_MS)
        return page.screenshot()
    finally:
        context.close()


def contact_sheet(browser: Browser, folder: Path) -> bytes:
    """Return all as one WebP image; each picture in its own size is written to `folder`."""
    cells: list[tuple[str, list[Image.Image]]] = []
    for state in page_states():
        taken = []
        for size in SIZES:
            shot = picture(browser, state, size)
            name = "".join(each if each.isalnum() else "-" for each in state.name)
            (folder / f"{name}-{size['width']}.png").write_bytes(shot)
            image = Image.open(BytesIO(shot)).convert("RGB")
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
