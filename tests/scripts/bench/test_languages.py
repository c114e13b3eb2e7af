"""The table of the language benchmark; `make bench-languages` runs it."""

from __future__ import annotations

from pathlib import Path

import orjson

from pipeline.config.loader import load
from scripts.bench import languages
from scripts.bench.languages import Cost

ONE = Cost(cpu=0.5, recognizer_s=10.0, final_ms=800.0, finals={"fr": 0})


def test_the_table_has_the_ratio_of_the_two() -> None:
    several = Cost(cpu=0.7, recognizer_s=10.0, final_ms=840.0, finals={"fr": 34})
    assert languages.table(ONE, several) == [
        ["", "one", "2", "ratio"],
        ["CPU, s/s", "0.5", "0.7", "1.40"],
        ["recognizer, s", "10", "10", "1.00"],
        ["first language's finals, ms", "800", "840", "1.05"],
        ["finals in fr", "-", "34", ""],
    ]


def test_the_extra_targets_are_a_setting_that_the_program_takes(tmp_path: Path) -> None:
    arguments = languages._arguments(["--langs", "fr", "de", "--final", str(tmp_path)])
    key, _, value = languages.targets(arguments).partition("=")
    found = load(flags={key: orjson.loads(value)}).settings
    assert [target.lang for target in found.translate.targets] == ["fr", "de"]
    assert [alone.translate.final.prompt for alone in found.by_target()] == ["starter"] * 2
