"""The operator's console before the real program, which hears the demo sermon."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from scripts.support.program import SERMON, started
from tests.support.console import TABLET

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_rehearsal_with_two_final_translators(browser: Browser, tmp_path: Path) -> None:
    """Level, three translations and the machine's figures; pause stops it."""
    compare = {"STARK_TRANSLATE__TRANSLATE__COMPARE__ENGINE": "marian"}
    arguments = ("dry-run", "--input", str(SERMON), "--pace", "realtime")
    with started(*arguments, cwd=tmp_path, **compare) as program:
        program.wait_for("serving")
        token = next(tmp_path.rglob("operator-token")).read_text().strip()
        page = browser.new_page(**TABLET)
        page.goto(f"{program.address}/operator#token={token}")
        expect(page.locator("#banner")).to_contain_text("Rehearsal")
        first = page.locator(".row").first
        expect(first.locator(".version")).to_have_count(3, timeout=60_000)
        expect(first.locator(".version").nth(0)).to_contain_text("ready after")
        expect(first.locator(".version").nth(2)).to_contain_text("% alike")
        expect(page.locator("#level-number")).to_contain_text("dBFS")
        expect(page.locator("#machine")).to_contain_text("sermon.flac")
        page.locator("#pause").click()
        expect(page.locator("#state")).to_have_text("Paused")
        page.locator("#undo").click()
        expect(page.locator("#state")).not_to_have_text("Paused")
        page.close()
        program.stop()
    assert token not in "".join(program.noise) + str(program.log)
