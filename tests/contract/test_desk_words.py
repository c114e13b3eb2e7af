"""The operator's page has plain words only: a sixty-year-old newcomer knows each of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.page_words import texts
from tests.support.paths import ROOT

PLAIN = Path(__file__).with_name("plain_words.txt")
DETAILS = {
    *("means_p50", "means_p95", "slowest", "display_behind", "by_server", "times_mean", "alike"),
    *("ready_after", "fact_waiting", "waiting_counts", "fact_dropped", "dropped_none"),
    *("fact_memory", "drop_blocks", "drop_records", "drop_partials", "drop_drafts"),
}
"""Texts behind "Details", which no volunteer opens."""
NO_WORDS = re.compile(r"`[^`]*`|\{\w+\}|--\S+ [\d.]+")
WORD = re.compile(r"[a-z]+(?:’[a-z]+)?")
ENDINGS = ("s", "es", "ed", "d", "ing", "’s")


def plain() -> frozenset[str]:
    lines = PLAIN.read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def strange(text: str, known: frozenset[str]) -> list[str]:
    """Return the words of a text that not everybody knows."""
    found = WORD.findall(NO_WORDS.sub(" ", text).lower())
    return [
        word
        for word in found
        if word not in known
        and not any(word.endswith(end) and word.removesuffix(end) in known for end in ENDINGS)
    ]


def test_no_text_at_the_desk_has_a_word_that_not_everybody_knows() -> None:
    known = plain()
    assert len(known) == 800
    english = texts("en")
    assert english.keys() >= DETAILS
    found = {
        key: words
        for key, text in english.items()
        if key not in DETAILS and (words := strange(text, known))
    }
    assert found == {}
    assert strange("The draft translator’s p95 is its target.", known) == [
        "draft",
        "translator’s",
        "p",
        "target",
    ]


@pytest.mark.parametrize("name", ["p50", "p95", "Marian", "dBFS", "SHA"])
def test_names_of_the_machinery_stand_behind_details(name: str) -> None:
    """On the page each such name is in an element that only Details shows."""
    page = (ROOT / "displays" / "operator.html").read_text("utf-8")
    lines = [line for line in page.splitlines() if name in line]
    assert all("keeper" in line for line in lines)
