"""The `rules` command."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.dictionary.glossary import parse_terms
from pipeline.dictionary.rules import parse_rules
from pipeline.records.events import Record, RuleEvent
from scripts.support.journal import message, record, session
from tests.support.cli import Cli

pytestmark = pytest.mark.usefixtures("elsewhere")
OWN = Path("sessions/dictionary.toml")


def held(heard: str, write: str, lang: str = "") -> RuleEvent:
    utc = "2026-11-22T09:40:00.000+00:00"
    return RuleEvent(
        utc=utc, id=heard, heard=heard, write=write, removed=False, held=True, lang=lang
    )


@pytest.mark.slow
def test_what_was_held_is_listed_and_accepted_for_every_service(tmp_path: Path, cli: Cli) -> None:
    captions = [message(1, "Grace", "Gracia")]
    records: list[Record] = [
        record(1, "Grace", "Gracia"),
        held("zor", "Zohar"),
        held("bex", "Bexhill"),
    ]
    session(tmp_path / "sessions", captions, records=records)
    output = cli("rules")
    assert output.out.splitlines() == ["zor → Zohar", "bex → Bexhill"]
    assert "--accept" in output.err
    assert not OWN.exists()
    cli("rules last --accept zohar")
    assert [rule.write for rule in parse_rules(OWN.read_text(), "own")] == ["Zohar"]
    assert "has a rule for it already" in cli("rules last --accept").out
    assert [rule.write for rule in parse_rules(OWN.read_text(), "own")] == ["Zohar", "Bexhill"]


def test_a_service_without_any_says_so(tmp_path: Path, cli: Cli) -> None:
    session(tmp_path / "sessions", [message(1, "Grace", "Gracia")], records=[])
    assert "no rule was held" in cli("rules last").err


def test_a_rendering_goes_into_the_churchs_glossary(tmp_path: Path, cli: Cli) -> None:
    records: list[Record] = [held("love feast", "ágape", "es")]
    session(tmp_path / "sessions", [message(1, "Grace", "Gracia")], records=records)
    assert cli("rules").out == "love feast → ágape (es)\n"
    cli("rules last --accept")
    own = Path("sessions/glossary.en-es.toml")
    assert f"{own} has a rule for it already" in cli("rules last --accept").out
    assert [term.write for term in parse_terms(own.read_text(), "own")] == [("ágape",)]
    assert not OWN.exists()
