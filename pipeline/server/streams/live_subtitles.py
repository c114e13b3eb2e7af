"""Subtitles for streams, over HTTP: `GET /live/LANG.m3u8` and its segments (docs/PROTOCOL.md)."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from http import HTTPStatus

from websockets.http11 import Request, Response

from pipeline.captions.board import CaptionBoard, is_by_operator
from pipeline.captions.hls import SEGMENT_S, RollingSubtitles
from pipeline.captions.sink import Sink
from pipeline.protocol.caption import CaptionMessage
from pipeline.server.pages import refuse, revalidated

PREFIX = "/live/"
_PLAYLIST_TYPE = "application/vnd.apple.mpegurl"
_SEGMENT_TYPE = "text/vtt; charset=utf-8"
_PATH = re.compile(r"/live/([A-Za-z0-9-]{1,35})(?:\.m3u8|/([0-9]{1,12})\.vtt)")
_WATCHED_S = 30.0
"""A player requests its playlist every few seconds; after this time, it has left."""


class LiveSubtitles(Sink):
    """The subtitles of a session in all its languages. Belongs to the event loop's thread."""

    def __init__(self, boards: Sequence[CaptionBoard], clock: Callable[[], float]) -> None:
        """`boards` has the first target's board first.

        `clock` gives UTC in seconds since 1970, and never goes back.
        """
        now_s = clock()
        self._clock = clock
        first = boards[0]
        self._source = RollingSubtitles(first.source, "source", now_s)
        # A target may be the spoken language, as in a service that is only transcribed: then that
        # target's captions are served.
        self._by_lang = {first.source: self._source} | {
            board.target: RollingSubtitles(board.target, "target", now_s) for board in boards
        }
        self._first = first.target
        self._asked_s: dict[str, float] = {}
        # A resumed session has captions on its boards: an edit of these is not new speech.
        known = (message for board in boards for message in board.snapshot().messages)
        self._heard_s = max((message.end_s for message in known), default=0.0)
        self._shown_since_s = 0.0
        """When the displays ceased to be blank; infinite while they are."""

    def on_blank(self, *, is_blank: bool) -> None:
        """Leave out what is said while the displays are blank."""
        if is_blank:
            self._shown_since_s = math.inf
        elif self._shown_since_s == math.inf:
            self._shown_since_s = self._clock()

    def on_caption(self, message: CaptionMessage, lang: str) -> None:
        """Add a version of a caption from the board of a target language."""
        if not is_by_operator(message):  # typed text has a time, but was not heard
            self._heard_s = max(self._heard_s, message.end_s)
        # The source text is on the first target's board only: it is needed once.
        tracks = [self._by_lang[lang], *([self._source] if lang == self._first else [])]
        for track in tracks:
            track.put(message, self._clock(), self._heard_s, self._shown_since_s)

    def watchers(self) -> Counter[str]:
        """Count each language whose playlist is read as one display: it must not rest."""
        since_s = self._clock() - _WATCHED_S
        return Counter(lang for lang, asked_s in self._asked_s.items() if asked_s >= since_s)

    def answer(self, request: Request) -> Response:
        """Answer a GET or HEAD request whose path begins with PREFIX."""
        match = _PATH.fullmatch(request.path.partition("?")[0])
        lang, number = match.groups() if match else ("", None)
        if lang not in self._by_lang:
            shown = ", ".join(self._by_lang)
            return refuse(HTTPStatus.NOT_FOUND, f"There is no such file; languages: {shown}.")
        subtitles, now_s = self._by_lang[lang], self._clock()
        if number is None:
            self._asked_s[lang] = now_s
            return _subtitles(request, subtitles.playlist(now_s), _PLAYLIST_TYPE)
        text = subtitles.segment(int(number), now_s)
        if text is None:
            later = {"Retry-After": str(SEGMENT_S)}
            return refuse(HTTPStatus.NOT_FOUND, "This segment is gone, or not there yet.", later)
        return _subtitles(request, text, _SEGMENT_TYPE)


def _subtitles(request: Request, text: str, content_type: str) -> Response:
    body = text.encode()
    etag = hashlib.sha256(body).hexdigest()[:16]
    # As with sockets and events, pages of any origin may read. What goes off the record leaves
    # caches as well: they ask each time.
    extra = {"Access-Control-Allow-Origin": "*"}
    return revalidated(request, etag, body, content_type, extra)
