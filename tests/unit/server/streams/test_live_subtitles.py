"""Subtitles for streams over the real port: playlists, segments, answers to players."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pysubs2
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from pipeline.captions.board import CaptionBoard
from pipeline.captions.redaction import Redaction
from pipeline.config.schema import Server
from pipeline.core.metrics import Metrics
from pipeline.protocol.caption import CaptionMessage, TargetText
from pipeline.server.hub import Hub
from pipeline.server.streams.live_subtitles import LiveSubtitles
from scripts.support.records import caption
from tests.support.hub import TOKEN, Service, in_loop, serving


class Streamed:
    """The subtitles of a service in two languages, with a clock that is set by hand."""

    def __init__(self) -> None:
        self.now_s = 1_795_343_400.0
        self.spanish = CaptionBoard("session", "en", "es", 200)
        self.french = CaptionBoard("session", "en", "fr", 200)
        self.subtitles = LiveSubtitles((self.spanish, self.french), lambda: self.now_s)

    def say(self, key: int, source: str, spanish: str, french: str) -> None:
        for board, text in ((self.spanish, spanish), (self.french, french)):
            made = caption(key, source, text, final=True, lang=board.target)
            self.put(board, board.show(made))

    def show(self, key: int, source: str, spanish: str, **how: Any) -> None:
        """Show a caption in Spanish only."""
        made = caption(key, source, spanish, **{"final": True, **how})
        self.put(self.spanish, self.spanish.show(made))

    def blank(self) -> None:
        self.subtitles.on_blank(is_blank=True)

    def unblank(self) -> None:
        self.subtitles.on_blank(is_blank=False)

    def put(self, board: CaptionBoard, message: CaptionMessage | None) -> None:
        assert message
        self.subtitles.on_caption(message, board.target)

    def get(self, path: str, **headers: str) -> Response:
        named = Headers({name.replace("_", "-"): value for name, value in headers.items()})
        return self.subtitles.answer(Request(path, named))

    def segments(self, lang: str) -> list[str]:
        """Return the addresses of all segments of a playlist."""
        playlist = self.get(f"/live/{lang}.m3u8").body.decode()
        return re.findall(r"^[^#].*", playlist, re.MULTILINE)

    def texts(self, lang: str) -> list[str]:
        """Return what a player shows when it reads all segments of a playlist."""
        found: list[str] = []
        for uri in self.segments(lang):
            segment = self.get(f"/live/{uri}")
            assert segment.status_code == 200
            assert segment.headers["Content-Type"] == "text/vtt; charset=utf-8"
            for event in pysubs2.SSAFile.from_string(segment.body.decode(), format_="vtt"):
                found += [] if event.plaintext in found else [event.plaintext]
        return found


def test_each_language_has_its_text_and_the_first_board_alone_tells_what_was_said() -> None:
    """An edit of one language's translation does not change the spoken words of the others."""
    streamed = Streamed()
    streamed.say(1, "peace", "paz", "paix")
    streamed.say(2, "grace", "gracia", "grâce")
    streamed.put(streamed.french, streamed.french.hide(1))
    streamed.now_s += 20
    texts = [streamed.texts(lang) for lang in ("es", "fr", "en")]
    assert texts == [["paz", "gracia"], ["grâce"], ["peace", "grace"]]


def test_off_the_record_reaches_the_spoken_words_too() -> None:
    streamed = Streamed()
    streamed.say(1, "secret", "secreto", "secret")
    streamed.now_s += 15
    assert streamed.texts("en") == ["secret"]
    for board in (streamed.spanish, streamed.french):
        for message in board.purge(Redaction(0, 100)):
            streamed.put(board, message)
    assert [streamed.texts(lang) for lang in ("es", "fr", "en")] == [[], [], []]


def test_nothing_is_added_while_the_displays_are_blank() -> None:
    streamed = Streamed()
    streamed.blank()
    streamed.say(1, "peace", "paz", "paix")
    streamed.unblank()
    streamed.now_s += 10
    streamed.say(2, "grace", "gracia", "grâce")
    streamed.now_s += 20
    assert streamed.texts("es") == ["gracia"]


def test_what_was_said_while_blank_stays_away_when_its_translation_comes_later() -> None:
    """A translator that failed catches up, newest first, when the displays are on again."""
    streamed = Streamed()
    board = streamed.spanish
    streamed.show(1, "peace", "paz")
    streamed.blank()
    streamed.show(2, "a secret", "a secret", engine="source", start_s=9.0, end_s=11.0)
    streamed.put(board, board.edit(1, "la paz"))  # said before, corrected meanwhile
    streamed.unblank()
    streamed.put(board, board.retranslate(2, TargetText("es", "un secreto", "gemma")))
    streamed.now_s += 20
    assert (streamed.texts("es"), streamed.texts("en")) == (["la paz"], ["peace"])


def test_what_began_while_blank_stays_away_when_its_final_comes_later() -> None:
    streamed = Streamed()
    streamed.blank()
    streamed.show(1, "a sec", "un sec", final=False)
    streamed.unblank()
    streamed.show(1, "a secret", "un secreto", end_s=1.5)
    streamed.put(streamed.spanish, streamed.spanish.reopen(1))
    streamed.show(1, "a secret.", "un secreto.", end_s=3.0)
    streamed.now_s += 20
    assert (streamed.texts("es"), streamed.texts("en")) == ([], [])


def test_what_began_while_blank_stays_away_though_no_caption_came_before_its_end() -> None:
    """A machine that has fallen behind makes no partials."""
    streamed = Streamed()
    streamed.blank()
    streamed.now_s += 10
    streamed.unblank()
    streamed.now_s += 3
    streamed.show(1, "a secret", "un secreto", start_s=2.0, end_s=8.0)
    streamed.now_s += 6
    streamed.show(2, "peace", "paz", start_s=9.0, end_s=14.0)
    streamed.now_s += 20
    assert (streamed.texts("es"), streamed.texts("en")) == (["paz"], ["peace"])


def test_a_typed_caption_does_not_move_what_is_said_after_it() -> None:
    streamed, other = Streamed(), Streamed()
    streamed.put(streamed.spanish, streamed.spanish.add_typed(1, 1000.0, "x" * 300, "es"))
    for each in (streamed, other):
        each.say(2, "grace", "gracia", "grâce")
        each.now_s += 20
    assert "gracia" in streamed.texts("es")
    # The French board has no typed caption: its segments are the same with and without it.
    for uri in other.segments("fr"):
        assert streamed.get(f"/live/{uri}").body == other.get(f"/live/{uri}").body


def test_a_language_whose_playlist_is_read_has_a_viewer() -> None:
    streamed = Streamed()
    assert streamed.subtitles.watchers() == {}
    streamed.get("/live/fr.m3u8")
    streamed.now_s += 20
    streamed.get("/live/es.m3u8")
    assert streamed.subtitles.watchers() == {"fr": 1, "es": 1}
    streamed.now_s += 20
    assert streamed.subtitles.watchers() == {"es": 1}


def test_an_edit_changes_the_tag_of_its_segments_only() -> None:
    streamed = Streamed()
    streamed.say(1, "peace", "pas", "paix")
    streamed.now_s += 20
    before = {uri: streamed.get(f"/live/{uri}") for uri in streamed.segments("es")}
    streamed.put(streamed.spanish, streamed.spanish.edit(1, "paz"))
    for uri, old in before.items():
        new = streamed.get(f"/live/{uri}", If_None_Match=old.headers["ETag"])
        assert new.status_code == (200 if b"pas" in old.body else 304)


def test_what_is_not_there_is_refused_in_a_sentence() -> None:
    streamed = Streamed()
    for path in ("/live/xx.m3u8", "/live/", "/live/es", "/live/es/x.vtt", "/live/es/../fr.m3u8"):
        refused = streamed.get(path)
        assert refused.status_code == 404
        assert refused.body == b"There is no such file; languages: en, es, fr.\n"
    later = streamed.get("/live/es/999999999999.vtt")
    assert (later.status_code, later.headers["Retry-After"]) == (404, "4")


@contextlib.asynccontextmanager
async def streaming(streamed: Streamed) -> AsyncIterator[Service]:
    service = Service()
    boards, subtitles = (streamed.spanish, streamed.french), streamed.subtitles
    settings, metrics = Server(port=0), Metrics()
    service.hub = Hub(
        boards, settings, mode="live", token=TOKEN, metrics=metrics, subtitles=subtitles
    )
    await service.start()
    try:
        yield service
    finally:
        await service.hub.close()


@in_loop
async def test_the_port_serves_them_with_its_other_pages() -> None:
    async with serving() as service:
        off = await service.get("/live/es.m3u8")
        assert (off.status, b"[[outputs]]" in off.body) == (404, True)
    streamed = Streamed()
    async with streaming(streamed) as service:
        got = await service.get("/live/fr.m3u8?session=1")
        assert (got.status, got.body[:8]) == (200, b"#EXTM3U\n")
        assert got.headers["content-type"] == "application/vnd.apple.mpegurl"
        assert got.headers["x-content-type-options"] == "nosniff"
        assert got.headers["cache-control"] == "no-cache"
        assert got.headers["access-control-allow-origin"] == "*"
        head = await service.get("/live/fr.m3u8", "HEAD")
        assert (head.status, head.body) == (200, b"")
        etag = got.headers["etag"]
        again = await service.get("/live/fr.m3u8", If_None_Match=f'"other", W/{etag}')
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag)
        assert "content-length" not in again.headers
        streamed.now_s += 4
        assert (await service.get("/live/fr.m3u8", If_None_Match=etag)).status == 200
        assert (await service.get("/live/fr.m3u8", "POST")).status == 405


@in_loop
async def test_ffmpeg_reads_them_over_the_port(tmp_path: Path) -> None:
    """FFmpeg cannot read a playlist that goes on, so the test ends it (docs/DISPLAYS.md)."""
    streamed = Streamed()
    words = [f"palabra{number}" for number in range(21)]
    said = [" ".join(words[at : at + 7]) for at in (0, 7, 14)]
    for key, text in enumerate(said, 1):
        streamed.say(key, "said", text, text)
        streamed.now_s += 3
    streamed.now_s += 20
    async with streaming(streamed) as service:
        base = f"http://127.0.0.1:{service.hub.port}/live/"
        playlist = streamed.get("/live/es.m3u8").body.decode()
        copy = tmp_path / "ended.m3u8"
        copy.write_text(playlist.replace("\nes/", f"\n{base}es/") + "#EXT-X-ENDLIST\n")
        of_list = await asyncio.to_thread(_demuxed, str(copy))
        uris = streamed.segments("es")
        each = [await asyncio.to_thread(_demuxed, base + uri) for uri in uris]
    assert " ".join(text for _, text in of_list).split() == words
    # A cue that reaches into the next segment is in both; the whole list gives it once.
    assert of_list == sorted({cue for found in each for cue in found})
    assert sum(map(len, each)) > len(of_list)


def _demuxed(url: str) -> list[tuple[int, str]]:
    """Return each cue's time, in ms, and its text, as FFmpeg's library reads them."""
    import av

    form = "hls" if url.endswith(".m3u8") else None
    allowed = {"protocol_whitelist": "file,http,tcp"}
    with av.open(url, format=form, options=allowed, timeout=(10, 10)) as opened:
        packets = [packet for packet in opened.demux() if packet.pts is not None]
        return [(packet.pts or 0, bytes(packet).decode()) for packet in packets]


def test_what_was_kept_back_for_an_operator_is_shown_and_what_is_long_over_is_not() -> None:
    earlier = CaptionBoard("session+1", "en", "es", 200)
    earlier.show(caption(1, "long ago", "hace mucho", final=True, start_s=10.0, end_s=11.0))
    earlier.show(caption(2, "late", "tarde", final=True, start_s=500.0, end_s=501.0))
    streamed = Streamed()
    streamed.subtitles = LiveSubtitles((earlier, streamed.french), lambda: streamed.now_s)
    streamed.put(earlier, earlier.edit(1, "corregido"))
    # Nobody has seen its first revision.
    earlier.show(
        caption(3, "kept", "guardado", final=True, start_s=502.0, end_s=503.0), marked=True
    )
    streamed.put(earlier, earlier.approve(3))
    streamed.now_s += 20.0
    assert streamed.texts("es") == ["guardado"]
