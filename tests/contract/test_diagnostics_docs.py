"""docs/DIAGNOSTICS.md explains every field, and its queries return results."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest

from pipeline.records.quality import FLAGS, THRESHOLDS, Decision, Exclusion, Limit
from tests.support.needs import needs_program
from tests.support.schemas import SCHEMA
from tests.support.sessions import Session, eventful

DOCUMENT = (SCHEMA.parent / "docs" / "DIAGNOSTICS.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", DOCUMENT, re.MULTILINE | re.DOTALL))
RECORDS = {
    "utterance": "`utterance`",
    "translation": "`translation`",
    "compare": "`compare`",
    "health": "`health`",
    "event": "`event`",
    "summary": "`summary`",
    "quality": "`quality`",
    "reviewed": "Lines of `reviewed.jsonl`",
    "pair": "Lines of `sermon_pairs.jsonl` and `review_queue.jsonl`",
    "review": "Lines of `sermon_pairs.jsonl` and `review_queue.jsonl`",
}
JUDGEMENT = SECTIONS["Flags and quality"] + SECTIONS["`utterance`"]


def fields(schema: Any) -> Iterator[str]:
    """Yield the names of all fields in a schema, nested ones too."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
    for inner in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(inner, dict | list):
            yield from fields(inner)


def named(section: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", section))


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return eventful(tmp_path_factory.mktemp("docs") / "sessions")


def test_there_is_a_section_for_each_record() -> None:
    assert {path.stem for path in (SCHEMA / "records").iterdir()} == set(RECORDS)
    assert set(RECORDS.values()) <= set(SECTIONS)


@pytest.mark.parametrize("record", RECORDS)
def test_every_field_is_explained(record: str) -> None:
    schema = orjson.loads((SCHEMA / "records" / f"{record}.json").read_bytes())
    explained = named(SECTIONS[RECORDS[record]])
    if record in ("quality", "translation"):
        explained |= named(JUDGEMENT)  # the document says "as above"
    assert set(fields(schema)) - explained == set()


def test_every_flag_decision_and_exclusion_is_explained() -> None:
    flags = {flag.split(":")[0] for flag in FLAGS}
    assert flags | {*get_args(Decision), *get_args(Exclusion)} <= named(JUDGEMENT)


def test_the_thresholds_are_those_of_the_program() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| .* (\S+) \| \w+ (\S+) \|$", JUDGEMENT, re.MULTILINE)
    documented = {name: Limit(float(flag), float(reject)) for name, flag, reject in rows}
    assert documented == {
        name.replace("_", "-"): limit
        for name in THRESHOLDS.__slots__
        if isinstance(limit := getattr(THRESHOLDS, name), Limit)
    }
    scores = dict(re.findall(r"^\| `(\w+)` \| score from ([\d.]+)", JUDGEMENT, re.MULTILINE))
    assert {name: float(score) for name, score in scores.items()} == {
        name: getattr(THRESHOLDS, name) for name in ("accept", "moderate", "review")
    }
    weights = [float(percent) / 100 for percent in re.findall(r"\((\d+) %\)", JUDGEMENT)]
    assert weights == [
        THRESHOLDS.stt_weight,
        THRESHOLDS.estimate_weight,
        THRESHOLDS.agreement_weight,
    ]


@pytest.mark.slow
def test_the_questions_get_their_answers(session: Session) -> None:
    needs_program("jq")
    commands = re.findall(r"```sh\n(.+?)\n```", SECTIONS["Three questions"], re.DOTALL)
    slowest, corrected, filtered = (run(command, session.folder) for command in commands)
    utterances = session.records("utterance")
    shown = [each for each in utterances if each["final"] is not None]
    shown.sort(key=lambda each: -each["last_syllable_to_final_ms"])
    assert len(slowest) == min(5, len(shown))
    assert [line.split("\t")[2] for line in slowest] == [each["text"] for each in shown[:5]]
    found = Counter(each["found"] for record in utterances for each in record["corrections"])
    assert corrected == [f"{found['number']}\tnumber -> Number"]
    (music,) = [each for each in utterances if each["filtered"]]
    assert filtered == [f"{music['start_s']:g} s\tempty\t[music]"]


def run(command: str, folder: Path) -> list[str]:
    shell = ["bash", "-c", command]
    done = subprocess.run(shell, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()
