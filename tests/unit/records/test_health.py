"""The record of the daemon's health."""

from __future__ import annotations

import orjson

from pipeline.records.health import RUNG_NAMES
from pipeline.workers.degradation import Rung
from scripts.support.records import health_record
from tests.support.schemas import problems


def test_a_record_fits_its_schema() -> None:
    line = orjson.loads(orjson.dumps(health_record()))
    assert problems("records/health", line) == []
    assert problems("records/health", line | {"rung": "half"}) != []


def test_every_rung_has_its_name() -> None:
    assert [rung.name.lower().replace("_", "-") for rung in Rung] == list(RUNG_NAMES)
