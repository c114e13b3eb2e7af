"""Debian's own Bibles: sword-text-kjv and sword-text-sparv, not made by this project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.church.scripture import editions, sword
from pipeline.church.scripture.numbering import renumbered
from tests.support.needs import needs_file

MODULES = Path(os.environ.get("SWORD_PATH", "/usr/share/sword"), "mods.d")

pytestmark = pytest.mark.slow


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


@pytest.mark.parametrize(
    ("name", "edition", "places"), [("engKJV2006eb", "kjv", 0), ("spaRV1909eb", "rv1909", 15)]
)
def test_every_verse_is_found_under_our_number(name: str, edition: str, places: int) -> None:
    """The Spanish Bible numbers 15 books differently; psalms begin with their titles."""
    conf = MODULES / f"{name}.conf"
    needs_file(conf)
    ours, theirs = editions.load(edition).verses, sword.read(conf)
    assert (theirs.keys() == ours.keys()) == (not places)
    counted, changed = renumbered(theirs)
    assert (counted.keys(), len(changed)) == (ours.keys(), places)
    other = [at for at in ours if letters(ours[at])[-20:] not in letters(counted[at])]
    assert len(other) < 50, "but for a word here and there"
