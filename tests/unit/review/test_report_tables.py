"""The tables of a report."""

from __future__ import annotations

from typing import Any

from pipeline.core.types import Check, Correction
from pipeline.records.events import FaultEvent, SourceEvent
from pipeline.records.quality import Decision, Parts, Quality
from pipeline.records.utterance import CompareRecord, UtteranceRecord, translation_record
from pipeline.review.report_tables import (
    church_words,
    corrections,
    extra_targets,
    filtered,
    flagged,
    reviewed,
    second_finals,
    stage_times,
    transcript,
    troubles,
)
from pipeline.review.report_timeline import ReportedSession
from pipeline.review.store import Outcome, Reviewed
from scripts.support.journal import message, record, told, utc
from scripts.support.records import compare_record, health_record
from tests.support.pages import rows


def fix(found: str, replacement: str, start: int, rule: str = "a rule") -> Correction:
    return Correction(rule, found, replacement, start)


def corrected(*fixes: Correction, raw: str, text: str) -> ReportedSession:
    said = record(1, text, "dicho", raw_text=raw, corrections=fixes)
    return told([message(1, text, "dicho")], [said])


def test_corrected_words_are_marked_where_they_stand() -> None:
    session = corrected(
        fix("tim a thee", "Timothy", 5),
        fix("gaspall", "gospel", 24),
        raw="Paul tim a thee and the gaspall",
        text="Paul Timothy and the gospel",
    )
    table = transcript(session)
    assert (
        'Paul <mark title="heard: tim a thee (rule a rule)">Timothy</mark> and the '
        '<mark title="heard: gaspall (rule a rule)">gospel</mark></td>' in table
    )
    assert rows(table) == [["0:10", "Paul Timothy and the gospel", "dicho", "0.9 s"]]


def test_a_correction_that_cannot_be_found_again_marks_nothing() -> None:
    session = corrected(fix("a", "b", 3), fix("c", "d", 90), raw="x", text="Paul Timothy")
    assert "<mark" not in transcript(session)
    assert rows(transcript(session))[0][1] == "Paul Timothy"


def test_a_journal_without_records_is_enough_for_the_transcript() -> None:
    session = told([message(1, "one", "uno"), message(2, "two", "dos")], [])
    assert rows(transcript(session)) == [["0:10", "one", "uno", ""], ["0:20", "two", "dos", ""]]
    assert transcript(told([], [])) == ""


def test_what_became_of_a_caption_is_remarked() -> None:
    captions = [
        message(1, "one", "Uno.", engine="operator"),
        message(2, "two", "dos", engine="marian"),
        message(3, "three", "three", engine="source", lang="en"),
        message(4, "four", "cuatro"),
    ]
    records = [
        record(1, "one", "uno"),
        record(
            4,
            "four",
            "cuatro",
            flags=(
                "agreement:flag",
                "estimate:reject",
            ),
        ),
    ]
    table = transcript(told(captions, records))
    assert [row[3] for row in rows(table)] == ["edited0.9 s", "marian", "not translated", "⚑0.9 s"]
    assert 'title="was: uno"' in table
    why = "the two translations are not alike, the translation may be wrong (strong doubt)"
    assert f'bad" title="{why}" role="img"' in table
    assert table.count('<td lang="en" dir="auto">three</td>') == 2


def test_corrections_are_counted_the_most_frequent_first() -> None:
    records = [record(1, "x", "y", corrections=(fix("a", "b", 0),))]
    records += [record(n, "x", "y", corrections=(fix("c", "d", 0),)) for n in range(2, 14)]
    captions = [message(n, "x", "y") for n in range(1, 14)]
    first, second = rows(corrections(told(captions, records)))
    assert first[:4] == ["c", "d", "a rule", "12"]
    assert first[4].startswith("0:20, 0:30, ")
    assert first[4].endswith(" …")
    assert second == ["a", "b", "a rule", "1", "0:10"]
    assert corrections(told([], [record(1, "x", "y")])) == ""


def test_filtered_text_has_its_reason() -> None:
    records = [record(1, "one", "uno"), record(2, "Thank you.", filtered="hallucination")]
    session = told([], records)
    assert rows(filtered(session)) == [["0:20", "hallucination", "Thank you.", "-23 dBFS"]]
    assert filtered(told([], records[:1])) == ""


def test_doubtful_captions_come_worst_first() -> None:
    def judged(key: int, score: float | None, decision: Decision, **more: Any) -> UtteranceRecord:
        parts = Parts(stt=None, estimate=score, agreement=None)
        excluded = more.pop("excluded", ())
        quality = Quality(score=score, parts=parts, decision=decision, excluded=excluded)
        return record(key, "said", "dicho", quality=quality, **more)

    records = [
        judged(1, 0.9, "accept"),
        judged(2, 0.6, "review"),
        judged(
            3,
            0.3,
            "reject",
            flags=(
                "avg-logprob:reject",
                "agreement:flag",
            ),
        ),
        judged(4, None, "reject", excluded=("too-short",)),
        judged(5, 0.1, "reject"),  # hidden by an operator
    ]
    captions = [message(n, f"said {n}", f"dicho {n}") for n in range(1, 5)]
    table = flagged(told(captions, records))
    assert rows(table) == [
        ["0:40", "doubtful", "too short", "said 4", "dicho 4"],
        [
            "0:30",
            "doubtful",
            "some words may have been heard wrong (strong doubt)the two translations are not alike",
            "said 3",
            "dicho 3",
        ],
        ["0:20", "worth a look", "in doubt as a whole", "said 2", "dicho 2"],
    ]
    assert '<span class="chip note">the two translations are not alike' in table
    assert flagged(told(captions, [record(1, "said", "dicho")])) == ""


def test_only_the_worst_are_listed() -> None:
    records = [record(n, "said", "dicho", flags=("estimate:flag",)) for n in range(1, 61)]
    captions = [message(n, "said", "dicho") for n in range(1, 61)]
    table = flagged(told(captions, records))
    assert len(rows(table)) == 20
    assert "And 40 more" in table


def test_what_went_wrong_is_told_once_with_its_times() -> None:
    faults = [
        FaultEvent(utc=utc(10.0 * n), stage="translate", code="final-late", message="Too <late>.")
        for n in range(1, 12)
    ]
    lost = SourceEvent(utc=utc(30), lost=True, message="unplugged")
    back = SourceEvent(utc=utc(40), lost=False, message="plugged in")
    health = [health_record(utc=utc(s), audio_s=s) for s in (0.0, 200.0)]
    spoken = [record(n, "said", "dicho") for n in range(1, 10)]
    table = troubles(told([], [*spoken, *health, *faults, lost, back]))
    times = "0:10, 0:20, 0:30, 0:40, 0:50, 1:00, 1:10, 1:20 …"
    assert rows(table) == [
        ["Too &lt;late&gt;. (final-late)", "11", times],
        ["microphone lost: unplugged", "1", "0:30"],
    ]
    assert troubles(told([], health)) == ""


def test_stages_have_percentiles() -> None:
    records = [record(n, "said", "dicho", stt_ms=100.0 * n) for n in range(1, 4)]
    table = {row[0]: row[1:] for row in rows(stage_times(told([], records)))}
    assert table["recognizer"] == ["200", "300", "300", "300"]
    assert "last syllable to caption" in table
    assert stage_times(told([], [])) == ""


def second(id: int, text: str, agreement: float | None, ms: float = 40.0) -> CompareRecord:  # noqa: A002
    told_by = {"engine": "gemma", "model": "12b.gguf"}
    return compare_record(id, text, agreement=agreement, ms=ms, **told_by)


def test_second_finals_stand_beside_the_first_the_most_different_first() -> None:
    captions = [message(n, f"said {n}", f"dicho {n}") for n in (1, 2, 3)]
    records = [record(n, f"said {n}", f"dicho {n}") for n in (1, 2, 3)]
    seconds = [
        second(1, "dicho uno", 0.81, 60.0),
        second(2, "<b>", 0.2),
        second(3, "dicho 3", 1.0, 50.0),
        second(9, "x", 0.1),
    ]
    table = second_finals(told(captions, [*records, *seconds]))
    assert rows(table) == [
        ["0:20", "0.20", "said 2", "dicho 2", "&lt;b&gt;"],
        ["0:10", "0.81", "said 1", "dicho 1", "dicho uno"],
    ]
    assert "gemma (12b.gguf) on 3 captions" in table
    assert "50 ms for half of them" in table
    assert "1 are the same; half of all agree to 0.81" in table
    assert 'href="#u2"' in table


def test_without_second_finals_there_is_no_table_of_them() -> None:
    assert second_finals(told([message(1, "one", "uno")], [])) == ""


def decided(id: int, outcome: Outcome, target: str = "") -> Reviewed:  # noqa: A002
    utc = "2026-11-22T11:00:00.000+00:00"
    return Reviewed(
        id=id, utc=utc, reviewer="Ana <a>", outcome=outcome, source=f"said {id}", target=target
    )


def test_what_people_corrected_stands_beside_what_was_shown() -> None:
    captions = [message(n, f"said {n}", f"dicho {n}") for n in (1, 2, 3, 4)]
    records = [record(n, f"said {n}", f"dicho {n}") for n in (1, 2, 3)]
    decisions = [
        decided(4, "corrected", "cuatro"),
        decided(1, "approved"),
        decided(2, "corrected", "dos & más"),
        decided(3, "open"),
        decided(9, "rejected"),
    ]
    table = reviewed(told(captions, records, decisions))
    assert rows(table) == [
        ["0:20", "said 2", "dicho 2", "dos &amp; más", "Ana &lt;a&gt;"],
        ["0:40", "said 4", "dicho 4", "cuatro", "Ana &lt;a&gt;"],
    ]
    assert "a person looked at 4: 2 corrected, 1 approved, 1 rejected." in table
    assert reviewed(told(captions, records)) == ""
    assert "<table" not in reviewed(told(captions, records, decisions[1:2]))


def test_each_further_language_is_told_with_how_quick_it_was() -> None:
    said = [record(number, "amen", "amén") for number in (1, 2)]
    french = [each for one in said if (each := translation_record(one, "fr"))]
    assert rows(extra_targets(told([], said))) == []
    assert rows(extra_targets(told([], [*said, *french]))) == [
        ["French", "2", "2 gemma", "910", "920"]
    ]


def test_church_words_have_the_capitals_that_they_have_in_sentences() -> None:
    checks = [Check("term", "right", "x", written="y", term=t) for t in ("lord", "grace", "ark")]
    said = "Grace and the Lord, by grace. Lord, have mercy on us, lord of all, O Lord."
    heads = [row[0] for row in rows(church_words(told([], [record(1, said, "x", checks=checks)])))]
    assert heads == ["ark", "grace", "Lord"]


def test_a_correction_in_a_caption_that_was_hidden_is_left_out() -> None:
    records = [
        record(1, "x", "y", corrections=(fix("a", "b", 0),)),
        record(2, "x", filtered="song", corrections=(fix("c", "d", 0),)),
        record(3, "x", "y", corrections=(fix("secret", "word", 0),)),
    ]
    table = corrections(told([message(1, "x", "y")], records))
    assert [row[0] for row in rows(table)] == ["a", "c"]
    assert 'href="#u3"' not in table
