"""Which borrowed nouns a final translator knows."""

import pytest

from scripts.quality import borrowed


@pytest.mark.slow
def test_nouns_are_tried_with_and_without_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert borrowed.main(["--lang", "es", "--most", "2"]) == 0
    first, known, neither = capsys.readouterr().out.splitlines()
    counts = [int(word.strip(",")) for word in first.split() if word.strip(",").isdigit()]
    assert counts[0] == 2 == sum(counts[1:])
    assert known.startswith("known: ")
    assert neither.startswith("neither:")
