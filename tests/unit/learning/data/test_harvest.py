"""The pairs that a session gives after edits and a review."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.config.section import Session as SessionSettings
from pipeline.core.errors import LearningError
from pipeline.learning.data.folder import DataFolder, keep_sound, write_metadata
from pipeline.learning.data.harvest import harvest
from pipeline.learning.data.pairs import pair_line, parse_line
from pipeline.records.utterance import FinalRecord, judged
from pipeline.review.store import Review
from pipeline.session.recorder import SessionRecorder
from scripts.support.journal import message
from scripts.support.records import utterance_record
from tests.support.services import GEMMA, GOOD, NAME, UNSURE, WRONG, decide, hold


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    edited = replace(WRONG, edit="Cantaremos de nuevo la última estrofa.")
    hidden = replace(GOOD, source="This was hidden by somebody.", edit="")
    return hold(tmp_path, [GOOD, UNSURE, WRONG, edited, hidden])


def test_a_session_gives_its_pairs_by_who_vouches_for_them(folder: Path) -> None:
    by_id = {pair.id: pair for pair in harvest(folder, ["Ezra", "grace"]).pairs}
    assert {key: (pair.source, pair.status) for key, pair in by_id.items()} == {
        1: ("auto", "review"),
        2: ("auto", "review"),
        3: ("auto", "review"),
        4: ("operator", "accepted"),
    }
    assert by_id[4].translation == "Cantaremos de nuevo la última estrofa."
    assert (by_id[2].text, by_id[2].heard) == (UNSURE.source, UNSURE.heard)
    assert by_id[2].terms == ("Ezra",)
    first = by_id[1]
    assert (first.session_id, first.model, first.model_sha256) == (NAME, "gemma.gguf", GEMMA.sha256)
    assert first.stt_confidence == pytest.approx(0.9241, abs=1e-3)
    assert (first.translation_qe, first.marian_agreement) == (0.9512, 1.0)


def test_what_a_reviewer_says_holds(folder: Path) -> None:
    decide(folder, 1, "rejected", GOOD.source, GOOD.target)
    decide(folder, 2, "corrected", "Turn with me to Ezra.", "Vayan conmigo a Esdras.")
    found = harvest(folder, [])
    by_id = {pair.id: pair for pair in found.pairs}
    assert 1 not in by_id
    assert (by_id[2].source, by_id[2].text) == ("review", "Turn with me to Ezra.")
    assert by_id[2].reviewer == "Ana"
    assert [is_wrong for _, _, is_wrong in found.judged] == [True, True]
    assert len(found.corrected) == 1
    assert ("Turn with me to the book of extra.", "Turn with me to Ezra.") in found.spoken


def test_what_was_hidden_stays_so_when_its_review_is_taken_back(folder: Path) -> None:
    decide(folder, 5, "approved", GOOD.source, GOOD.target)
    assert 5 in {pair.id for pair in harvest(folder, []).pairs}
    decide(folder, 5, "open", GOOD.source, GOOD.target)
    assert 5 not in {pair.id for pair in harvest(folder, []).pairs}


def test_an_edit_of_the_translation_does_not_vouch_for_half_a_sentence(tmp_path: Path) -> None:
    half = replace(WRONG, source="that every diagnosis", edit="que todo diagnóstico")
    (pair,) = harvest(hold(tmp_path, [half]), []).pairs
    assert (pair.source, pair.status, pair.obstacle) == ("operator", "review", "half a sentence")


def test_what_an_operator_corrected_is_heard_right_though_its_translation_waits(
    tmp_path: Path,
) -> None:
    misheard = replace(UNSURE, source=UNSURE.heard, corrected="Turn with me to the book of Ezra.")
    folder = hold(tmp_path, [misheard], keeping=SessionSettings(keep_audio="all"))
    found = harvest(folder, [])
    (pair,) = found.pairs
    assert (pair.source, pair.status, pair.corrected) == ("auto", "review", True)
    assert found.spoken == ((misheard.heard, misheard.corrected),)
    keep_sound(tmp_path / "data", folder, found.pairs)
    assert write_metadata(tmp_path / "data", found.pairs) == 1
    decide(folder, 1, "corrected", "Turn to the book of Ezra.", UNSURE.target)
    assert harvest(folder, []).spoken == ((misheard.heard, "Turn to the book of Ezra."),)


def test_what_was_left_untranslated_is_learnt_only_as_a_reviewer_translates_it(
    tmp_path: Path,
) -> None:
    """Such a pair once had English on both sides and made the whole data unreadable."""
    made = SessionRecorder(tmp_path, source="en", targets=("es",), on_fault=print)
    made.start()
    for key, engine, lang in ((1, "source", "en"), (2, "source", "en"), (3, "gemma", "es")):
        text = GOOD.target if engine == "gemma" else GOOD.source
        made.on_caption(message(key, GOOD.source, text, lang=lang, engine=engine), "es")
        final = FinalRecord(lang=lang, text=text, engine=engine)
        made.record(judged(replace(utterance_record(key, GOOD.source), final=final, partial=None)))
    assert made.close(5.0)
    with closing(Review(made.folder)) as review:
        for key, target in ((1, GOOD.target), (2, GOOD.source)):
            text = GOOD.source
            review.decide(key, "approved", source=text, target=target, reviewer="Ana")
    found = harvest(made.folder, []).pairs
    assert [(pair.id, pair.status) for pair in found] == [(1, "accepted"), (3, "review")]
    assert parse_line(pair_line(found[0])) == found[0]
    assert (found[0].target_lang, found[0].translation) == ("es", GOOD.target)


def test_it_is_kept_and_read_back(folder: Path, tmp_path: Path) -> None:
    found = harvest(folder, ["Ezra"])
    data = DataFolder(tmp_path)
    (tmp_path / "sessions").mkdir()
    data.write_json("sessions/one.json", found)
    assert data.harvest("one") == found
    data.session_file("one").write_bytes(b"{")
    with pytest.raises(LearningError) as raised:
        data.harvest("one")
    assert raised.value.code == "harvest-unreadable"
