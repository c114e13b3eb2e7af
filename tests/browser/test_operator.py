"""The operator's page in a real browser, with the real hub and desk."""

from __future__ import annotations

import json
import webbrowser
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import WebSocketRoute, expect

from pipeline.check.result import Result, keep
from pipeline.cli.browser import open_with_token
from pipeline.core.reports import Fault
from pipeline.records.health import Dropped
from pipeline.server.access import LIMIT
from scripts.support.operator_server import OperatorServer
from tests.browser.conftest import Visit, barriers, place_of, until
from tests.support.console import OPEN, TABLET, audience, opened, row, setup

pytestmark = pytest.mark.browser

SERVES = OperatorServer


# The token


def test_the_token_is_typed_once_and_kept_for_the_tab(visit: Visit) -> None:
    page = visit("/operator", **TABLET)
    expect(page.locator("#login")).to_be_visible()
    expect(page.locator("#desk")).to_be_hidden()
    kinds = page.locator("#login input").evaluate_all("all => all.map((e) => e.autocomplete)")
    assert kinds == ["username", "one-time-code", "current-password"], "for password managers"
    assert page.locator("#token").get_attribute("type") == "password"
    assert page.locator("#code").get_attribute("inputmode") == "numeric"
    page.locator("#by-token summary").click()
    page.get_by_label("Password").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#login-problem")).to_have_text("The token is wrong.")
    page.get_by_label("Password").fill("secret")
    page.get_by_role("button", name="Open the desk").click()
    expect(page.locator("#desk")).to_be_visible()
    expect(page.locator("#login")).to_be_hidden()
    assert page.locator("#token").input_value() == ""
    page.reload()
    expect(page.locator("#desk")).to_be_visible()
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#login")).to_be_visible()


def test_a_token_in_an_address_lets_in_and_goes_nowhere(
    hall: OperatorServer, visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = visit("/", **TABLET)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    page.goto(hall.url + OPEN)
    expect(page.locator("#desk")).to_be_visible()
    assert page.url == f"{hall.url}/operator"
    assert page.evaluate("[location.hash, document.referrer, history.length]")[:2] == ["", ""]
    sockets = [url for url in asked if url.startswith("ws")]
    assert sockets
    # A browser does not send the part after #, so a recorded URL may contain it there.
    assert not [url for url in [*sockets, *asked] if "secret" in url.partition("#")[0]]

    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    open_with_token("secret", f"{hall.url}/operator", tmp_path, True)
    for address in (hall.url + OPEN, opened[0]):  # in an open page; in a command's file
        page.evaluate("sessionStorage.clear()")
        page.goto(f"{hall.url}/operator")
        expect(page.locator("#login")).to_be_visible()
        page.goto(address)
        expect(page.locator("#desk")).to_be_visible()
        assert page.url == f"{hall.url}/operator"


def test_it_works_where_the_browser_keeps_nothing(hall: OperatorServer, visit: Visit) -> None:
    forbidden = "get() { throw new DOMException('no', 'SecurityError'); }"
    script = "".join(
        f"Object.defineProperty(window, '{name}Storage', {{{forbidden}}});"
        for name in ("local", "session")
    )
    hall.set("church.hold_doubtful", True)
    page = opened(visit, script=script)
    hall.hear(1, "He is our peace.", "Él es la guerra.", draft="Él es paz.", is_doubtful=True)
    page.locator("#hear").click()
    expect(page.locator("#hear")).to_have_text("Stop")
    setup(page).locator("#keys").uncheck()
    page.keyboard.press("p")
    expect(page.locator("#state")).to_have_text("Listening")


def test_a_token_that_does_not_hold_any_more_is_asked_for_again_and_guesses_are_slowed(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.server.inbound._WRONG_TOKEN_S", 0.1)
    page = visit("/operator#token=yesterdays", **TABLET)
    expect(page.locator("#login-problem")).to_have_text("The token is wrong.")
    assert page.evaluate("sessionStorage.length") == 0
    expect(page.locator("#code")).to_be_focused()
    page.locator("#by-token summary").click()
    for _ in range(LIMIT):
        page.locator("#token").fill("guess")
        page.keyboard.press("Enter")
        expect(page.locator("#enter")).to_be_enabled()
    expect(page.locator("#login-problem")).to_contain_text("Too many wrong tokens")


# A code of six digits


def test_a_tablet_is_let_in_by_six_digits_and_stays_in(hall: OperatorServer, visit: Visit) -> None:
    desk = setup(opened(visit))
    desk.get_by_role("button", name="Add a volunteer").click()
    expect(desk.locator("#invitation")).to_be_visible()
    expect(desk.locator("#invitation-for")).to_contain_text("Only this computer")
    code = desk.locator("#invitation-code").inner_text()
    assert len(code.replace(" ", "")) == 6
    tablet = desk.context.browser.new_context(**TABLET).new_page()  # type: ignore[union-attr]
    tablet.goto(f"{hall.url}/operator")
    assert "operator-token" not in tablet.locator("#login").inner_text(), "no file is named"
    tablet.get_by_label("Your name").fill("Maria")
    tablet.get_by_label("Code").fill("000 000" if code != "000 000" else "111 111")
    tablet.keyboard.press("Enter")
    expect(tablet.locator("#login-problem")).to_contain_text("This code is wrong, old or used.")
    tablet.get_by_label("Code").fill(code)
    tablet.keyboard.press("Enter")
    expect(tablet.locator("#pause")).to_be_enabled()
    expect(desk.locator("#volunteers")).to_contain_text("Maria")
    expect(desk.locator("#invitation")).to_be_hidden()
    kept = (hall.folder / "volunteers.json").read_text()
    token = tablet.evaluate("localStorage.getItem('operator-token')")
    assert token
    assert token not in kept
    assert (hall.folder / "volunteers.json").stat().st_mode & 0o077 == 0
    again = tablet.context.new_page()  # next Sunday: a new tab, no token in the address
    again.goto(f"{hall.url}/operator")
    expect(again.locator("#pause")).to_be_enabled()
    desk.get_by_role("button", name="Add a volunteer").click()
    expect(desk.locator("#invitation")).to_be_visible()
    code = desk.locator("#invitation-code").inner_text()
    phone = desk.context.browser.new_context(**TABLET).new_page()  # type: ignore[union-attr]
    phone.goto(f"{hall.url}/operator")
    phone.get_by_label("Your name").fill("Maria")  # of the same name
    phone.get_by_label("Code").fill(code.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")))
    phone.keyboard.press("Enter")
    expect(phone.locator("#pause")).to_be_enabled()
    expect(desk.locator("#invitation")).to_be_hidden()
    tablet.locator("#pause").click()
    expect(desk.locator("#state")).to_have_text("Paused")
    desk.get_by_role("button", name="Sign Maria out").click()
    for page in (tablet, again, phone):
        expect(page.locator("#login-problem")).to_contain_text("signed out at the desk")
        expect(page.locator("#desk")).to_be_hidden()
    assert tablet.evaluate("localStorage.length + sessionStorage.length") == 0
    tablet.reload()
    expect(tablet.locator("#login")).to_be_visible()
    expect(desk.locator("#no-volunteers")).to_be_visible()
    phone.context.close()
    tablet.context.close()


# State


def test_state_and_reason_in_one_glance(hall: OperatorServer, visit: Visit) -> None:
    page = opened(visit)
    expect(page.locator("#state")).to_have_text("Listening")
    expect(page.locator("#spoken")).to_be_hidden()  # one spoken language: nothing to choose
    hall.level(-20, speaking=True)
    expect(page.locator("#state")).to_have_text("Speech")
    expect(page.locator("#said")).to_contain_text("Listening")  # not read out at each sentence
    page.locator("#pause").click()
    expect(page.locator("#state")).to_have_text("Paused")
    expect(page.locator("#reason")).to_contain_text("Paused at the desk.")
    expect(page.locator("#glance")).to_have_attribute("data-tone", "wait")
    assert page.title() == "Paused: captions"
    colours = {page.evaluate("getComputedStyle(glance).backgroundColor")}
    page.locator("#pause").click()
    expect(page.locator("#glance")).to_have_attribute("data-tone", "good")
    colours.add(page.evaluate("getComputedStyle(glance).backgroundColor"))
    assert len(colours) == 2


def test_level_peak_clipping_silence_faults_and_new_settings(
    hall: OperatorServer, visit: Visit
) -> None:
    page = opened(visit)
    setup(page).locator("#details").check()
    expect(page.locator("#address")).to_have_attribute("href", f"{hall.url}/")
    until(page, "document.querySelector('#qr').naturalWidth > 0")
    expect(page.locator("#address-problem")).to_contain_text("--host 0.0.0.0")
    expect(page.locator("#level")).to_be_hidden()
    hall.level(-12)
    hall.level(-30)
    expect(page.locator("#level-number")).to_have_text("-30 dBFS")
    meter = page.get_by_role("meter")
    assert meter.get_attribute("aria-valuenow") == "-30"
    bar, peak = meter.evaluate(
        "e => ['--level', '--peak'].map((name) => Number(e.style.getPropertyValue(name)))"
    )
    assert (bar, peak) == (0.5, pytest.approx(0.8, abs=0.01))
    hall.level(-2, clipped=True)
    expect(page.locator("#level-words")).to_contain_text("Too loud")
    expect(page.locator("#level-words")).to_have_text("No sound comes in")  # no report for 2 s
    fault = Fault("dictionary", "dictionary-unknown-key", "church.toml: unknown key 'hera'")
    hall.report(fault)
    notice = page.locator("#notice")
    expect(notice).to_have_text("church.toml: unknown key 'hera'.")
    expect(notice).to_have_attribute("data-tone", "bad")
    hall.reloaded()
    expect(notice).to_have_text("The settings were read again. log.level: holds now.")
    hall.reloaded("audio.device", "stt.model")
    expect(notice).to_contain_text("audio.device, stt.model: holds after a new start.")


def test_pause_blank_and_undo_are_one_press(hall: OperatorServer, visit: Visit) -> None:
    page = opened(visit)
    people = audience(visit)
    hall.hear(1, "Peace.", "Paz.")
    expect(page.locator(".badge")).to_be_visible()
    expect(page.locator("#undo")).to_be_disabled()
    page.locator("#blank").click()
    expect(people.locator("#status-text")).to_have_text("Captions are off for a moment")
    expect(page.locator("#blank .word")).to_have_text("Show again")
    expect(page.locator(".badge")).to_be_hidden()
    page.locator("#pause").click()
    expect(page.locator("#pause .word")).to_have_text("Resume")
    assert (hall.facts.paused, hall.facts.blank) == (True, True)
    expect(page.locator("#undo .word")).to_have_text("Undo: pause")
    late = opened(visit)  # it sees what is set
    expect(late.locator("#pause .word")).to_have_text("Resume")
    expect(late.locator("#blank .word")).to_have_text("Show again")
    expect(late.locator("#undo .word")).to_have_text("Undo: pause")
    expect(row(late, 1).locator(".version")).to_have_count(2)
    late.locator("#undo").click()
    expect(page.locator("#undo .word")).to_have_text("Undo: blank")
    expect(page.locator("#blank .word")).to_have_text("Show again")
    page.locator("#blank").click()
    expect(people.locator("#status-text")).to_have_text("Listening")
    expect(page.locator("#undo")).to_be_disabled()


def test_a_song_is_held_by_itself_or_by_one_press_and_captioned_anyway(
    hall: OperatorServer, visit: Visit
) -> None:
    page = opened(visit)
    people = audience(visit)
    button = page.locator("#song .word")

    def wanted() -> str:
        return hall.facts.song_control

    expect(button).to_have_text("Hold for a song")
    page.keyboard.press("s")
    expect(button).to_have_text("Captions again")
    assert wanted() == "hold"
    page.locator("#song").click()
    expect(button).to_have_text("Hold for a song")
    assert wanted() == "auto"
    hall.song(held=True)
    expect(page.locator("#state")).to_have_text("Song")
    expect(people.locator("#status-text")).to_have_text("Music")
    expect(button).to_have_text("Caption anyway")
    page.keyboard.press("s")
    expect(button).to_have_text("Hold songs again")
    assert wanted() == "caption"
    hall.song(held=False)
    expect(page.locator("#state")).to_have_text("Listening")
    expect(page.locator("#undo .word")).to_have_text("Undo: song")
    page.keyboard.press("u")
    expect(button).to_have_text("Hold for a song")
    expect(page.locator("#undo")).to_be_disabled()


# How it runs


def test_displays_and_machine(hall: OperatorServer, visit: Visit) -> None:
    dropped = Dropped(blocks=2, records=0, partials=3, drafts=0)
    hall.health = replace(hall.health, dropped=dropped)
    people, wall, page = audience(visit), visit("/projector", **TABLET), opened(visit)
    expect(wall.locator("#status")).to_be_hidden()
    hall.hear(1, "peace", "paz")
    expect(people.locator(".caption")).to_have_count(1)
    setup(page).locator("#details").check()
    rows = page.locator("#displays tbody tr")
    expect(rows).to_have_count(3)
    assert sorted(page.locator("#displays tbody th").all_text_contents()) == [
        "Desk",
        "Phones",
        "Wall",
    ]
    expect(rows.filter(has_text="Phones")).to_contain_text(" ms")
    expect(page.locator("#machine")).to_contain_text("812 MB")
    expect(page.locator("#machine .troubling")).to_have_text("2 audio blocks, 3 partials")
    page.locator("#slowest summary").click()
    expect(page.locator("#slowest li").first).to_contain_text("127.0.0.1")


def test_the_last_check_with_its_fixes(hall: OperatorServer, visit: Visit) -> None:
    page = opened(visit)
    expect(page.locator("#check-when")).to_have_text("None was made yet.")
    page.close()
    results = [
        Result("settings", True, "en to es.", "", "", 1.0),
        Result("level", True, "Speech at -41 dBFS.", "Turn the gain up.", "", 1.0),
        Result("port", False, "Port 8765 is in use.", "Stop the other one.", "port-in-use", 1),
    ]
    keep(hall.folder, results, hall.settings)
    page = opened(visit)
    setup(page).locator("#details").check()
    expect(page.locator("#check-differs")).to_be_hidden()
    expect(page.locator("#check-when")).to_contain_text("Within the last hour.")
    wrong = page.locator("#check > li")
    expect(wrong).to_have_count(2)
    expect(wrong.nth(0)).to_contain_text("look")
    expect(wrong.nth(0).locator(".fix")).to_have_text("Turn the gain up.")
    expect(wrong.nth(1)).to_contain_text("WRONG")
    page.locator("#check-passed summary").click()
    expect(page.locator("#check-passed li")).to_contain_text(["settings"])
    colour = "getComputedStyle(document.querySelector('#check .verdict')).color"
    before = page.evaluate(colour)
    page.close()
    audio = hall.settings.audio.model_copy(update={"device": "another"})
    keep(hall.folder, results, hall.settings.model_copy(update={"audio": audio}))
    page = opened(visit)
    expect(page.locator("#check-differs")).to_contain_text("other settings (audio.device)")
    assert page.evaluate(colour) != before, "greyed out"


def test_a_check_is_started_at_the_desk_in_a_pause(hall: OperatorServer, visit: Visit) -> None:
    page = setup(opened(visit))
    now = page.get_by_role("button", name="Check now")
    hall.level(-20.0, speaking=True)
    expect(page.locator("#state")).to_have_text("Speech")
    now.click()
    expect(page.locator("#notice")).to_have_text("Somebody is speaking: check in a pause.")
    hall.level(-60.0)
    expect(page.locator("#state")).to_have_text("Listening")
    now.click()
    expect(page.locator("#check-when")).to_contain_text("Within the last hour.")
    page.locator("#details").check()
    page.locator("#check-passed summary").click()
    expect(page.locator("#check-passed li").first).to_contain_text("dictionary")
    expect(page.locator("#check-doing")).to_have_text("")
    expect(now).to_be_enabled()


def test_a_rehearsal_cannot_be_taken_for_a_service(visit: Visit, hall: OperatorServer) -> None:
    hall.mode = "dry-run"
    hall.restart("rehearsal")
    people, page = visit("/"), opened(visit)
    hall.hear(1, "peace", "paz")
    expect(row(page, 1)).to_be_visible()
    expect(page.locator("#banner")).to_contain_text("RehearsalNothing of this reaches")
    expect(people.locator("#status-text")).to_have_text("Standby: rehearsal")
    expect(people.locator("#notice")).to_have_text("Standby: rehearsal")
    assert people.locator(".caption").count() == 0


# The link


def test_a_lost_connection_cannot_be_overlooked(hall: OperatorServer, visit: Visit) -> None:
    page = opened(visit)
    hall.hear(1, "peace", "paz")
    expect(row(page, 1)).to_be_visible()
    hall.close()
    expect(page.locator("#state")).to_have_text("Connection lost")
    expect(page.locator("#glance")).to_have_attribute("data-tone", "bad")
    expect(page.locator("#said")).to_contain_text("Connection lost")
    assert page.title().startswith("⚠")
    for name in ("pause", "blank", "undo", "edit", "hide", "add-rule"):
        expect(page.locator(f"#{name}")).to_be_disabled()
    assert page.evaluate("getComputedStyle(document.body, '::after').position") == "fixed"
    assert barriers(page) == []
    hall.open()
    expect(page.locator("#pause")).to_be_enabled()  # it has sent its token again by itself
    expect(page.locator("#state")).to_have_text("Listening")
    expect(row(page, 1)).to_be_visible()


@pytest.mark.slow
def test_a_line_that_went_silent_is_noticed(visit: Visit) -> None:
    """The socket stays open but no message arrives, as when the Wi-Fi is out of reach."""
    page = opened(visit, fresh=True)
    deaf: list[WebSocketRoute] = []

    def pass_on(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        socket.send(json.dumps({"type": "tomorrow", "x": 1}))  # a newer server's is ignored
        server.on_message(lambda data: None if deaf else socket.send(data))
        socket.on_message(lambda data: None if deaf else server.send(data))

    page.route_web_socket("**/ws**", pass_on)
    page.clock.install()
    page.reload()
    expect(page.locator("#machine")).to_contain_text("812 MB")
    deaf.append(None)  # type: ignore[arg-type]
    page.clock.fast_forward(11_000)
    expect(page.locator("#state")).to_have_text("Connection lost")
    expect(page.locator("#pause")).to_be_disabled()
    deaf.clear()
    expect(page.locator("#state")).to_have_text("Listening")
    expect(page.locator("#pause")).to_be_enabled()


# Keyboard


def test_everything_by_keyboard(hall: OperatorServer, visit: Visit) -> None:
    """From login to a corrected caption, a rule and back, without a mouse."""
    page = visit("/operator", **TABLET)
    people = audience(visit)
    expect(page.locator("#login")).to_be_visible()
    for key in ("Tab", "Tab", "Tab", "Enter", "Tab"):  # name, code, "With a password instead"
        page.keyboard.press(key)
    page.keyboard.type("secret")
    page.keyboard.press("Enter")
    expect(page.locator("#pause")).to_be_enabled()
    page.evaluate("keys.click()")
    hall.hear(1, "the first", "La primera.")
    hall.hear(2, "the second", "La segunda.")
    expect(row(page, 2)).to_have_attribute("aria-current", "true")
    page.keyboard.press("ArrowUp")
    expect(row(page, 1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#edit-heard")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#edit-text")).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type(" pb")  # these letters are shortcuts
    page.keyboard.press("Enter")
    expect(people.locator("#captions")).to_contain_text("La primera. pb")
    assert not hall.facts.paused
    # Before the page gets its own edit, "hide" is refused, as after an edit by somebody else.
    expect(row(page, 1)).to_contain_text("La primera. pb")
    page.keyboard.press("h")
    expect(people.locator("#captions")).not_to_contain_text("La primera.")
    page.keyboard.press("Control+z")
    expect(people.locator("#captions")).to_contain_text("La primera. pb")
    page.keyboard.press("d")
    page.keyboard.type("furst")
    page.keyboard.press("Tab")
    page.keyboard.type("first")
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("From now on “furst”")
    page.keyboard.press("b")
    expect(page.locator("#blank .word")).to_have_text("Show again")
    page.keyboard.press("Shift+P")
    expect(page.locator("#pause .word")).to_have_text("Resume")
    page.keyboard.press("e")
    page.keyboard.press("Escape")
    expect(page.locator("#edit-dialog")).to_be_hidden()


def test_stray_typing_does_nothing_until_shortcuts_are_switched_on(
    hall: OperatorServer, visit: Visit
) -> None:
    hall.hear(1, "peace", "paz")
    page = visit(OPEN, **TABLET)
    expect(page.locator("#pause")).to_be_enabled()
    expect(row(page, 1)).to_have_attribute("aria-current", "true")
    page.keyboard.type("hello pastor bob ndkuvxarc")
    page.keyboard.press("Control+z")
    page.wait_for_timeout(200)
    facts = hall.facts
    assert (facts.paused, facts.blank, facts.off_record) == (False, False, False)
    assert hall.facts.song_control == "auto"
    assert page.locator("dialog[open]").count() == 0
    assert page.locator("[aria-keyshortcuts]").count() == 0
    expect(page.locator("#pause kbd")).to_be_hidden()
    setup(page).locator("#keys").check()
    page.locator("#tab-now").click()
    page.reload()
    expect(page.locator("#pause")).to_be_enabled()
    expect(page.locator("#pause")).to_have_attribute("aria-keyshortcuts", "P")
    page.keyboard.press("p")
    expect(page.locator("#state")).to_have_text("Paused")


# Reminders of what an operator may have forgotten


def test_what_is_forgotten_is_told_with_the_button_that_ends_it(
    hall: OperatorServer, visit: Visit
) -> None:
    page = opened(visit)
    reminder, end = page.locator("#reminder"), page.locator("#reminder-end")
    expect(reminder).to_be_hidden()
    for code, button, says in (
        ("pause-forgotten", "pause", "Resume"),
        ("blank-forgotten", "blank", "Show again"),
        ("song-hold-forgotten", "song", "Captions again"),
    ):
        page.locator(f"#{button}").click()
        expect(page.locator(f"#{button} .word")).to_have_text(says)
        fault = Fault("listen", code, "Somebody is speaking.")  # for long, says the listen thread
        hall.report(fault)
        expect(page.locator("#reminder-text")).to_contain_text("Somebody has been speaking for")
        expect(end).to_have_text(says)
        page.locator("#reminder-leave").click()
        expect(reminder).to_be_hidden()
        hall.report(fault)
        end.click()
        expect(page.locator(f"#{button} .word")).not_to_have_text(says)
        expect(reminder).to_be_hidden()
    assert (hall.facts.paused, hall.facts.blank) == (False, False)
    assert hall.facts.song_control == "auto"


# Layout


def test_it_fits_a_tablet_and_in_need_a_phone(hall: OperatorServer, visit: Visit) -> None:
    page = opened(visit, has_touch=True)
    hall.hear(1, "peace to zor bex " * 9, "Anticonstitucionalísimamente " * 9, unsure={"zor": 0.1})
    hall.compare(1, "x", "Anticonstitucionalísimamente " * 4)
    expect(row(page, 1).locator(".version")).to_have_count(3)
    for width, height in [(1024, 768), (768, 1024), (1366, 768), (390, 844), (320, 568)]:
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        small = page.evaluate("""() => [...document.querySelectorAll("button")]
          .filter((e) => e.checkVisibility())
          .map((e) => [e.id, e.getBoundingClientRect()])
          .filter(([, box]) => Math.min(box.width, box.height) < 44 || box.left < 0
            || box.right > innerWidth)
          .map(([id]) => id)""")
        assert small == [], width
        for name in ("pause", "blank", "undo", "state"):
            expect(page.locator(f"#{name}")).to_be_in_viewport(ratio=1)
        assert page.evaluate("document.documentElement.scrollHeight") <= height
        rows = {round(place_of(one)["y"]) for one in page.locator(".controls button").all()}
        assert len(rows) == 1, "one row of buttons"
        assert place_of(page.locator(".controls"))["height"] <= 80
        assert max(place_of(one)["height"] for one in page.locator(".controls button").all()) <= 72
        tools, chosen = place_of(page.locator("#tools")), place_of(row(page, 1))
        assert chosen["y"] <= tools["y"] <= chosen["y"] + chosen["height"], "at their caption"


def test_the_newest_stays_in_sight_where_the_head_grows_as_the_list_moves(
    hall: OperatorServer, visit: Visit
) -> None:
    page = opened(visit, viewport={"width": 390, "height": 500})
    for number in range(1, 9):
        hall.hear(number, f"sentence {number}", f"frase {number}")
    expect(row(page, 8)).to_be_in_viewport()
    page.wait_for_timeout(400)  # the list scrolls smoothly
    page.evaluate("scroller.scrollTop -= 5, (glance.style.paddingBottom = '60px')")
    page.wait_for_timeout(400)
    expect(page.locator("#live")).to_be_hidden()
    below = "scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight"
    assert page.evaluate(below) < 2


LATE_ANSWERS = """
  const { set } = Object.getOwnPropertyDescriptor(WebSocket.prototype, "onmessage");
  Object.defineProperty(WebSocket.prototype, "onmessage", { set(listener) {
    set.call(this, (event) => {
      if (JSON.parse(event.data).type !== "done") listener.call(this, event);
    });
  } });"""


def test_a_command_is_taken_back_before_its_answer_is_there(
    hall: OperatorServer, visit: Visit
) -> None:
    """Otherwise the key would do nothing between “Paused” and the `done` after it."""
    page = opened(visit, script=LATE_ANSWERS)
    expect(page.locator("#undo")).to_be_disabled()
    page.keyboard.press("p")
    expect(page.locator("#state")).to_have_text("Paused")
    page.keyboard.press("u")
    expect(page.locator("#state")).to_have_text("Listening")
    assert not hall.facts.paused
