from __future__ import annotations

from pipeline.engines.llama_cpp.llama import _MOST, PromptHeads


def test_of_too_many_the_one_that_was_asked_for_longest_ago_goes() -> None:
    heads = PromptHeads()
    for number in range(_MOST):
        heads.put([number], b"")
    assert heads.find([0, 9]) is not None
    assert heads.find([0]) is None, "something has to be left to evaluate"
    heads.put([_MOST], b"")
    assert [0] in heads
    assert [1] not in heads
