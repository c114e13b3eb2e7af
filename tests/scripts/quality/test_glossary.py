"""The glossary against a printed Bible: what its verses confirm, and what they have instead."""

from __future__ import annotations

import pytest

from pipeline.dictionary.glossary import Glossary, compile_glossary, parse_terms
from scripts.quality.glossary import attest, doubtful, main, table

TERMS = """
[[term]]
say = "grace"
write = "gracia"

[[term]]
say = "comforter"
write = "edredón"

[[term]]
say = "Zohar"
write = "Zohar"
"""
SAID = {
    (1, 1, 1): "By grace are ye saved.",
    (1, 1, 2): "Grace and peace be with you.",
    (1, 1, 3): "I will send the Comforter.",
    (1, 1, 4): "The Comforter is come.",
    (1, 1, 5): "Let there be light.",
    (1, 1, 6): "The comforter is not in this edition.",
    **{(1, 2, verse): "And it was so." for verse in range(1, 4)},
}
PRINTED = {
    (1, 1, 1): "Por gracia sois salvos.",
    (1, 1, 2): "Gracias y paz a vosotros.",
    (1, 1, 3): "Enviaré el Consolador.",
    (1, 1, 4): "El Consolador ha venido.",
    (1, 1, 5): "Sea la luz.",
    **{(1, 2, verse): "Y fue así." for verse in range(1, 4)},
}


def glossary() -> Glossary:
    return compile_glossary(parse_terms(TERMS, "test.toml"), "es")


def test_an_entry_that_no_verse_bears_out_stands_with_what_they_have() -> None:
    found = attest(glossary(), SAID, PRINTED)
    assert [(each.term, each.verses, each.right) for each in found] == [
        ("grace", 2, 2),
        ("comforter", 2, 0),
        ("zohar", 0, 0),
    ]
    (weak,) = doubtful(found, below=0.0, least=2)
    assert (weak.write, weak.instead) == ("edredón", ("consolador",))
    assert table([weak])[-1] == ["comforter", "edredón", "2", "0", "consolador"]


def test_too_few_verses_prove_nothing() -> None:
    assert doubtful(attest(glossary(), SAID, PRINTED), below=0.0, least=3) == []


@pytest.mark.slow
def test_the_shipped_glossary_is_what_the_bible_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--every", "20"]) == 0
    output = capsys.readouterr().out
    share = float(output.rpartition("in all; ")[2].partition("%")[0])
    assert share > 85  # most of the rest are spellings of 1909
    assert "| jerusalem | Jerusalén |" in output
    assert "propitiation" not in output
