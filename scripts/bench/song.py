"""Song mode on an hour of a service: what is held, what is captioned, how quickly it changes.

    python -m scripts.bench.song --minutes 60

Makes the service from synthetic voices, tunes and instruments that the song detector was not
trained on, and plays it through the listen thread with the real voice detector: sermon and prayers,
dry and over music, organ, band, singing with and without instruments. Needs what
training.train.train_song needs. No recognizer runs: what it would be given is what counts.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.audio.segmenter import Segmenter, last_finals
from pipeline.audio.silero_vad import Silero
from pipeline.audio.song_head import LinearSongDetector
from pipeline.config.schema import Vad
from pipeline.core.reports import Report, SongChanged
from pipeline.core.types import SAMPLE_RATE, AudioBlock, Pcm, Utterance
from pipeline.workers.degradation import Degradation
from pipeline.workers.listener import Listen
from pipeline.workers.queues import UtteranceQueue
from scripts.bench.recordings import blocks
from scripts.support.command import parser_of
from training.data import speech
from training.data.instruments import compose
from training.data.service_sound import Studio, mixed, phrases, scaled
from training.train.train_song import recordings

_SEED = 7
_VERSE_S = 24.0
_PIECE_S, _MOST_S = 4.0, 40.0
_HELD_BACK = 0.8
"""A sentence is lost if a smaller share of it is in an utterance."""
_PART = tuple[str, float, str]
PROGRAMME: tuple[_PART, ...] = (
    *(("song", 3, "organ"), ("speech", 3, ""), ("song", 4, "band+solo"), ("speech", 2, "pad")),
    *(("song", 3.5, "piano+choir"), ("speech", 3, ""), ("song", 2.5, "choir"), ("speech", 12, "")),
    *(("speech", 3, "organ"), ("song", 1.5, "solo"), ("speech", 10, ""), ("speech", 2, "piano")),
    *(("song", 4, "organ+choir"), ("speech", 2, ""), ("song", 2.5, "guitar+solo")),
    *(("speech", 1, "pad"), ("song", 1.5, "piano")),
)
"""Kind, minutes (of an hour) and instruments; for speech, the music behind it."""


@dataclass(slots=True)
class Service:
    """The audio to play, and where its parts are, in seconds."""

    audio: list[Pcm] = field(default_factory=list)
    sentences: list[tuple[float, float]] = field(default_factory=list)
    songs: list[tuple[float, float, str]] = field(default_factory=list)
    length_s: float = 0.0

    def add(self, audio: Pcm) -> None:
        """Append a sound."""
        self.audio.append(audio)
        self.length_s += len(audio) / SAMPLE_RATE


def make_service(minutes: float) -> Service:
    """Return a service of about `minutes`."""
    studio, draw, service = Studio(_SEED, held_out=True), random.Random(_SEED), Service()
    hour = sum(part[1] for part in PROGRAMME)
    for kind, share, plays in PROGRAMME:
        length_s = max(12.0, 60 * share * minutes / hour)
        _silence(service, draw.uniform(0.8, 2.5), draw)
        if kind == "song":
            _sing(service, studio, draw, length_s, plays)
        else:
            _speak(service, studio, draw, length_s, plays)
    return service


def of_recordings(folder: Path) -> Service:
    """Return a service made of real recordings, with songs and speech in turns.

    They are in folder/song and folder/speech. Each four seconds of speech count as a sentence.
    """
    found = list(recordings(folder))
    said, sung = ([c for c in found if c.kind == kind] for kind in ("speech", "song"))
    draw, service = random.Random(0), Service()
    for number in range(max(len(said), len(sung))):
        for clips in (said, sung):
            clip = clips[number % len(clips)]
            begin_s = service.length_s
            service.add(clip.audio[: round(_MOST_S * SAMPLE_RATE)])
            if clip.kind == "song":
                service.songs.append((begin_s, service.length_s, clip.name))
            else:
                starts = np.arange(begin_s, service.length_s - _PIECE_S, _PIECE_S)
                service.sentences += [(at_s, at_s + _PIECE_S) for at_s in starts.tolist()]
            _silence(service, 1.0, draw)
    return service


def _silence(service: Service, seconds: float, draw: random.Random) -> None:
    noise = speech.coloured_noise(round(seconds * SAMPLE_RATE), draw)
    service.add(np.asarray(noise * 10 ** (-60 / 20), np.float32))


def _sing(
    service: Service, studio: Studio, draw: random.Random, length_s: float, plays: str
) -> None:
    """Add a song of equal verses, without pauses between them."""
    song = compose(_VERSE_S, draw)
    instrument, _, voices = plays.rpartition("+")
    verse = None
    if voices in ("solo", "choir"):
        verse = studio.sung(song, 1 if voices == "solo" else 4)
    else:
        instrument = voices
    if instrument:
        music = studio.played(song, instrument)
        verse = music if verse is None else mixed(verse, music, draw.uniform(0, 8))
    assert verse is not None  # noqa: S101 - one of the two was named
    verse = _in_hall(verse[: round(song.length_s * SAMPLE_RATE)], draw)
    begin_s = service.length_s
    for _ in range(max(1, round(length_s / song.length_s))):
        service.add(verse)
    service.songs.append((begin_s, service.length_s, plays))


def _speak(
    service: Service, studio: Studio, draw: random.Random, length_s: float, behind: str
) -> None:
    """Add sentences with pauses, with or without background music."""
    voice, begin = studio.voice(), len(service.audio)
    begin_s = service.length_s
    while service.length_s < begin_s + length_s:
        said = scaled(speech.speak(draw.choice(phrases()), voice))
        loud = np.flatnonzero(np.abs(said) > 0.01 * np.max(np.abs(said)))
        start_s = service.length_s + loud[0] / SAMPLE_RATE
        service.sentences.append((start_s, service.length_s + loud[-1] / SAMPLE_RATE))
        service.add(said)
        _silence(service, draw.choice((0.3, 0.5, 0.7, 1.0, 1.6)), draw)
    spoken = np.concatenate(service.audio[begin:])
    if behind:
        song = compose(min(60.0, len(spoken) / SAMPLE_RATE), draw)
        music = studio.played(song, behind)[: round(song.length_s * SAMPLE_RATE)]
        spoken = mixed(spoken, np.resize(music, len(spoken)), draw.uniform(6, 14))
    del service.audio[begin:]
    service.audio.append(_in_hall(spoken, draw))


def _in_hall(audio: Pcm, draw: random.Random) -> Pcm:
    wet = speech.in_room(audio, draw)[: len(audio)]
    return speech.with_noise(np.asarray(0.5 * wet, np.float32), 40, draw)


@dataclass(slots=True)
class Tape:
    """An AudioSource that plays a sound as fast as it is read."""

    pcm: Pcm
    name: str = "service"
    dropped_blocks: int = 0
    bad_samples: int = 0

    def open(self) -> None:
        """Begin."""

    def close(self) -> None:
        """End."""

    def blocks(self) -> Iterator[AudioBlock]:
        """Yield all of it."""
        yield from blocks(self.pcm)


@dataclass(slots=True)
class Heard:
    """What the listen thread reported for a service."""

    utterances: list[Utterance] = field(default_factory=list)
    changes: list[tuple[float, SongChanged]] = field(default_factory=list)
    """Each with the position in the audio at which it was reported, seconds."""
    cpu_s: float = 0.0


def hear(service: Service, *, with_songs: bool = True) -> Heard:
    """Play a service through the listen thread."""
    heard, mailbox = Heard(), UtteranceQueue()

    def emit(report: Report) -> None:
        if isinstance(report, SongChanged):
            heard.changes.append((listen.heard_s, report))
        elif isinstance(report, Utterance) and report.final:
            heard.utterances.append(report)

    listen = Listen(
        source=Tape(np.concatenate(service.audio)),
        detector=Silero(),
        songs=LinearSongDetector() if with_songs else None,
        segmenter=Segmenter(Vad()),
        utterances=mailbox,
        degradation=Degradation(),
        emit=emit,
    )
    listen.load()

    def read() -> None:
        while mailbox.take() is not None:
            pass

    reader = threading.Thread(target=read)
    reader.start()
    began = time.process_time()
    listen.work()
    heard.cpu_s = time.process_time() - began
    reader.join()
    return heard


class Figures(NamedTuple):
    """The results of a run."""

    minutes: float
    sentences: int
    lost: int
    """Sentences of which less than 80 % reached the recognizer."""
    songs: int
    missed: int
    """Songs that were never held."""
    lyric_finals: int
    """Utterances that are mostly song and that the recognizer gets to the end."""
    lyric_seconds: float
    taken_back: int
    """Utterances that may have shown a partial before they were recognized as song."""
    hold_s: tuple[float, ...]
    """Time from the beginning of each song until it was held."""
    resume_s: tuple[float, ...]
    """Time from the first word after each song until captions continued."""
    false_holds: int
    """Holds where for five seconds nobody sang and no instrument played."""
    cpu_ms_a_second: float


def figures(service: Service, heard: Heard) -> Figures:
    """Compare what was reported with what was played."""
    finals = [each for each in last_finals(heard.utterances) if not each.is_song]
    spans = [(each.start_s, each.start_s + len(each.pcm) / SAMPLE_RATE) for each in finals]
    lost = [s for s in service.sentences if _covered(s, spans) < _HELD_BACK * (s[1] - s[0])]
    songs = [(start_s, end_s) for start_s, end_s, _ in service.songs]
    lyrics = [
        u for u in finals if _covered((u.start_s, u.end_s), songs) > (u.end_s - u.start_s) / 2
    ]
    holds = [(at_s, change) for at_s, change in heard.changes if change.held]
    ends = [(at_s, change) for at_s, change in heard.changes if not change.held]
    hold_s, resume_s = [], []
    for start_s, end_s in songs:
        if began := [at_s for at_s, _ in holds if start_s < at_s <= end_s]:
            hold_s.append(round(began[0] - start_s, 1))
        word_s = min((s for s, _ in service.sentences if s >= end_s), default=0.0)
        if began and word_s and (over := [at_s for at_s, _ in ends if at_s > end_s]):
            resume_s.append(round(max(0.0, over[0] - word_s), 1))
    return Figures(
        minutes=round(service.length_s / 60, 1),
        sentences=len(service.sentences),
        lost=len(lost),
        songs=len(songs),
        missed=len(songs) - len(hold_s),
        lyric_finals=len(lyrics),
        lyric_seconds=round(sum(u.end_s - u.start_s for u in lyrics), 1),
        taken_back=sum(u.is_song for u in heard.utterances),
        hold_s=tuple(hold_s),
        resume_s=tuple(resume_s),
        false_holds=sum(not any(a < at_s <= b for a, b in songs) for at_s, _ in holds),
        cpu_ms_a_second=round(1000 * heard.cpu_s / service.length_s, 1),
    )


def _covered(span: tuple[float, float], by: Sequence[tuple[float, float]]) -> float:
    """Return how many seconds of a span the spans `by` cover; these do not overlap."""
    return sum(max(0.0, min(span[1], end) - max(span[0], start)) for start, end in by)


def main() -> None:
    """Make a service, run it with and without song mode, print both results."""
    parser = parser_of(__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--recordings", type=Path, help="play these instead: speech/, song/")
    given = parser.parse_args()
    service = of_recordings(given.recordings) if given.recordings else make_service(given.minutes)
    for name, with_songs in (("with song mode", True), ("without", False)):
        print(name, json.dumps(figures(service, hear(service, with_songs=with_songs))._asdict()))


if __name__ == "__main__":
    main()
