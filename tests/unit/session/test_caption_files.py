"""Journal and transcripts of every target language of a session."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.captions.board import TYPED_S, CaptionBoard
from pipeline.captions.subtitles import SIDES, cues, srt, txt, vtt
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.codec import encode
from pipeline.session import caption_files as module
from pipeline.session.caption_files import CaptionsByLanguage, Transcripts
from pipeline.session.reader import extra_targets, read_journal
from scripts.support.journal import message
from scripts.support.records import caption
from tests.support.examples import examples


def test_what_is_added_to_a_language_is_in_its_files_only(tmp_path: Path) -> None:
    captions = CaptionsByLanguage(tmp_path, "en", ["es", "fr"], keep=False)
    assert {path.name for path in tmp_path.glob("*.srt")} == {
        *("transcript.en.srt", "transcript.es.srt", "transcript.fr.srt")
    }
    message = CaptionBoard("s", "en", "fr", 10).show(caption(1, "grace", "grâce", final=True))
    assert message is not None
    captions.add(message, "fr")
    assert len(captions) == 1
    captions.flush()
    assert (len(captions), captions.lost) == (0, 0)
    captions.close()
    assert read_journal(tmp_path, "fr") == [message]
    assert read_journal(tmp_path) == []
    assert extra_targets(tmp_path) == ["fr"]
    assert message.target.text in (tmp_path / "transcript.fr.txt").read_text()


LANGS = dict(zip(SIDES, ("en", "es"), strict=True))


def write(folder: Path, journal: Sequence[CaptionMessage]) -> None:
    lines = b"".join(encode(message) + b"\n" for message in journal)
    (folder / "captions.jsonl").write_bytes(lines)


@pytest.mark.slow
@settings(max_examples=examples(15), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.text("ab\n", max_size=3), st.booleans()), max_size=12)
)
def test_live_files_always_equal_the_journal_made_anew(
    versions: list[tuple[int, str, bool]],
) -> None:
    """Finals in any order, edits and hidden captions, with and without a flush between them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        transcripts = Transcripts(folder, LANGS)
        journal = []
        for seq, (id_, text, flush) in enumerate(versions, 1):
            journal.append(message(id_, text, text.upper(), seq=seq))
            write(folder, journal)
            transcripts.add(journal[-1])
            if flush:
                transcripts.flush()
        transcripts.flush()
        transcripts.close()
        for side, lang in LANGS.items():
            for ending, whole in (("srt", srt), ("vtt", vtt), ("txt", txt)):
                content = (folder / f"transcript.{lang}.{ending}").read_text()
                assert content == whole(cues(journal, side)), (side, ending)


def test_a_typed_caption_in_a_live_file_ends_where_the_next_one_begins(tmp_path: Path) -> None:
    typed = message(1, "", "x" * 300, start_s=100.0, end_s=100.0 + TYPED_S)
    journal = [typed, message(2, "amen", "amén", start_s=101.0, end_s=104.0)]
    transcripts = Transcripts(tmp_path, LANGS)
    ends = []
    for count, each in enumerate(journal, 1):
        write(tmp_path, journal[:count])
        transcripts.add(each)
        transcripts.flush()
        ends.append(re.findall(r"--> (\S+)", (tmp_path / "transcript.es.srt").read_text()))
    transcripts.close()
    assert ends == [["00:02:00,000"], ["00:01:41,000", "00:01:44,000"]]


def test_an_edit_waits_for_the_journal(tmp_path: Path) -> None:
    journal = [message(1, "one", "uno", seq=1), message(2, "two", "dos", seq=2)]
    transcripts = Transcripts(tmp_path, LANGS)
    for each in journal:
        transcripts.add(each)
    transcripts.flush()
    before = (tmp_path / "transcript.es.txt").read_text()
    edited = message(1, "one", "UNO", seq=3)
    transcripts.add(edited)
    write(tmp_path, journal)
    with pytest.raises(OSError, match="journal"):
        transcripts.flush()
    assert (tmp_path / "transcript.es.txt").read_text() == before == "uno\ndos\n"
    transcripts.add(message(3, "three", "tres", seq=4))
    write(tmp_path, [*journal, edited, message(3, "three", "tres", seq=4)])
    transcripts.flush()
    assert (tmp_path / "transcript.es.txt").read_text() == "UNO\ndos\ntres\n"
    transcripts.close()


def test_too_many_that_wait_are_read_from_the_journal_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WAITING", 3)
    journal = [message(number, f"s{number}", f"t{number}", seq=number) for number in range(1, 9)]
    transcripts = Transcripts(tmp_path, LANGS)
    for each in journal:
        transcripts.add(each)
    write(tmp_path, journal)
    transcripts.flush()
    assert (tmp_path / "transcript.en.srt").read_text() == srt(cues(journal, "source"))
    transcripts.close()


@settings(max_examples=examples(15), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["hold", "add", "settle", "flush", "remake"])),
        max_size=14,
    )
)
def test_held_captions_are_written_once_they_are_settled(steps: list[tuple[int, str]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        transcripts = Transcripts(folder, LANGS)
        journal: list[CaptionMessage] = []
        write(folder, journal)
        for seq, (id_, step) in enumerate(steps, 1):
            match step:
                case "hold" | "add":
                    journal.append(message(id_, f"s{seq}", f"t{seq}", seq=seq))
                    write(folder, journal)
                    if step == "hold":
                        transcripts.hold(id_)
                    transcripts.add(journal[-1])
                case "settle":
                    transcripts.settle(id_)
                case "remake":
                    transcripts.remake()
                case _:
                    transcripts.flush()
        transcripts.settle()
        transcripts.flush()
        transcripts.close()
        assert (folder / "transcript.es.txt").read_text() == txt(cues(journal, "target"))


def test_a_held_caption_is_in_no_file(tmp_path: Path) -> None:
    journal = [message(1, "one", "uno", seq=1), message(2, "two", "dos", seq=2)]
    write(tmp_path, journal)
    transcripts = Transcripts(tmp_path, LANGS)
    transcripts.add(journal[0])
    transcripts.hold(2)
    transcripts.add(journal[1])
    transcripts.flush()
    transcripts.add(message(1, "one", "UNO", seq=3))  # an edit: the files are written again
    write(tmp_path, [*journal, message(1, "one", "UNO", seq=3)])
    transcripts.flush()
    assert (tmp_path / "transcript.es.txt").read_text() == "UNO\n"
    transcripts.settle(2)
    transcripts.flush()
    assert (tmp_path / "transcript.es.txt").read_text() == "UNO\ndos\n"
    transcripts.close()


def test_what_an_operator_took_back_leaves_the_files_when_its_caption_is_held(
    tmp_path: Path,
) -> None:
    """An edit of a partial is written at once. If it is undone, its final may still change."""
    journal = [message(1, "won", "UNO", seq=1)]
    write(tmp_path, journal)
    transcripts = Transcripts(tmp_path, LANGS)
    transcripts.add(journal[0])
    transcripts.flush()
    transcripts.hold(1)
    final = message(1, "one", "uno", seq=2)
    transcripts.add(final)
    write(tmp_path, [*journal, final])
    transcripts.flush()
    assert (tmp_path / "transcript.es.txt").read_text() == ""
    transcripts.settle(1)
    transcripts.flush()
    assert (tmp_path / "transcript.en.txt").read_text() == "one\n"
    transcripts.close()
