"""Exports: a subtitle library and a table reader read back what was said."""

from __future__ import annotations

import csv
import html
import io
from dataclasses import replace

import orjson
import pysubs2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.captions.export import FORMATS, WHICH, Which, export
from pipeline.captions.subtitles import Spoken, arrange, newest, plain
from pipeline.core.types import Verse
from scripts.support.journal import message
from tests.support.examples import examples

JOURNAL = [
    message(1, "Grace & peace to you.", "Gracia y paz a vosotros."),
    message(2, 'He said "amen".', 'Dijo "amén".'),
    message(3, "Hidden", "Oculto"),
    message(4, "Stands in.", "Stands in.", engine="source", lang="en"),
    message(2, 'He said "amen".', "Dijo:\tamén.", seq=9, engine="operator"),
    message(3, "", "", seq=10),
]


def read_back(text: str, form: str) -> list[tuple[int, int, str]]:
    """Return (start, end, text) of each cue, in milliseconds, as a subtitle library reads it."""
    events = pysubs2.SSAFile.from_string(text, form).events
    return [(e.start, e.end, html.unescape(e.text.replace("\\N", "\n"))) for e in events]


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.tuples(
            st.floats(0, 20), st.floats(0.5, 12), st.text("abcdé, .¿&ñZ", min_size=1, max_size=200)
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(["srt", "vtt"]),
)
def test_a_subtitle_library_reads_back_the_same(
    said: list[tuple[float, float, str]], form: str
) -> None:
    journal, at_s = [], 0.0
    for key, (pause_s, length_s, text) in enumerate(said, 1):
        at_s += pause_s
        journal.append(message(key, text, text, start_s=at_s, end_s=at_s + length_s))
        at_s += length_s
    cues = arrange(
        [
            Spoken(m.start_s, m.end_s, (("es", plain(m.target.text)),))
            for m in newest(journal)
            if plain(m.target.text)
        ]
    )
    assert read_back(export(journal, form, "target"), form) == [
        (round(cue.start_s * 1000), round(cue.end_s * 1000), cue.text) for cue in cues
    ]


@pytest.mark.parametrize("form", ["srt", "vtt"])
def test_a_text_cannot_break_out_of_its_cue_or_vanish_as_a_tag(form: str) -> None:
    text = "<b>Amen</b> 00:00:01,000 --> 00:00:02,000 and {grace}"
    back = read_back(export([message(1, text, text)], form, "source"), form)
    said = " ".join(t for _, _, t in back).replace("\n", " ")
    assert said.translate(str.maketrans("‹›", "<>")) == text


def test_the_newest_version_counts_and_what_is_hidden_is_gone() -> None:
    assert export(JOURNAL, "txt", "target") == (
        "Gracia y paz a vosotros.\nDijo: amén.\nStands in.\n"
    )
    assert export(JOURNAL, "txt", "source") == (
        'Grace & peace to you.\nHe said "amen".\nStands in.\n'
    )
    assert export(JOURNAL, "txt", "both") == (
        "Grace & peace to you.\nGracia y paz a vosotros.\n\n"
        'He said "amen".\nDijo: amén.\n\n'
        "Stands in.\n"
    )


def test_a_table_has_a_row_for_each_caption_and_quotes_what_needs_it() -> None:
    rows = list(csv.reader(io.StringIO(export(JOURNAL, "tsv", "both")), dialect="excel-tab"))
    assert rows == [
        ["id", "start_s", "end_s", "source", "target", "engine"],
        ["1", "10.0", "12.5", "Grace & peace to you.", "Gracia y paz a vosotros.", "gemma"],
        ["2", "20.0", "22.5", 'He said "amen".', "Dijo: amén.", "operator"],
        ["4", "40.0", "42.5", "Stands in.", "Stands in.", "source"],
    ]
    assert export(JOURNAL, "tsv", "source").startswith("id\tstart_s\tend_s\tsource\n")


def test_json_names_the_languages() -> None:
    made = orjson.loads(export(JOURNAL, "json", "both"))
    assert made["langs"] == {"source": "en", "target": "es"}
    assert made["captions"][1] == {
        "id": 2,
        "start_s": 20.0,
        "end_s": 22.5,
        "source": 'He said "amen".',
        "target": "Dijo: amén.",
        "engine": "operator",
    }


def test_both_languages_in_one_cue() -> None:
    (_, _, first), *_ = read_back(export(JOURNAL, "srt", "both"), "srt")
    assert first == "Grace & peace to you.\nGracia y paz a vosotros."
    *_, (_, _, last) = read_back(export(JOURNAL, "vtt", "both"), "vtt")
    assert last == "Stands in."


@pytest.mark.parametrize("which", WHICH)
def test_an_empty_session_makes_a_valid_file(which: Which) -> None:
    made = {form: export([], form, which) for form in FORMATS}
    page = made.pop("html")
    assert page.startswith("<!doctype html>")
    assert "<p" not in page
    assert orjson.loads(made.pop("json")) == {"langs": {}, "captions": []}
    assert len(made.pop("tsv").splitlines()) == 1
    assert made == {"srt": "", "vtt": "WEBVTT\n\n", "txt": "", "md": ""}


def test_a_page_says_its_languages_and_escapes_what_was_said() -> None:
    page = export(JOURNAL, "html", "both")
    assert '<html lang="es">' in page
    assert '<p class="source" lang="en" dir="auto">Grace &amp; peace to you.' in page
    assert "<script" not in export([message(1, "<script>", "<b>")], "html", "both")
    assert "Oculto" not in page


def test_markdown_shows_the_words_as_they_are() -> None:
    long_ago = message(1, "1. *God*", "1. *Dios*", start_s=0.0, end_s=2.0)
    soon = message(2, "is", "es", start_s=2.5, end_s=3.0)
    later = message(3, "- love", "- amor", start_s=9.0, end_s=10.0)
    captions = [long_ago, soon, later]
    assert export(captions, "md", "target") == "1\\. \\*Dios\\* es\n\n\\- amor\n"
    both = export(captions, "md", "both")
    assert both.startswith("> 1\\. \\*God\\* is\n\n1\\. \\*Dios\\* es\n\n")


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("md", "Leímos: JEHOVÁ es mi pastor — Salmo 23:1 (RV)"),
        ("html", '<p class="target" lang="es" dir="auto">Leímos: JEHOVÁ es mi pastor — Salmo'),
        ("txt", "Leímos:\nEl Señor es mi pastor. (Salmo 23:1)\n"),
    ],
)
def test_a_document_has_the_printed_verse_as_the_screens_had(form: str, shown: str) -> None:
    before = message(1, "We read:", "Leímos:", start_s=0.0, end_s=2.0)
    said = message(2, "The Lord is my shepherd.", "El Señor es mi pastor.", start_s=2.5, end_s=5.0)
    verse = Verse("Salmo 23:1", "JEHOVÁ es mi pastor", "RV", "es")
    assert shown in export([before, replace(said, verse=verse)], form, "target")


def test_after_a_chinese_mark_a_paragraph_has_no_space() -> None:
    said = [
        message(key, "x", text, start_s=3.0 * key, end_s=3.0 * key + 2, lang="zh")
        for key, text in enumerate(("神爱世人。", "他说：“来吧！”", "阿们", "Amen."), 1)
    ]
    assert export(said, "md", "target") == "神爱世人。他说：“来吧！”阿们 Amen.\n"


def test_markdown_has_no_empty_quotation_for_what_nobody_has_spoken() -> None:
    typed = message(1, "", "Bienvenidos", start_s=0.0, end_s=0.001, engine="operator")
    later = message(2, "Grace", "Gracia", start_s=9.0, end_s=10.0)
    assert export([typed, later], "md", "both") == "Bienvenidos\n\n> Grace\n\nGracia\n"
    assert export([typed, later], "md", "source") == "Grace\n"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", '=HYPERLINK("http://x")'])
def test_no_cell_of_a_table_is_a_formula(text: str) -> None:
    journal = [message(1, text, text, engine=text)]
    _, row = csv.reader(io.StringIO(export(journal, "tsv", "both")), dialect="excel-tab")
    assert row == ["1", "10.0", "12.5", *[f"'{text}"] * 3]
    (caption,) = orjson.loads(export(journal, "json", "both"))["captions"]
    assert caption["source"] == text  # no spreadsheet opens it
