"""Every page of the program in every state that a user can see, for pictures and for checks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from playwright.sync_api import Page

from pipeline.check.result import Result, keep
from pipeline.config.schema import Church
from pipeline.core.reports import Fault
from pipeline.core.types import State
from pipeline.learning.dashboard import dashboard
from pipeline.learning.data.folder import DataFolder
from pipeline.records.events import Record
from pipeline.server.streams.voice_streams import VoiceStreams
from pipeline.session.past_services import DASHBOARD
from scripts.support.display_server import DisplayServer
from scripts.support.journal import TOKEN, Reviewing, message, record, reviewable, session
from scripts.support.operator_server import OperatorServer
from scripts.support.paths import ROOT
from scripts.support.records import caption, health_record

HEARD = 12
CHURCH = Church(name="St. John’s, Springfield", colour="#7a3b1d")
CONSOLE = "/operator#token=secret"
CHECKED = [
    Result("settings", True, "en to es; config.toml (3 set).", "", "", 1.0),
    Result("audio", True, "USB Audio CODEC.", "", "", 1.0),
    Result("level", True, "Speech at -41 dBFS.", "Turn the gain up a little.", "", 1.0),
]


class PageState(NamedTuple):
    """A page in one state. It is served until the generator yields the next one."""

    name: str
    url: str
    ready: str
    """Selector of an element that is present once the page is ready."""
    act: Callable[[Page], object] = lambda page: page
    """Action that brings the page into its state."""
    options: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """Options of the browser's context."""


def page_states() -> Iterator[PageState]:
    """Serve page after page; the server of a page ends after the last of its states."""
    yield from _readers()
    yield from _walls()
    yield from _desk()
    yield from _posters()
    yield from _past()
    yield from _review()


def sermon() -> list[dict[str, Any]]:
    """Return the sentences of the demo: `en`, `es`, `start_s`, `end_s`."""
    found: list[dict[str, Any]] = json.loads((ROOT / "demo" / "sermon.json").read_text("utf-8"))[
        "sentences"
    ]
    return found


def perform(hall: DisplayServer) -> None:
    """Publish the first sentences of the sermon, and half of the next one."""
    *said, saying = sermon()[: HEARD + 1]
    for number, sentence in enumerate(said, 1):
        hall.say(number, sentence["es"], sentence["en"], final=True)
    begun = {lang: saying[lang].split()[:5] for lang in ("es", "en")}
    stable = len(" ".join(begun["es"][:4]))
    hall.say(HEARD + 1, " ".join(begun["es"]), " ".join(begun["en"]), stable=stable)
    hall.state("speech")


def _settings(page: Page) -> None:
    page.locator("#open").click()
    page.locator("#done").wait_for()


def _both(page: Page) -> None:
    _settings(page)
    page.locator("#source").check()
    page.locator("#theme-contrast").check()
    page.locator("#done").click()


def _readers() -> Iterator[PageState]:
    last = "#captions .caption >> nth=-1"
    spanish = {"locale": "es-MX"}
    voices = VoiceStreams(("es",), 5)
    with DisplayServer(church=CHURCH, voices=voices) as hall:
        perform(hall)
        yield PageState("reader", hall.url, last, options=spanish)
        yield PageState("reader, dark", hall.url, last, options=spanish | {"color_scheme": "dark"})
        yield PageState("reader, both languages", hall.url, last, _both, spanish)
        yield PageState("reader, settings", hall.url, last, _settings, spanish)
        yield PageState("reader, listening", hall.url, last, _listen, spanish)
        spoken = f"{hall.url}/?lang=en"
        yield PageState("reader, the spoken language", spoken, last, options={"locale": "en-GB"})
        yield PageState("reader, read back", hall.url, last, _read_back)
        states: dict[State, str] = {"no-audio": "bad", "blank": "wait", "ended": "off"}
        for state, tone in states.items():
            hall.state(state)
            selector = f"#status[data-tone={tone}]"
            yield PageState(f"reader, {state}", hall.url, selector, options=spanish)
    with DisplayServer() as hall:
        yield PageState("reader, nothing said yet", hall.url, "#notice", options=spanish)
    with DisplayServer(extra_targets=["fr"]) as hall:
        perform(hall)
        hall.show_in("fr", caption(1, "Good morning.", "Bonjour.", final=True, lang="fr"))
        yield PageState("reader, which language?", hall.url, "#door button >> nth=0")


def _read_back(page: Page) -> None:
    page.locator("#scroller").hover()
    page.mouse.wheel(0, -900)
    page.locator("#live").wait_for()


def _listen(page: Page) -> None:
    page.locator("#aloud").click()
    page.locator("#aloud[aria-pressed=true]").wait_for()


def _walls() -> Iterator[PageState]:
    shown = "#captions .caption >> nth=0"
    with DisplayServer(church=CHURCH) as hall:
        perform(hall)
        for name, query in (
            ("", ""),
            (", light, at the top", "?ground=light&place=top"),
            (", both languages", "?show=both"),
            (", side by side", "?mode=blocks&show=beside"),
        ):
            yield PageState(f"wall{name}", f"{hall.url}/projector{query}", shown)
        mixed = f"{hall.url}/obs?lines=2&box=000000"
        yield PageState("video mixer", mixed, shown, _over_a_picture)
        yield PageState("video mixer, help", f"{hall.url}/obs?help", shown)
        yield PageState("demo", f"{hall.url}/demo#token=secret", "#wall")


def _over_a_picture(page: Page) -> None:
    """Lay the overlay over a picture, as a video mixer does."""
    picture = "linear-gradient(#35506b 68%, #7a5a3c 68%)"
    page.evaluate(f"document.documentElement.style.background = '{picture}'")


def _desk() -> Iterator[PageState]:
    with TemporaryDirectory() as folder, OperatorServer(Path(folder)) as hall:
        keep(hall.folder, CHECKED)
        hall.set("church.hold_doubtful", True)
        hall.level(-21, speaking=True)
        work(hall)
        desk, ready = hall.url + CONSOLE, "#pause:enabled"
        yield PageState("desk", desk, ready)
        for name, act in (
            (", a correction", lambda page: page.locator(".row .fixed").hover()),
            (", setup", _setup),
            (", setup in detail", _details),
            (", a volunteer more", _invite),
            (", editing", _edit),
            (", dictionary", _rule),
            (", typing", lambda page: page.locator("#type").click()),
            (", doubt", lambda page: _doubt(page, hall)),
            (", forgotten pause", lambda page: _forget(page, hall)),
            (", blanked, too loud", lambda page: _set_apart(page, hall)),
        ):
            yield PageState(f"desk{name}", desk, ready, act)
        yield PageState("desk, not let in", f"{hall.url}/operator", "#login", _guess)


def work(office: OperatorServer) -> None:
    """Simulate a running service with everything that an operator may see."""
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


def _setup(page: Page) -> None:
    page.locator("#tab-setup").click()


def _details(page: Page) -> None:
    _setup(page)
    page.locator("#details").check()
    page.locator("#check-passed summary").click()


def _invite(page: Page) -> None:
    _setup(page)
    page.locator("#invite").click()
    page.locator("#invitation-qr").scroll_into_view_if_needed()


def _edit(page: Page) -> None:
    page.locator(".row[data-id='3'] .when").click()
    page.locator("#edit").click()


def _rule(page: Page) -> None:
    page.locator(".doubt").first.click()
    page.locator("#add-rule").click()


def _doubt(page: Page, hall: OperatorServer) -> None:
    hall.hear(
        9, "We thank God for his piece.", "Damos gracias a Dios por su trozo.", is_doubtful=True
    )
    page.locator("#doubt").wait_for()


def _forget(page: Page, hall: OperatorServer) -> None:
    hall.let_go()
    if not hall.facts.paused:
        page.locator("#pause").click()
    page.get_by_role("button", name="Resume").first.wait_for()
    fault = Fault("listen", "pause-forgotten", "Captions are paused.")
    hall.report(fault)
    page.locator("#reminder").wait_for()


def _set_apart(page: Page, hall: OperatorServer) -> None:
    """Leave a notice, a hidden caption, an edited caption, and a refusal."""
    if not hall.facts.blank:
        page.locator("#blank").click()
    page.locator("#type").click()
    page.get_by_label("a notice that stays").check()
    page.locator("#type-text").fill("The sermon starts at 10:40.")
    page.keyboard.press("Enter")
    page.locator("#standing").wait_for()
    page.locator(".row[data-id='4'] .when").click()
    page.locator("#hide").click()
    _edit(page)
    page.locator("#edit-text").fill("Así escribió Pablo a Epafrodito.")
    page.keyboard.press("Enter")
    page.locator("[data-standing=edited]").wait_for()
    hall.level(-1, clipped=True)
    page.evaluate("notice.textContent = 'Not done.'; notice.dataset.tone = 'bad'")


def _guess(page: Page) -> None:
    page.locator("#by-token summary").click()
    page.locator("#token").fill("guess")
    page.keyboard.press("Enter")
    page.locator("#login-problem:not(:empty)").wait_for()


def _posters() -> Iterator[PageState]:
    server = {"address": "http://192.168.1.20:8765/"}
    with DisplayServer(church=CHURCH, extra_targets=["fr", "pt"], server=server) as hall:
        yield PageState("poster", f"{hall.url}/join", "#address[href]")
        yield PageState("no such page", f"{hall.url}/help", "h1")
        yield PageState("a certificate of one's own", f"{hall.url}/certificate", "h1")


def _past() -> Iterator[PageState]:
    said = [
        message(number, each["en"], each["es"], start_s=each["start_s"], end_s=each["end_s"])
        for number, each in enumerate(sermon(), 1)
    ]
    records: list[Record] = [
        record(number, each["en"], each["es"]) for number, each in enumerate(sermon(), 1)
    ]
    records.append(health_record(utc="2026-11-22T09:30:00.000-06:00"))
    with TemporaryDirectory() as folder:
        folders = [
            session(Path(folder), said, f"2026-11-{day}T09-30-00-0600", records=records)
            for day in ("08", "15", "22")
        ]
        page = dashboard(folders, DataFolder(Path(folder) / "learning"))
        (Path(folder) / DASHBOARD).write_text(page, encoding="utf-8")
        with DisplayServer(sessions=Path(folder)) as hall:
            services = f"{hall.url}/services#token=secret"
            yield PageState("services", services, "#services a >> nth=0")
            yield PageState("one service", services, "#services a >> nth=0", _read)
            yield PageState("services, not let in", f"{hall.url}/services", "#login")
            yield PageState("dashboard", f"{hall.url}/dashboard#token=secret", "h2 >> nth=0")
            yield PageState("dashboard, not let in", f"{hall.url}/dashboard", "#login")


def _read(page: Page) -> None:
    page.locator("#services a").first.click()
    page.locator("#text p").first.wait_for()


def _review() -> Iterator[PageState]:
    said = [(each["en"], each["es"], f"{each['es'].upper()}") for each in sermon()[3:7]]
    with TemporaryDirectory() as folder, Reviewing(reviewable(Path(folder), 3, said)) as served:
        url = f"{served.url}#token={TOKEN}"
        yield PageState("review", url, ".item >> nth=0")
        yield PageState("review, not let in", served.url, "#login")
        yield PageState("report", url, ".item >> nth=0", _open_report)


def _open_report(page: Page) -> None:
    page.goto(page.url.replace("/review", "/review/report"))
    page.locator("h1").wait_for()
