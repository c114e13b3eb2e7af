"""Pictures of the pages: one sheet of all, and the film of the demo at the top of the README."""

from __future__ import annotations

import time
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Page, ViewportSize

from pipeline.server.operator_token import kept_token
from scripts.docs.page_states import PageState, page_states
from scripts.support.program import Program, started

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
    """Return all pictures as one WebP image; write each in its own size to `folder`."""
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


FILM_BYTES = 3_000_000
SCENES = ((0.5, 9.5), (21.5, 36.5), (81.0, 97.5))
"""The parts of demo/service.flac, in seconds, in the film: a welcome, a psalm, a correction."""
_SIZE: ViewportSize = {"width": 1280, "height": 800}
_SCALE = 0.75
_LATE_S = 2.0
"""Later captions would show the speed of this machine, not of the program."""
_FRAME_S = 0.3
_LAST_MS = 3000
_QUALITY = 62


class TooBusyError(RuntimeError):
    """Other programs use so much of the machine that the film would show the delay."""


def film(browser: Browser) -> bytes:
    """Play the demo in real time and return its scenes as an animated WebP.

    Whisper base, which recognizes the demo, must have been pulled. Raises TooBusyError if captions
    are late because of other programs.
    """
    with TemporaryDirectory() as directory:
        with started("demo", "--no-browser", "--offline", cwd=Path(directory)) as program:
            token = kept_token(program.folder.resolve().parent)
            page = browser.new_page(
                viewport=_SIZE, device_scale_factor=_SCALE, locale="en-GB", color_scheme="light"
            )
            page.goto(f"{program.address}/demo#token={token}")
            pictures = list(_watch(page, program))
            page.close()
        return animated(pictures)


def _watch(page: Page, program: Program) -> list[tuple[float, bytes]]:
    """Return the page's pictures in the scenes, each with its duration in seconds."""
    taken: list[tuple[float, bytes]] = []
    while (at_s := float((health := program.health()).get("audio_s") or 0)) < SCENES[-1][1]:
        began = time.monotonic()
        if float(health.get("lag_s") or 0) > _LATE_S:
            message = f"Captions are {health['lag_s']} s late: no film. Try it on a quiet machine."
            raise TooBusyError(message)
        if any(first <= at_s < last for first, last in SCENES):
            picture = page.screenshot(type="jpeg", quality=90)  # takes less time than a PNG
            page.wait_for_timeout(max(0.0, _FRAME_S - (time.monotonic() - began)) * 1000)
            taken.append((time.monotonic() - began, picture))
        else:
            page.wait_for_timeout(100)
    return taken


def animated(pictures: list[tuple[float, bytes]]) -> bytes:
    """Return pictures (seconds, JPEG) as one animated WebP; equal neighbours become one."""
    frames: list[Image.Image] = []
    shown_ms: list[int] = []
    last = b""
    for seconds, picture in pictures:
        if picture == last:
            shown_ms[-1] += round(seconds * 1000)
            continue
        last = picture
        frames.append(Image.open(BytesIO(picture)).convert("RGB"))
        shown_ms.append(round(seconds * 1000))
    shown_ms[-1] += _LAST_MS
    out = BytesIO()
    frames[0].save(
        out,
        "WEBP",
        save_all=True,
        append_images=frames[1:],
        duration=shown_ms,
        loop=0,
        quality=_QUALITY,
        method=4,
    )
    return out.getvalue()
