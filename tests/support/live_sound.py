"""A live HLS stream as from an encoder with UTC timestamps, and a page that plays it.

The player is npm's hls.js 1.7.4, its dist/hls.min.js (tests/support/hls, Apache 2.0).
"""

from __future__ import annotations

import gzip
import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice

import numpy as np

from tests.support.paths import ROOT
from tests.support.programs import answering

_PLAYER = ROOT / "tests" / "support" / "hls" / "hls-1.7.4.min.js.gz"
_SEGMENT_S, _LISTED = 4, 10
_RATE, _FRAME, _FRAMES = 32_000, 1024, 125  # frames of AAC that fill a segment exactly
_TICKS_A_SECOND, _TICKS = 90_000, 2**33

_PAGE = """<!doctype html><title>Live</title><link rel="icon" href="data:,">
<video muted></video><script src="/hls.js"></script><script>
const video = document.querySelector("video");
window.fatal = [];
window.shown = [];
video.textTracks.onaddtrack = ({ track }) => track.addEventListener("cuechange", () => {
  if (track.mode === "showing") for (const cue of track.activeCues) window.shown.push(cue.text);
});
window.hls = new Hls({ liveSyncDuration: 16 }); // captions are listed up to 12 s after they end
hls.on(Hls.Events.ERROR, (_, error) => error.fatal && window.fatal.push(error.details));
hls.on(Hls.Events.MANIFEST_PARSED, () => video.play());
video.onplaying = () => { video.textTracks[0].mode = "showing"; }; // as the browser's own menu does
hls.loadSource("/main.m3u8");
hls.attachMedia(video);
</script>
"""


class _Stream(ThreadingHTTPServer):
    daemon_threads = True
    subtitles: str


class _Handler(BaseHTTPRequestHandler):
    server: _Stream

    def do_GET(self) -> None:
        path = self.path
        if path == "/":
            self._send("text/html", _PAGE.encode())
        elif path == "/hls.js":
            self._send("text/javascript", gzip.decompress(_PLAYER.read_bytes()))
        elif path == "/main.m3u8":
            self._send("application/vnd.apple.mpegurl", _main(self.server.subtitles).encode())
        elif path == "/sound.m3u8":
            self._send("application/vnd.apple.mpegurl", _playlist(time.time()).encode())
        else:
            self._send("video/mp2t", _segment(int(path.strip("/").removesuffix(".ts"))))

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def live_stream(subtitles: str) -> Iterator[str]:
    """Serve a stream with the subtitles at this address; yield the address of its page."""
    server = _Stream(("127.0.0.1", 0), _Handler)
    server.subtitles = subtitles
    with answering(server) as address:
        yield f"{address}/"


def _main(subtitles: str) -> str:
    """Return the main playlist of an audio stream, as in docs/DISPLAYS.md."""
    return (
        "#EXTM3U\n"
        '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="captions",NAME="Español",LANGUAGE="es",'
        f'AUTOSELECT=YES,DEFAULT=NO,URI="{subtitles}"\n'
        '#EXT-X-STREAM-INF:BANDWIDTH=100000,CODECS="mp4a.40.2",SUBTITLES="captions"\nsound.m3u8\n'
    )


def _playlist(now_s: float) -> str:
    end = int(now_s // _SEGMENT_S)
    lines = ["#EXTM3U", "#EXT-X-VERSION:3", f"#EXT-X-TARGETDURATION:{_SEGMENT_S}"]
    lines += [f"#EXT-X-MEDIA-SEQUENCE:{end - _LISTED}"]
    for number in range(end - _LISTED, end):
        began = datetime.fromtimestamp(number * _SEGMENT_S, UTC)
        lines += [f"#EXT-X-PROGRAM-DATE-TIME:{began:%Y-%m-%dT%H:%M:%S}.000Z"]
        lines += [f"#EXTINF:{_SEGMENT_S}.000,", f"{number}.ts"]
    return "\n".join([*lines, ""])


def _segment(number: int) -> bytes:
    """Return four seconds of silence that begin at `number` * 4 s UTC."""
    import av

    made = io.BytesIO()
    first = number * _SEGMENT_S * _TICKS_A_SECOND
    with (
        av.open(io.BytesIO(_silence()), format="aac") as encoded,
        av.open(made, "w", format="mpegts", options={"mpegts_copyts": "1"}) as out,
    ):
        stream = out.add_stream_from_template(encoded.streams.audio[0])
        packets = islice(encoded.demux(), _FRAMES)  # type: ignore[union-attr]
        for at, packet in enumerate(packets):
            packet.stream, packet.time_base = stream, Fraction(1, _TICKS_A_SECOND)
            packet.duration = _FRAME * _TICKS_A_SECOND // _RATE
            packet.pts = packet.dts = (first + at * packet.duration) % _TICKS
            out.mux(packet)
    return made.getvalue()


@cache
def _silence() -> bytes:
    import av

    made = io.BytesIO()
    with av.open(made, "w", format="adts") as out:
        stream = out.add_stream("aac", rate=_RATE, layout="mono")
        for at in range(_FRAMES):
            frame = av.AudioFrame.from_ndarray(np.zeros((1, _FRAME), np.float32), "fltp", "mono")
            frame.sample_rate, frame.pts = _RATE, at * _FRAME
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return made.getvalue()
