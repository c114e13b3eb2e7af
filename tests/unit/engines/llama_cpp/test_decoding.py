"""Alternatives to the likeliest answer of the tiny model."""

from __future__ import annotations

import pytest

from pipeline.engines.llama_cpp.decoding import Decoding, Draft
from pipeline.engines.llama_cpp.gemma import Gemma


def test_branches_part_where_two_tokens_were_nearly_equal_and_end(gemma: Gemma) -> None:
    prompt, _, cap = gemma._prompt("He leads me beside still waters.")
    model, end = gemma._llama, gemma._llama.tokenize("<end_of_turn>", special=True)
    decoding = Decoding(
        model, prompt, cap=cap, repeats=1, guesses=2, ends=gemma._ends, check=lambda: None
    )
    model.prompt(prompt, lambda: None)
    first = decoding.write(Draft(), lambda _: None, rivals=True)
    assert first.stopped == "end"
    assert len(first.logprobs) == len(first.rivals) == len(first.tokens) + 1

    least_sure = max(range(len(first.rivals)), key=lambda place: first.rivals[place][1])
    (branch,) = decoding.branches(first, end, 1)
    rival, gap = first.rivals[least_sure]
    assert branch.tokens[: least_sure + 1] == [*first.tokens[:least_sure], rival]
    assert branch.logprobs[least_sure] == pytest.approx(first.logprobs[least_sure] + gap)
    assert gap < 0

    # Decoding from the branch's first tokens, without a draft, gives the rest of the branch.
    model.prompt([*prompt, *branch.tokens[: least_sure + 1]], lambda: None)
    rest = decoding.write(Draft(), lambda _: None, rivals=False)
    assert rest.tokens == branch.tokens[least_sure + 1 :]
    assert sum(rest.logprobs) == pytest.approx(sum(branch.logprobs[least_sure + 1 :]), abs=0.05)
    assert len(list(decoding.branches(first, end, 4))) <= 4
