"""Output beyond our own pages is sent in a service only."""

from __future__ import annotations

from pathlib import Path
from typing import cast, get_args

import pytest

from pipeline.captions.board import CaptionBoard
from pipeline.captions.redaction import Redaction
from pipeline.config.loader import load
from pipeline.core.types import Mode
from pipeline.daemon.context.context import OpenSession, make_context
from pipeline.daemon.context.screen import Screen
from pipeline.daemon.context.service_sinks import open_gate
from pipeline.dictionary.store import Dictionary
from pipeline.outputs.feed import OutputFeed
from pipeline.protocol.caption import TargetText
from pipeline.publish.publisher import Publisher
from pipeline.server.streams.live_subtitles import LiveSubtitles
from pipeline.session.recorder import SessionRecorder
from pipeline.voice.voice import Voice
from scripts.support.records import caption
from scripts.support.web_recorder import WebRecorder
from tests.support.patience import wait_for

OUTSIDE = {
    "publish.nats": "nats://127.0.0.1:1",
    "outputs.freeshow": "http://127.0.0.1:1",
    "outputs.hls": True,
    "speech.enabled": True,
}
QUICK = {"operator.token": "secret", "dictionary.enabled": False, "church.verses": "off"}


@pytest.mark.parametrize("mode", get_args(Mode))
def test_a_rehearsal_and_a_demonstration_tell_nobody_outside(tmp_path: Path, mode: str) -> None:
    settings = load(flags=QUICK | OUTSIDE).settings
    recorder = SessionRecorder(tmp_path, source="en", targets=("es",), on_fault=print)
    session = OpenSession(recorder, (CaptionBoard("test", "en", "es", 10),), None)
    context = make_context(settings, session, Dictionary(settings), cast("Mode", mode), Screen())
    sinks = {Publisher, OutputFeed, LiveSubtitles, Voice}
    assert {type(sink) for sink in context.sinks} & sinks == (sinks if mode == "live" else set())
    outside = context.outside
    is_sent = [
        *(bool(each) for each in (outside.publisher, outside.outputs, outside.subtitles)),
        *(outside.voice is not None, outside.voices is not None),
    ]
    assert is_sent == [mode == "live"] * 5
    recorder.close(5)


def test_only_languages_that_the_engine_speaks_are_offered() -> None:
    targets = {"translate.targets": [{"lang": "fr"}, {"lang": "ko"}]}
    boards = [CaptionBoard("test", "en", lang, 10) for lang in ("es", "fr", "ko")]

    def offered(**flags: object) -> tuple[str, ...]:
        made = load(flags=QUICK | targets | {f"speech.{key}": flags[key] for key in flags}).settings
        voices = open_gate(made, boards, "live").voices
        return voices.langs if voices else ()

    assert offered() == ()
    assert offered(enabled=True) == ("es", "fr")
    assert offered(enabled=True, languages=["fr", "ko"]) == ("fr",)


def test_of_a_language_that_is_spoken_and_read_programs_get_the_translation() -> None:
    spoken = {"translate.source": ["en", "es"], "translate.targets": ["fr"]}
    program = {"program": "freeshow", "url": "http://127.0.0.1:1"}
    outputs = [{**program, "lang": lang} for lang in ("en", "es")]
    boards = [CaptionBoard("test", "en", lang, 10) for lang in ("es", "fr", "en")]
    for flags in (spoken, {}):
        settings = load(flags=QUICK | flags | {"outputs": outputs}).settings
        feeds = open_gate(settings, boards, "live").outputs
        assert feeds["es"]._board == "es"
        assert feeds["en"]._board == ("en" if flags else "es")


def test_after_a_crash_a_late_change_of_what_was_said_before_it_stays_away() -> None:
    earlier, board = (CaptionBoard("test", "en", "es", 10) for _ in range(2))
    shown = [earlier.show(caption(key, "said", "Oremos.", final=True)) for key in (1, 2)]
    board.restore(message for message in shown if message)
    with WebRecorder() as server:
        flags = {"outputs": [{"program": "vmix", "url": server.url}]}
        feed = open_gate(load(flags=QUICK | flags).settings, [board], "live").outputs["es"]
        feed.start(print)
        wait_for(lambda: server.titles == [""])
        late, new = board.edit(1, "Tarde."), board.show(caption(3, "said", "Amén.", final=True))
        assert late
        assert new
        feed.on_caption(late, "es")
        wait_for(lambda: not feed._screens[0].waiting)
        feed.on_caption(new, "es")
        feed.close()
    assert server.titles == ["", "Amén."]


def test_the_voice_is_told_what_screens_show(tmp_path: Path) -> None:
    settings = load(flags=QUICK | {"speech.enabled": True}).settings
    board = CaptionBoard("test", "en", "es", 10)
    outside = open_gate(settings, [board], "live")
    assert outside.voice is not None
    assert outside.voices is not None
    outside.voices._listeners["es"].add(object())  # type: ignore[arg-type]
    (sink,) = outside.sinks
    narrator = outside.voice._channels["es"].narrator

    def say(key: int) -> None:
        message = board.show(caption(key, "said", "Oremos.", final=True))
        assert message is not None
        sink.on_caption(message, "es")

    say(1)
    sink.on_state("blank", "")
    say(2)
    assert narrator.next(0.0, 0.0) is None
    sink.on_state("ended", "")  # the screens stay as they are
    say(3)
    assert narrator.next(0.0, 0.0) is None
    sink.on_state("listening", "")
    say(4)
    sink.on_notice({"es": "Hay café."})
    assert [c.text for c in (narrator.next(0.0, 0.0), narrator.next(0.0, 0.0)) if c] == [
        *("Hay café.", "Oremos."),
    ]
    say(5)
    sink.on_redaction(Redaction(0.0, 9.0), {"es": ()})
    assert narrator.next(0.0, 0.0) is None


def test_the_voice_does_not_say_what_was_said_before_a_crash() -> None:
    """A late translation of it may be the first caption that comes after the restart."""
    board = CaptionBoard("s", "en", "es", 10)
    assert board.show(caption(1, "grace", "gracia", final=True))
    outside = open_gate(load(flags=QUICK | OUTSIDE).settings, (board,), "live")
    assert outside.voice
    narrator = outside.voice._channels["es"].narrator
    narrator.take(board.retranslate(1, TargetText("es", "la gracia", "gemma")), 0.0)
    assert narrator.next(0.0, 0.0) is None
