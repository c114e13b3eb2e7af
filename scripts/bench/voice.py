"""Measure the church's voice: how well it is understood, how late it is, what listeners cost.

    python -m scripts.bench.voice
    python -m scripts.bench.voice --only intelligibility
    python -m scripts.bench.voice --only delay --audio demo/sermon.flac
    python -m scripts.bench.voice --only listeners

"intelligibility" speaks captions of modern preaching without digits with Kokoro, in the same
pieces as in a service. Whisper base recognizes the speech, and its text is compared word by word; a
number in words equals the number in digits. CPU is that of the voice alone, with espeak-ng.

"delay" plays a recording in real time to the program with Whisper base and the voice, and listens
to /listen/es as a phone does. A clause's delay runs from its last spoken word to its first sound.
The last clause's last spoken word is the end of the caption's last sentence in the reference; an
earlier clause ends at its share of the caption's translated words. The received sound of each
caption is recognized and compared with the caption's text.

"listeners" opens 300 connections from another process, for a minute. It measures the processor
time of the server and whether each listener received every byte.

The first two need espeak-ng and the models: stark-translate models pull kokoro-82m-int8
whisper-base
"""

from __future__ import annotations

import asyncio
import io
import resource
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from pipeline.audio.file import read_audio
from pipeline.captions.board import CaptionBoard
from pipeline.church.fidelity import numbers
from pipeline.core.errors import ModelError
from pipeline.core.resources import bundled
from pipeline.core.types import SAMPLE_RATE, Pcm
from pipeline.engines.ctranslate2.whisper import Whisper
from pipeline.engines.protocols import Speaker
from pipeline.evaluation.reference import Sentence, read_recording
from pipeline.evaluation.word_errors import word_errors
from pipeline.models.resolve import resolve
from pipeline.protocol.caption import CaptionMessage
from pipeline.server.streams.voice_streams import VoiceStreams
from pipeline.session.reader import Session
from pipeline.voice.narrator import Narrator
from pipeline.voice.playout import BIT_RATE, RATE_HZ, Encoder
from pipeline.voice.voice import STEP_S
from scripts.bench import report_section
from scripts.bench.live import Display, began_s, environment
from scripts.bench.report_section import ranks, slashed
from scripts.support.command import add_settings, parser_of, progress, says_errors
from scripts.support.display_server import DisplayServer
from scripts.support.kokoro import kokoro
from scripts.support.paths import ROOT
from scripts.support.program import started
from scripts.support.records import caption

TITLE = "## The church's voice"
UNDERSTOOD, DELAY = f"{TITLE}: how well it is understood", f"{TITLE}: how late it is"
LISTENERS = f"{TITLE}: many listeners"
PREFACE = "Made by `make bench-voice`; `python -m scripts.bench.voice --help` says how."
CAPTIONS = {
    "es": ROOT / "training" / "data" / "sermon_test.tsv",
    "fr": ROOT / "training" / "data" / "sermon_test_fr.tsv",
    "pt": Path(__file__).with_name("captions_pt.txt"),
}
_BYTES_A_SAMPLE = BIT_RATE / 8 / RATE_HZ
_LOUD = 0.01
_EARLY_S = 0.5
"""The voice detector may end an utterance this long before a last faint sound."""
_GAP_S = 0.1
_MOST = 50
"""Captions of each language that are spoken."""
_QUIET_S = 10.0
"""Silence before a recording, while the voice loads, and after it, so that the voice can finish."""
_END_S = 900.0
_SHARES = (0.5, 0.95, 1.0)


def captions(lang: str, most: int) -> list[str]:
    """Return captions without digits; a line with two languages gives its second one."""
    lines = CAPTIONS[lang].read_text("utf-8").splitlines()
    texts = (line.split("\t")[-1] for line in lines if line and not line.startswith("#"))
    return [text for text in texts if not any(map(str.isdigit, text))][:most]


def comparable(text: str, lang: str) -> str:
    """Return a text with its numbers in digits: a recognizer may write "siete" as 7."""
    for found in reversed(numbers.find(text, lang)):
        text = f"{text[: found.start]}{found.value}{text[found.end :]}"
    return text


def intelligibility() -> list[list[str]]:
    """Speak and recognize captions of each language; return the table. Raises StarkError."""
    voice = kokoro(*CAPTIONS)
    rows = [["", "captions", "words", "WER", "speech, s", "CPU, s/s"]]
    for lang in CAPTIONS:
        ear = Whisper(resolve("stt", "whisper-base"), lang=lang)
        ear.load()
        rows.append(understood(lang, captions(lang, _MOST), voice, ear))
    return rows


def understood(lang: str, texts: Sequence[str], voice: Speaker, ear: Whisper) -> list[str]:
    """Speak and recognize captions; return the row of the table. Raises EngineError."""
    import soxr  # noqa: PLC0415 - takes a while

    counted, speech_s, cpu_s = list[tuple[int, int]](), 0.0, 0.0
    for text in progress(texts, f"speaking {lang}"):
        began = _cpu_s()
        sound = spoken(text, lang, voice)
        cpu_s += _cpu_s() - began
        speech_s += len(sound) / RATE_HZ
        heard = ear.recognize(soxr.resample(sound, RATE_HZ, SAMPLE_RATE), final=True).text
        counted.append(word_errors(comparable(text, lang), comparable(heard, lang)))
        if counted[-1][0]:
            print(f"{lang}: {text} | {heard}", file=sys.stderr)
    return row(lang, counted, speech_s, cpu_s)


def spoken(text: str, lang: str, voice: Speaker) -> Pcm:
    """Return the speech of a caption, in the same pieces as in a service. Raises EngineError."""
    narrator, said = Narrator(lang, fastest=1.0), np.zeros(0, np.float32)
    board = CaptionBoard("bench", "en", lang, 1)
    if shown := board.show(caption(1, text, text, final=True, lang=lang)):
        narrator.take(shown, 0.0)
    while clause := narrator.next(0.0, len(said) / RATE_HZ):
        said = np.concatenate([said, voice.speak(clause.text, lang, 1.0)])
    return np.pad(said, round(STEP_S * RATE_HZ))  # a listener hears silence before and after it


def row(lang: str, counted: Sequence[tuple[int, int]], speech_s: float, cpu_s: float) -> list[str]:
    """Return a language's row; `counted` has the (wrong, spoken) words of each caption."""
    wrong, said = (sum(column) for column in zip(*counted, strict=True))
    figures = [f"{wrong / said:.1%}", f"{speech_s:.0f}", f"{cpu_s / speech_s:.2f}"]
    return [lang, str(len(counted)), str(said), *figures]


def _cpu_s() -> float:
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


class Listener(threading.Thread):
    """Receives a language's sound and notes when each part arrived (monotonic seconds)."""

    def __init__(self, address: str, lang: str) -> None:
        super().__init__(name="listener", daemon=True)
        self.sound = b""
        self.came: list[tuple[int, float]] = []
        """For each part, the number of bytes before it and its arrival time."""
        self._stream = urllib.request.urlopen(f"{address}/listen/{lang}", timeout=60)  # noqa: S310
        self.start()

    def run(self) -> None:
        """Listen until the stream ends."""
        with self._stream:
            while part := self._stream.read1():
                self.came.append((len(self.sound), time.monotonic()))
                self.sound += part


@dataclass(frozen=True, slots=True)
class Heard:
    """Sound as a player without a buffer plays it."""

    pcm: Pcm
    starts: tuple[tuple[int, float], ...]
    """First sample of each part, and when it is played."""
    gaps_s: tuple[float, ...]
    """How long the player waited for sound, each time."""

    def parts(self) -> Iterator[tuple[float, Pcm]]:
        """Yield when each part is played, and its sound."""
        sounds = np.split(self.pcm, [first for first, _ in self.starts[1:]])
        yield from zip((at_s for _, at_s in self.starts), sounds, strict=True)

    def between(self, from_s: float, to_s: float) -> Pcm:
        """Return the sound of the parts that begin between two moments, shape (n,)."""
        kept = [sound for at_s, sound in self.parts() if from_s <= at_s < to_s]
        return np.concatenate([np.zeros(0, np.float32), *kept])

    def first_sound_s(self, from_s: float, to_s: float) -> float | None:
        """Return when the first sound between two moments is heard; None if there is none."""
        for at_s, sound in self.parts():
            loud = np.flatnonzero(np.abs(sound) > _LOUD) / RATE_HZ + at_s
            if len(loud := loud[(loud >= from_s) & (loud < to_s)]):
                return float(loud[0])
        return None


def heard(sound: bytes, came: Iterable[tuple[int, float]]) -> Heard:
    """Decode the sound that a listener received; `came` has the arrival of each part."""
    import av  # noqa: PLC0415 - takes a while

    with av.open(io.BytesIO(sound), "r", format="mp3") as decoded:
        pcm = np.concatenate([frame.to_ndarray()[0] for frame in decoded.decode(audio=0)])
    starts, gaps = list[tuple[int, float]](), list[float]()
    parts, end_s = list(came), 0.0
    for (size, came_s), (next_size, _) in zip(parts, [*parts[1:], (len(sound), 0.0)], strict=True):
        if starts and came_s - end_s > 0:
            gaps.append(came_s - end_s)
        starts.append((round(size / _BYTES_A_SAMPLE), max(came_s, end_s)))
        end_s = starts[-1][1] + (next_size - size) / _BYTES_A_SAMPLE / RATE_HZ
    return Heard(pcm, tuple(starts), tuple(gaps))


def clauses(log: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the voice's clause lines of a log, with `due_s`: when the voice expected to play them.

    `due_s` is in monotonic seconds, like all times here.
    """
    clock_s = time.time() - time.monotonic()
    return [
        {**line, "due_s": datetime.fromisoformat(line["utc"]).timestamp() - clock_s + line["in_s"]}
        for line in log
        if line.get("event") == "clause"
    ]


def delays_s(
    said: Iterable[Mapping[str, Any]], shown: Sequence[CaptionMessage],
    spoken: Sequence[Sentence], sound: Heard, start_s: float,
) -> list[float]:  # fmt: skip
    """Return the delay of each clause's first sound.

    `said` is the result of `clauses`; `start_s` is when the recording began.
    """
    by_id, words, found = {each.id: each for each in shown}, dict[int, int](), []
    first_s: float | None = None
    for phrase in said:
        key = phrase["caption"]
        words[key] = words.get(key, 0) + phrase["words"]
        if first_s is None:
            first_s = sound.first_sound_s(
                phrase["due_s"], phrase["due_s"] + phrase["length_s"] + 1.0
            )
        if not phrase["is_end"]:
            continue
        at_s, first_s = first_s, None
        if key in by_id and at_s is not None:
            caption = by_id[key]
            share = min(1.0, words[key] / max(1, len(_text(caption).split())))
            ends = [each.end_s for each in spoken
                    if caption.start_s < each.end_s <= caption.end_s + _EARLY_S]  # fmt: skip
            end_s = max(ends, default=caption.end_s)
            found.append(at_s - start_s - caption.start_s - share * (end_s - caption.start_s))
    return found


def heard_back(
    said: Iterable[Mapping[str, Any]], shown: Iterable[CaptionMessage], sound: Heard, lang: str
) -> str:
    """Return how many words of the spoken captions Whisper base recognizes wrongly."""
    import soxr  # noqa: PLC0415 - takes a while

    ear = Whisper(resolve("stt", "whisper-base"), lang=lang)
    ear.load()
    spans = dict[int, tuple[float, float]]()
    for phrase in said:
        start_s, end_s = phrase["due_s"], phrase["due_s"] + phrase["length_s"]
        spans[phrase["caption"]] = spans.get(phrase["caption"], (start_s, 0.0))[0], end_s
    counted = []
    for each in shown:
        if each.id not in spans:
            continue
        start_s, end_s = spans[each.id]
        pcm = soxr.resample(sound.between(start_s - STEP_S, end_s + STEP_S), RATE_HZ, SAMPLE_RATE)
        heard = ear.recognize(pcm, final=True).text
        counted.append(word_errors(comparable(_text(each), lang), comparable(heard, lang)))
    wrong, words = (sum(column) for column in zip(*counted, strict=True))
    return f"{wrong} of {words}"


def _text(caption: CaptionMessage) -> str:
    return caption.verse.text if caption.verse else caption.target.text


def delay(audio: Path, settings: Sequence[str]) -> list[list[str]]:
    """Play a recording to the program and listen; return the table. Raises StarkError."""
    once = read_recording(audio.with_suffix(".json"), "en", "es").once
    spoken = [replace(each, start_s=each.start_s + _QUIET_S, end_s=each.end_s + _QUIET_S)
              for each in once]  # fmt: skip
    own = ["stt.model=whisper-base", "speech.enabled=true", "log.level=debug", *settings]
    with tempfile.TemporaryDirectory() as folder:
        quiet = np.zeros(round(_QUIET_S * SAMPLE_RATE), np.float32)
        played = Path(folder, "played.wav")
        soundfile.write(played, np.concatenate([quiet, read_audio(audio), quiet]), SAMPLE_RATE)
        command = ["run", "--input", str(played), "--pace", "realtime", "--sessions", folder]
        with started(*command, cwd=Path(folder), **environment(own)) as program:
            listener = Listener(program.address, "es")
            display = Display(program.socket())
            program.end(_END_S)
            listener.join(10)
            display.join(10)
            session = Session(program.folder)
        finals_s = [(each.last_syllable_to_final_ms or 0.0) / 1000 for each in session.shown]
        start_s, shown = began_s(display.got, session.shown), session.captions
    said = clauses(program.log)
    if not said:
        raise ModelError("nothing-heard", "Nothing was said.", "Look at [speech] with `check`.")
    sound = heard(listener.sound, listener.came)
    late = delays_s(said, shown, spoken, sound, start_s)
    words = sum(len(_text(each).split()) for each in shown)
    wrong = heard_back(said, shown, sound, "es")
    gaps = [gap for gap in sound.gaps_s if gap > _GAP_S]
    return [
        ["measure", audio.stem],
        ["clauses", f"{len(late)} of {sum(each['is_end'] for each in said)}"],
        ["words said, of words shown", f"{sum(each['words'] for each in said)} of {words}"],
        ["last word to its first sound, p50 / p95 / longest, s", slashed(ranks(late, *_SHARES))],
        ["words of these captions that Whisper base hears wrong", wrong],
        ["end of speech to the final caption, s", slashed(ranks(finals_s, *_SHARES))],
        [f"gaps over {_GAP_S} s, longest, s", f"{len(gaps)}, {max(sound.gaps_s, default=0.0):.2f}"],
    ]  # fmt: skip


def listen(port: int, count: int, got: Connection) -> None:
    """Let `count` connections listen until the server ends; send how many bytes each received."""

    async def one() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /listen/es HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        heard = 0
        while part := await reader.read(2**16):
            heard += len(part)
        writer.close()
        return heard

    async def every() -> list[int]:
        return await asyncio.gather(*(one() for _ in range(count)))

    got.send(asyncio.run(every()))


def crowd(count: int, length_s: float) -> list[list[str]]:
    """Have `count` listeners receive a voice; return the table."""
    rows = [["listeners", "each got, of sent", "kB/s", "CPU, s/s"]]
    step = np.random.default_rng(1).normal(0, 0.1, round(STEP_S * RATE_HZ)).astype(np.float32)
    for listeners in (1, count):
        voices = VoiceStreams(("es",), listeners)
        limits = {"max_per_address": listeners + 9, "max_clients": listeners + 9}
        got, end = Pipe(duplex=False)
        with DisplayServer(voices=voices, server=limits) as server:
            port = int(server.url.rpartition(":")[2])
            clients = get_context("spawn").Process(target=listen, args=(port, listeners, end))
            clients.start()
            while voices.watchers()["es"] < listeners:
                time.sleep(0.1)
            encoder, sent, due_s, began_s = Encoder(), 0, time.monotonic(), time.process_time()
            for _ in progress(range(round(length_s / STEP_S)), f"{listeners} listening"):
                sound = encoder.encode(step)
                voices.spread("es", sound)
                sent, due_s = sent + len(sound), due_s + STEP_S
                time.sleep(max(0.0, due_s - time.monotonic()))
            cpu_s = time.process_time() - began_s
        heard = got.recv()
        clients.join()
        kilobytes = sum(heard) / length_s / 1000
        shares = f"{min(heard) / sent:.0%} to {max(heard) / sent:.0%}"
        rows.append([str(listeners), shares, f"{kilobytes:.0f}", f"{cpu_s / length_s:.3f}"])
    return rows


@says_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--only", choices=["intelligibility", "delay", "listeners"], default="",
                        help="one of the three")  # fmt: skip
    parser.add_argument("--audio", type=Path, default=bundled("demo", "service.flac"),
                        help="its reference beside it (default demo/service.flac)")  # fmt: skip
    add_settings(parser, "a setting, for the delay")
    parser.add_argument("--markdown", type=Path, help="write the tables into this file's sections")
    arguments = parser.parse_args(argv)
    measures: dict[str, tuple[str, Callable[[], list[list[str]]]]] = {
        "intelligibility": (UNDERSTOOD, intelligibility),
        "delay": (DELAY, lambda: delay(arguments.audio, arguments.set)),
        "listeners": (LISTENERS, lambda: crowd(300, 60.0)),
    }
    for name, (title, measured) in measures.items():
        if arguments.only in ("", name):
            rows = measured()
            report_section.show(rows, title)
            notes = [report_section.made("onnxruntime")]
            report_section.write(arguments.markdown, title, rows, preface=PREFACE, notes=notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
