"""Past services: the list, one to read, one as a file."""

from __future__ import annotations

import os
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import get_args

import pytest

from pipeline.captions.export import DOCX, FORMATS
from pipeline.captions.redaction import MARK
from pipeline.core.errors import SessionError
from pipeline.core.types import Mode
from pipeline.protocol.caption import CaptionMessage, SourceText
from pipeline.protocol.codec import encode, parse_caption
from pipeline.records.events import DictionaryEvent, Record
from pipeline.session import past_services
from pipeline.session.past_services import PastServices, title_of
from pipeline.session.reader import JOURNAL
from scripts.support.journal import message, record, session, utc
from scripts.support.records import health_record

SAID = [
    message(1, "Grace & peace.", "Gracia y paz.", start_s=1.0, end_s=3.0),
    message(2, "Let us pray.", "Oremos.", start_s=3.5, end_s=5.0),
    message(3, "Amen.", "Amén.", start_s=60.0, end_s=61.0),
]
DAY, LATER = "2026-11-15T09-30-00-0600", "2026-11-22T09-30-00-0600"


def live(mode: Mode = "live") -> list[Record]:
    return [health_record(utc=utc(0), mode=mode)]


@pytest.fixture
def services(tmp_path: Path) -> PastServices:
    session(tmp_path, SAID, DAY, records=live())
    session(tmp_path, SAID[:1], LATER, records=live("dry-run"))
    session(tmp_path, [], "2026-11-22T08-00-00-0600")
    session(tmp_path, SAID, "2026-11-22T11-00-00-0600")
    return PastServices(tmp_path, running="2026-11-22T11-00-00-0600")


def test_the_newest_is_first_and_neither_an_empty_one_nor_the_one_that_runs_is_there(
    services: PastServices,
) -> None:
    rehearsal, service = services.listed()
    assert (rehearsal.name, rehearsal.mode) == (LATER, "dry-run")
    assert (service.name, service.mode) == (DAY, "live")
    assert service.began == "2026-11-15T09:30:00-06:00"
    assert (service.length_s, service.source, service.target) == (61.0, "en", "es")


def test_each_caption_language_can_be_read_and_saved(tmp_path: Path) -> None:
    folder = session(tmp_path, SAID, DAY, records=live())
    french = message(1, "Grace & peace.", "Grâce et paix.", lang="fr")
    (folder / "captions.fr.jsonl").write_bytes(encode(french) + b"\n")
    services = PastServices(tmp_path)
    assert services.listed()[0].targets == ("es", "fr")
    read = services.read(DAY, "fr")
    assert (read.service.target, read.paragraphs[0].target) == ("fr", "Grâce et paix.")
    assert services.read(DAY, "es") == services.read(DAY)
    file = services.download(DAY, "both", "txt", "fr")
    assert file.name.endswith(".en-fr.txt")
    for lang in ("de", "../fr"):
        with pytest.raises(SessionError, match="There are es, fr"):
            services.read(DAY, lang)


IN_THE_CAPTION_LANGUAGE = replace(message(4, "", "Gracias."), source=SourceText("es", "Gracias."))
NOT_TRANSLATED = message(4, "Amen.", "Amen.", engine="source", lang="en")


@pytest.mark.parametrize("last", [IN_THE_CAPTION_LANGUAGE, NOT_TRANSLATED])
def test_a_service_whose_last_words_were_of_one_language_is_still_of_two(
    tmp_path: Path, last: CaptionMessage
) -> None:
    session(tmp_path, [*SAID, last], DAY, records=live())
    (service,) = PastServices(tmp_path).listed()
    assert (service.source, service.target) == ("en", "es")


def test_one_without_a_record_that_can_be_read_counts_as_a_rehearsal(tmp_path: Path) -> None:
    folder = session(tmp_path, SAID, DAY)
    (folder / "diagnostics.jsonl").write_bytes(b"not a record\n")
    assert [each.mode for each in PastServices(tmp_path).listed()] == ["dry-run"]
    assert "dry-run" in get_args(Mode)


def test_the_mode_is_found_behind_many_records_that_name_none(tmp_path: Path) -> None:
    """A summary counts every church word, so it may be as long as the first block that is read."""
    events = [DictionaryEvent(utc=utc(0), rules=number) for number in range(300)]
    session(tmp_path, SAID, DAY, records=[*live(), *events])
    assert [each.mode for each in PastServices(tmp_path).listed()] == ["live"]


def test_of_a_long_journal_only_its_end_is_read_for_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str | bytes] = []

    def parse(line: str | bytes) -> CaptionMessage:
        parsed.append(line)
        return parse_caption(line)

    monkeypatch.setattr(past_services, "parse_caption", parse)
    long = [message(key, "And so it was.", "Y así fue.") for key in range(1, 2000)]
    session(tmp_path, long, DAY)
    services = PastServices(tmp_path)
    (service,) = services.listed()
    assert service.length_s == long[-1].end_s
    assert 10 < len(parsed) < 200
    parsed.clear()
    assert services.listed() == [service]
    assert parsed == []


def test_a_list_tells_of_a_journal_that_has_changed(services: PastServices, tmp_path: Path) -> None:
    assert services.listed()[-1].length_s == 61.0
    with (tmp_path / DAY / JOURNAL).open("ab") as journal:
        journal.write(encode(message(4, "Go.", "Id.", start_s=99.0, end_s=100.0)) + b"\n")
    assert services.listed()[-1].length_s == 100.0


def test_a_service_is_read_in_paragraphs_with_both_texts(services: PastServices) -> None:
    read = services.read(DAY)
    assert read.service == services.listed()[-1]
    assert [(p.start_s, p.source, p.target) for p in read.paragraphs] == [
        (1.0, "Grace & peace. Let us pray.", "Gracia y paz. Oremos."),
        (60.0, "Amen.", "Amén."),
    ]


def test_what_was_hidden_or_replaced_is_not_read(tmp_path: Path) -> None:
    hidden = message(2, "", "", start_s=3.5, end_s=5.0, seq=9)
    better = message(3, "Amen.", "Así sea.", start_s=60.0, end_s=61.0, seq=10)
    session(tmp_path, [*SAID, hidden, better], DAY)
    read = PastServices(tmp_path).read(DAY)
    assert [p.target for p in read.paragraphs] == ["Gracia y paz.", "Así sea."]


def test_one_that_off_the_record_words_may_be_in_is_shown_to_nobody(tmp_path: Path) -> None:
    folder = session(tmp_path, SAID, DAY)
    services = PastServices(tmp_path)
    assert services.listed()
    (folder / MARK).write_text("[]")
    assert services.listed() == []
    with pytest.raises(SessionError, match="no service"):
        services.read(DAY)


@pytest.mark.parametrize(
    ("which", "langs"), [("source", "en"), ("target", "es"), ("both", "en-es")]
)
def test_every_format_has_the_chosen_texts(services: PastServices, which: str, langs: str) -> None:
    for form in (*FORMATS, DOCX):
        file = services.download(DAY, which, form)
        assert file.name == f"{DAY}.{langs}.{form}"
        content = file.content
        if form == DOCX:
            content = zipfile.ZipFile(BytesIO(content)).read("word/document.xml")
            assert b"15 November 2026" in content
        assert (b"Oremos." in content) == (which != "source"), form
        assert (b"Let us pray." in content) == (which != "target"), form


@pytest.mark.parametrize("name", ["", ".", "..", "/etc", f"../{DAY}", f"{DAY}/", "nothing", "\0"])
def test_a_name_that_is_not_in_the_list_is_no_service(services: PastServices, name: str) -> None:
    with pytest.raises(SessionError, match=r"\[session-missing\]"):
        services.read(name)


def test_the_one_that_runs_is_not_read_before_it_is_over(services: PastServices) -> None:
    for ask in (services.read, services.mode_of):
        with pytest.raises(SessionError, match="that is over"):
            ask("2026-11-22T11-00-00-0600")


@pytest.mark.parametrize(("which", "form"), [("both", "exe"), ("all", "srt"), ("", "")])
def test_a_file_that_there_is_not_is_refused(services: PastServices, which: str, form: str) -> None:
    with pytest.raises(SessionError) as error:
        services.download(DAY, which, form)
    assert error.value.code == "export-format"
    assert "srt" in error.value.fix


def test_one_without_a_word_says_so(services: PastServices) -> None:
    empty = "2026-11-22T08-00-00-0600"
    for ask in (services.read, lambda name: services.download(name, "both", "srt")):
        with pytest.raises(SessionError, match=r"session-empty"):
            ask(empty)


def test_a_damaged_journal_is_read_without_its_damaged_lines_and_says_which(
    tmp_path: Path,
) -> None:
    folder = session(tmp_path, SAID, DAY, records=[record(1, "Grace & peace.", "Gracia y paz.")])
    lines = (folder / JOURNAL).read_bytes().split(b"\n")
    (folder / JOURNAL).write_bytes(b"\n".join([b"{", *lines]))
    services = PastServices(tmp_path)
    assert [each.mode for each in services.listed()] == ["live"]
    read = services.read(DAY)
    assert read.left_out == ("captions.jsonl: 1",)
    assert read.paragraphs
    assert b"Gracia" in services.download(DAY, "both", "txt").content


def test_a_damaged_last_line_of_any_length_hides_no_service(tmp_path: Path) -> None:
    folder = session(tmp_path, SAID, DAY, records=[record(1, "Grace & peace.", "Gracia y paz.")])
    for name in (JOURNAL, "diagnostics.jsonl"):
        with (folder / name).open("ab") as file:
            file.write(b"[" * 100_000)
    assert [each.mode for each in PastServices(tmp_path).listed()] == ["live"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_is_not_in_the_list(tmp_path: Path) -> None:
    folder = session(tmp_path, SAID, DAY)
    (folder / JOURNAL).chmod(0)
    assert PastServices(tmp_path).listed() == []


def test_a_title_is_the_churchs_own_day() -> None:
    assert title_of("2026-11-01T23-30-00-0600") == "1 November 2026"
    assert title_of("evening") == "evening"
