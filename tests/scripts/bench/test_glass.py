"""A phone's page reports to the benchmark what it has painted."""

from __future__ import annotations

import time

import pytest

from scripts.bench.glass import glass
from scripts.support.browser import CHROMIUM
from scripts.support.display_server import DisplayServer
from tests.support.needs import needs_file

pytestmark = pytest.mark.browser


def test_each_version_is_painted_after_it_was_sent_and_reported_in_order() -> None:
    needs_file(CHROMIUM)
    sent: list[float] = []
    with DisplayServer() as hall, glass(hall.url) as phone:
        for number in (1, 2, 3):
            sent.append(time.monotonic())
            hall.say(number, f"Frase {number}.", final=True)
            until_s = time.monotonic() + 20
            while not any(each.seq >= number for each in phone.painted()):
                assert time.monotonic() < until_s, "the page has painted nothing"
                time.sleep(0.05)
        painted = phone.painted()
    for number, at_s in enumerate(sent, 1):
        first = next(each for each in painted if each.seq >= number)
        # Date.now() counts milliseconds.
        assert first.at_s > at_s - 0.002
    assert [each.at_s for each in painted] == sorted(each.at_s for each in painted)
