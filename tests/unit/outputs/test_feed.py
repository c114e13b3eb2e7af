from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pipeline.captions.board import CaptionBoard
from pipeline.captions.redaction import Redaction
from pipeline.config.publishing import Output
from pipeline.outputs.feed import OutputFeed
from pipeline.protocol.caption import CaptionMessage, TargetText
from scripts.support.records import caption
from scripts.support.web_recorder import WebRecorder
from tests.support.patience import wait_for as until

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def to(program: Any, server: WebRecorder, path: str = "", place: str = "") -> Output:
    """Return the settings of an output to a program at a server."""
    return Output(program=program, url=f"{server.url}{path}", place=place)


def texts(server: WebRecorder) -> list[str]:
    """Return the texts that a stream received, in order."""
    return [each.body.decode().splitlines()[1] for each in server.sent]


def begin(feed: OutputFeed, screen: WebRecorder) -> None:
    """Start a feed and drop the request that clears its screen."""
    feed.start(print)
    until(lambda: screen.sent)
    screen.sent.clear()


def shown(board: CaptionBoard, key: int, target: str, source: str = "said") -> CaptionMessage:
    """Put a final on a board."""
    message = board.show(caption(key, source, target, final=True))
    assert message
    return message


def test_a_screen_has_the_newest_final_and_loses_what_is_hidden() -> None:
    board = CaptionBoard("s", "en", "es", 10)
    with WebRecorder() as server:
        feed = OutputFeed([to("vmix", server)], lambda: NOON)
        begin(feed, server)
        for key, text, final in ((1, "medio", False), (1, "uno", True), (2, "dos", True)):
            message = board.show(caption(key, text, text, final=final))
            assert message
            feed.on_caption(message)
            until(lambda: not final or server.titles[-1:] == [text])  # noqa: B023 - at once
        edited, hidden = board.edit(1, "tarde"), board.hide(2)
        assert edited
        assert hidden
        feed.on_caption(edited)  # it is no longer on screen
        feed.on_caption(hidden)
        until(lambda: len(server.sent) == 3)
        feed.close()
    assert server.titles == ["uno", "dos", ""]


def test_noise_and_a_hidden_repetition_leave_the_sentence_before_them_on_a_screen() -> None:
    board = CaptionBoard("s", "en", "es", 10)
    with WebRecorder() as server:
        feed = OutputFeed([to("vmix", server)], lambda: NOON)
        begin(feed, server)
        feed.on_caption(shown(board, 1, "uno"))
        until(lambda: server.sent and not feed._screens[0].waiting)
        assert board.show(caption(2, "uh", "eh", final=False))
        shown(board, 3, "otra vez")
        for gone in (board.retract(2), board.hide(3)):
            assert gone
            feed.on_caption(gone)
            assert feed._screens[0].waiting == 0
        again = board.unhide(3)
        assert again
        feed.on_caption(again)
        until(lambda: server.titles[-1] == "otra vez")
        feed.close()
    assert server.titles == ["uno", "otra vez"]


def test_a_blank_screen_is_cleared_and_comes_back() -> None:
    board = CaptionBoard("s", "en", "es", 10)
    message = board.show(caption(1, "uno", "uno", final=True))
    assert message
    with WebRecorder() as server:
        feed = OutputFeed([to("vmix", server)], lambda: NOON)
        begin(feed, server)
        feed.on_caption(message)
        until(lambda: len(server.sent) == 1)
        feed.on_blank(is_blank=True)
        feed.on_blank(is_blank=True)
        until(lambda: len(server.sent) == 2)
        feed.on_blank(is_blank=False)
        until(lambda: len(server.sent) == 3)
        feed.close()
    assert server.titles == ["uno", "", "uno"]


def test_a_stream_gets_what_has_settled_with_the_time_it_was_said() -> None:
    board = CaptionBoard("s", "en", "es", 10)
    with WebRecorder() as server:
        feed = OutputFeed([to("youtube", server, "/c?cid=key")], lambda: NOON)
        feed.start(print)
        feed.on_settled(shown(board, 1, "amén"), NOON)
        until(lambda: server.sent)
        feed.close()
    assert [each.body for each in server.sent] == ["2026-11-22T12:00:00.000\namén\n".encode()]


def test_a_program_of_the_spoken_language_has_what_was_said() -> None:
    board = CaptionBoard("s", "en", "es", 10)
    with WebRecorder() as screen, WebRecorder() as stream:
        feed = OutputFeed([to("vmix", screen), to("youtube", stream)], lambda: NOON, "source")
        begin(feed, screen)
        said = board.show(caption(1, "grace", "gracia", final=True))
        assert said
        feed.on_caption(said)
        until(lambda: screen.sent)
        feed.on_caption(board.add_typed(2, 20.0, "A las diez", "es"))
        hidden = board.hide(1)
        assert hidden
        feed.on_caption(hidden)
        feed.on_settled(hidden, NOON)
        feed.on_settled(shown(board, 3, "gracia", "mercy"), NOON)
        until(lambda: len(screen.sent) == 2 and stream.sent)
        feed.close()
    assert screen.titles == ["grace", ""]
    assert texts(stream) == ["mercy"]


def test_what_still_waits_for_a_stream_follows_the_operator() -> None:
    board = CaptionBoard("s", "en", "es", 10)
    with WebRecorder() as server:
        server.hold()
        feed = OutputFeed([to("youtube", server)], lambda: NOON)
        feed.start(print)
        for key in (1, 2, 3, 4):
            feed.on_settled(shown(board, key, f"maquina {key}"), NOON)
        until(lambda: server.sent)  # the first request hangs and cannot be taken back
        for message in (board.hide(1), board.hide(2), board.edit(3, "operador")):
            assert message
            feed.on_caption(message)
        server.go_on()
        until(lambda: len(server.sent) == 3)
        again = board.unhide(2)  # it was still waiting when it was hidden
        assert again
        feed.on_caption(again)
        until(lambda: len(server.sent) == 4)
        feed.close()
    assert texts(server) == ["maquina 1", "operador", "maquina 4", "maquina 2"]


def test_a_stream_waits_for_the_translation_of_a_correction() -> None:
    board = CaptionBoard("s", "en", "es", 10)
    with WebRecorder() as server:
        feed = OutputFeed([to("youtube", server)], lambda: NOON)
        feed.start(print)
        server.hold()
        for message in (shown(board, 1, "uno"), shown(board, 2, "gracia"), shown(board, 3, "x")):
            feed.on_settled(message, NOON)
        shown(board, 4, "amor")
        for key in (2, 4):
            assert board.correct(key, "peace")
            feed.on_caption(board.message(key))
        feed.on_settled(board.message(4), NOON)
        server.go_on()
        until(lambda: len(server.sent) == 2)
        translated = TargetText("es", "paz", "gemma")
        feed.on_caption(board.retranslate(2, translated, final=False))
        for key in (2, 4):
            feed.on_caption(board.retranslate(key, replace(translated, text=f"la paz {key}")))
        until(lambda: len(server.sent) == 4)
        feed.close()
    assert texts(server) == ["uno", "x", "la paz 2", "la paz 4"]


def test_what_is_off_the_record_leaves_the_screen() -> None:
    board = CaptionBoard("s", "en", "es", 10)
    with WebRecorder() as server:
        feed = OutputFeed([to("vmix", server)], lambda: NOON)
        begin(feed, server)
        message = board.show(caption(1, "uno", "uno", final=True))
        assert message
        feed.on_caption(message)
        until(lambda: server.sent)
        feed.on_redaction(board.purge(Redaction(0.0, 10.0)))
        until(lambda: len(server.sent) == 2)
        feed.close()
    assert server.titles == ["uno", ""]


def test_what_a_daemon_that_was_killed_has_left_on_a_screen_goes_at_the_start() -> None:
    with WebRecorder() as server:
        feed = OutputFeed([to("vmix", server)], lambda: NOON)
        feed.start(print)
        until(lambda: server.sent)
        feed.close()
    assert server.titles == [""]


def test_an_undone_correction_leaves_the_screen_of_the_spoken_language() -> None:
    board = CaptionBoard("s", "en", "es", 10)
    with WebRecorder() as server:
        feed = OutputFeed([to("vmix", server)], lambda: NOON, "source")
        begin(feed, server)
        typed = board.add_typed(1, 20.0, "A las diez", "es")
        feed.on_caption(typed)
        assert board.correct(1, "At ten")
        corrected = board.conclude(1, marked=False)
        assert corrected
        feed.on_caption(corrected)
        until(lambda: server.sent)
        feed.on_caption(board.put_back(typed))
        until(lambda: len(server.sent) == 2)
        feed.close()
    assert server.titles == ["At ten", ""]


def test_what_was_said_while_blank_never_comes_to_a_stream_even_if_it_settles_later() -> None:
    board = CaptionBoard("s", "en", "es", 10)
    after_s = 0.0
    with WebRecorder() as server:
        feed = OutputFeed([to("youtube", server)], lambda: NOON + timedelta(seconds=after_s))
        feed.start(print)
        for is_blank, at_s in ((True, 10.0), (False, 20.0), (True, 21.0), (False, 22.0)):
            after_s = at_s
            feed.on_blank(is_blank=is_blank)
        for key, spoken_s in enumerate((7.0, 9.5, 15.0, 19.5, 22.5)):
            message = shown(board, key, f"texto {spoken_s}")
            assert message.end_s - message.start_s == 1.0
            feed.on_settled(message, NOON + timedelta(seconds=spoken_s))
        until(lambda: len(server.sent) == 2)
        feed.close()
    assert texts(server) == ["texto 7.0", "texto 22.5"]
