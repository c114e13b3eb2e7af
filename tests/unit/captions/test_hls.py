"""Rolling subtitles: playlists follow the RFC, and a subtitle library reads the segments."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

import pysubs2
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.captions.board import CaptionBoard
from pipeline.captions.hls import DELAY_S, KEPT, LISTED, SEGMENT_S, RollingSubtitles
from pipeline.captions.redaction import Redaction
from pipeline.core.types import Verse
from pipeline.protocol.caption import CaptionMessage
from scripts.support.records import caption

BEGAN_S = 1_795_343_400.25
_MAP = re.compile(r"WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:(\d+),LOCAL:(\d\d):(\d\d):(\d\d)\.(\d{3})\n\n")


@dataclass(frozen=True)
class Cue:
    start_ms: int
    end_ms: int
    text: str


@dataclass
class Stream:
    """A service of one language: a board, its subtitles, and a clock for both."""

    now_s: float = BEGAN_S
    heard_s: float = 0.0
    board: CaptionBoard = field(default_factory=lambda: CaptionBoard("one", "en", "es", 500))

    def __post_init__(self) -> None:
        self.subtitles = RollingSubtitles("es", "target", self.now_s)

    def show(self, key: int, text: str, start_s: float, end_s: float, *, final: bool) -> None:
        self.put(
            self.board.show(
                caption(key, text, text, final=final, start_s=start_s, end_s=end_s), marked=False
            )
        )

    def say(self, key: int, text: str, length_s: float = 3.0, lag_s: float = 1.0) -> None:
        """Say something from now on: a partial at its end, the final `lag_s` later."""
        start_s = self.now_s - BEGAN_S
        self.now_s += length_s
        self.show(key, text, start_s, start_s + length_s, final=False)
        self.now_s += lag_s
        self.show(key, text, start_s, start_s + length_s, final=True)

    def put(self, message: CaptionMessage | None) -> None:
        assert message
        self.heard_s = max(self.heard_s, message.end_s)
        self.subtitles.put(message, self.now_s, self.heard_s)

    def listed(self) -> list[int]:
        return numbers_of(self.subtitles.playlist(self.now_s))

    def segment(self, number: int) -> str:
        text = self.subtitles.segment(number, self.now_s)
        assert text is not None
        return text

    def segments(self) -> dict[int, str]:
        """Return the listed segments."""
        return {number: self.segment(number) for number in self.listed()}

    def shown(self) -> str:
        return "".join(self.segments().values())


def numbers_of(playlist: str) -> list[int]:
    return [int(number) for number in re.findall(r"^es/(\d+)\.vtt$", playlist, re.MULTILINE)]


def began_ms(segment: str) -> int:
    """Return a segment's start on the clock of its cues."""
    match = _MAP.match(segment)
    assert match, segment
    h, m, s, ms = map(int, match.groups()[1:])
    return ((h * 60 + m) * 60 + s) * 1000 + ms


def cues_of(segment: str) -> set[Cue]:
    found = pysubs2.SSAFile.from_string(segment, format_="vtt")
    return {Cue(event.start, event.end, event.plaintext) for event in found}


def test_a_playlist_keeps_the_rules_of_the_rfc() -> None:
    stream = Stream()
    stream.now_s += 300
    text = stream.subtitles.playlist(stream.now_s)
    lines = text.split("\n")
    assert (lines[0], lines[-1]) == ("#EXTM3U", "")
    assert lines[1] == "#EXT-X-VERSION:3"  # decimal durations need it
    target = int(lines[2].removeprefix("#EXT-X-TARGETDURATION:"))
    first = int(lines[3].removeprefix("#EXT-X-MEDIA-SEQUENCE:"))
    assert "#EXT-X-ENDLIST" not in text
    numbers = numbers_of(text)
    assert numbers == list(range(first, first + LISTED))
    # 6.2.2: a live playlist has at least three target durations.
    assert len(numbers) >= 3
    entries = [lines[at : at + 3] for at in range(4, len(lines) - 1, 3)]
    assert len(entries) == len(numbers)
    for number, (date, length, uri) in zip(numbers, entries, strict=True):
        at = datetime.fromisoformat(date.removeprefix("#EXT-X-PROGRAM-DATE-TIME:"))
        assert at.timestamp() == number * SEGMENT_S
        assert length == "#EXTINF:4.000,"
        assert round(4.0) <= target
        assert uri == f"es/{number}.vtt"
    # Listed segments ended long enough ago to have most finals, and no longer ago.
    ended_s = (numbers[-1] + 1) * SEGMENT_S
    assert ended_s + DELAY_S <= stream.now_s < ended_s + DELAY_S + SEGMENT_S


def test_a_playlist_has_a_segment_from_the_start_and_none_from_before() -> None:
    stream = Stream()
    (only,) = stream.listed()
    assert stream.subtitles.segment(only - 1, stream.now_s) is None
    stream.now_s += SEGMENT_S
    assert stream.listed() == [only, only + 1]


def test_a_segment_can_be_had_as_long_as_a_playlist_that_had_it_is_long() -> None:
    stream = Stream()
    stream.now_s += 1000
    number = stream.listed()[0]
    assert stream.subtitles.segment(number + LISTED, stream.now_s) is None
    stream.now_s += SEGMENT_S * (1 + LISTED)
    assert number not in stream.listed()
    assert stream.subtitles.segment(number, stream.now_s) is not None
    stream.now_s += SEGMENT_S * KEPT
    assert stream.subtitles.segment(number, stream.now_s) is None


def test_the_time_map_is_utc_on_the_clock_of_transport_streams() -> None:
    stream = Stream()
    stream.now_s += 27 * 3600  # that clock wraps after 26.5 hours
    one, two = stream.listed()[:2]
    ticks = []
    for number in (one, two):
        text = stream.segment(number)
        match = _MAP.match(text)
        assert match
        ticks.append(int(match[1]))
        assert ticks[-1] == number * SEGMENT_S * 90_000 % 2**33
    assert (ticks[1] - ticks[0]) % 2**33 == SEGMENT_S * 90_000
    assert began_ms(stream.segment(two)) - began_ms(stream.segment(one)) == SEGMENT_S * 1000


def test_what_is_final_in_time_stands_where_it_was_said() -> None:
    stream = Stream(now_s=BEGAN_S + 100)
    said_s = stream.now_s
    stream.say(1, "Paz & <gracia>", 3.0, 2.0)
    stream.now_s += 30
    first = stream.listed()[0]
    origin_s = first * SEGMENT_S - began_ms(stream.segment(first)) / 1000
    (cue,) = {cue for text in stream.segments().values() for cue in cues_of(text)}
    assert origin_s + cue.start_ms / 1000 == pytest.approx(said_s, abs=0.002)
    assert cue.end_ms - cue.start_ms == 3000
    assert "Paz &amp; &lt;gracia&gt;" in stream.shown()


def test_what_is_late_begins_in_the_first_segment_that_nobody_has_seen() -> None:
    stream = Stream(now_s=BEGAN_S + 100)
    stream.say(1, "paz", 3.0, 40.0)
    seen = stream.listed()
    assert "paz" not in stream.shown()
    stream.now_s += 20
    holding = [number for number, text in stream.segments().items() if "paz" in text]
    assert holding[0] == seen[-1] + 1


def test_a_caption_waits_for_the_one_before_it() -> None:
    stream = Stream(now_s=BEGAN_S + 100)
    stream.say(1, "uno dos tres cuatro cinco seis siete", 0.5, 0.0)  # takes longer to read
    stream.say(2, "ocho", 1.0, 0.0)
    stream.now_s += 30
    cues = sorted(
        {cue for text in stream.segments().values() for cue in cues_of(text)},
        key=lambda cue: cue.start_ms,
    )
    assert [cue.text for cue in cues][-1] == "ocho"
    assert all(one.end_ms <= two.start_ms for one, two in pairwise(cues))


def test_a_cue_has_one_name_in_all_segments_that_it_overlaps() -> None:
    stream = Stream(now_s=BEGAN_S + 100)
    stream.say(1, "uno dos tres cuatro cinco seis siete ocho nueve diez " * 3, 14.0)
    stream.say(2, "paz", 6.0)
    stream.now_s += 30
    named: dict[str, set[str]] = {}
    for text in stream.segments().values():
        for name, cue in re.findall(r"^(\d+)\n(.+ --> .+\n.+)", text, re.MULTILINE):
            named.setdefault(name, set()).add(cue)
    assert len(named) > 2
    assert all(len(cues) == 1 for cues in named.values()), named
    assert sum(text.count("-->") for text in stream.segments().values()) > len(named)


def test_hidden_and_edited_captions_change_in_segments_that_are_listed() -> None:
    stream = Stream(now_s=BEGAN_S + 100)
    stream.say(1, "pas")
    stream.say(2, "secreto")
    stream.now_s += 15
    assert "pas" in stream.shown()
    assert "secreto" in stream.shown()
    stream.put(stream.board.edit(1, "paz"))
    hidden = stream.board.message(2)
    stream.put(stream.board.hide(2))
    assert "pas" not in stream.shown()
    assert "paz" in stream.shown()
    assert "secreto" not in stream.shown()
    stream.put(stream.board.put_back(hidden))
    assert "secreto" in stream.shown()


def test_what_goes_off_the_record_leaves_every_segment() -> None:
    stream = Stream(now_s=BEGAN_S + 100)
    stream.say(1, "paz")
    stream.say(2, "secreto")
    stream.now_s += 15
    assert "secreto" in stream.shown()
    start_s = stream.board.message(2).start_s
    for message in stream.board.purge(Redaction(start_s, start_s + 100)):
        stream.put(message)
    kept = range(stream.listed()[-1] - KEPT, stream.listed()[-1] + 1)
    texts = [stream.subtitles.segment(number, stream.now_s) or "" for number in kept]
    assert "secreto" not in "".join(texts)
    assert "paz" in "".join(texts)


def test_an_edit_of_what_was_said_long_ago_is_not_shown_as_new() -> None:
    stream = Stream(now_s=BEGAN_S + 100)
    stream.say(1, "paz")
    stream.now_s += 600
    stream.put(stream.board.edit(1, "la paz"))
    # Nor is a caption that these subtitles never received.
    stream.board.show(caption(2, "gracia", "gracia", final=True))
    stream.put(stream.board.edit(2, "la gracia"))
    for _ in range(10):
        stream.now_s += SEGMENT_S
        assert "paz" not in stream.shown()
        assert "gracia" not in stream.shown()


def test_what_is_filled_in_for_a_language_that_rested_is_history() -> None:
    stream = Stream(now_s=BEGAN_S + 1000, heard_s=1000.0)
    stream.show(1, "historia", 800.0, 803.0, final=True)
    stream.show(2, "ahora", 990.0, 993.0, final=True)
    stream.now_s += 30
    assert "historia" not in stream.shown()
    assert "ahora" in stream.shown()


def test_what_is_said_while_the_displays_are_blank_is_left_out() -> None:
    stream = Stream(now_s=BEGAN_S + 100)
    message = stream.board.show(caption(1, "secreto", "secreto", final=True))
    assert message
    stream.subtitles.put(message, stream.now_s, message.end_s, math.inf)
    stream.now_s += 30
    assert "secreto" not in stream.shown()


def test_a_speaker_who_goes_on_is_shown_once() -> None:
    stream = Stream(now_s=BEGAN_S + 100)
    stream.say(1, "paz", 2.0, 0.5)
    stream.put(stream.board.reopen(1))
    stream.now_s += 3
    stream.show(1, "paz y gracia", 100.0, 105.5, final=True)
    stream.now_s += 30
    texts = {cue.text for text in stream.segments().values() for cue in cues_of(text)}
    assert texts == {"paz y gracia"}


def test_a_printed_verse_has_its_reference() -> None:
    stream = Stream(now_s=BEGAN_S + 100)
    stream.say(1, "Jesús lloró.")
    verse = Verse("Juan 11:35", "Jesús lloró.", "RVR 1909", "es")
    stream.put(stream.board.put_verse(1, verse))
    stream.now_s += 30
    assert "Jesús lloró. (Juan 11:35)" in stream.shown()


EVENTS = st.lists(
    st.tuples(
        st.floats(0, 30),  # silence
        st.floats(0.05, 20),  # speech
        st.floats(0, 30),  # until the final arrives
        st.integers(1, 40),  # words
        st.sampled_from(["", "", "hide", "edit"]),
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(EVENTS)
@example([(0.0, 20.0, 30.0, 5, ""), (0.0, 0.1, 0.0, 40, "edit"), (0.0, 1.0, 15.0, 9, "hide")])
def test_whatever_is_said_and_however_late(
    events: list[tuple[float, float, float, int, str]],
) -> None:
    """Only an operator changes a segment, and each cue is in all segments that it overlaps."""
    stream = Stream()
    handed_out: dict[int, str] = {}
    last = 0

    def look() -> None:
        nonlocal last
        listed = stream.listed()
        assert listed[-1] >= last
        last = listed[-1]
        segments = stream.segments()
        for number, text in segments.items():
            assert handed_out.get(number, text) == text
        handed_out.update(segments)

    for key, (silence_s, speech_s, lag_s, words, change) in enumerate(events):
        look()
        stream.now_s += silence_s
        look()
        word = f"palabra{key}x"
        text = " ".join([word] * words)
        start_s = stream.now_s - BEGAN_S
        stream.now_s += speech_s
        stream.show(key, text, start_s, start_s + speech_s, final=False)
        look()
        stream.now_s += lag_s
        look()  # players may have read its segments by now
        stream.show(key, text, start_s, start_s + speech_s, final=True)
        was_listed = False
        for _ in range(7):
            look()
            was_listed |= word in stream.shown()
            stream.now_s += SEGMENT_S
        assert was_listed
        _each_cue_is_where_it_belongs(stream.segments())  # all of what was listed since
        if change:
            stream.put(stream.board.hide(key) if change == "hide" else stream.board.edit(key, "x"))
            assert word not in stream.shown()
            handed_out.clear()  # an operator may change segments that players have


def _each_cue_is_where_it_belongs(segments: dict[int, str]) -> None:
    cues = {number: cues_of(text) for number, text in segments.items()}
    for cue in set().union(*cues.values()):
        assert cue.end_ms > cue.start_ms
        for number, text in segments.items():
            start_ms = began_ms(text)
            overlaps = cue.start_ms < start_ms + SEGMENT_S * 1000 and cue.end_ms > start_ms
            assert (cue in cues[number]) == overlaps
