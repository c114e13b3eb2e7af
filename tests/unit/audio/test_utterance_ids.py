"""Ids are given once, whoever asks for them."""

from __future__ import annotations

import threading

from pipeline.audio.segmenter import Segmenter
from pipeline.audio.utterance_ids import UtteranceIds
from pipeline.config.schema import Vad
from pipeline.core.types import SAMPLE_RATE, Utterance
from tests.support.fakes import Speech, blocks_of, pcm_of


def test_two_threads_never_get_the_same_id() -> None:
    ids, taken = UtteranceIds(7), list[int]()
    threads = [
        threading.Thread(target=lambda: taken.extend(ids.take() for _ in range(2000)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(8, 8008))
    assert ids.last == 8007


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
