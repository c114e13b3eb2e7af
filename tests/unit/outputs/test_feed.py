from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Self

import pytest

from pipeline.captions.board import CaptionBoard
from pipeline.captions.redaction import Redaction
from pipeline.config.publishing import Output
from pipeline.outputs.feed import OutputFeed
from pipeline.protocol.caption import CaptionMessage, TargetText
from scripts.support.records import caption
from scripts.support.web_recorder import WebRecorder
from tests.support.patience import wait_for as until

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


class Fed:
    """A feed to a title of vMix and to a stream, with the board whose captions it gets."""

    def __init__(self, lang: str = "es") -> None:
        self.board = CaptionBoard("s", "en", "es", 10)
        self.screen, self.stream = WebRecorder(), WebRecorder()
        self.now, self.steady_s = NOON, 0.0
        vmix = Output(program="vmix", url=self.screen.url)
        youtube = Output(program="youtube", url=f"{self.stream.url}/c?cid=key")
        self.feed = OutputFeed(
            [vmix, youtube], lambda: self.now, lang, "es", steady_s=lambda: self.steady_s
        )

    def __enter__(self) -> Self:
        self.screen.__enter__()
        self.stream.__enter__()
        self.feed.start(print)
        self.shows("")  # sent at the start
        self.screen.sent.clear()
        return self

    def __exit__(self, *_: object) -> None:
        self.feed.close()
        self.stream.__exit__()
        self.screen.__exit__()

    def put(self, key: int, target: str, source: str = "said") -> CaptionMessage:
        """Put a final on the board, and not yet into the feed."""
        message = self.board.show(caption(key, source, target, final=True))
        assert message
        return message

    def give(self, message: CaptionMessage | None) -> None:
        assert message
        self.feed.on_caption(message, "es")

    def settle(self, key: int, target: str, source: str = "said") -> None:
        self.feed.on_settled(self.put(key, target, source), NOON, "es")

    def shows(self, text: str) -> None:
        """Wait until a text is on the screen."""
        until(lambda: self.screen.titles[-1:] == [text])

    def has(self, count: int) -> list[str]:
        """Wait until the stream has so many captions; return their texts."""
        until(lambda: len(self.stream.sent) == count)
        return [each.body.decode().splitlines()[1] for each in self.stream.sent]


def test_what_a_daemon_that_was_killed_has_left_on_a_screen_goes_at_the_start() -> None:
    with Fed() as fed:  # it waits until the screen is empty
        fed.give(fed.put(1, "uno"))
        fed.shows("uno")


def test_a_screen_has_the_newest_final_and_loses_what_is_hidden() -> None:
    with Fed() as fed:
        fed.give(fed.board.show(caption(1, "medio", "medio", final=False)))
        for key, text in ((1, "uno"), (2, "dos")):
            fed.give(fed.put(key, text))
            fed.shows(text)
        fed.give(fed.board.edit(1, "tarde"))  # it is no longer on screen
        fed.give(fed.board.hide(2))
        fed.shows("")
    assert fed.screen.titles == ["uno", "dos", ""]


def test_noise_and_a_hidden_repetition_leave_the_sentence_before_them_on_a_screen() -> None:
    with Fed() as fed:
        fed.give(fed.put(1, "uno"))
        until(lambda: fed.screen.sent and not fed.feed._screens[0].waiting)
        assert fed.board.show(caption(2, "uh", "eh", final=False))
        fed.put(3, "otra vez")
        for gone in (fed.board.retract(2), fed.board.hide(3)):
            fed.give(gone)
            assert fed.feed._screens[0].waiting == 0
        fed.give(fed.board.unhide(3))
        fed.shows("otra vez")
    assert fed.screen.titles == ["uno", "otra vez"]


def test_a_blank_screen_is_cleared_and_comes_back() -> None:
    with Fed() as fed:
        fed.give(fed.put(1, "uno"))
        fed.shows("uno")
        for _ in range(2):
            fed.feed.on_blank(is_blank=True)
        fed.shows("")
        fed.feed.on_blank(is_blank=False)
        fed.shows("uno")
    assert fed.screen.titles == ["uno", "", "uno"]


def test_a_stream_gets_what_has_settled_with_the_time_it_was_said() -> None:
    with Fed() as fed:
        fed.settle(1, "amén")
        fed.has(1)
    assert [each.body for each in fed.stream.sent] == ["2026-11-22T12:00:00.000\namén\n".encode()]


def test_a_program_of_the_spoken_language_has_what_was_said() -> None:
    with Fed("en") as fed:
        fed.give(fed.put(1, "gracia", "grace"))
        fed.shows("grace")
        fed.give(fed.board.add_typed(2, 20.0, "A las diez", "es"))
        hidden = fed.board.hide(1)
        fed.give(hidden)
        assert hidden
        fed.feed.on_settled(hidden, NOON, "es")
        fed.settle(3, "gracia", "mercy")
        fed.shows("")
        assert fed.has(1) == ["mercy"]
    assert fed.screen.titles == ["grace", ""]


def test_what_still_waits_for_a_stream_follows_the_operator() -> None:
    with Fed() as fed:
        fed.stream.hold()
        for key in (1, 2, 3, 4):
            fed.settle(key, f"maquina {key}")
        fed.has(1)  # the first request hangs and cannot be taken back
        for message in (fed.board.hide(1), fed.board.hide(2), fed.board.edit(3, "operador")):
            fed.give(message)
        fed.stream.go_on()
        fed.has(3)
        fed.give(fed.board.unhide(2))  # it was still waiting when it was hidden
        assert fed.has(4) == ["maquina 1", "operador", "maquina 4", "maquina 2"]


def test_a_stream_waits_for_the_translation_of_a_correction() -> None:
    with Fed() as fed:
        fed.stream.hold()
        for key, text in ((1, "uno"), (2, "gracia"), (3, "x")):
            fed.settle(key, text)
        fed.put(4, "amor")
        for key in (2, 4):
            fed.give(fed.board.correct(key, "peace"))
        fed.feed.on_settled(fed.board.message(4), NOON, "es")
        fed.stream.go_on()
        fed.has(2)
        translated = TargetText("es", "paz", "gemma")
        fed.give(fed.board.retranslate(2, translated, final=False))
        for key in (2, 4):
            fed.give(fed.board.retranslate(key, replace(translated, text=f"la paz {key}")))
        assert fed.has(4) == ["uno", "x", "la paz 2", "la paz 4"]


def test_what_is_off_the_record_leaves_the_screen() -> None:
    with Fed() as fed:
        fed.give(fed.put(1, "uno"))
        fed.shows("uno")
        gone = Redaction(0.0, 10.0)
        fed.feed.on_redaction(gone, {"es": fed.board.purge(gone)})
        fed.shows("")
    assert fed.screen.titles == ["uno", ""]


def test_an_undone_correction_leaves_the_screen_of_the_spoken_language() -> None:
    with Fed("en") as fed:
        typed = fed.board.add_typed(1, 20.0, "A las diez", "es")
        fed.give(typed)
        assert fed.board.correct(1, "At ten")
        fed.give(fed.board.conclude(1, marked=False))
        fed.shows("At ten")
        fed.give(fed.board.put_back(typed))
        fed.shows("")
    assert fed.screen.titles == ["At ten", ""]


@pytest.mark.parametrize("set_s", [0.0, -3600.0, 3600.0])
def test_what_was_said_while_blank_never_comes_to_a_stream_even_if_it_settles_later(
    set_s: float,
) -> None:
    noon = NOON + timedelta(seconds=set_s)  # the clock is set while the displays are blank
    with Fed() as fed:
        for is_blank, at_s in ((True, 10.0), (False, 20.0), (True, 21.0), (False, 22.0)):
            fed.now = (NOON if at_s == 10.0 else noon) + timedelta(seconds=at_s)
            fed.steady_s = at_s
            fed.feed.on_blank(is_blank=is_blank)
        for key, spoken_s in enumerate((7.0, 9.5, 15.0, 19.5, 22.5)):
            message = fed.put(key, f"texto {spoken_s}")
            assert message.end_s - message.start_s == 1.0
            fed.feed.on_settled(message, noon + timedelta(seconds=spoken_s), "es")
        assert fed.has(2) == ["texto 7.0", "texto 22.5"]
