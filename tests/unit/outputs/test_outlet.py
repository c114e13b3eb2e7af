from __future__ import annotations

import socket
from datetime import UTC, datetime
from functools import partial
from urllib.parse import parse_qs, urlsplit

import pytest

from pipeline.core.reports import Fault, Report
from pipeline.outputs.outlet import HttpRequest, Outlet, Shown, vmix, youtube, zoom, zoom_count
from scripts.support.web_recorder import Sent, WebRecorder
from tests.support.patience import wait_for as until

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again sooner than in a service."""
    for module in ("outputs.outlet", "core.threads"):
        monkeypatch.setattr(f"pipeline.{module}._AGAIN_S", (0.05,))


def codes(reports: list[Report]) -> list[str]:
    return [report.code for report in reports if isinstance(report, Fault)]


def test_captions_arrive_in_their_order_with_their_number() -> None:
    reports: list[Report] = []
    with WebRecorder() as server:
        outlet = Outlet("YouTube", partial(youtube, f"{server.url}/c?cid=key"), reports.append)
        outlet.start()
        for key, text in enumerate(("uno", "dos", "tres")):
            outlet.show(key, Shown(text, NOON))
        until(lambda: len(server.sent) == 3)
        outlet.close()
    assert [each.path for each in server.sent] == [f"/c?cid=key&seq={n}" for n in (1, 2, 3)]
    assert [each.body.split(b"\n")[1] for each in server.sent] == [b"uno", b"dos", b"tres"]
    assert reports == []


def test_a_refusal_is_told_once_and_holds_nothing_up() -> None:
    reports: list[Report] = []
    with WebRecorder() as server:
        server.status = 403
        outlet = Outlet("YouTube", partial(youtube, f"{server.url}/c?cid=secret"), reports.append)
        outlet.start()
        for key, text in enumerate(("uno", "dos")):
            outlet.show(key, Shown(text, NOON))
        until(lambda: len(server.sent) == 2)
        outlet.close()
    assert codes(reports) == ["output-refused"]
    assert "secret" not in repr(reports)


def test_what_is_not_there_is_told_and_the_end_does_not_wait_for_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    reports: list[Report] = []
    outlet = Outlet("vMix", partial(youtube, f"http://127.0.0.1:{port}/"), reports.append)
    outlet.start()
    outlet.show(1, Shown("uno", NOON))
    until(lambda: reports)
    outlet.close()
    assert codes(reports) == ["output-unreachable"]


def test_an_error_that_nobody_expected_is_told_and_the_next_caption_is_shown() -> None:
    reports: list[Report] = []
    with WebRecorder() as server:
        make = partial(youtube, f"{server.url}/c?cid=secret")

        def broken(shown: Shown, number: int) -> HttpRequest:
            if shown.text == "uno":
                raise KeyError(server.url)
            return make(shown, number)

        outlet = Outlet("YouTube", broken, reports.append)
        outlet.start()
        outlet.show(1, Shown("uno", NOON))
        until(lambda: reports)
        assert codes(reports) == ["output-failed"]
        assert server.url not in repr(reports)
        outlet.show(2, Shown("dos", NOON))
        until(lambda: server.sent)
        outlet.close()


class Meeting(WebRecorder):
    """Zoom as documented: it takes each number once and answers with the last one."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self.last = last
        self.texts: list[str] = []

    def reply(self, request: Sent) -> bytes:
        if request.method == "POST" and self.status == 200:
            number = int(parse_qs(urlsplit(request.path).query)["seq"][0])
            if number == self.last + 1:
                self.last = number
                self.texts.append(request.body.decode().strip())
        return str(self.last).encode()


def test_zoom_gets_every_caption_without_a_gap_after_a_restart_and_a_refusal() -> None:
    reports: list[Report] = []
    with Meeting(last=41) as meeting:
        url = f"{meeting.url}/closedcaption?id=1"
        count = zoom_count(url)
        outlet = Outlet("Zoom", partial(zoom, url, "es"), reports.append, count=count)
        outlet.start()
        outlet.show(1, Shown("uno", NOON))
        until(lambda: meeting.texts == ["uno"])
        meeting.status = 403
        outlet.show(2, Shown("dos", NOON))
        until(lambda: reports and not outlet.waiting)
        meeting.status = 200
        for key, text in ((3, "tres"), (4, "cuatro")):
            outlet.show(key, Shown(text, NOON))
        until(lambda: meeting.texts == ["uno", "tres", "cuatro"])
        outlet.close()
    assert (meeting.last, codes(reports)) == (44, ["output-refused"])


def test_zoom_gets_once_what_arrived_without_an_answer() -> None:
    with Meeting(last=0) as meeting:
        url = f"{meeting.url}/closedcaption?id=1"
        outlet = Outlet("Zoom", partial(zoom, url, "es"), print, count=zoom_count(url))
        outlet.start()
        outlet.show(1, Shown("uno", NOON))
        until(lambda: meeting.texts == ["uno"] and not outlet.waiting)
        meeting.fails_once = True  # it takes the caption but answers with an error
        for key, text in ((2, "dos"), (3, "tres")):
            outlet.show(key, Shown(text, NOON))
        until(lambda: len(meeting.texts) == 3)
        outlet.close()
    assert (meeting.texts, meeting.last) == (["uno", "dos", "tres"], 3)


@pytest.mark.parametrize("way", ["hidden", "off the record"])
def test_zoom_does_not_get_what_went_while_it_was_asked_for_its_number(way: str) -> None:
    with Meeting(last=0) as meeting:
        url = f"{meeting.url}/closedcaption?id=1"
        outlet = Outlet("Zoom", partial(zoom, url, "es"), print, count=zoom_count(url))
        outlet.start()
        meeting.hold()
        outlet.show(1, Shown("secreto", NOON))
        until(lambda: meeting.hanging)
        if way == "hidden":
            outlet.revise(1, "")
        else:
            outlet.forget()
        meeting.go_on()
        outlet.show(2, Shown("dos", NOON))
        until(lambda: meeting.texts)
        outlet.close()
    assert meeting.texts == ["dos"]


def test_only_the_newest_wait() -> None:
    outlet = Outlet("vMix", partial(youtube, "http://127.0.0.1:1/"), print)
    for number in range(1000):
        outlet.show(number, Shown(str(number), NOON))
    assert outlet.waiting == 20
    assert list(outlet._waiting) == [*range(980, 1000)]


def test_what_is_off_the_record_is_not_sent_any_more() -> None:
    with WebRecorder() as server:
        server.status = 503
        outlet = Outlet("YouTube", partial(youtube, f"{server.url}/c"), lambda _: None)
        outlet.start()
        for key, text in enumerate(("geheim", "auch geheim")):
            outlet.show(key, Shown(text, NOON))
        until(lambda: server.sent)
        outlet.forget()
        server.status = 200
        outlet.show(3, Shown("danach", NOON))
        until(lambda: server.sent[-1].body.endswith(b"danach\n"))
        outlet.close()
    assert [each.body.split(b"\n")[1] for each in server.sent[:-1]] == [b"geheim"]


def test_a_screen_that_was_away_gets_the_newest_text_alone() -> None:
    with WebRecorder() as server:
        server.hold()
        outlet = Outlet("vMix", partial(vmix, server.url, "1"), print, is_screen=True)
        outlet.start()
        outlet.show(0, Shown("0", NOON))
        until(lambda: server.sent)  # the request hangs
        for number in range(1, 9):
            outlet.show(number, Shown(str(number), NOON))
        server.go_on()
        until(lambda: not outlet.waiting)
        outlet.close()
    assert server.titles == ["0", "8"]


def test_what_is_too_old_is_not_sent_when_a_program_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pipeline.outputs.outlet._STALE_S", -1.0)
    with WebRecorder() as stream, WebRecorder() as screen:
        youtube_outlet = Outlet("YouTube", partial(youtube, stream.url), print)
        vmix_outlet = Outlet("vMix", partial(vmix, screen.url, "1"), print, is_screen=True)
        for outlet in (youtube_outlet, vmix_outlet):
            outlet.show(1, Shown("uno", NOON))
            outlet.start()
        until(lambda: not (youtube_outlet.waiting or vmix_outlet.waiting))
        for outlet in (youtube_outlet, vmix_outlet):
            outlet.close()
    # A screen still shows its previous text: an empty text is better.
    assert (stream.sent, screen.titles) == ([], [""])


def test_an_address_that_cannot_be_looked_up_is_told_and_the_thread_goes_on() -> None:
    reports: list[Report] = []
    outlet = Outlet("vMix", partial(vmix, "http://vmix..local:8088", "1"), reports.append)
    outlet.start()
    outlet.show(1, Shown("uno", NOON))
    until(lambda: reports)
    assert outlet._thread.is_alive()
    outlet.close()
    assert codes(reports) == ["output-unreachable"]
