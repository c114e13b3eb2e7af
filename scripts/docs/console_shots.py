"""Pictures of the operator's console and of the page that invites phones, for `screenshots`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import chdir
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

from playwright.sync_api import Browser, Page

from pipeline.check.result import Result, keep
from pipeline.core.types import Mode
from scripts.support.operator_server import OperatorServer

CALM_MS = 800  # until tips and glides have come to rest
CONSOLE = "/operator#token=secret"
CHECK = "section[aria-labelledby=check-title]"
VOLUNTEERS = "section[aria-labelledby=volunteers-title]"
CHECKED = [
    Result("settings", True, "en to es; config.toml (3 set).", "", "", 1.0),
    Result("audio", True, "USB Audio CODEC.", "", "", 1.0),
    Result("level", True, "Speech at -41 dBFS.", "Turn the gain up a little.", "", 1.0),
]


def work(office: OperatorServer) -> None:
    """Let a service be under way: all that an operator may have to look at."""
    office.hear(
        1,
        "He is the pro pitty asian for our sins.",
        "Él es la propiciación por nuestros pecados.",
        draft="Es la propiciación de nuestros pecados.",
    )
    office.filter(2, "Thank you for watching.", "stock-phrase")
    office.hear(
        3,
        "So wrote Paul to a fro diet us, his friend.",
        "Así escribió Pablo a una dieta, su amigo.",
        draft="Así escribió Pablo a nosotros una dieta, su amigo.",
        unsure={"fro": 0.21, "diet": 0.34},
    )
    office.hear(
        4,
        "My help comes from the Lord, who made heaven and earth.",
        "Mi socorro viene del Señor, que hizo los cielos y la tierra.",
        draft="Mi ayuda viene del Señor, que hizo el cielo y la tierra.",
    )


def look(page: Page, office: OperatorServer) -> None:
    """Wait for all figures, and ask about a correction."""
    page.locator("#machine dd").first.wait_for(state="attached")
    office.level(-21, speaking=True)
    page.locator(".fixed").first.hover()


def compare(page: Page, office: OperatorServer) -> None:
    """Let a second translator say how it would have put it, for those who look at details."""
    page.locator("#tab-setup").click()
    page.locator("#details").check()
    page.locator("#tab-now").click()
    second = {
        3: ("Así escribió Pablo a una dieta, su amigo.", "Pablo escribió esto a su amigo."),
        4: (
            "Mi socorro viene del Señor, que hizo los cielos y la tierra.",
            "Mi ayuda viene del Señor, que creó los cielos y la tierra.",
        ),
    }
    for number, (final, text) in second.items():
        office.compare(number, final, text)
    page.locator("#machine dd").first.wait_for(state="attached")
    office.level(-21, speaking=True)


def rule(page: Page, office: OperatorServer) -> None:
    """Begin a rule with words that were doubted."""
    page.locator(".doubt").first.click()
    page.locator("#add-rule").click()
    for word in ("a", "us,"):
        page.locator("#rule-words").get_by_text(word, exact=True).click()
    page.locator("#rule-write").fill("Epaphroditus")
    office.level(-21, speaking=True)


def leave(page: Page, office: OperatorServer) -> None:
    """Show the page as it opens."""
    del page, office


def correct(page: Page, office: OperatorServer) -> None:
    """Begin to put right what was misheard."""
    page.locator(".row[data-id='3']").click()
    page.locator("#edit").click()
    page.locator("#edit-heard").fill("So wrote Paul to Epaphroditus, his friend.")
    office.level(-21, speaking=True)


def announce(page: Page, office: OperatorServer) -> None:
    """Put a notice on every screen."""
    page.locator("#type").click()
    page.locator("#type-text").fill("The sermon starts at 10:40.")
    page.get_by_label("a notice that stays").check()
    page.locator("#type-dialog").get_by_role("button", name="Show").click()
    page.locator("#standing").wait_for()
    office.level(-21, speaking=True)


def distrust(page: Page, office: OperatorServer) -> None:
    """Show that a check was made of another microphone."""
    other = office.settings.audio.model_copy(update={"device": "built-in"})
    keep(office.folder, CHECKED, office.settings.model_copy(update={"audio": other}))
    page.reload()
    page.locator("#tab-setup").click()
    page.locator("#check-differs").scroll_into_view_if_needed()
    office.level(-21, speaking=True)


def invite(page: Page, office: OperatorServer) -> None:
    """Let one more tablet in."""
    page.locator("#tab-setup").click()
    page.locator("#invite").click()
    page.locator("#invitation-code").scroll_into_view_if_needed()
    office.level(-21, speaking=True)


class Shot(NamedTuple):
    """What is shown, and how it comes to be so."""

    path: str
    mode: Mode
    scheme: Literal["dark", "light"]
    act: Callable[[Page, OperatorServer], None]
    ready: str = "#pause:enabled"
    """What is there when the page is."""
    part: str = "body"
    """What the picture is of."""


SHOTS = {
    "operator": Shot(CONSOLE, "live", "dark", look),
    "operator-rule": Shot(CONSOLE, "live", "light", rule),
    "operator-rehearsal": Shot(CONSOLE, "dry-run", "light", compare),
    "operator-correct": Shot(CONSOLE, "live", "light", correct, part="#edit-dialog"),
    "operator-notice": Shot(CONSOLE, "live", "light", announce, part="#standing"),
    "operator-check": Shot(CONSOLE, "live", "light", distrust, part=CHECK),
    "operator-invite": Shot(CONSOLE, "live", "light", invite, part=VOLUNTEERS),
    "operator-login": Shot("/operator", "live", "light", leave, "#login", "#login"),
    "join": Shot("/join", "live", "light", leave, "#address[href]"),
}


def shoot(browser: Browser, shot: Shot) -> bytes:
    """Open a page on a tablet in a service of its own, do something, take the picture."""
    tablet: dict[str, Any] = {"viewport": {"width": 1024, "height": 700}, "locale": "en-GB"}
    with TemporaryDirectory() as folder, chdir(folder), browser.new_context(**tablet) as people:
        sessions = Path("sessions")  # as the page will say
        sessions.mkdir()
        keep(sessions, CHECKED)
        office = OperatorServer(sessions, mode=shot.mode)
        office.address = "http://192.168.1.20:8765/"
        with office:
            for path in ("/", "/", "/projector"):
                screen = people.new_page()
                screen.goto(office.url + path)
                screen.locator("#captions").wait_for(state="attached")
            work(office)
            page = browser.new_page(**tablet, color_scheme=shot.scheme)
            page.goto(office.url + shot.path)
            page.locator(shot.ready).wait_for()
            shot.act(page, office)
            page.wait_for_timeout(CALM_MS)
            picture = page.locator(shot.part).screenshot()
            page.close()
            return picture


def console_shots(browser: Browser) -> dict[str, Callable[[], bytes]]:
    """Return by name what takes each picture."""
    return {name: partial(shoot, browser, shot) for name, shot in SHOTS.items()}
