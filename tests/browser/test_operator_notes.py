"""Sermon notes on the operator's page: a file is chosen or dropped there, and corrected."""

from __future__ import annotations

import random

import pytest
from playwright.sync_api import expect

from pipeline.church.notes.notes_files import read_notes
from scripts.support.operator_server import OperatorServer
from tests.browser.conftest import Visit
from tests.support.console import opened, setup

pytestmark = pytest.mark.browser

SERVES = OperatorServer

SERMON = "Today we hear what Bonhoeffer wrote, and read Daniel 3:16.\ncovenant = alianza\n"


def test_a_chosen_file_is_drawn_out_and_what_is_wrong_taken_out(
    hall: OperatorServer, visit: Visit
) -> None:
    page, other = setup(opened(visit)), setup(opened(visit))
    expect(page.locator("#no-notes")).to_be_visible()
    # Large enough for more than one part; the rest are words that no notes have.
    rest = " ".join(f"w{random.Random(number).random()}" for number in range(1500))
    content = f"{SERMON}{rest}".encode()
    page.locator("#notes-file").set_input_files(
        {"name": "sermon.txt", "mimeType": "text/plain", "buffer": content}
    )
    for each in (page, other):
        entries = each.locator("#notes li")
        expect(entries.first).to_have_text("Bonhoeffer ×")
        expect(each.locator("#notes")).to_contain_text("Daniel 3:16")
        expect(each.locator("#notes")).to_contain_text("covenant = alianza")
        expect(each.locator("#no-notes")).to_be_hidden()
    expect(page.locator("#notes-progress")).to_have_text("")
    page.get_by_role("button", name="Take out Bonhoeffer").click()
    for each in (page, other):
        expect(each.locator("#notes li").first).to_have_text("Daniel 3:16 ×")
    # What another operator takes out meanwhile is no answer to this file.
    page.locator("#notes-file").set_input_files(
        {
            "name": "more.txt",
            "mimeType": "text/plain",
            "buffer": b"grace = gracia\n" + b" " * 280_000,
        }
    )
    expect(page.locator("#notes-progress")).to_contain_text("more.txt")
    other.get_by_role("button", name="Take out Daniel 3:16").click()
    expect(other.locator("#notes li")).to_have_text(["covenant = alianza ×", "grace = gracia ×"])
    page.reload()
    expect(page.locator("#notes li").first).to_have_text("covenant = alianza ×")
    assert read_notes(hall.notes).names == ()


def test_a_dropped_file_that_is_none_says_why_and_the_next_one_is_taken(
    hall: OperatorServer, visit: Visit
) -> None:
    page = setup(opened(visit))
    drop = """([name, text]) => {
      const files = new DataTransfer();
      files.items.add(new File([text], name));
      document.getElementById("notes-drop").dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
    }"""  # noqa: E501
    page.evaluate(drop, ["sermon.odt", "What Bonhoeffer wrote"])
    expect(page.locator("#notes-progress")).to_contain_text("this kind of file is not known")
    page.evaluate(drop, ["empty.txt", ""])
    expect(page.locator("#notes-progress")).to_contain_text("empty.txt is empty")
    page.evaluate(drop, ["sermon.md", SERMON])
    expect(page.locator("#notes li").first).to_have_text("Bonhoeffer ×")
    expect(page.locator("#notes-progress")).to_have_text("")
    assert hall.dictionary.names is not None
