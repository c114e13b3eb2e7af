"""What a review has written into its session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from pipeline.review.store import Review
from pipeline.session.training_pairs import PAIRS


def lines(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def outcomes(review: Review) -> dict[int, str]:
    return {item.id: item.outcome for item in review.items()}


def pairs(folder: Path) -> list[tuple[int, str, str]]:
    return [(line["id"], line["target"], line["engine"]) for line in lines(folder / PAIRS)]
