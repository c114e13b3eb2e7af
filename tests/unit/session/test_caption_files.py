"""Journal and transcripts of every target language of a session."""

from __future__ import annotations

from pathlib import Path

from pipeline.captions.board import CaptionBoard
from pipeline.session.caption_files import CaptionsByLanguage
from pipeline.session.reader import extra_targets, read_journal
from scripts.support.captions import caption


def test_each_language_has_its_own_and_the_first_the_spoken_words_as_well(tmp_path: Path) -> None:
    captions = CaptionsByLanguage(tmp_path, "en", ["es", "fr"], keep=False)
    assert {path.name for path in tmp_path.glob("*.srt")} == {
        *("transcript.en.srt", "transcript.es.srt", "transcript.fr.srt")
    }
    captions.close()


def test_what_is_added_to_a_language_is_in_its_files_only(tmp_path: Path) -> None:
    captions = CaptionsByLanguage(tmp_path, "en", ["es", "fr"], keep=False)
    message = CaptionBoard("s", "en", "fr", 10).show(caption(1, "grace", "grâce", final=True))
    assert message is not None
    captions.files["fr"].add(message)
    assert len(captions) == 1
    captions.flush()
    assert (len(captions), captions.lost) == (0, 0)
    captions.close()
    assert read_journal(tmp_path, "fr") == [message]
    assert read_journal(tmp_path) == []
    assert extra_targets(tmp_path) == ["fr"]
    assert message.target.text in (tmp_path / "transcript.fr.txt").read_text()
