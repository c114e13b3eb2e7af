from __future__ import annotations

from pipeline.engines.llama_cpp.llama import _MOST, PromptHeads


def test_a_head_is_found_by_the_tokens_that_begin_with_it() -> None:
    heads = PromptHeads()
    heads.put([1, 2], b"es")
    heads.put([1, 3], b"fr")
    assert [1, 2] in heads
    assert [1] not in heads
    assert heads.find([1, 3, 9]) == ([1, 3], b"fr")
    assert heads.find([1, 4, 9]) is None
    assert heads.find([1, 2]) is None, "something has to be left to evaluate"


def test_of_too_many_the_one_that_was_asked_for_longest_ago_goes() -> None:
    heads = PromptHeads()
    for number in range(_MOST):
        heads.put([number], b"")
    assert heads.find([0, 9]) is not None
    heads.put([_MOST], b"")
    assert [0] in heads
    assert [1] not in heads
