"""The operator's page is calm: few but useful marks, plain words, readable buttons."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from pipeline.records.events import ModelUsed
from scripts.support.operator_server import OperatorServer
from tests.browser.conftest import Visit
from tests.support.console import keeper, opened, row

pytestmark = pytest.mark.browser

SERVES = OperatorServer

WIDTHS = (320, 360, 375, 390, 412, 430, 540, 600, 705, 768, 810, 834, 912, 1024, 1112, 1180, 1366)
BROKEN = """() => {
  const broken = [];
  for (const word of document.querySelectorAll(".controls .word")) {
    const text = word.firstChild;
    if (!text || !word.checkVisibility()) continue;
    for (const match of text.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(text, match.index);
      range.setEnd(text, match.index + match[0].length);
      if (range.getClientRects().length > 1) broken.push(match[0]);
    }
    const [button, box] = [word.closest("button"), word].map((one) => one.getBoundingClientRect());
    if (box.right > button.right + 1 || box.left < button.left - 1) broken.push(text.data);
  }
  return broken;
}"""


def test_figures_are_for_keepers_and_the_choice_is_kept(visit: Visit, hall: OperatorServer) -> None:
    hall.hear(1, "grace to you", "gracia a vosotros", draft="la gracia")
    page = opened(visit)
    expect(row(page, 1)).to_be_visible()
    shown = page.locator("body").inner_text().lower()
    for word in ("p50", "p95", "rung", "given up", " ms", "dropped"):
        assert word not in shown
    expect(page.locator("#machine")).to_contain_text("Behind the speaker")
    keeper(page)
    expect(row(page, 1).locator(".figures").first).to_be_visible()
    page.reload()
    expect(row(page, 1).locator(".figures").first).to_be_visible()


@pytest.mark.slow
def test_no_button_breaks_inside_a_word_at_any_width(visit: Visit, hall: OperatorServer) -> None:
    page = opened(visit)
    found = {}
    for turn in range(2):
        for width in (*WIDTHS, 1920):
            page.set_viewport_size({"width": width, "height": 800})
            if broken := page.evaluate(BROKEN):
                found[width, turn] = broken
        if turn == 0:  # the second turn has their longer words
            page.locator("#pause").click()
            expect(page.locator("#pause .word")).to_have_text("Resume")
            page.locator("#blank").click()
            expect(page.locator("#blank .word")).to_have_text("Show again")
    assert found == {}


def test_nobody_runs_a_service_on_the_starter_models_without_seeing_it(
    hall: OperatorServer, visit: Visit
) -> None:
    starter = ModelUsed(
        engine="whisper", setting="starter", file="model.bin", size_bytes=1, sha256="ab" * 32
    )
    hall.facts.models = (starter, replace(starter, engine="gemma", setting="translategemma"))
    page = opened(visit)
    expect(page.locator("#starter")).to_contain_text("not for a service")
    expect(page.locator("#models")).to_have_text(
        "Hearsstarter, model.bin, ababababSecond trytranslategemma, model.bin, abababab"
    )
    hall.facts.models = (replace(starter, setting="whisper-base"),)
    page.reload()
    expect(page.locator("#models")).to_contain_text("whisper-base")
    expect(page.locator("#starter")).to_be_hidden()
