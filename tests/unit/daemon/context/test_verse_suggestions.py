"""Printed verses in a service, with a real index, board and record."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from pipeline.captions.redaction import Redaction
from pipeline.church.scripture import editions, verse_index
from pipeline.church.scripture.books import Reference
from pipeline.church.scripture.editions import Edition
from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.core.errors import ProtocolError
from pipeline.daemon.context.verse_suggestions import open_verse_suggestions
from pipeline.protocol.messages import SuggestionMessage
from pipeline.server.operator_feed import OperatorFeed
from scripts.support.records import caption
from tests.support.commands import command
from tests.support.coordinator import CoordinatorFixture
from tests.support.coordinator import caption as made
from tests.support.verses import small_index

SAID = "For God so loved the world that he gave his only begotten Son"
RV1909 = "Porque de tal manera amó Dios al mundo"


class Service(CoordinatorFixture):
    """A service that shows captions."""

    def say(self, number: int, text: str, *, target: str = "x") -> None:
        """Show a draft and its final."""
        for final in (False, True):
            start_s = 5.0 * number
            spoken = caption(number, text, target, final=final, start_s=start_s, end_s=start_s + 4)
            self.coordinator.show(spoken)

    def verse(self, number: int) -> str:
        verse = self.board.message(number).verse
        return verse.ref if verse else ""

    @property
    def suggested(self) -> str:
        return self.commands.console().suggestion.ref


SPANISH = Edition("mine", "es", "Reina-Valera 1909", "public domain", {(43, 3, 16): f"{RV1909},"})
"""A church's own Bible has priority over the shipped ones, which take a second to read."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    small_index(folder)
    return folder


@pytest.fixture
def service(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    editions.write(SPANISH, editions.own_directory())
    running = Service(tmp_path / "sessions", {"church.verses": "air"})
    yield running
    running.recorder.close(5)


def test_a_sure_verse_goes_on_air_and_the_translation_is_kept(service: Service) -> None:
    service.say(1, "Let us read John 3:16.")
    service.say(2, SAID, target="Porque Dios amaba")
    message = service.board.message(2)
    assert message.verse is not None
    assert (message.verse.ref, message.verse.edition) == ("Juan 3:16", "Reina-Valera 1909")
    assert message.verse.text.startswith(RV1909)
    assert message.target.text == "Porque Dios amaba"
    (journaled,) = [m for m in service.written("captions.jsonl") if m["id"] == 2]
    assert journaled["verse"]["ref"] == "Juan 3:16"
    assert journaled["target"]["text"] == "Porque Dios amaba"
    records = [r for r in service.written() if r["type"] == "utterance"]
    assert [record["verse"] for record in records] == ["", "Juan 3:16"]


def test_an_operator_takes_a_suggestion_and_takes_it_back(service: Service) -> None:
    service.say(1, SAID)
    assert (service.suggested, service.verse(1)) == ("Juan 3:16", "")
    service.commands.obey(command("take-verse", id=1))
    assert (service.suggested, service.verse(1)) == ("", "Juan 3:16")
    assert service.commands.console().undo == "verse of caption 1"
    service.commands.obey(command("undo"))
    assert service.verse(1) == ""
    assert service.board.message(1).target.text == "x"


def test_a_dismissed_suggestion_is_gone(service: Service) -> None:
    service.say(1, SAID)
    service.commands.obey(command("dismiss-verse", id=1))
    assert service.suggested == ""
    service.say(2, SAID)
    assert service.suggested == ""
    for name in ("take-verse", "dismiss-verse"):
        with pytest.raises(ProtocolError, match=r"\[suggestion-gone\]"):
            service.commands.obey(command(name, id=1))


def test_a_verse_that_is_not_wanted_or_gone_lets_no_doubtful_final_go(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The final waits for a decision about itself, and about no verse."""
    monkeypatch.setattr(OperatorFeed, "is_watched", True)
    service.set("church.hold_doubtful", True)
    for final in (False, True):
        spoken = caption(1, SAID, "x", final=final, start_s=5.0, end_s=9.0)
        service.coordinator.show(replace(spoken, is_doubtful=final))
    assert service.suggested == "Juan 3:16"
    service.commands.obey(command("dismiss-verse", id=1))
    with pytest.raises(ProtocolError, match=r"\[suggestion-gone\]"):
        service.commands.obey(command("take-verse", id=1))
    assert 1 in service.coordinator.doubts
    assert not service.board.message(1).final


def test_an_edit_or_a_hiding_takes_the_verse_away(service: Service) -> None:
    service.say(1, SAID)
    service.commands.obey(command("take-verse", id=1))
    service.commands.obey(command("edit", id=1, text="x"))
    assert service.verse(1) == ""
    service.commands.obey(command("undo"))
    assert service.verse(1) == "Juan 3:16"
    service.commands.obey(command("hide", id=1))
    assert service.verse(1) == ""


def test_off_the_record_nothing_is_suggested_any_more(service: Service) -> None:
    service.say(1, SAID)
    service.coordinator.redact(Redaction(0.0, 60.0, ()))
    assert service.suggested == ""


def test_switched_off_or_without_an_index_captions_stay_as_they_are(
    tmp_path: Path, service: Service
) -> None:
    off = Service(tmp_path / "off", {"church.verses": "off"}, start=False)
    asks = Service(tmp_path / "asks", {"church.verses": "suggest"}, start=False)
    swahili = {"translate.target": "sw", "church.verses": "air"}
    other = Service(tmp_path / "other", swahili, start=False)
    for each in (off, other, asks):
        each.say(1, "Let us read John 3:16.")
        each.say(2, SAID)
        assert each.verse(2) == ""
        assert each.suggested == ("Juan 3:16" if each is asks else "")


def test_a_late_repeat_of_a_final_is_not_heard_twice(service: Service) -> None:
    service.say(1, SAID)
    service.commands.obey(command("dismiss-verse", id=1))
    service.coordinator.show(made("x", final=True))
    assert service.suggested == ""


SWAHILI = "Kwa maana jinsi hii Mungu aliupenda ulimwengu hata akamtoa Mwanawe pekee"


@pytest.mark.parametrize("before", ["old", "none"])
def test_an_index_that_is_old_or_missing_is_built_and_then_used_and_never_before(
    before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def add(place: editions.VerseId) -> None:
        edition = Edition("mine", "sw", "Mine", "ours", {place: SWAHILI})
        editions.write(edition, editions.own_directory())

    add((43, 3, 17))
    if before == "old":
        verse_index.build_index("sw")
    add((43, 3, 16))  # the text is now one verse earlier
    suggestions: list[SuggestionMessage] = []
    settings = load(flags={"translate.source": "sw"}).settings
    # The builder waits for this lock: the desk is certainly asked before the build.
    with verse_index._BUILDING:
        desk = open_verse_suggestions(settings, suggestions.append)
        desk.expect([Reference(1, 1, 1)])
        desk.look(caption(1, SWAHILI, "x", final=True, start_s=0.0, end_s=4.0))
        assert suggestions == []
    (builder,) = [thread for thread in threading.enumerate() if thread.name == "verse index"]
    builder.join(60)
    desk.look(caption(2, SWAHILI, "x", final=True, start_s=5.0, end_s=9.0))
    assert [message.ref for message in suggestions] == ["Juan 3:16"]
    assert verse_index.load_built("sw").reference(0) == Reference(43, 3, 16)


def test_a_broken_bible_of_the_church_is_told(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    editions.own_directory().mkdir(parents=True)
    (editions.own_directory() / "mine.tsv").write_text("# es\tMine\tours\nno verse\n")

    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    with capture_logs() as logs:
        open_verse_suggestions(Settings(), print)
    assert [line["code"] for line in logs] == ["verses-bad-line"]
