from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from pipeline.captions.board import CaptionBoard
from pipeline.config.schema import Server
from pipeline.core.metrics import Metrics
from pipeline.publish.feed import Feed
from pipeline.publish.stream import ServiceStatus, StreamCaption
from pipeline.server.hub import Hub
from scripts.support.captions import caption
from tests.support.hub import in_loop, receive, serving
from tests.support.relays import texts

STATUS = ServiceStatus(session="one", mode="live", source="en", targets=("es",), state="speech")


@pytest.fixture
def feed() -> Feed:
    board = CaptionBoard("", "en", "es", 5)
    hub = Hub((board,), Server(port=0), mode="live", token="none", metrics=Metrics())
    return Feed(hub, board, 5)


def said(board: CaptionBoard, key: int, text: str, lang: str = "es") -> StreamCaption:
    message = board.show(caption(key, text, text, final=True, lang=lang))
    assert message
    return StreamCaption(board.session, lang, message)


def hall(session: str = "one") -> CaptionBoard:
    return CaptionBoard(session, "en", "es", 50)


def test_captions_before_the_status_are_shown_with_it(feed: Feed) -> None:
    """The stream has one status, the newest: a relay that starts late reads it last."""
    board = hall()
    for key in range(8):
        feed.take(said(board, key, str(key)))
    assert texts(feed.board) == []
    feed.take(STATUS)
    assert texts(feed.board) == ["3", "4", "5", "6", "7"]  # as many as the settings keep
    feed.take(said(board, 8, "8"))
    assert texts(feed.board)[-1] == "8"


def test_nothing_is_shown_twice_or_turned_back(feed: Feed) -> None:
    board = hall()
    first = said(board, 1, "uno")
    edited = board.edit(1, "eins")
    assert edited
    feed.take(STATUS)
    for message in (first.message, edited, first.message, edited):
        feed.take(StreamCaption("one", "es", message))
    assert texts(feed.board) == ["eins"]
    assert feed.board.seq == edited.seq


def test_captions_of_another_session_or_language_are_none_of_ours(feed: Feed) -> None:
    feed.take(STATUS)
    feed.take(said(hall("zero"), 1, "ayer"))
    feed.take(said(hall(), 1, "bonjour", lang="fr"))
    assert texts(feed.board) == []


def test_each_language_has_a_board_of_its_own(feed: Feed) -> None:
    """Each counts its own `seq`, so one that is behind must not be taken for old news."""
    spanish, french = hall(), CaptionBoard("one", "en", "fr", 50)
    feed.take(said(french, 1, "un", lang="fr"))  # before anything is known of the service
    feed.take(replace(STATUS, targets=("es", "fr")))
    for key in range(1, 4):
        feed.take(said(spanish, key, f"es {key}"))
    feed.take(said(french, 2, "deux", lang="fr"))
    assert {lang: texts(board) for lang, board in feed.boards.items()} == {
        "es": ["es 1", "es 2", "es 3"],
        "fr": ["un", "deux"],
    }


@in_loop
async def test_a_display_that_came_too_early_gets_its_language_when_it_is_known() -> None:
    """A page that is refused waits a minute: that is no answer of a relay that just starts."""
    async with serving() as service:
        # What a relay has before it hears of a service.
        board = CaptionBoard("", "en", "es", 5)
        feed = Feed(service.hub, board, 5)
        service.hub.adopt((board,), "live")
        async with service.connect("lang=fr") as page, service.connect("prefer=fr-CA") as other:
            assert (await receive(page))["lang"] == "es"
            assert (await receive(other))["lang"] == "es"
            feed.take(replace(STATUS, targets=("es", "fr")))
            for each in (page, other):
                hello = await receive(each)
                assert (hello["lang"], hello["targets"]) == ("fr", ["es", "fr"])
                assert (await receive(each))["type"] == "status"
            feed.take(said(hall(), 1, "uno"))
            feed.take(said(CaptionBoard("one", "en", "fr", 5), 1, "un", lang="fr"))
            assert (await receive(page))["target"]["text"] == "un"
        async with service.connect("lang=de") as page:
            assert (await receive(page))["code"] == "unknown-lang"  # now it is known
        assert orjson.loads((await service.get("/address")).body)["langs"] == ["es", "fr", "en"]


def test_a_session_whose_captions_came_first_takes_over_with_them(feed: Feed) -> None:
    feed.take(STATUS)
    feed.take(said(hall(), 1, "uno"))
    feed.take(said(hall("two"), 1, "dos"))
    assert texts(feed.board) == ["uno"]
    feed.take(replace(STATUS, session="two"))
    assert texts(feed.board) == ["dos"]


@in_loop
async def test_displays_are_told_state_notice_session_and_silence() -> None:
    async with serving() as service, service.connect() as page:
        feed = Feed(service.hub, service.board, 5)
        await receive(page)
        feed.take(replace(STATUS, notice={"es": "A las diez."}))
        assert (await receive(page))["session"] == "one"
        assert (await receive(page))["state"] == "speech"
        assert (await receive(page))["texts"] == {"es": "A las diez."}
        feed.take(replace(STATUS, session="two"))
        assert (await receive(page))["session"] == "two"
        assert (await receive(page))["texts"] == {}
        feed.lose()
        silence = await receive(page)
        assert (silence["state"], silence["type"]) == ("fault", "status")
        feed.take(said(hall("two"), 1, "uno"))
        assert (await receive(page))["state"] == "speech"
        message = await receive(page)
        assert message["target"]["text"] == "uno"
