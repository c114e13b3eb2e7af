"""The operator's page with two spoken languages: the detected one, and a button to force one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from playwright.sync_api import expect

from pipeline.core.reports import Rendition
from scripts.support.operator_server import OperatorServer
from scripts.support.records import caption
from tests.browser.conftest import Visit
from tests.support.console import opened, reconnect
from tests.support.patience import wait_for

pytestmark = pytest.mark.browser

SERVES = partial(OperatorServer, extra_targets=["en"])


def speak_spanish(hall: OperatorServer) -> None:
    """Let somebody speak Spanish."""
    made = caption(1, "Gracias.", "Gracias.", final=True, engine="heard")
    said = replace(made, transcript=replace(made.transcript, lang="es"))
    hall._loop.call(hall.targets.take, Rendition("es", said))


def test_the_desk_shows_which_language_is_heard_and_forces_one(
    visit: Visit, hall: OperatorServer
) -> None:
    page = opened(visit)
    strip = page.locator("#spoken button")
    expect(strip).to_have_text(["By itself: English", "English", "Español"])
    speak_spanish(hall)
    expect(strip).to_have_text(["By itself: Español", "English", "Español"])
    expect(strip.nth(2)).to_have_class("heard")
    reconnect(page)  # nothing has been said since
    expect(strip.nth(2)).to_have_class("heard")
    strip.nth(1).click()
    expect(strip.nth(1)).to_have_attribute("aria-pressed", "true")
    assert hall.facts.forced_language == "en"
    strip.nth(0).click()
    expect(strip.nth(0)).to_have_attribute("aria-pressed", "true")
    wait_for(lambda: hall.facts.forced_language == "")
