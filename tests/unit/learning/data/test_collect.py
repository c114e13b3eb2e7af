"""From sessions to the data folder: nothing twice, nothing off the record, all of it again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path

import orjson
import pytest

from pipeline.captions.redaction import MARK, Redaction
from pipeline.config.section import Session as SessionSettings
from pipeline.core.errors import LearningError
from pipeline.dictionary.rules import Rule
from pipeline.learning.cycle import keep_focus
from pipeline.learning.data.collect import Collected, CollectSettings, collect, remove
from pipeline.learning.data.folder import DataFolder, last_lesson
from pipeline.protocol.caption import SourceText
from pipeline.records.utterance import FinalRecord, judged
from pipeline.session.recorder import SessionRecorder
from pipeline.session.redact import finish_purges
from scripts.support.journal import message
from scripts.support.records import utterance_record
from tests.support.services import GOOD, NAME, STARTED, UNSURE, WRONG, Said, decide, hold

RULES = (Rule("ezra", ("as rah",), "Ezra"),)
SETTINGS = CollectSettings(rules=RULES)
SOUND = SessionSettings(keep_audio="all")


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "learning")


def gather(data: DataFolder, *folders: Path, settings: CollectSettings = SETTINGS) -> Collected:
    with data.hold():
        return collect(data, folders, settings)


def texts(data: DataFolder) -> list[str]:
    return [pair.text for pair in data.pairs()]


def week(directory: Path, number: int, sentences: Sequence[Said]) -> Path:
    return hold(directory, sentences, started=STARTED + timedelta(days=7 * number))


def test_two_services_are_kept_once_however_often_they_are_collected(
    tmp_path: Path, data: DataFolder
) -> None:
    other = Said(source="Love is patient with us.", target="El amor es paciente con nosotros.")
    folders = [week(tmp_path, 0, [GOOD, UNSURE, WRONG]), week(tmp_path, 1, [GOOD, other])]
    first = gather(data, *folders)
    assert (len(first.new), first.pairs, first.moderate) == (2, 2, 1)
    assert sorted(texts(data)) == [GOOD.source, other.source]
    again = gather(data, *folders)
    assert (again.new, again.unchanged, again.pairs) == ((), 2, 2)
    assert len((data.path / "ledger.jsonl").read_bytes().splitlines()) == 2
    manifest = orjson.loads((data.path / "manifest.json").read_bytes())
    assert manifest["figures"]["pairs"] == 2
    assert manifest["inputs"][0]["file"] == "ledger.jsonl"


def test_a_term_is_one_with_its_article_and_without(tmp_path: Path, data: DataFolder) -> None:
    rules = tuple(Rule(word, (f"hear {word}",), word) for word in ("prophet", "the prophet"))
    said = Said(source="Then the prophet prayed.", target="Entonces oró el profeta.")
    gather(data, week(tmp_path, 0, [said]), settings=CollectSettings(rules=rules))
    assert [pair.terms for pair in data.pairs()] == [("prophet",)]


def test_a_review_is_taken_in_the_next_time(tmp_path: Path, data: DataFolder) -> None:
    folder = week(tmp_path, 0, [GOOD, UNSURE])
    gather(data, folder)
    decide(folder, 2, "approved", UNSURE.source, UNSURE.target)
    assert gather(data, folder).by_source == {"auto": 1, "review": 1}


def test_a_session_whose_folder_is_gone_stays(tmp_path: Path, data: DataFolder) -> None:
    gather(data, week(tmp_path, 0, [GOOD]))
    (made,) = [gather(data, week(tmp_path, 1, [UNSURE]))]
    assert made.sessions == 2
    assert GOOD.source in texts(data)


def test_what_is_off_the_record_leaves_the_data_folder(tmp_path: Path, data: DataFolder) -> None:
    folder = hold(tmp_path, [GOOD, UNSURE], keeping=SOUND)
    gather(data, folder)
    assert texts(data) == [GOOD.source]
    assert (data.path / "audio" / f"{NAME}-000001.flac").exists()
    assert [each.text for each in keep_focus(data, tmp_path).review] == [UNSURE.source]
    (folder / MARK).write_bytes(b"[]")
    made = gather(data, folder)
    assert [each.session for each in made.skipped] == [NAME]
    assert kept_texts(data) == []
    assert list((data.path / "audio").glob("*.flac")) == []


def kept_texts(data: DataFolder) -> list[str]:
    """Return which of the two sentences are in a file of the data folder."""
    files = b"".join(path.read_bytes() for path in data.path.rglob("*") if path.is_file())
    return [each.source for each in (GOOD, UNSURE) if each.source.encode() in files]


def test_what_went_off_the_record_after_a_collection_is_gone_with_the_next(
    tmp_path: Path, data: DataFolder
) -> None:
    folder = hold(tmp_path, [GOOD, UNSURE])
    gather(data, folder)
    keep_focus(data, tmp_path)
    (folder / MARK).write_bytes(orjson.dumps([asdict(Redaction(15.0, 30.0))]))
    finish_purges(tmp_path)
    assert gather(data, folder).new == (NAME,)
    assert kept_texts(data) == [GOOD.source]


def test_a_session_that_is_removed_leaves_nothing_but_a_line(
    tmp_path: Path, data: DataFolder
) -> None:
    folder = hold(tmp_path, [GOOD], keeping=SOUND)
    gather(data, folder)
    with data.hold():
        assert remove(data, NAME)
        assert not remove(data, NAME)
    assert texts(data) == []
    assert (data.path / "audio" / "metadata.jsonl").read_bytes() == b""
    assert data.ledger()[NAME].removed
    assert gather(data, folder).pairs == 1, "it can be collected again"


def test_a_removal_that_was_interrupted_stops_no_later_step(
    tmp_path: Path, data: DataFolder
) -> None:
    folders = [week(tmp_path, n, [GOOD, UNSURE]) for n in range(2)]
    gather(data, *folders)
    data.session_file(folders[0].name).unlink()  # killed before the line in the ledger
    assert gather(data, folders[1]).sessions == 1
    assert keep_focus(data, tmp_path).captions == 2
    assert last_lesson(data) == ""
    assert gather(data, *folders).new == (folders[0].name,)


def test_a_session_that_cannot_be_read_is_named_and_the_others_are_collected(
    tmp_path: Path, data: DataFolder
) -> None:
    broken, damaged, whole = (week(tmp_path, n, [GOOD, UNSURE]) for n in range(3))
    (broken / "diagnostics.jsonl").unlink()
    records = damaged / "diagnostics.jsonl"
    records.write_bytes(b"\0" * 100 + b"\n" + records.read_bytes())
    made = gather(data, broken, damaged, whole)
    assert made.new == (damaged.name, whole.name)
    (skipped,) = made.skipped
    assert skipped.session == broken.name
    assert "diagnostics.jsonl cannot be read: No such file" in skipped.why


def test_a_demo_is_no_service(tmp_path: Path, data: DataFolder) -> None:
    folder = hold(tmp_path, [GOOD], mode="demo")
    assert gather(data, folder).skipped[0].why == "a demo"
    assert gather(data, folder, settings=replace(SETTINGS, demos=True)).pairs == 1


def test_a_dry_run_writes_nothing(tmp_path: Path, data: DataFolder) -> None:
    folder = hold(tmp_path, [GOOD])
    assert collect(data, [folder], SETTINGS, dry_run=True).pairs == 1
    assert not data.path.exists()


def test_new_names_and_rules_are_told(tmp_path: Path, data: DataFolder) -> None:
    sentences = [
        replace(GOOD, source=f"We thank pastor Okafor for week {n}.", heard="We thank pastor oak")
        for n in range(3)
    ]
    folder = hold(tmp_path, sentences)
    decide(folder, 1, "corrected", "We thank pastor Okafor.", "Damos gracias al pastor Okafor.")
    made = gather(data, folder)
    assert ("Okafor", 2) in made.new_terms or ("Okafor", 3) in made.new_terms
    assert [rule.said for rule in made.rules if rule.heard == "oak"] == ["Okafor"]


def test_what_is_misheard_in_another_language_is_no_mistake_in_this_one(
    tmp_path: Path, data: DataFolder
) -> None:
    made = SessionRecorder(tmp_path, source="en", targets=("es",), on_fault=print)
    made.start()
    for key in (1, 2):
        text = "Wir danken die Gemeinde und Gnade."
        final = FinalRecord(lang="es", text=f"Damos gracias {key}.", engine="gemma")
        record = replace(utterance_record(key, text), lang="de", final=final, partial=None)
        shown = replace(message(key, text, final.text), source=SourceText("de", text))
        made.on_caption(shown, "es")
        made.record(judged(record))
    assert made.close(5.0)
    for key in (1, 2):
        said = "Wir danken der Gemeinde und Gnade."
        decide(made.folder, key, "corrected", said, f"Damos gracias {key}.")
    english = gather(data, made.folder)
    assert (english.rules, english.new_terms) == ((), ())
    assert orjson.loads((data.path / "confusions.json").read_bytes()) == []
    german = gather(data, made.folder, settings=replace(SETTINGS, lang="de"))
    assert german.new_terms == (), "every noun has a capital"
    (confusion,) = orjson.loads((data.path / "confusions.json").read_bytes())
    assert confusion == {"said": "der", "heard": "die", "count": 2}


def test_a_full_disk_is_told_and_costs_nothing_that_was_there(
    tmp_path: Path, data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    gather(data, week(tmp_path, 0, [GOOD]))
    later = week(tmp_path, 1, [replace(GOOD, source="Hope does not put us to shame.")])

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "write", full)
        with pytest.raises(LearningError) as raised:
            gather(data, later)
    assert raised.value.code == "learning-unwritable"
    assert texts(data) == [GOOD.source]
    assert gather(data, later).pairs == 2
