"""Find training sentences that are too similar to a sentence that models are measured with.

python -m training.data.twins FILE.tsv > CLEAN.tsv      leaves them out, and says how many
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from training.data.corpora import words

ROOT = Path(__file__).parents[2]
_MEASURED = (
    *("training/data/sermon_test.tsv", "training/data/sermon_test_fr.tsv"),
    "training/data/judged_finals.tsv",
    *("scripts/quality/sentences.toml", "scripts/quality/sentences_fr.toml"),
    *(
        "scripts/bench/meaning/sentences.toml",
        "demo/sermon.json",
        "demo/pauses.json",
        "demo/service.json",
    ),
)
_SHARE = 0.5
"""The share of a measured sentence's word triples that a training sentence must not have."""

Triple = tuple[str, ...]


def triples(text: str) -> frozenset[Triple]:
    """Return every three consecutive words; a shorter text gives all its words."""
    found = words(text)
    return frozenset(found[at : at + 3] for at in range(max(1, len(found) - 2)))


def measured() -> frozenset[frozenset[Triple]]:
    """Return the triples of every English sentence that models are measured with."""
    texts = (text for name in _MEASURED if (ROOT / name).exists() for text in _english(ROOT / name))
    return frozenset(triples(text) for text in texts if words(text))


def twins(texts: Iterable[str], held_out: frozenset[frozenset[Triple]]) -> set[str]:
    """Return the texts that share half of a held-out sentence's triples."""
    places: dict[Triple, list[frozenset[Triple]]] = {}
    for each in held_out:
        for triple in each:
            places.setdefault(triple, []).append(each)
    found = set()
    for text in texts:
        own = triples(text)
        near = {each for triple in own for each in places.get(triple, ())}
        if any(len(own & each) >= _SHARE * len(each) for each in near):
            found.add(text)
    return found


def _english(file: Path) -> Iterator[str]:
    text = file.read_text("utf-8")
    if file.suffix == ".tsv":
        lines = (line for line in text.splitlines() if line.strip() and line[0] != "#")
        yield from (line.partition("\t")[0] for line in lines)
    else:
        document = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
        yield from _strings(document)


def _strings(value: object) -> Iterator[str]:
    """Yield the values under the keys of a source text, at any depth."""
    if isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key in ("en", "source") and isinstance(each, str):
                # A sentence that needs a previous one is measured after that one.
                yield f"{value.get('before', '')} {each}"
            else:
                yield from _strings(each)


def main() -> int:
    """Print the lines of a file that are fit for training; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="tab-separated, English first")
    lines = parser.parse_args().file.read_text("utf-8").splitlines()
    gone = twins((line.partition("\t")[0] for line in lines), measured())
    for line in lines:
        if line.partition("\t")[0] not in gone:
            print(line)
    print(f"{len(gone)} of {len(lines)} are too like what is measured", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
