"""Subtitles: exact text, and a live file made piece by piece equals the whole."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pipeline.captions.board import CaptionBoard
from pipeline.captions.export import export
from pipeline.captions.subtitles import (
    VTT_HEADER,
    Cue,
    cues,
    follow,
    languages,
    newest,
    srt,
    txt,
    vtt,
    vtt_cue,
)
from pipeline.core.types import Verse
from pipeline.protocol.caption import CaptionMessage, TargetText
from scripts.support.journal import message
from scripts.support.records import caption

TWO = [
    message(1, "Grace & peace", "Gracia y paz", start_s=61.2, end_s=64.9),
    message(2, "<Amen>", "Amén", start_s=3600.0, end_s=3601.9996),
]


def test_srt_is_written_to_the_letter() -> None:
    assert srt(cues(TWO, "target")) == (
        "1\n00:01:01,200 --> 00:01:04,900\nGracia y paz\n\n"
        "2\n01:00:00,000 --> 01:00:02,000\nAmén\n\n"
    )
    assert srt(cues(TWO, "source")).endswith("\n‹Amen›\n\n"), "it swallows no tag"


def test_vtt_is_written_to_the_letter_and_escapes() -> None:
    assert vtt(cues(TWO, "source")) == (
        "WEBVTT\n\n"
        "00:01:01.200 --> 00:01:04.900\nGrace &amp; peace\n\n"
        "01:00:00.000 --> 01:00:02.000\n&lt;Amen&gt;\n\n"
    )


def announced() -> list[CaptionMessage]:
    """Return five spoken captions, and a typed one that takes longer to read than they last."""
    board = CaptionBoard("s", "en", "es", 200)
    messages = [board.add_typed(2, 100.0, "x" * 300, "es")]
    for key in range(3, 8):
        at_s = 101.0 + 4 * (key - 3)
        shown = board.show(caption(key, "amen", "amén", final=True, start_s=at_s, end_s=at_s + 3))
        messages.append(shown or messages[0])
    return messages


def test_a_typed_caption_ends_where_the_next_one_begins() -> None:
    times = [(cue.start_s, cue.end_s) for cue in cues(announced(), "target")]
    assert times == [(100, 101), (101, 104), (105, 108), (109, 112), (113, 116), (117, 120)]
    exported = export(announced(), "srt", "target")
    assert "00:01:57,000 --> 00:02:00,000" in exported
    assert "00:01:40,000 --> 00:01:40," in exported


def test_a_typed_caption_before_a_pause_can_be_read() -> None:
    (cue,) = cues(announced()[:1], "target")
    assert (cue.start_s, cue.end_s) == (100.0, 120.0)


def test_the_newest_versions_count_and_hidden_and_unfinished_captions_are_left_out() -> None:
    journal = [
        message(3, "c", "tres"),
        message(1, "a", "uno"),
        message(2, "b", "dos"),
        message(4, "d", "cuatro", final=False),
        message(2, "", "", seq=90),
        message(1, "a", "nuevo", seq=91),
    ]
    for each in (journal, journal[::-1]):
        assert [cue.text for cue in cues(each, "target")] == ["nuevo", "tres"]


def test_a_caption_hidden_on_both_sides_only_is_left_out() -> None:
    journal = [message(1, "a", ""), message(2, "", "dos"), message(3, " ", "\n")]
    assert [m.id for m in newest(journal)] == [1, 2]
    assert [cue.text for cue in cues(journal, "target")] == ["dos"]


def test_the_languages_are_those_of_most_captions() -> None:
    untranslated = message(3, "c", "c")
    untranslated = replace(untranslated, target=TargetText("en", "c", "source"))
    assert languages([]) == {}
    assert languages([untranslated]) == {"source": "en", "target": "en"}
    assert languages([untranslated, untranslated, *TWO]) == {"source": "en", "target": "es"}


def test_overlapping_times_are_clipped() -> None:
    journal = [
        message(1, "a", "uno", start_s=1.0, end_s=5.0),
        message(2, "b", "dos", start_s=4.0, end_s=7.0),
        message(3, "c", "tres", start_s=5.0, end_s=6.0),
    ]
    assert cues(journal, "target") == [
        Cue(1.0, 5.0, "uno"),
        Cue(5.0, 7.0, "dos"),
        Cue(7.0, 7.1, "tres"),
    ]


@given(
    st.lists(
        st.tuples(st.floats(0, 400_000), st.floats(0.2, 30), st.text("abé<&>\n ", max_size=9)),
        max_size=8,
    )
)
def test_piece_by_piece_equals_the_whole(spoken: list[tuple[float, float, str]]) -> None:
    journal = [
        message(key, text, text, start_s=start_s, end_s=start_s + length_s)
        for key, (start_s, length_s, text) in enumerate(spoken)
    ]
    made: list[Cue] = []
    pieces = {"srt": "", "vtt": VTT_HEADER, "txt": ""}
    for each in journal:
        cue = follow(made[-1] if made else None, each, "target")
        if cue is not None:
            made.append(cue)
            pieces["srt"] += srt([cue], len(made))
            pieces["vtt"] += vtt_cue(cue)
            pieces["txt"] += txt([cue])
    whole = cues(journal, "target")
    assert made == whole
    assert pieces == {"srt": srt(whole), "vtt": vtt(whole), "txt": txt(whole)}
    stamps = [
        int(h) * 3_600_000 + int(m) * 60_000 + int(s) * 1000 + int(ms)
        for h, m, s, ms in re.findall(r"(\d+):(\d\d):(\d\d),(\d{3})", pieces["srt"])
    ]
    assert stamps == sorted(stamps)
    assert all(end > start for start, end in zip(stamps[::2], stamps[1::2], strict=True))


def test_a_printed_verse_has_its_reference_behind_the_translation() -> None:
    verse = Verse("Salmo 23:1", "JEHOVÁ es mi pastor", "Reina-Valera 1909", "es")
    said = replace(message(1, "The Lord is my shepherd.", "El Señor es mi pastor."), verse=verse)
    assert [cue.text for cue in cues([said], "target")] == ["El Señor es mi pastor. (Salmo 23:1)"]
    assert [cue.text for cue in cues([said], "source")] == ["The Lord is my shepherd."]
    hidden = replace(said, target=TargetText("es", "", "operator"))
    assert cues([hidden], "target") == []
