"""Fit the bars of acceptance of translators that ship to captions that were judged.

    python -m scripts.bench.meaning --lang es fr --json found.json
    python -m scripts.quality.acceptance found.json            writes models/starter/acceptance.json

The sentences of the benchmark are hard ones, of which nobody says more than a tenth: they count as
one caption in ten beside those of `acceptance_judged.tsv`, which are a service's. Of the finals
that no check and no judge marks, the bar is the lowest certainty from which on at most 3 % are
wrong. A retrained model needs a new bar: they are kept by SHA-256.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import orjson

from pipeline.core.resources import bundled
from pipeline.learning.data.acceptance import MOST_WRONG, SHIPPED, write_shipped
from pipeline.learning.data.pairs import LearningPair
from pipeline.learning.fitting import lowest_bar
from pipeline.learning.manifest import sha256

_HARD = 0.1


def main() -> int:
    """Fit, print and write; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.quality.acceptance")
    parser.add_argument("found", type=Path, help="what the benchmark of meaning has written")
    captions = orjson.loads(parser.parse_args().found.read_bytes())["captions"]
    finals = [each for each in captions if each["stage"] == "final"]
    model = sha256(bundled("models", "starter", "gemma", "model.gguf"))
    bars: dict[str, float] = {}
    for lang in dict.fromkeys(each["lang"] for each in finals):
        mine = [each for each in finals if each["lang"] == lang]
        decided = [
            (told, bool(each["mistakes"]))
            for each in mine
            if not each["is_marked"] and (told := _certainty(each)) is not None
        ]
        service = _service(lang)
        times = round((1 / _HARD - 1) * len(decided) / len(service)) if service else 0
        bar = lowest_bar([*decided, *service * times], MOST_WRONG)
        right = sum(not each["mistakes"] for each in mine)
        if bar is None:
            print(f"{lang}: no bar keeps wrong ones below {MOST_WRONG:.0%}")
            continue
        bars[f"{model} {lang}"] = bar
        passed = [is_wrong for score, is_wrong in decided if score >= bar]
        share = (len(passed) - sum(passed)) / max(1, right)
        print(
            f"{lang}: {bar:.4f}; {len(passed)} pass, {sum(passed)} wrong, {share:.0%} of the right"
        )
    write_shipped(bundled(*SHIPPED), bars)
    return 0


def _service(lang: str) -> list[tuple[float, bool]]:
    lines = Path(__file__).with_name("acceptance_judged.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [(float(score), wrong == "1") for score, wrong, spoken in rows if spoken == lang]


def _certainty(caption: dict[str, object]) -> float | None:
    evidence = caption["evidence"]
    assert isinstance(evidence, dict)  # noqa: S101 - of our own benchmark
    mean = evidence["final_mean"]
    return LearningPair(
        session_id="",
        source_lang="en",
        text="",
        target_lang="",
        translation="",
        source="auto",
        status="review",
        translation_qe=None if mean is None else math.exp(min(0.0, mean)),
        marian_agreement=evidence["agreement"],
    ).certainty


if __name__ == "__main__":
    sys.exit(main())
