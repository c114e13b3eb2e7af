"""The segmenter, block by block: it loses nothing and returns nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.audio.segmenter import Segmenter, last_finals
from pipeline.audio.stretch import blocks_in
from pipeline.audio.utterance_ids import UtteranceIds
from pipeline.config.schema import Vad
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, AudioBlock, Utterance
from tests.support.fakes import Speech, blocks_of, pcm_of

VAD = Vad(
    silence_ms=320,
    eager_ms=0,
    reopen_ms=0,
    join_ms=0,
    min_speech_ms=96,
    pre_roll_ms=64,
    max_utterance_s=4.0,
    partial_ms=320,
)


def run(
    probabilities: list[float],
    vad: Vad = VAD,
    gap_before: int | None = None,
    later: dict[int, Vad] | None = None,
) -> list[Utterance]:
    """Push one block per probability, its samples numbered, and flush.

    `later` maps a block to the settings that apply from it on.
    """
    segmenter = Segmenter(vad)
    out: list[Utterance] = []
    at = 0
    for index, probability in enumerate(probabilities):
        segmenter.vad = (later or {}).get(index, segmenter.vad)
        at += SAMPLE_RATE if index == gap_before else 0
        pcm = np.arange(at, at + BLOCK_SAMPLES, dtype=np.float32)
        out += segmenter.push(AudioBlock(at, pcm), probability)
        at += BLOCK_SAMPLES
    return out + segmenter.flush()


def pushed(segmenter: Segmenter, probabilities: list[float]) -> Iterator[list[Utterance]]:
    """Push one block per probability, and yield what was ready after each."""
    for index, probability in enumerate(probabilities):
        block = AudioBlock(index * BLOCK_SAMPLES, np.full(BLOCK_SAMPLES, index, np.float32))
        yield segmenter.push(block, probability)


def finals(utterances: list[Utterance]) -> list[Utterance]:
    return [u for u in utterances if u.final]


def test_a_sentence_between_pauses_is_one_utterance_with_pre_roll_and_tail() -> None:
    out = finals(run([0.0] * 10 + [0.9] * 20 + [0.0] * 20))
    assert [(u.id, u.cause) for u in out] == [(1, "silence")]
    assert out[0].start_sample == (10 - 2) * BLOCK_SAMPLES  # 64 ms of pre-roll
    assert out[0].end_sample == 30 * BLOCK_SAMPLES
    assert len(out[0].pcm) == (2 + 20 + 6) * BLOCK_SAMPLES  # and 192 ms of tail
    assert out[0].pcm[0] == out[0].start_sample
    assert (out[0].start_s, out[0].end_s) == (8 * 0.032, 30 * 0.032)


def test_hysteresis_keeps_a_doubtful_stretch_inside_and_alone_it_starts_nothing() -> None:
    (out,) = finals(run([0.9] * 5 + [0.4] * 30 + [0.9] * 5 + [0.0] * 20))
    assert out.end_sample == 40 * BLOCK_SAMPLES
    assert run([0.4] * 50) == []


def test_a_knock_is_not_speech_and_takes_no_id() -> None:
    out = finals(run([0.9] * 2 + [0.0] * 15 + [0.9] * 10 + [0.0] * 15))
    assert [u.id for u in out] == [1]
    assert out[0].start_sample == (17 - 2) * BLOCK_SAMPLES


def test_partials_grow_and_stop_when_nothing_is_said() -> None:
    out = run([0.9] * 25 + [0.0] * 9 + [0.9] * 5 + [0.0] * 20)
    told = [(u.id, u.revision, u.final) for u in out]
    assert told == [(1, 1, False), (1, 2, False), (1, 3, False), (1, 4, True)]
    sizes = [len(u.pcm) // BLOCK_SAMPLES for u in out]
    assert sizes == [10, 20, 35, 45]  # none during the pause, one as soon as it is over


def test_no_partials_when_switched_off() -> None:
    assert all(u.final for u in run([0.9] * 90, VAD.model_copy(update={"partial_ms": 0})))


def test_a_long_utterance_is_cut_amid_its_longest_pause() -> None:
    limit = blocks_in(4000)
    probabilities = [0.9] * 40 + [0.1] * 6 + [0.9] * 30 + [0.1] * 8 + [0.9] * (limit - 84)
    out = finals(run(probabilities + [0.9] * 10 + [0.0] * 20))
    assert [u.cause for u in out] == ["length", "silence"]
    assert len(out[0].pcm) // BLOCK_SAMPLES == 40 + 6 + 30 + 4
    assert out[0].end_sample == 76 * BLOCK_SAMPLES  # where speech ended, not where it was cut
    assert out[1].start_sample == 80 * BLOCK_SAMPLES
    assert out[1].id == 2


def test_a_pause_in_the_first_quarter_is_no_place_to_cut() -> None:
    limit = blocks_in(4000)
    probabilities = [0.9] * 15 + [0.1] * 9 + [0.9] * 60 + [0.1] * 5 + [0.9] * (limit - 89)
    out = finals(run(probabilities + [0.9] * 10 + [0.0] * 20))
    assert [u.cause for u in out] == ["length", "silence"]
    assert len(out[0].pcm) // BLOCK_SAMPLES == 15 + 9 + 60 + 3


def test_without_a_pause_it_is_cut_at_the_least_speech_like_block() -> None:
    limit = blocks_in(4000)
    probabilities = [0.9] * limit
    probabilities[90] = 0.5
    out = finals(run(probabilities + [0.9] * 10 + [0.0] * 20))
    assert len(out[0].pcm) // BLOCK_SAMPLES == 91
    assert out[1].start_sample == 91 * BLOCK_SAMPLES


def test_the_short_rest_of_a_cut_utterance_is_kept() -> None:
    limit = blocks_in(4000)
    probabilities = [0.9] * (limit - 8) + [0.1] * 7 + [0.9] + [0.0] * 20
    out = finals(run(probabilities))
    assert [u.cause for u in out] == ["length", "silence"]
    assert out[1].end_sample == limit * BLOCK_SAMPLES
    # Silence after the cut makes none.
    out = finals(run([0.9] * (limit - 7) + [0.1] * 7 + [0.0] * 30))
    assert [u.cause for u in out] == ["length"]


def test_a_gap_closes_the_utterance_never_splices_and_forgets_the_pre_roll() -> None:
    out = finals(run([0.9] * 20 + [0.9] * 20, gap_before=20))
    assert [u.cause for u in out] == ["gap", "end"]
    assert out[0].end_sample == 20 * BLOCK_SAMPLES
    assert out[1].start_sample == 20 * BLOCK_SAMPLES + SAMPLE_RATE
    assert np.all(np.diff(out[1].pcm) == 1)
    out = finals(run([0.0] * 5 + [0.9] * 20, gap_before=5))
    assert out[0].start_sample == 5 * BLOCK_SAMPLES + SAMPLE_RATE


def test_speaking_says_when_it_is_surely_speech() -> None:
    segmenter = Segmenter(VAD)
    states = [segmenter.speaking for _ in pushed(segmenter, [0.9] * 4)]
    assert states == [False, False, True, True]


@pytest.mark.parametrize(("ms", "blocks"), [(0, 0), (1, 1), (32, 1), (33, 2), (98, 4), (320, 10)])
def test_blocks_are_rounded_up(ms: int, blocks: int) -> None:
    assert blocks_in(ms) == blocks


PATIENT = VAD.model_copy(update={"silence_ms": 640, "pre_roll_ms": 320})


def test_new_settings_hold_from_the_next_utterance_on() -> None:
    sentences = [0.0] * 12 + ([0.9] * 20 + [0.0] * 12) * 3  # pauses of 12 blocks, 384 ms
    assert len(finals(run(sentences))) == 3
    out = finals(run(sentences, later={20: PATIENT}))  # during the first sentence
    assert [u.cause for u in out] == ["silence", "end"]
    assert out[0].end_sample == 32 * BLOCK_SAMPLES
    assert out[1].start_sample == (44 - 4) * BLOCK_SAMPLES  # more pre-roll than the old 2 blocks
    assert out[1].end_sample == 96 * BLOCK_SAMPLES  # the second pause is too short now


def test_new_settings_hold_after_a_cut_too() -> None:
    short = VAD.model_copy(update={"max_utterance_s": 2.0})
    out = run([0.9] * 400, later={10: short})
    longest = {n: max(len(u.pcm) for u in out if u.id == n) // BLOCK_SAMPLES for n in (1, 2, 3)}
    assert longest[1] > blocks_in(2000) >= max(longest[2], longest[3])


def cut_at(song_from: int, speech: int = 40, before: int = 10) -> list[Utterance]:
    """Speak from block 10 on for `speech` blocks, and cut at a block."""
    segmenter = Segmenter(VAD)
    out = [u for ready in pushed(segmenter, [0.0] * before + [0.9] * speech) for u in ready]
    out += segmenter.cut(song_from * BLOCK_SAMPLES)
    assert segmenter.flush() == []
    return out


def test_where_a_song_begins_what_was_said_before_is_a_final_and_the_rest_is_gone() -> None:
    (final,) = finals(cut_at(30))
    assert (final.cause, final.is_song) == ("song", False)
    assert final.end_sample == 30 * BLOCK_SAMPLES
    assert final.pcm[-1] == 29


def test_an_utterance_that_was_sung_from_its_beginning_comes_as_song() -> None:
    out = cut_at(11)
    assert [u.cause for u in out if not u.final] != [], "there were partials of it"
    (final,) = finals(out)
    assert final.is_song
    assert final.id == out[0].id


def test_of_a_song_that_nobody_was_told_of_nothing_comes() -> None:
    assert cut_at(11, speech=8) == []


def test_what_is_thrown_away_is_in_no_utterance_and_its_id_is_not_used_again() -> None:
    segmenter = Segmenter(VAD)
    out: list[Utterance] = []
    for index, ready in enumerate(pushed(segmenter, [0.9] * 45 + [0.0] * 25)):
        out += ready
        if index == 29:  # during speech that already has partials
            assert segmenter.speaking
            segmenter.discard()
            assert not segmenter.speaking
            assert segmenter.flush() == []
    (final,) = finals(out)
    assert final.pcm[0] == 30, "nothing from before, the pre-roll neither"
    assert final.start_sample == 30 * BLOCK_SAMPLES
    assert {u.id for u in out} == {1, 2}
    assert (final.id, final.revision) == (2, 2)


EAGER = VAD.model_copy(update={"silence_ms": 224, "eager_ms": 96, "reopen_ms": 320})
"""In blocks: eager after 3, final after 7, open to more speech for 10 after that."""


def told(utterances: list[Utterance]) -> list[tuple[int, int, str]]:
    return [(u.id, u.revision, u.cause) for u in utterances if u.cause != "partial"]


def test_the_final_has_just_the_samples_of_its_eager_utterance() -> None:
    eager, final = [u for u in run([0.9] * 20 + [0.0] * 30, EAGER) if u.cause != "partial"]
    assert told([eager, final]) == [(1, 3, "eager"), (1, 4, "silence")]
    assert (eager.final, eager.is_whole, final.final) == (False, True, True)
    assert len(eager.pcm) == 23 * BLOCK_SAMPLES
    assert np.array_equal(final.pcm, eager.pcm)
    assert final.end_sample == eager.end_sample == 20 * BLOCK_SAMPLES


def test_speech_that_returns_takes_the_eager_utterance_back() -> None:
    out = run([0.9] * 8 + [0.0] * 5 + [0.9] * 8 + [0.0] * 30, EAGER)
    assert [cause for *_, cause in told(out)] == ["eager", "resumed", "eager", "silence"]
    assert {u.id for u in out} == {1}
    assert finals(out)[0].end_sample == 21 * BLOCK_SAMPLES


def test_speech_soon_after_a_final_goes_on_with_it() -> None:
    out = run([0.9] * 8 + [0.0] * 12 + [0.9] * 8 + [0.0] * 30, EAGER)
    causes = ["eager", "silence", "resumed", "eager", "silence"]
    assert [cause for *_, cause in told(out)] == causes
    assert {u.id for u in out} == {1}
    first, last = finals(out)
    assert first.can_resume
    assert last.start_sample == first.start_sample
    assert len(last.pcm) == (8 + 12 + 8 + 3) * BLOCK_SAMPLES, "with the pause between"
    assert np.all(np.diff(last.pcm) == 1)


def test_speech_later_than_that_is_an_utterance_of_its_own() -> None:
    out = run([0.9] * 8 + [0.0] * 17 + [0.9] * 8 + [0.0] * 30, EAGER)
    assert [(u.id, u.start_sample // BLOCK_SAMPLES) for u in finals(out)] == [(1, 0), (2, 23)]


def test_a_knock_reopens_nothing_but_a_short_word_does() -> None:
    for blocks, ids in ((3, [1, 2]), (4, [1, 1])):
        patient = EAGER.model_copy(update={"min_speech_ms": 250, "reopen_ms": 200})
        out = run([0.9] * 9 + [0.0] * 9 + [0.9] * blocks + [0.0] * 20 + [0.9] * 9, patient)
        assert [u.id for u in finals(out)][:2] == ids


def test_a_very_short_word_between_two_pauses_is_kept_with_what_follows() -> None:
    patient = EAGER.model_copy(update={"min_speech_ms": 250})
    out = finals(run([0.9] * 9 + [0.0] * 9 + [0.9] * 3 + [0.0] * 9 + [0.9] * 9, patient))
    assert [u.id for u in out] == [1, 1]
    assert len(out[-1].pcm) == (9 + 9 + 3 + 9 + 9) * BLOCK_SAMPLES


def test_a_short_word_after_a_long_utterance_is_one_of_its_own() -> None:
    patient = EAGER.model_copy(update={"min_speech_ms": 250})
    out = finals(run([0.9] * 110 + [0.0] * 9 + [0.9] * 4 + [0.0] * 30, patient))
    assert [(u.id, u.end_sample // BLOCK_SAMPLES) for u in out] == [(1, 110), (2, 123)]


def test_knocks_do_not_keep_a_final_open_for_ever() -> None:
    patient = EAGER.model_copy(update={"min_speech_ms": 250})
    segmenter = Segmenter(patient)
    knocks = [0.9] * 9 + ([0.0] * 8 + [0.9]) * 40
    known = [segmenter.resumable for _ in pushed(segmenter, knocks)]
    assert known.index(1) < 20
    assert known[blocks_in(4000) :] == [None] * (len(known) - blocks_in(4000))


def test_nothing_is_reopened_that_would_be_too_long() -> None:
    limit = blocks_in(4000)
    out = run([0.9] * (limit - 20) + [0.0] * 10 + [0.9] * 20 + [0.0] * 30, EAGER)
    assert [u.id for u in finals(out)] == [1, 2]
    assert "resumed" not in {u.cause for u in out}


def test_a_gap_and_a_pause_of_the_operators_end_what_could_be_reopened() -> None:
    out = run([0.9] * 8 + [0.0] * 10 + [0.9] * 8, EAGER, gap_before=18)
    assert [u.id for u in finals(out)] == [1, 2]
    segmenter = Segmenter(EAGER)
    list(pushed(segmenter, [0.9] * 8 + [0.0] * 8))
    assert segmenter.resumable == 1
    assert segmenter.flush() == []
    assert segmenter.resumable is None


def test_on_demand_nothing_of_before_is_reopened() -> None:
    segmenter = Segmenter(EAGER)
    out: list[Utterance] = []
    speech = [0.9] * 8 + [0.0] * 9
    for index, ready in enumerate(pushed(segmenter, speech * 2)):
        out += ready
        if index == 16:
            segmenter.settle()
            assert segmenter.resumable is None
    assert [u.id for u in finals(out)] == [1, 2]


def test_what_can_be_reopened_is_known_until_the_time_is_up() -> None:
    segmenter = Segmenter(EAGER)
    known = [segmenter.resumable for _ in pushed(segmenter, [0.9] * 8 + [0.0] * 20)]
    assert known.index(1) == 8 + 7 - 1
    assert known[8 + 7 :] == [1] * 9 + [None] * 4


def test_a_long_utterance_is_cut_where_its_last_sentence_ends() -> None:
    """A longer pause inside the next sentence is no better place."""
    limit = blocks_in(4000)
    probabilities = [0.9] * 60 + [0.1] * 5 + [0.9] * 15 + [0.1] * 9 + [0.9] * (limit - 89)
    segmenter, out = Segmenter(VAD), list[Utterance]()
    for each in pushed(segmenter, probabilities):
        out += each
        for newest in each:
            segmenter.end_sentences(newest, (1.0, 2.0, 3.9))
    assert [u.cause for u in finals(out)] == ["length"]
    assert finals(out)[0].end_sample == 60 * BLOCK_SAMPLES
    # What is known of another utterance is of no use.
    segmenter, out = Segmenter(VAD), []
    for each in pushed(segmenter, probabilities):
        out += each
        for newest in each:
            segmenter.end_sentences(replace(newest, id=newest.id + 1), (2.0,))
    assert finals(out)[0].end_sample == 80 * BLOCK_SAMPLES


def test_an_utterance_cut_at_the_limit_takes_its_eager_one_back_first() -> None:
    limit = blocks_in(4000)
    out = run([0.9] * (limit - 5) + [0.0] * 5 + [0.9] * 20, EAGER)
    assert [cause for *_, cause in told(out)] == ["eager", "resumed", "length", "end"]


def test_pauses_are_noted_inside_and_between() -> None:
    one = [0.9] * 8 + [0.0] * 2 + [0.9] * 8 + [0.0] * 5 + [0.9] + [0.0] + [0.9] * 8
    first, second = finals(run(one + [0.0] * 25 + [0.9] * 8 + [0.0] * 30, EAGER))
    assert first.pauses_ms == (64, 160)
    assert (first.pause_before_ms, second.pause_before_ms) == (None, 800)
    again = finals(run(one + [0.0] * 40 + [0.9] * 8 + [0.0] * 9 + [0.9] * 8, EAGER))
    assert [(u.id, u.pause_before_ms) for u in again] == [(1, None), (2, 1280), (2, 1280)]
    assert again[-1].pauses_ms == (288,)


JOINING = EAGER.model_copy(update={"reopen_ms": 64, "fragment_ms": 512, "join_ms": 640})
"""In blocks: final after 7, open to any speech for 2 after that, to half a sentence for 20. A
fragment has less than 16 blocks of speech."""


@pytest.mark.parametrize(
    ("speech", "pause", "size"),
    [(10, 20, 10 + 20 + 30), (16, 20, 2 + 30), (10, 26, 10 + 26 + 30), (10, 27, 2 + 30)],
    ids=["a fragment", "a sentence", "as long as it waits", "longer"],
)
def test_a_fragment_waits_for_its_other_half(speech: int, pause: int, size: int) -> None:
    out = finals(run([0.9] * speech + [0.0] * pause + [0.9] * 30 + [0.0] * 40, JOINING))
    assert [u.id for u in out] == ([1, 2] if size == 2 + 30 else [1, 1])
    assert len(out[-1].pcm) == (size + 3) * BLOCK_SAMPLES, "the sound of both, or a pre-roll"


def test_a_fragment_behind_a_sentence_waits_for_what_follows() -> None:
    out = finals(run([0.9] * 30 + [0.0] * 20 + [0.9] * 8 + [0.0] * 20 + [0.9] * 30, JOINING))
    assert [u.id for u in out] == [1, 2, 2]
    assert out[-1].start_sample == (50 - 2) * BLOCK_SAMPLES


def spread(blocks: Iterable[tuple[float, int]]) -> list[float]:
    return [probability for probability, count in blocks for _ in range(count)]


def hinted(
    vad: Vad, hints: dict[int, tuple[int, float]], *blocks: tuple[float, int]
) -> list[Utterance]:
    """Push speech and silence; after a block in `hints`, a text tells which utterance may go on."""
    segmenter, out = Segmenter(vad), []
    for index, ready in enumerate(pushed(segmenter, spread(blocks))):
        out += ready
        if index in hints:
            key, share = hints[index]
            newest = out[-1] if out and out[-1].id == key else replace(out[-1], id=key)
            segmenter.expect_more(newest, share)
    return out


SPEECH = ((0.9, 20), (0.0, 20), (0.9, 30), (0.0, 40))


@pytest.mark.parametrize(
    ("hints", "ids"),
    [({25: (1, 1.0)}, [1, 1]), ({25: (7, 1.0)}, [1, 2]), ({25: (1, 1.0), 26: (1, 0.0)}, [1, 2])],
)
def test_a_text_that_ends_no_sentence_waits_for_the_rest(
    hints: dict[int, tuple[int, float]], ids: list[int]
) -> None:
    assert [u.id for u in finals(hinted(JOINING, hints, *SPEECH))] == ids


HOLDING = EAGER.model_copy(update={"hold_ms": 640, "join_ms": 0, "reopen_ms": 0})
"""In blocks: eager after 3, final after 7, or after 20 if the text surely goes on."""


@pytest.mark.parametrize(
    ("share", "pause", "ids"),
    [(1.0, 19, [1]), (1.0, 20, [1, 2]), (0.0, 7, [1, 2]), (0.5, 13, [1]), (0.5, 14, [1, 2])],
)
def test_what_goes_on_is_no_final_yet(share: float, pause: int, ids: list[int]) -> None:
    blocks = ((0.9, 20), (0.0, pause), (0.9, 30), (0.0, 40))
    out = hinted(HOLDING, {22: (1, share)}, *blocks)
    assert [u.id for u in finals(out)] == ids
    assert [u.cause for u in out if u.cause != "partial"][:2] == [
        "eager",
        "resumed" if ids == [1] else "silence",
    ]


def test_a_text_that_is_not_there_yet_is_waited_for_but_not_long() -> None:
    for pause, ids in ((16, [1]), (17, [1, 2])):
        out = hinted(HOLDING, {}, (0.9, 20), (0.0, pause), (0.9, 30), (0.0, 40))
        assert [u.id for u in finals(out)] == ids


def test_what_an_earlier_text_told_does_not_hold_for_a_later_one() -> None:
    out = hinted(HOLDING, {22: (1, 1.0)}, (0.9, 20), (0.0, 10), (0.9, 9), (0.0, 18), (0.9, 30))
    assert [u.cause for u in out if u.id == 1 and u.final] == ["silence"]


@pytest.mark.parametrize(
    ("vad", "blocks", "awaited"),
    [
        # While somebody speaks, and in a short pause, no text decides.
        (HOLDING, ((0.9, 20), (0.0, 9)), [26, 27, 28]),
        # Speech after a final: its text tells whether the speech goes on.
        (JOINING, ((0.9, 20), (0.0, 12), (0.9, 3)), [32, 33]),
        # One block before a long utterance is cut.
        (VAD, ((0.9, 130),), [123]),
    ],
)
def test_a_text_is_awaited_where_it_decides(
    vad: Vad, blocks: tuple[tuple[float, int], ...], awaited: list[int]
) -> None:
    segmenter = Segmenter(vad)
    found = [at for at, _ in enumerate(pushed(segmenter, spread(blocks))) if segmenter.awaits_text]
    assert found == awaited


def test_a_text_that_has_come_is_awaited_no_more() -> None:
    segmenter = Segmenter(HOLDING)
    for ready in pushed(segmenter, [0.9] * 20 + [0.0] * 9):
        for each in ready:
            segmenter.expect_more(each, 1.0)
        assert not segmenter.awaits_text


def test_what_waits_for_more_is_final_when_an_operator_acts() -> None:
    segmenter, out = Segmenter(HOLDING), []
    for ready in pushed(segmenter, [0.9] * 20 + [0.0] * 9):
        out += ready
        if out and out[-1].cause == "eager":
            segmenter.expect_more(out[-1], 1.0)
            segmenter.settle()
    assert [u.cause for u in finals(out)] == ["silence"]


def halves(*blocks: tuple[float, int], eager_ms: int = 96) -> list[Utterance]:
    """Push speech and silence to a segmenter that knows no text with a sentence end."""
    segmenter = Segmenter(JOINING.model_copy(update={"eager_ms": eager_ms}))
    segmenter._told = (1, 1, 1.0)
    return [u for ready in pushed(segmenter, spread(blocks)) for u in ready]


@pytest.mark.parametrize(("eager_ms", "blocks"), [(96, 8), (0, 6)])
def test_a_fragment_joins_what_is_too_long_for_more_speech(eager_ms: int, blocks: int) -> None:
    out = halves((0.9, 94), (0.0, 10), (0.9, blocks), (0.0, 40), eager_ms=eager_ms)
    assert [u.id for u in finals(out)] == [1, 1]
    assert out[-1].end_sample == (104 + blocks) * BLOCK_SAMPLES


@pytest.mark.parametrize(("speech", "fragment"), [(94, 17), (110, 8)])
def test_more_speech_or_more_than_fits_does_not(speech: int, fragment: int) -> None:
    out = finals(halves((0.9, speech), (0.0, 10), (0.9, fragment), (0.0, 40)))
    assert [u.id for u in out] == [1, 2]
    assert out[-1].end_sample == (speech + 10 + fragment) * BLOCK_SAMPLES


SETTINGS = [
    EAGER,
    VAD,
    JOINING,
    EAGER.model_copy(update={"reopen_ms": 0, "silence_ms": 640}),
    HOLDING,
    EAGER.model_copy(update={"eager_ms": 0, "max_utterance_s": 2.0, "min_speech_ms": 250}),
]
RUNS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.2, 0.4, 0.6, 0.95]), st.integers(1, 12)), max_size=60
)


@given(
    RUNS,
    st.sampled_from(SETTINGS),
    st.dictionaries(st.integers(0, 399), st.sampled_from(SETTINGS), max_size=3),
    st.one_of(st.none(), st.integers(0, 300)),
)
def test_a_final_is_its_eager_utterance_or_a_resumption_came_before(
    runs: list[tuple[float, int]], vad: Vad, later: dict[int, Vad], gap_before: int | None
) -> None:
    probabilities = spread(runs)
    out = run(probabilities, vad, gap_before, later)
    ids = [u.id for u in out]
    assert ids == sorted(ids), "ids never go back"
    assert set(ids) == set(range(1, max(ids, default=0) + 1)), "none is burnt"
    for key in set(ids):
        same = [u for u in out if u.id == key]
        assert [u.revision for u in same] == list(range(1, len(same) + 1))
        assert same[-1].final
        pending: Utterance | None = None
        for before, u in zip([None, *same], same, strict=False):
            if u.cause == "resumed":
                assert pending is not None or (before is not None and before.can_resume)
                pending = None
            elif pending is not None:
                assert u.final, "nothing but its final or a resumption follows an eager one"
                assert np.array_equal(u.pcm, pending.pcm)
                pending = None
            else:
                assert before is None or not before.final, "a final is only followed by those"
                pending = u if u.cause == "eager" else None
    done = last_finals(out)
    covered = np.concatenate([u.pcm for u in done]) if done else np.zeros(0)
    assert np.all(np.diff(covered) > 0), "nothing is in two finals"


@given(
    RUNS,
    st.sampled_from([VAD, EAGER, JOINING]),
    st.dictionaries(
        st.integers(0, 399),
        st.sampled_from([VAD, PATIENT, VAD.model_copy(update={"max_utterance_s": 2.0})]),
        max_size=5,
    ),
)
def test_every_block_of_speech_is_in_exactly_one_final_in_the_end_whenever_settings_change(
    runs: list[tuple[float, int]], vad: Vad, later: dict[int, Vad]
) -> None:
    probabilities = spread(runs)
    out = run(probabilities, vad, later=later)
    done = last_finals(out)
    covered = np.concatenate([u.pcm for u in done]) if done else np.zeros(0)
    assert np.all(np.diff(covered) > 0)
    assert all(np.all(np.diff(u.pcm) == 1) for u in out)
    assert all(u.start_sample < u.end_sample <= u.start_sample + len(u.pcm) for u in done)
    loud = [i for i in range(len(probabilities) - 2) if min(probabilities[i : i + 3]) >= 0.5]
    held = {int(s) // BLOCK_SAMPLES for s in covered[::BLOCK_SAMPLES]}
    assert set(loud) <= held
    assert all(len(u.pcm) <= blocks_in(4000) * BLOCK_SAMPLES for u in out)


def test_a_caption_typed_between_two_utterances_stands_between_them() -> None:
    ids = UtteranceIds()
    segmenter = Segmenter(Vad(), ids=ids)
    pcm = pcm_of([Speech(0.5, 1.5, "one"), Speech(4.0, 5.0, "two")], 7.0)
    out: list[Utterance] = []
    typed = 0
    for block in blocks_of(pcm):
        if typed == 0 and block.start_sample > 3 * SAMPLE_RATE:
            typed = ids.take()
        out += segmenter.push(block, 1.0 if block.pcm.any() else 0.0)
    assert [each.id for each in out if each.final] == [1, 3]
    assert typed == 2
