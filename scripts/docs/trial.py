"""Play what a volunteer does at the desk, and count touches and seconds: `make trial`.

The desk, dictionary, record and pages are real. The engines do not run, so each figure measures the
desk alone. One image shows a picture of every page in every state, for review.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import structlog
from playwright.sync_api import Browser, Locator, Page, expect

from scripts.docs.contact_sheet import contact_sheet
from scripts.support.browser import chromium
from scripts.support.command import parser_of
from scripts.support.operator_server import OperatorServer

MOST_TOUCHES = 3
GOAL_S = 5.0
HOLD_MS = 1200
"""Longer than the hold time that the buttons require."""
TABLET: dict[str, Any] = {
    "viewport": {"width": 768, "height": 1024},
    "locale": "en-GB",
    "has_touch": True,
}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "locale": "es-MX"}
NOTES = {
    "name": "sermon.txt",
    "mimeType": "text/plain",
    "buffer": b"Dietrich Bonhoeffer read Daniel 3:16 in his cell.",
}


@dataclass(frozen=True, slots=True)
class Task:
    """A task and its cost. `touches` does not count the letters of a typed word."""

    name: str
    touches: int
    seconds: float


class Hand:
    """Touch the pages, and count the touches."""

    def __init__(self) -> None:
        self.touches = 0
        self.began_s = time.monotonic()

    def touch(self, target: Locator) -> None:
        """Tap a button or a word."""
        target.tap()
        self.touches += 1

    def hold(self, target: Locator) -> None:
        """Press and hold a button."""
        target.hover()
        page = target.page
        page.mouse.down()
        page.wait_for_timeout(HOLD_MS)
        page.mouse.up()
        self.touches += 1

    def enter(self, page: Page, text: str) -> None:
        """Type into the focused field, without a touch to focus it first. Enter is a touch."""
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        self.touches += 1


class Trial:
    """A desk, a new tablet, and a reader's phone, before one service."""

    def __init__(self, browser: Browser, hall: OperatorServer) -> None:
        self._browser = browser
        self._hall = hall
        # Each has its own browser context: the tablet must not share the desk's storage.
        self.desk = browser.new_page(**TABLET)
        self.phone = browser.new_page(**PHONE)

    def play(self) -> Iterator[Task]:
        """Do one task after another, as a user does."""
        hall = self._hall
        hall.facts.may_begin_anew = True  # as with a microphone: a file is one session
        self.phone.goto(hall.url)
        self.desk.goto(f"{hall.url}/operator#token=secret")
        expect(self.desk.locator("#pause")).to_be_enabled()
        hall.hear(1, "Then spoke Nebucanza to the men.", "Entonces habló Nebucanza.")
        hall.hear(2, "So wrote Paul to Epafrodite.", "Así escribió Pablo a Epafrodite.")
        hall.hear(3, "Peace be with you all.", "La paz sea con todos ustedes.")
        for name, act in self._tasks():
            hand = Hand()
            act(hand)
            yield Task(name, hand.touches, time.monotonic() - hand.began_s)
            self.desk.locator("#tab-now").click()
        for page in (self.desk, self.phone):
            page.context.close()

    def _tasks(self) -> list[tuple[str, Callable[[Hand], None]]]:
        return [
            ("Let a tablet in, by the picture", self._pair),
            ("Pause", lambda hand: self._press(hand, "pause", "Paused")),
            ("Go on", lambda hand: self._press(hand, "pause", "Listening")),
            ("Blank the screens", lambda hand: self._press(hand, "blank", "Screens blank")),
            ("Undo", lambda hand: self._press(hand, "undo", "Listening")),
            ("Hold for a song", lambda hand: self._hold_song(hand, held=True)),
            ("... and captions again", lambda hand: self._hold_song(hand, held=False)),
            ("Correct what was heard", self._correct),
            ("... and keep it", self._keep),
            ("Add to the dictionary", self._dictionary),
            ("Put a notice on every screen", self._announce),
            ("Give it the notes of the sermon", self._notes),
            ("Check", self._check),
            ("Begin a new session", self._begin),
            ("Off the record", self._off_record),
            ("... and back", lambda hand: self._press(hand, "off-record", "Listening")),
        ]

    def _press(self, hand: Hand, button: str, state: str) -> None:
        hand.touch(self.desk.locator(f"#{button}"))
        expect(self.desk.locator("#state")).to_have_text(state)

    def _hold_song(self, hand: Hand, *, held: bool) -> None:
        hand.touch(self.desk.locator("#song"))
        expect(self.desk.locator("#song")).to_contain_text("again" if held else "anyway")
        self._hall.song(held=held)  # as the listen thread reports
        expect(self.desk.locator("#state")).to_have_text("Song" if held else "Listening")

    def _pair(self, hand: Hand) -> None:
        hand.touch(self.desk.locator("#tab-setup"))
        hand.touch(self.desk.locator("#invite"))
        picture = self.desk.locator("#invitation-qr")
        expect(picture).to_be_visible()
        code = (picture.get_attribute("src") or "").partition("=")[2]
        tablet = self._browser.new_page(**TABLET)
        tablet.goto(f"{self._hall.url}/operator#code={code}")  # the address that the camera reads
        expect(tablet.locator("#volunteer")).to_be_focused()
        hand.enter(tablet, "Ruth")
        expect(tablet.locator("#pause")).to_be_enabled()
        tablet.context.close()

    def _touch_word(self, hand: Hand, word: str) -> None:
        """Touch a recognized word in the list."""
        place = self.desk.evaluate(
            """(word) => {
                for (const heard of document.querySelectorAll(".heard")) {
                    const node = [...heard.childNodes].find((one) => one.data?.includes(word));
                    if (!node) continue;
                    heard.scrollIntoView({ block: "center" });
                    const range = new Range();
                    range.setStart(node, node.data.indexOf(word));
                    range.setEnd(node, node.data.indexOf(word) + word.length);
                    const box = range.getBoundingClientRect();
                    return [box.x + box.width / 2, box.y + box.height / 2];
                }
            }""",
            word,
        )
        self.desk.touchscreen.tap(*place)
        hand.touches += 1
        expect(self.desk.locator("#add-rule")).to_contain_text(word)

    def _correct(self, hand: Hand) -> None:
        self._touch_word(hand, "Nebucanza")
        hand.touch(self.desk.locator("#edit"))
        hand.enter(self.desk, "Nebuchadnezzar")
        expect(self.desk.locator(".row[data-id='1'] .heard")).to_contain_text(
            "Then spoke Nebuchadnezzar"
        )
        self._hall.translated("Habló Nabuco.", "Habló Nabucodonosor.")
        expect(self.phone.locator("#captions")).to_contain_text("Habló Nabucodonosor.")

    def _keep(self, hand: Hand) -> None:
        hand.touch(self.desk.locator("#hold-rule"))
        expect(self.desk.locator("#notice")).to_contain_text("until the service ends")

    def _dictionary(self, hand: Hand) -> None:
        self._touch_word(hand, "Epafrodite")
        hand.touch(self.desk.locator("#add-rule"))
        hand.enter(self.desk, "Epaphroditus")
        expect(self.desk.locator("#notice")).to_contain_text("Epaphroditus")

    def _announce(self, hand: Hand) -> None:
        hand.touch(self.desk.locator("#type"))
        hand.enter(self.desk, "Lunch is ready.")
        expect(self.desk.locator("#standing-text")).to_have_text("Lunch is ready.")
        self._hall.translated("La comida está lista.", "El almuerzo está listo.")
        expect(self.phone.locator("body")).to_contain_text("El almuerzo está listo.")

    def _notes(self, hand: Hand) -> None:
        hand.touch(self.desk.locator("#tab-setup"))
        with self.desk.expect_file_chooser() as chosen:
            hand.touch(self.desk.locator("#notes-drop"))
        chosen.value.set_files(NOTES)  # type: ignore[arg-type]
        hand.touches += 1  # in the tablet's own list of files
        expect(self.desk.locator("#notes li").first).to_contain_text("Bonhoeffer")

    def _check(self, hand: Hand) -> None:
        hand.touch(self.desk.locator("#tab-setup"))
        hand.touch(self.desk.locator("#check-now"))
        expect(self.desk.locator("#check-when")).to_contain_text("Within the last hour.")

    def _begin(self, hand: Hand) -> None:
        hand.touch(self.desk.locator("#tab-setup"))
        hand.hold(self.desk.locator("#new-session"))
        expect(self.desk.locator("#notice")).to_contain_text("A new session begins")

    def _off_record(self, hand: Hand) -> None:
        hand.hold(self.desk.locator("#off-record"))
        expect(self.desk.locator("#state")).to_have_text("Off the record")
        expect(self.phone.locator("#captions .caption")).to_have_count(0)


def table(tasks: list[Task]) -> str:
    """Return the figures, one line for each task; figures above the goal are marked."""
    lines = [f"{'':34}touches  seconds"]
    for task in tasks:
        late = "" if task.seconds <= GOAL_S else f"  more than {GOAL_S:.0f} s"
        many = "" if task.touches <= MOST_TOUCHES else f"  more than {MOST_TOUCHES} touches"
        lines.append(f"{task.name:34}{task.touches:7}{task.seconds:9.1f}{many}{late}")
    return "\n".join(lines)


def play(browser: Browser) -> list[Task]:
    """Play all tasks in a new service."""
    with TemporaryDirectory() as folder, OperatorServer(Path(folder)) as hall:
        return list(Trial(browser, hall).play())


def main() -> int:
    """Print the table and write the image; return 1 if a task takes too many touches."""
    parser = parser_of(__doc__)
    says = "folder of the pictures (%(default)s)"
    parser.add_argument("--out", metavar="DIR", default="build/pages", type=Path, help=says)
    arguments = parser.parse_args()
    expect.set_options(timeout=15_000)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with chromium() as browser:
        tasks = play(browser)
        print(table(tasks))
        arguments.out.mkdir(parents=True, exist_ok=True)
        sheet = arguments.out / "pages.webp"
        sheet.write_bytes(contact_sheet(browser, arguments.out))
        print(f"Every page in every state: {sheet}")
    return int(any(task.touches > MOST_TOUCHES for task in tasks))


if __name__ == "__main__":
    sys.exit(main())
