"""Bring the Bibles that ship into the numbering of the King James Version.

    git show 3589058:verses/rv1909.tsv.xz > before.tsv.xz
    python -m scripts.quality.verse_numbering rv1909 before.tsv.xz --to verses

Commit 3589058 has the texts as they were taken over.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pipeline.church.scripture import editions
from pipeline.church.scripture.numbering import changes_of, renumber
from scripts.support.command import parser_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Write an edition with its changes applied; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("edition", help="as the changes name it, such as rv1909")
    parser.add_argument("text", type=Path, help="its file before the changes")
    parser.add_argument("--to", type=Path, required=True, help="folder for the file")
    chosen = parser.parse_args(arguments)
    changes = changes_of(chosen.edition)
    before = editions.read(chosen.text, chosen.edition)
    after = replace(before, verses=renumber(before.verses, changes))
    file = editions.write(after, chosen.to)
    sys.stdout.write(
        f"{len(changes)} changes, {len(before.verses)} verses before, {len(after.verses)} now: "
        f"{file}\n"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
