"""Subtitles of a live stream in one language: a rolling HLS playlist of WebVTT (RFC 8216).

Pure. Times are UTC, in seconds since 1970. A segment's number is its start divided by its length,
so that numbers continue after a restart without stored state.

A segment is listed DELAY_S after its end. A caption that is final by then has its spoken time; a
later one begins in the first segment that is not listed yet. So nothing is lost, and a listed
segment does not change, unless a caption in it is changed, hidden or taken off the record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pipeline.captions.subtitles import (
    CHARS_PER_S,
    SHORTEST_S,
    Cue,
    Side,
    Spoken,
    arrange,
    clock_time,
    subtitle,
    vtt_cue,
)
from pipeline.protocol.caption import CaptionMessage

SEGMENT_S = 4
DELAY_S = 8.0
"""How long a segment waits for finals. Players stay at least three segments behind the end."""
LISTED = 15
"""Segments in a playlist."""
KEPT = 2 * LISTED + 1
"""Segments available: one that has left a playlist stays for the playlist's length (6.2.2)."""

_QUEUE_S = 4.0
"""A caption waits so long for the previous one to end; then both are shown."""
_STALE_S = 60.0
_LONGER_S = 5.0  # most seconds by which a caption's cues may outlast its place, to be readable
_MOST = 200
"""Captions kept, so that a new version replaces the old one."""
_PARTS = 1000  # more than the cues of any caption, for their names
_TICKS_A_SECOND, _TICKS = 90_000, 2**33
"""The clock of MPEG-2 transport streams, and where it wraps around."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """A caption in the stream's time; without a text it is not final yet, hidden or left out."""

    spoken_s: float
    start_s: float | None = None
    end_s: float = 0.0
    text: str = ""
    said_s: float = -1.0
    """Where in the session's audio the final ends."""
    is_left_out: bool = False
    """Whether words of it came while the displays were blank."""
    cues: tuple[Cue, ...] | None = None
    """Its layout, once it was requested."""


class RollingSubtitles:
    """The newest subtitles of one language. `now_s` must never decrease."""

    def __init__(self, lang: str, side: Side, now_s: float) -> None:
        """Begin at `now_s` with one segment listed: an empty playlist is useless."""
        self._lang = lang
        self._side: Side = side
        self._first = _end(now_s) - 1
        self._origin_s = float(self._first * SEGMENT_S)
        """The origin of the cues' times: WebVTT has no dates."""
        self._placed: dict[int, _Placed] = {}
        self._ended_s = self._origin_s

    def put(
        self, message: CaptionMessage, now_s: float, heard_s: float, shown_since_s: float = 0.0
    ) -> None:
        """Take a version of a caption; said before `shown_since_s`, it takes its time without text.

        This also holds for later versions of the same words, such as a delayed translation.
        `shown_since_s` is when the displays ceased to be blank; infinite while they are.
        `heard_s` is the newest audio time of any caption. That clock stops in pauses, so each new
        caption is placed by how long before `heard_s` it was spoken.
        """
        old = self._placed.get(message.id)
        if old is None:
            # An edit of an old caption, or a late translation for a language that was paused.
            # Judged by time: a caption held for an operator may first come as a later revision.
            if heard_s - message.end_s > _STALE_S:
                return
            old = _Placed(now_s - max(0.0, heard_s - message.start_s))
        # Also of a partial: its final may come when the displays are on again. On a slow machine
        # even the first caption may: what counts is when its new words began.
        began_s = now_s - max(0.0, heard_s - max(message.start_s, old.said_s))
        if message.end_s > old.said_s and began_s < shown_since_s:
            old = replace(old, is_left_out=True)
        self._placed[message.id] = self._final(old, message, now_s) if message.final else old
        if len(self._placed) > _MOST:
            del self._placed[next(iter(self._placed))]

    def playlist(self, now_s: float) -> str:
        """Return the media playlist; its segments are at `LANG/NUMBER.vtt`, relative to it."""
        end = _end(now_s)
        first = max(self._first, end - LISTED)
        lines = [
            "#EXTM3U",
            # The first version that allows fractional lengths (RFC 8216, 7).
            "#EXT-X-VERSION:3",
            # An integer, and no segment may be longer (RFC 8216, 4.3.3.1).
            f"#EXT-X-TARGETDURATION:{SEGMENT_S}",
            f"#EXT-X-MEDIA-SEQUENCE:{first}",
        ]
        for number in range(first, end):
            began = datetime.fromtimestamp(number * SEGMENT_S, UTC)
            lines += [
                # UTC, as in the segments, to match a stream whose time stamps are UTC as well.
                f"#EXT-X-PROGRAM-DATE-TIME:{began:%Y-%m-%dT%H:%M:%S}.000Z",
                f"#EXTINF:{SEGMENT_S}.000,",
                f"{self._lang}/{number}.vtt",
            ]
        # No #EXT-X-ENDLIST: after it players would request no more segments.
        return "\n".join([*lines, ""])

    def segment(self, number: int, now_s: float) -> str | None:
        """Return a WebVTT file with the cues that overlap a segment; None if there is none."""
        end = _end(now_s)
        # Not before it is listed: it may still change, and caches would keep the old version.
        if not max(self._first, end - KEPT) <= number < end:
            return None
        start_s = number * SEGMENT_S - self._origin_s
        cues = [
            # Players recognize a cue from the previous segment by its name. hls.js cannot do it by
            # the times, which it computes anew for each segment.
            # Digits only: simple subtitle readers take any other name for a line of text.
            (cue, f"{key * _PARTS + part}\n")
            for key in self._placed
            for part, cue in enumerate(self._cues_of(key, start_s))
            if cue.start_s < start_s + SEGMENT_S and cue.end_s > start_s
        ]
        # By time, as WebVTT requires: captions are kept in order of arrival.
        cues.sort(key=lambda each: each[0].start_s)
        # A new value per segment: with a fixed one players would count past the clock's wrap.
        ticks = number * SEGMENT_S * _TICKS_A_SECOND % _TICKS
        local = clock_time(start_s, ".")
        head = f"WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:{ticks},LOCAL:{local}\n\n"
        return head + "".join(name + vtt_cue(cue) for cue, name in cues)

    def _final(self, old: _Placed, message: CaptionMessage, now_s: float) -> _Placed:
        """Return the place of a final; a later version keeps the start of the first one."""
        start_s = old.start_s
        if start_s is None:
            queued_s = min(self._ended_s, old.spoken_s + _QUEUE_S)
            # Never in a listed segment: players have read it and do not request it again.
            start_s = max(round(old.spoken_s, 3), round(queued_s, 3), _end(now_s) * SEGMENT_S)
        text = "" if old.is_left_out else subtitle(message, self._side)
        length_s = max(message.end_s - message.start_s, len(text) / CHARS_PER_S, SHORTEST_S)
        # A caption without text does not delay later ones.
        if text:
            self._ended_s = max(self._ended_s, start_s + length_s)
        return replace(
            old,
            start_s=start_s,
            end_s=start_s + length_s,
            text=text,
            said_s=message.end_s,
            cues=None,
        )

    def _cues_of(self, key: int, from_s: float) -> tuple[Cue, ...]:
        """Return a caption's cues if any may be in the segment that begins at `from_s`.

        The layout is made at the first request: it takes some milliseconds, and must not delay
        captions on their way to displays.
        """
        placed = self._placed[key]
        if placed.start_s is None or not placed.text:
            return ()
        start_s, end_s = placed.start_s - self._origin_s, placed.end_s - self._origin_s
        if start_s >= from_s + SEGMENT_S or end_s + _LONGER_S < from_s:
            return ()
        if placed.cues is None:
            laid = arrange([Spoken(start_s, end_s, ((self._lang, placed.text),))])
            cues = (Cue(round(each.start_s, 3), round(each.end_s, 3), each.text) for each in laid)
            self._placed[key] = placed = replace(placed, cues=tuple(cues))
        return placed.cues or ()


def _end(now_s: float) -> int:
    """Return the first segment that is not listed yet."""
    return int((now_s - DELAY_S) // SEGMENT_S)
