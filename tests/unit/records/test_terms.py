"""Counting a session's church words."""

from __future__ import annotations

from pipeline.core.types import Check
from pipeline.records.terms import TermCount, TermTally


def test_each_entry_is_counted_by_what_became_of_it() -> None:
    tally = TermTally()
    right = Check("term", "right", "covenant", "pacto", "pacto", "covenant")
    many = Check("term", "right", "covenants", "pactos", "pactos", "covenant")
    other = Check("term", "right", "covenant", "alianza", "alianza", "covenant")
    repaired = Check("term", "repaired", "covenant", "acuerdo", "pacto", "covenant")
    refused = Check("term", "doubtful", "grace", "", "gracia", "grace")
    tally.add([right, refused, Check("number", "doubtful", "12")], "es")
    for check in (many, other, repaired):
        tally.add([check], "es")
    assert tally.counts == {
        "covenant": TermCount(seen=4, right=3, repaired=1, refused=0, consistency=0.75),
        "grace": TermCount(seen=1, right=0, repaired=0, refused=1, consistency=None),
    }
