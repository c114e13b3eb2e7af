"""The film of the demo that heads the README: the real program, its pages in a real browser."""

from __future__ import annotations

import time
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize

from pipeline.server.operator_token import kept_token
from scripts.support.program import Program, started

MOST_BYTES = 3_000_000
SCENES = ((0.5, 9.5), (21.5, 36.5), (81.0, 97.5))
"""Seconds of demo/service.flac that are shown: a welcome, a psalm, a correction."""
_SIZE: ViewportSize = {"width": 1280, "height": 800}
_SCALE = 0.75
_LATE_S = 2.0
"""Later captions would show this machine, and not the program."""
_FRAME_S = 0.3
_LAST_MS = 3000
_QUALITY = 62


class TooBusyError(RuntimeError):
    """Other programs take so much of the machine that the film would show them."""


def film(browser: Browser) -> bytes:
    """Play the demo in real time and return its scenes as an animated WebP.

    Whisper base must have been pulled: it is what the demo is heard with. Raises TooBusyError
    where captions come late because of other programs.
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
    """Return what the page showed in the scenes, each with how long, in seconds."""
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
    """Return pictures (seconds, JPEG) as one animated WebP; equal ones in turn become one."""
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
