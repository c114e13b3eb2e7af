"""The listen thread: timestamps, pausing, a microphone that is lost and comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from pipeline.audio.protocols import AudioSource, SongDetector
from pipeline.audio.segmenter import Segmenter
from pipeline.config.schema import Vad
from pipeline.core.errors import AudioError, AudioLostError, EngineError
from pipeline.core.reports import (
    Fault,
    Level,
    Report,
    Settled,
    SongChanged,
    SourceChanged,
    WorkerEnded,
)
from pipeline.core.types import BLOCK_SAMPLES, AudioBlock, Pcm, Utterance
from pipeline.workers.degradation import LIMIT_S, Degradation, Rung, Waits
from pipeline.workers.listener import FallbackDetector, Listen
from pipeline.workers.queues import UtteranceQueue
from tests.support.fakes import (
    FakeDetector,
    FakeSongDetector,
    FakeSource,
    Speech,
    blocks_of,
    pcm_of,
)
from tests.support.patience import wait_for

SCRIPT = [Speech(0.5, 2.5, "one two three"), Speech(3.5, 5.0, "four five")]


def listen(
    source: AudioSource,
    degradation: Degradation | None = None,
    *,
    zeros_mean_lost: bool = False,
    waits_for_text: bool = False,
    songs: SongDetector | None = None,
    vad: Vad | None = None,
) -> tuple[Listen, UtteranceQueue, list[Report]]:
    reports: list[Report] = []
    utterances = UtteranceQueue()
    worker = Listen(
        source=source,
        detector=FakeDetector(),
        segmenter=Segmenter(vad or Vad(partial_ms=500, join_ms=0)),
        utterances=utterances,
        degradation=degradation or Degradation(),
        emit=reports.append,
        songs=songs,
        zeros_mean_lost=zeros_mean_lost,
        waits_for_text=waits_for_text,
    )
    return worker, utterances, reports


def run(worker: Listen) -> None:
    worker.start()
    worker.begin()
    worker.join(10)
    assert not worker.is_alive()


def closed(reports: list[Report]) -> list[Utterance]:
    return [r for r in reports if isinstance(r, Utterance)]


def taken(utterances: UtteranceQueue) -> list[Utterance]:
    """Return what waits in a queue that is closed."""
    return [u for u in iter(utterances.take, None) if isinstance(u, Utterance)]


def test_finals_reach_the_queue_stamped_and_are_reported_beside_the_level() -> None:
    worker, utterances, reports = listen(FakeSource(pcm_of(SCRIPT, 4.5)))
    run(worker)
    finals = taken(utterances)
    assert finals == closed(reports)
    assert [(u.id, u.cause) for u in finals] == [(1, "silence"), (2, "end")]
    assert all(0 < u.spoken_s <= u.closed_s <= time.monotonic() for u in finals)
    assert reports[-1] == WorkerEnded("listen", None)
    assert worker.heard_s == pytest.approx(4.5, abs=0.04)
    speaking = [report.speaking for report in reports if isinstance(report, Level)]
    assert (len(speaking), set(speaking)) == (int(4.5 * 16000) // (8 * 512), {True, False})


@pytest.mark.parametrize(("waits", "ids"), [(True, [1]), (False, [1, 2])])
def test_a_file_that_is_played_fast_waits_for_the_text_that_tells_how_long_a_pause_may_be(
    waits: bool, ids: list[int]
) -> None:
    script = [Speech(0.5, 2.5, "one two three"), Speech(3.3, 5.0, "four five")]
    worker, utterances, reports = listen(
        FakeSource(pcm_of(script, 7.0)),
        waits_for_text=waits,
        vad=Vad(hold_ms=960, reopen_ms=0, join_ms=0, partial_ms=0),
    )

    def recognize() -> None:
        while isinstance(said := utterances.take(), Utterance):
            time.sleep(0.1)  # longer than it takes to read the whole file
            # The first sentence goes on behind the pause.
            worker._segmenter.expect_more(said, float(said.end_s < 3))

    recognizer = threading.Thread(target=recognize)
    recognizer.start()
    run(worker)
    recognizer.join(10)
    assert [u.id for u in closed(reports) if u.final] == ids


@pytest.mark.slow
def test_in_real_time_the_last_syllable_lies_one_silence_before_the_close() -> None:
    sound = pcm_of([Speech(0.2, 1.0, "amen")], 1.8)
    worker, utterances, _ = listen(FakeSource(sound, speed=1.0))
    run(worker)
    final = utterances.take()
    assert isinstance(final, Utterance)
    assert final.closed_s - final.spoken_s == pytest.approx(
        Vad().fitted({}).silence_ms / 1000, abs=0.1
    )


def test_a_rung_holds_partials_back() -> None:
    counts = []
    for rung in (Rung.FULL, Rung.FEWER_PARTIALS, Rung.NO_PARTIALS):
        degradation = Degradation()
        degradation.observe(Waits(LIMIT_S.get(rung, 0.0) * 1.1), 0.0)
        source = FakeSource(pcm_of([Speech(0.5, 9.5, "x")], 11.0))
        worker, utterances, _ = listen(source, degradation)
        run(worker)
        counts.append(utterances.replaced_partials)  # nobody reads: the next replaces each
    assert counts[0] > 10
    assert counts[1:] == [counts[0] // 2, 0]


@pytest.mark.parametrize("state", ["paused", "off_record"])
def test_paused_or_off_the_record_it_reads_on_and_hands_nothing_on(state: str) -> None:
    worker, utterances, reports = listen(FakeSource(pcm_of(SCRIPT, 4.5)))  # ends amid a sentence
    setattr(worker, state, True)
    run(worker)
    assert utterances.take() is None
    assert closed(reports) == []
    assert not any(report.speaking for report in reports if isinstance(report, Level))
    assert worker.heard_s > 4.4


class Unplugged(FakeSource):
    """Is lost after its first half. It is missing, then has too few channels, and then is back."""

    opened = 0

    def open(self) -> None:
        self.opened += 1
        if self.opened == 2:
            raise AudioError("audio-device-missing", "No such device.")
        if self.opened == 3:
            raise AudioError("audio-channel", "It has 1 input channels, not 2.")

    def blocks(self) -> Iterator[AudioBlock]:
        half = len(self.pcm) // 2
        if self.opened == 1:
            yield from blocks_of(self.pcm[:half])
            raise AudioLostError("audio-lost", "The microphone is gone.")
        yield from blocks_of(self.pcm[half:], first_sample=half + 16000)


@pytest.mark.slow
def test_a_lost_microphone_closes_the_utterance_and_is_opened_again() -> None:
    source = Unplugged(pcm_of([*SCRIPT[:1], Speech(3.5, 4.0, "x")], 4.0))
    worker, _, reports = listen(source)
    run(worker)
    changes = [r for r in reports if isinstance(r, SourceChanged)]
    assert [c.lost for c in changes] == [True, True, False]
    assert "gone" in changes[0].message
    assert "1 input channels" in changes[1].message
    assert source.opened == 4
    finals = closed(reports)
    assert len(finals) == 3
    assert finals[0].end_sample <= 63 * 512 < finals[1].start_sample


class Muted(FakeSource):
    """Gives zeros for 12 s, however often it is opened, and then speech."""

    opened = 0
    position = 0

    def open(self) -> None:
        self.opened += 1

    def blocks(self) -> Iterator[AudioBlock]:
        for block in list(blocks_of(self.pcm))[self.position // 512 :]:
            self.position = block.start_sample + len(block.pcm)
            yield block


@pytest.mark.slow
def test_a_muted_microphone_is_told_opened_anew_and_heard_again() -> None:
    pcm = np.concatenate([np.zeros(12 * 16_000, np.float32), pcm_of(SCRIPT, 6.0)])
    source = Muted(pcm)
    worker, _, reports = listen(source, zeros_mean_lost=True)
    run(worker)
    changes = [r for r in reports if isinstance(r, SourceChanged)]
    assert [c.lost for c in changes] == [True, False], "told once, not at every attempt"
    assert "zeros" in changes[0].message
    assert not changes[0].muted, "it has never given a sound"
    assert source.opened == 2, "a second time would come 10 s later"
    assert len(closed(reports)) == len(SCRIPT)
    assert closed(reports)[0].start_s == pytest.approx(12.25, abs=0.3)


@pytest.mark.slow
def test_zeros_after_a_sound_are_a_mute_and_no_loss() -> None:
    pcm = np.concatenate([pcm_of(SCRIPT, 6.0), np.zeros(12 * 16_000, np.float32)])
    worker, _, reports = listen(Muted(pcm), zeros_mean_lost=True)
    run(worker)
    changes = [r for r in reports if isinstance(r, SourceChanged) and r.lost]
    assert [c.muted for c in changes] == [True]


@pytest.mark.slow
def test_a_silent_file_and_a_pause_are_no_muted_microphone() -> None:
    silence = np.zeros(20 * 16_000, np.float32)
    for zeros_mean_lost, paused in ((False, False), (True, True)):
        worker, _, reports = listen(FakeSource(silence), zeros_mean_lost=zeros_mean_lost)
        worker.paused = paused
        run(worker)
        assert not [r for r in reports if isinstance(r, SourceChanged)]


def test_stop_ends_a_source_that_would_go_on() -> None:
    worker, utterances, _ = listen(FakeSource(pcm_of(SCRIPT, 3.0), hold=True))
    worker.start()
    worker.begin()
    wait_for(lambda: worker.heard_s > 2.9)
    worker.stop()
    worker.join(5)
    assert not worker.is_alive()
    assert utterances.take() is not None


def test_a_missing_device_is_told_before_anything_runs() -> None:
    missing = AudioError("audio-device-missing", "No such device.")

    class Missing(FakeSource):
        def open(self) -> None:
            raise missing

    worker, _, reports = listen(Missing(pcm_of(SCRIPT, 1.0)))
    worker.start()
    worker.join(5)
    assert reports == [WorkerEnded("listen", missing)]


@pytest.mark.slow
def test_an_audio_system_that_hangs_ends_the_worker() -> None:
    class Stuck(Unplugged):
        def open(self) -> None:
            self.opened += 1
            if self.opened > 1:
                raise AudioError("audio-stuck", "PortAudio does not answer.")

    source = Stuck(pcm_of(SCRIPT, 6.0))
    worker, utterances, reports = listen(source)
    run(worker)
    ended = reports[-1]
    assert isinstance(ended, WorkerEnded)
    assert isinstance(ended.error, AudioError)
    assert source.opened == 3
    assert utterances.take() is not None  # the earlier speech is not lost


def test_off_the_record_what_is_open_is_thrown_away_even_if_it_is_over_at_once() -> None:
    """Off the record and back at 1.5 s, amid the first sentence; off again from 4 s to 4.5 s."""
    at: dict[float, list[bool]] = {1.5: [True, False], 4.0: [True], 4.5: [False]}

    class Switched(FakeSource):
        def blocks(self) -> Iterator[AudioBlock]:
            for block in super().blocks():
                if at and block.start_sample / 16_000 >= next(iter(at)):
                    for off in at.pop(next(iter(at))):
                        worker.off_record = off
                        assert worker.off_record is off
                yield block

    worker, utterances, reports = listen(Switched(pcm_of(SCRIPT, 6.0)))
    run(worker)
    finals = closed(reports)
    assert [round(u.start_s, 1) for u in finals] == [1.5, 4.5]
    assert [round(u.end_s, 1) for u in finals] == [2.5, 5.0]
    assert [u.id for u in taken(utterances) if u.final] == [u.id for u in finals]


GOES_ON = [Speech(0.5, 1.5, "ask not"), Speech(1.9, 3.0, "what your country")]


def test_speech_that_returns_is_reported_before_what_follows_and_settles_later() -> None:
    worker, utterances, reports = listen(FakeSource(pcm_of(GOES_ON, 5.0)))
    run(worker)
    ends = [
        ("settled", r.id) if isinstance(r, Settled) else (r.cause, r.id)
        for r in reports
        if isinstance(r, Utterance | Settled)
    ]
    assert ends == [("silence", 1), ("resumed", 1), ("silence", 1), ("settled", 1)]
    (final,) = [u for u in taken(utterances) if u.final]
    assert final.start_s < 0.5
    assert final.end_s == pytest.approx(3.0, abs=0.05)


def test_at_the_end_nothing_can_be_resumed() -> None:
    worker, _, reports = listen(FakeSource(pcm_of(GOES_ON[:1], 1.8)))
    run(worker)
    assert [r for r in reports if isinstance(r, Settled)] == [Settled(1)]
    assert isinstance(reports[-1], WorkerEnded)


def test_after_a_final_was_changed_what_is_said_is_a_caption_of_its_own() -> None:
    class Changed(FakeSource):
        def blocks(self) -> Iterator[AudioBlock]:
            for block in super().blocks():
                if block.start_sample == 56 * 512:  # 1.8 s: it is final; speech returns at 1.9
                    worker.settle()
                yield block

    worker, _, reports = listen(Changed(pcm_of(GOES_ON, 5.0)))
    run(worker)
    assert [u.cause for u in closed(reports)] == ["silence", "silence"]
    assert [r.id for r in reports if isinstance(r, Settled)] == [1, 2]


@pytest.mark.parametrize(
    ("rung", "causes"),
    [(Rung.FULL, ["eager", "silence"]), (Rung.FEWER_PARTIALS, ["silence"])],
)
def test_a_machine_that_is_behind_prepares_nothing(rung: Rung, causes: list[str]) -> None:
    noted: list[str] = []

    class Noted(UtteranceQueue):
        def put(self, utterance: Utterance) -> None:
            noted.extend([utterance.cause] * utterance.is_whole)
            super().put(utterance)

    degradation = Degradation()
    degradation.observe(Waits(LIMIT_S.get(rung, 0.0) * 1.1), 0.0)
    worker, _, _ = listen(FakeSource(pcm_of(GOES_ON[:1], 3.0)), degradation)
    worker._utterances = Noted()
    run(worker)
    assert noted == causes


SERVICE = [
    Speech(1.0, 4.0, "let us sing"),
    Speech(5.0, 15.0, "holy holy"),
    Speech(15.5, 25.0, "lord god almighty"),
    Speech(26.0, 30.0, "please be seated"),
]


def held(reports: list[Report]) -> list[SongChanged]:
    return [r for r in reports if isinstance(r, SongChanged)]


def test_song_is_held_and_the_first_sentence_after_it_comes_whole() -> None:
    source = FakeSource(pcm_of(SERVICE, 33.0))
    worker, _, reports = listen(source, songs=FakeSongDetector([(5.0, 25.5)]))
    run(worker)
    began, ended = held(reports)
    assert (began.held, ended.held) == (True, False)
    assert began.from_s == pytest.approx(5.0, abs=1.0)
    assert began.to_s < 11
    assert began.from_s == ended.from_s
    assert ended.to_s == pytest.approx(26.0, abs=0.6)
    finals = [u for u in closed(reports) if u.final]
    said = [u for u in finals if not u.is_song]
    assert [round(u.start_s + 0.24) for u in said] == [1, 26]
    assert said[-1].end_s == pytest.approx(30.0, abs=0.1)
    assert all(u.end_s < 11 for u in finals if u.is_song), "of the song at most its beginning"


@pytest.mark.slow
def test_an_operator_holds_and_lets_go() -> None:
    source = FakeSource(pcm_of(SERVICE, 33.0))
    worker, mailbox, reports = listen(source)
    worker.song_control = "hold"
    run(worker)
    assert [(r.held, r.by) for r in held(reports)] == [(True, "operator")]
    assert mailbox.take() is None
    worker, _, reports = listen(FakeSource(pcm_of(SERVICE, 33.0)))
    worker.song = "off"
    worker.song_control = "hold"
    run(worker)
    assert not held(reports), "there is no song mode"
    assert len(closed(reports)) >= len(SERVICE)


@pytest.mark.parametrize(
    ("state", "value", "code"),
    [
        ("song_control", "hold", "song-hold-forgotten"),
        ("paused", True, "pause-forgotten"),
        ("blank", True, "blank-forgotten"),
        ("song_control", "auto", None),
    ],
)
def test_speech_that_nobody_hears_or_sees_is_told_to_the_desk(
    state: str, value: object, code: str | None
) -> None:
    sermon = [Speech(1.0, 24.0, "one two three")]
    worker, _, reports = listen(FakeSource(pcm_of(sermon, 26.0)))
    setattr(worker, state, value)
    run(worker)
    assert [r.code for r in reports if isinstance(r, Fault)] == ([code] if code else [])


LOUD = np.full(BLOCK_SAMPLES, 0.1, np.float32)
QUIET = np.full(BLOCK_SAMPLES, 0.001, np.float32)


class Failing(FakeDetector):
    """Fails while `fails` is set; otherwise it gives everything a low probability."""

    fails = True
    calls = resets = 0

    def probability(self, pcm: Pcm) -> float:
        self.calls += 1
        if self.fails:
            raise EngineError("vad-failed", "It was told to fail.")
        return 0.25

    def reset(self) -> None:
        self.resets += 1


def test_loudness_decides_while_the_model_fails_and_it_is_told_once() -> None:
    reports: list[Report] = []
    failing = Failing()
    steady = FallbackDetector(failing, reports.append)
    assert steady.degraded_reason == ""
    probabilities = [steady.probability(pcm) for pcm in (LOUD, QUIET, LOUD, LOUD, QUIET)]
    assert probabilities == [1.0, 0.0, 1.0, 1.0, 0.0]
    assert failing.calls == failing.resets == 1, "it is left alone for a while, with a new memory"
    assert reports == [Fault("listen", "vad-failed", "It was told to fail.")]
    assert "loudness" in steady.degraded_reason


def test_it_is_tried_again_and_used_as_soon_as_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.workers.listener._REST_S", (0.1, 0.1))
    reports: list[Report] = []
    failing = Failing()
    steady = FallbackDetector(failing, reports.append)
    assert steady.probability(LOUD) == 1.0
    time.sleep(0.12)
    assert steady.probability(LOUD) == 1.0
    assert len(reports) == 2
    failing.fails = False
    time.sleep(0.12)
    assert steady.probability(LOUD) == 0.25
    assert steady.degraded_reason == ""
