from __future__ import annotations

import threading

from pipeline.audio.utterance_ids import UtteranceIds


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
