"""Operators' texts in a further language: corrected, typed, edited, hidden and undone."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from pipeline.captions.board import CaptionBoard
from pipeline.captions.sink import Sink
from pipeline.core.errors import ProtocolError
from pipeline.core.reports import Rendition, Retranslated
from pipeline.core.types import Caption, Recognition, Transcript, Utterance
from pipeline.protocol.caption import CaptionMessage
from pipeline.server.operator_feed import OperatorFeed
from pipeline.session.reader import read_records
from pipeline.workers.queues import Retranslation
from scripts.support.records import caption, utterance
from tests.support.commands import command
from tests.support.coordinator import CoordinatorFixture


def made(text: str, lang: str, source: str = "gracious", *, number: int = 1) -> Caption:
    return caption(number, source, text, final=True, engine="gemma", lang=lang)


class Desk(CoordinatorFixture):
    """Caption 1 is shown in Spanish and in French."""

    def __init__(self, tmp_path: Path) -> None:
        super().__init__(tmp_path, {"translate.targets": [{"lang": "fr"}]}, start=False)
        self.hearing.ids.last = 4
        self.french: CaptionBoard = self.boards["fr"]
        self.board.show(made("gracioso", "es"))
        self.french.show(made("gracieux", "fr"))

    def texts(self) -> list[tuple[str, str]]:
        return [(m.source.text, m.target.text) for m in self.french.snapshot().messages]

    def asked(self) -> Retranslation:
        """Return what the French workers were asked to translate."""
        (work,) = self.workers[1].transcripts._asked
        self.workers[1].transcripts._asked.clear()
        return work

    def answer(self, text: str) -> None:
        asked = self.asked()
        answered = Caption(asked.transcript, "fr", text, "gemma", final=True)
        self.targets.take(Retranslated(asked.ticket, answered, target="fr"))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_correction_is_translated_into_every_language_and_taken_back_in_all(desk: Desk) -> None:
    desk.commands.obey(command("correct", id=1, text="grace"))
    assert desk.texts() == [("grace", "gracieux")]
    assert len(desk.hearing.asked) == 1
    desk.answer("la grâce")
    assert desk.texts() == [("grace", "la grâce")]
    desk.commands.obey(command("undo"))
    assert desk.texts() == [("gracious", "gracieux")]
    assert desk.board.message(1).source.text == "gracious"


@pytest.mark.parametrize(("lang", "code"), [("fr", "unknown-caption"), ("de", "unknown-lang")])
def test_one_with_a_translation_that_has_no_place_is_refused(
    desk: Desk, lang: str, code: str
) -> None:
    desk.board.show(made("fe", "es", "fate", number=2))
    with pytest.raises(ProtocolError, match=code):
        desk.commands.obey(command("correct", id=2, text="faith", write="la foi", lang=lang))
    assert desk.board.message(2).source.text == "fate"
    assert (desk.screen.messages, desk.hearing.asked, desk.commands.console().undo) == ([], [], "")


def test_what_is_filled_in_later_is_what_was_really_said(desk: Desk) -> None:
    desk.targets.look(100.0)
    assert desk.workers[1].is_resting
    desk.board.show(made("fe", "es", "fate", number=2))
    desk.targets._on_settled(made("fe", "es", "fate", number=2))
    desk.commands.obey(command("correct", id=2, text="faith"))
    (settled,) = desk.targets._settled
    assert settled.text == "faith"
    desk.commands.obey(command("undo"))
    (settled,) = desk.targets._settled
    assert settled.text == "fate"


@pytest.mark.parametrize("comes", ["before", "after"])
def test_what_was_filled_in_with_a_correction_is_taken_back_with_it(desk: Desk, comes: str) -> None:
    desk.board.show(made("fe", "es", "fate", number=2))
    desk.targets._on_settled(made("fe", "es", "fate", number=2))
    desk.commands.obey(command("correct", id=2, text="faith"))
    filled = Rendition("fr", made("la foi", "fr", "faith", number=2))
    if comes == "before":
        desk.targets.take(filled)
        assert desk.texts()[-1] == ("faith", "la foi")
    desk.commands.obey(command("undo"))
    if comes == "after":  # it was being translated
        desk.targets.take(filled)
    desk.answer("le destin")
    assert desk.texts()[-1] == ("fate", "le destin")


def test_a_typed_caption_in_the_spoken_language_comes_in_every_language(desk: Desk) -> None:
    desk.commands.obey(command("say", text="Children may go."))
    assert desk.texts()[-1] == ("Children may go.", "")
    desk.answer("Les enfants peuvent sortir.")
    assert desk.texts()[-1] == ("Children may go.", "Les enfants peuvent sortir.")
    desk.commands.obey(command("undo"))
    assert desk.texts() == [("gracious", "gracieux")]
    assert len(desk.board.snapshot().messages) == 1


@pytest.mark.parametrize(("lang", "shown"), [("fr", (1, 2)), ("es", (2, 1))])
def test_one_in_a_target_language_comes_in_that_language_only(
    desk: Desk, lang: str, shown: tuple[int, int]
) -> None:
    desk.commands.obey(command("say", text="Bienvenue.", lang=lang))
    counts = tuple(len(board.snapshot().messages) for board in (desk.board, desk.french))
    assert counts == shown
    desk.commands.obey(command("undo"))
    assert len(desk.board.snapshot().messages) == len(desk.french.snapshot().messages) == 1


def test_a_notice_has_a_text_in_every_language_and_each_version_is_recorded(desk: Desk) -> None:
    texts = {"en": "A child is lost.", "fr": "Un enfant est perdu.", "es": "Un niño perdido."}
    desk.commands.obey(command("notice", text=texts["en"]))
    desk.answer(texts["fr"])
    spanish = desk.hearing.asked[-1]
    answered = Caption(spanish.transcript, "es", texts["es"], "gemma", final=True)
    desk.targets.take(Retranslated(spanish.ticket, answered, "es"))
    assert desk.commands.written.notices.texts == texts
    desk.commands.obey(command("clear-notice"))
    assert desk.commands.written.notices.texts == {}
    recorded = [each["texts"] for each in desk.events("notice")]
    assert [len(each) for each in recorded] == [1, 2, 3, 0]
    assert recorded[2] == texts


def test_an_edit_names_its_language_and_leaves_the_others_alone(desk: Desk) -> None:
    desk.commands.obey(command("edit", id=1, text="plein de grâce", lang="fr"))
    assert desk.texts() == [("gracious", "plein de grâce")]
    assert desk.board.message(1).target.text == "gracioso"
    assert desk.commands.console().undo == "edit of caption 1"
    desk.commands.obey(command("undo"))
    assert desk.texts() == [("gracious", "gracieux")]
    with pytest.raises(ProtocolError, match=r"\[unknown-lang\]"):
        desk.commands.obey(command("edit", id=1, text="gnädig", lang="de"))


def test_a_hidden_caption_is_shown_again_in_every_language_and_hidden_by_one_undo(
    desk: Desk,
) -> None:
    spanish = desk.board.message(1)
    desk.commands.obey(command("hide", id=1))
    assert desk.texts() == []
    desk.commands.obey(command("show", id=1))
    assert desk.texts() == [("gracious", "gracieux")]
    now = desk.board.message(1)
    assert (now.source, now.target) == (spanish.source, spanish.target)
    desk.commands.obey(command("show", id=1))
    assert desk.commands.console().undo == "bringing back of caption 1", "there was one step"
    desk.commands.obey(command("undo"))
    assert (desk.texts(), desk.board.snapshot().messages) == ([], ())
    desk.commands.obey(command("undo"))
    assert desk.texts() == [("gracious", "gracieux")]


@pytest.mark.parametrize("lang", ["es", "fr"])
def test_what_was_edited_while_it_was_hidden_is_undone_to_what_was_there_first(
    desk: Desk, lang: str
) -> None:
    before = [board.message(1).target for board in desk.boards.values()]
    desk.commands.obey(command("hide", id=1))
    desk.commands.obey(command("edit", id=1, text="otro, autre", lang=lang))
    for _ in ("edit", "hide"):
        desk.commands.obey(command("undo"))
    assert [board.message(1).target for board in desk.boards.values()] == before
    assert desk.texts() == [("gracious", "gracieux")]


def test_a_final_that_came_while_its_caption_was_hidden_is_shown_again_too(desk: Desk) -> None:
    desk.board.show(made("secreto", "es", "secret", number=2))
    desk.commands.obey(command("hide", id=2))
    draft = replace(made("secr", "fr", "secret", number=2), final=False)
    for each in (made("secret", "fr", "secret", number=2), draft):
        desk.targets.take(Rendition("fr", each))
    assert len(desk.texts()) == 1
    desk.commands.obey(command("show", id=2))
    assert desk.texts()[-1] == ("secret", "secret")


def test_a_translation_that_came_while_its_caption_was_hidden_is_asked_for_again(
    desk: Desk,
) -> None:
    desk.commands.obey(command("correct", id=1, text="grace"))
    desk.commands.obey(command("hide", id=1))
    desk.answer("la grâce")
    desk.commands.obey(command("show", id=1))
    assert desk.texts() == [("grace", "gracieux")]
    assert [asked.transcript.text for asked in desk.hearing.asked] == ["grace", "grace"]
    desk.answer("la grâce")
    assert desk.texts() == [("grace", "la grâce")]


def test_what_came_for_a_hidden_caption_is_not_shown_after_off_the_record(desk: Desk) -> None:
    desk.board.show(made("secreto", "es", "secret", number=2))
    desk.commands.obey(command("hide", id=2))
    desk.targets.take(Rendition("fr", made("secret", "fr", "secret", number=2)))
    desk.hearing.heard_s = 5.0
    desk.commands.obey(command("off-record"))
    with pytest.raises(ProtocolError, match="unknown-caption"):
        desk.commands.obey(command("show", id=2))
    with pytest.raises(ProtocolError, match="unknown-caption"):
        desk.targets.of("fr").unhide(2)
    assert desk.texts() == []


def test_an_edit_is_based_on_the_revision_of_its_own_language(desk: Desk) -> None:
    for text in ("la gracia", "gracia"):
        desk.commands.obey(command("edit", id=1, text=text, lang="es"))
    desk.commands.obey(command("edit", id=1, text="plein de grâce", lang="fr", revision=1))
    with pytest.raises(ProtocolError, match="caption-changed"):
        desk.commands.obey(command("edit", id=1, text="gnädig", lang="fr", revision=1))
    assert desk.texts() == [("gracious", "plein de grâce")]


# A doubtful final, held back in its own language only


LATER = 2.0**40
"""Seconds of the clock at which everything is due."""


class DoubtfulDesk(Desk):
    """Caption 2 is shown in Spanish; its French final is doubtful; an operator's page is open."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(tmp_path)
        monkeypatch.setattr(OperatorFeed, "is_watched", True)
        self.set("church.hold_doubtful", True)
        self.board.show(made("fe", "es", "faith", number=2))
        self.come()

    def come(self, number: int = 2) -> None:
        """Deliver the quick French caption, then its final."""
        final = made("le sort", "fr", "faith", number=number)
        draft = replace(final, text="sort", final=False, engine="marian")
        self.targets.take(Rendition("fr", draft))
        self.targets.take(Rendition("fr", replace(final, doubt=0.9, is_doubtful=True)))

    @property
    def french_now(self) -> tuple[str, bool, bool]:
        message = self.french.message(2)
        return message.target.text, message.final, message.doubtful

    @property
    def waiting(self) -> list[tuple[int, str, str]]:
        """The doubtful finals that operators see: caption, language, text."""
        messages = self.commands.console().doubtful
        return [(m.id, m.target.lang, m.target.text) for m in messages]


@pytest.fixture
def doubtful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DoubtfulDesk:
    return DoubtfulDesk(tmp_path, monkeypatch)


def test_an_approval_reaches_the_language_that_waits_and_is_taken_back(
    doubtful: DoubtfulDesk,
) -> None:
    doubtful.commands.obey(command("approve", id=2))
    assert (doubtful.french_now, doubtful.waiting) == (("le sort", True, False), [])
    doubtful.commands.obey(command("undo"))
    assert doubtful.french_now == ("le sort", True, True)


def test_an_approval_takes_the_mark_away_in_every_language(doubtful: DoubtfulDesk) -> None:
    spanish = replace(made("fe", "es", "faith", number=3), doubt=0.9, is_doubtful=True)
    doubtful.board.show(spanish, marked=True)
    doubtful.come(3)
    doubtful.targets.look(LATER)
    boards = (doubtful.board, doubtful.french)
    assert [board.message(3).doubtful for board in boards] == [True, True]
    doubtful.commands.obey(command("approve", id=3))
    assert [board.message(3).doubtful for board in boards] == [False, False]
    doubtful.commands.obey(command("undo"))
    assert [board.message(3).doubtful for board in boards] == [True, True]


def test_an_edit_in_one_language_lets_no_other_go(doubtful: DoubtfulDesk) -> None:
    doubtful.commands.obey(command("edit", id=2, text="la fe", lang="es"))
    assert doubtful.french_now == ("sort", False, False)
    assert doubtful.waiting == [(2, "fr", "le sort")]


@pytest.mark.parametrize("is_over", [True, False])
def test_when_the_language_rests_or_the_service_ends_nothing_stays_back(
    doubtful: DoubtfulDesk, is_over: bool
) -> None:
    if is_over:
        doubtful.targets.finish()
    else:
        doubtful.targets.of("fr").coordinator.rest()
    assert (doubtful.french_now, doubtful.waiting) == (("le sort", True, True), [])


def test_what_was_corrected_before_a_doubtful_final_came_stands_with_it(
    doubtful: DoubtfulDesk,
) -> None:
    doubtful.board.show(made("fe", "es", "faith", number=4))
    doubtful.commands.obey(command("correct", id=4, text="Faith!"))
    doubtful.come(4)
    doubtful.targets.look(LATER)
    assert doubtful.texts()[-1] == ("Faith!", "le sort")


def test_a_correction_does_not_bring_back_what_was_hidden_after_it(desk: Desk) -> None:
    desk.board.show(replace(made("gra", "es", number=2), final=False))
    desk.french.show(replace(made("grâ", "fr", number=2), final=False))
    for name in ("correct", "hide"):
        desk.commands.obey(command(name, id=2, text="grace"))
    desk.targets.take(Rendition("fr", made("grâce", "fr", number=2)))
    assert desk.texts() == [("gracious", "gracieux")]


def test_what_was_just_typed_for_one_language_goes_off_the_record_there_and_cannot_be_undone(
    desk: Desk,
) -> None:
    # Nothing was heard since: the typed caption begins where the removed stretch ends.
    desk.commands.obey(command("say", text="Priez pour Anna", lang="fr"))
    assert ("", "Priez pour Anna") in desk.texts()
    desk.recorder.start()
    desk.commands.obey(command("off-record"))
    assert desk.texts() == []
    with pytest.raises(ProtocolError, match="nothing to take back"):
        desk.commands.obey(command("undo"))
    assert desk.written("captions.fr.jsonl") == []


def test_corrections_are_taken_back_in_a_language_whose_caption_came_behind_them(
    desk: Desk,
) -> None:
    desk.board.show(made("segundo", "es", number=2))
    for text in ("grace", "grace and peace"):
        desk.commands.obey(command("correct", id=2, text=text))
    desk.targets.take(Rendition("fr", made("deuxième", "fr", number=2)))
    said = []
    for _ in range(2):
        desk.commands.obey(command("undo"))
        said.append(desk.texts()[-1])
    assert said == [("grace", "deuxième"), ("gracious", "deuxième")]
    assert desk.french.message(2).final


@pytest.mark.parametrize("comes", ["before", "after"])
def test_a_hidden_caption_that_is_corrected_is_shown_in_a_language_where_it_comes_later(
    desk: Desk, comes: str
) -> None:
    desk.board.show(made("destino", "es", "fate", number=2))
    late = Rendition("fr", made("le destin", "fr", "fate", number=2))
    desk.commands.obey(command("hide", id=2))
    if comes == "before":
        desk.targets.take(late)
    desk.commands.obey(command("correct", id=2, text="faith"))
    if comes == "after":
        desk.targets.take(late)
    desk.answer("la foi")
    assert desk.texts()[-1] == ("faith", "la foi")
    shown = collected(desk)
    desk.commands.obey(command("undo"))
    assert len(desk.texts()) == len(desk.board.snapshot().messages) == 1
    assert [message.source.text for message in shown] == [""]
    desk.commands.obey(command("undo"))
    assert desk.texts()[-1] == ("fate", "le destin")


def test_an_undone_correction_hides_a_caption_that_comes_after_it(desk: Desk) -> None:
    desk.board.show(made("destino", "es", "fate", number=2))
    desk.commands.obey(command("hide", id=2))
    desk.commands.obey(command("correct", id=2, text="faith"))
    desk.commands.obey(command("undo"))
    desk.targets.take(Rendition("fr", made("le destin", "fr", "fate", number=2)))
    assert len(desk.texts()) == 1


def test_nobody_sees_what_a_correction_has_replaced_before_it_came(desk: Desk) -> None:
    desk.board.show(made("destino", "es", "fate", number=2))
    desk.commands.obey(command("correct", id=2, text="faith"))
    assert not desk.workers[1].transcripts._asked, "there is nothing of it in French yet"
    shown = collected(desk)
    desk.targets.take(Rendition("fr", made("le destin", "fr", "fate", number=2)))
    assert [(m.source.text, m.final) for m in shown] == [("faith", False)] * 2, "shown and settled"
    assert desk.texts()[-1] == ("faith", "le destin")
    desk.answer("la foi")
    assert (shown[-1].target.text, shown[-1].final) == ("la foi", True)


def collected(desk: Desk) -> list[CaptionMessage]:
    """Return a list that gets every French message that is published or settles from now on."""
    found: list[CaptionMessage] = []

    class French(Sink):
        def on_caption(self, message: CaptionMessage, lang: str) -> None:
            found.append(message)

        def on_settled(self, message: CaptionMessage, spoken_utc: datetime, lang: str) -> None:
            found.append(message)

    desk.targets.of("fr").coordinator._sinks += (French(),)
    return found


class Interpreted(CoordinatorFixture):
    """Somebody preaches in English, and an interpreter says it in Spanish."""

    def __init__(self, tmp_path: Path, interpreter: str) -> None:
        flags = {"translate.source": ["en", "es"], "translate.interpreter": interpreter}
        super().__init__(tmp_path, flags)
        self.say("en", "God is faithful to us.", "Dios nos es fiel a todos.")

    def say(self, lang: str, heard: str, made: str, *, number: int = 1, final: bool = True) -> None:
        spoken = utterance(number, 2.0 * number, 2.0 * number + 1, revision=1 + final, final=final)
        said = Transcript(spoken, lang, heard, heard, Recognition(heard))
        for target in self.boards:
            is_heard = target == lang
            text, engine = (heard, "heard") if is_heard else (made, "gemma")
            self.targets.take(Rendition(target, Caption(said, target, text, engine, final)))

    def texts(self) -> dict[str, list[str]]:
        boards = self.boards.items()
        return {lang: [m.target.text for m in b.snapshot().messages] for lang, b in boards}


BOTH = {
    "es": ["Dios nos es fiel a todos.", "Dios es fiel a todos."],
    "en": ["God is faithful to us.", "God is faithful to all."],
}
FIRST = {lang: texts[:1] for lang, texts in BOTH.items()}


def test_an_interpreter_is_recorded_and_shown_unless_the_settings_say_otherwise(
    tmp_path: Path,
) -> None:
    for number, (interpreter, texts) in enumerate((("shown", BOTH), ("hidden", FIRST))):
        hall = Interpreted(tmp_path / str(number), interpreter)
        hall.say("es", "Dios es fiel a", "God is faithful", number=2, final=False)
        hall.say("es", BOTH["es"][1], BOTH["en"][1], number=2)
        assert hall.texts() == texts
        hall.targets.settle()
        hall.recorder.close(5)
        kept = [each for each in read_records(hall.recorder.folder) if each.type == "utterance"]
        told = [(each.id, each.text, each.repeats) for each in kept]
        assert told == [(1, "God is faithful to us.", None), (2, "Dios es fiel a todos.", 1)]


def test_a_draft_that_becomes_the_final_stays_hidden_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hall = Interpreted(tmp_path, "hidden")
    again = BOTH["es"][1]
    said = Transcript(utterance(2, 4.0, 5.0), "es", again, again, Recognition(again))
    drafts = [Caption(said, "en", BOTH["en"][1], "marian", final=True)]
    monkeypatch.setattr(hall.targets.of("en").workers, "take_unfinished", lambda: drafts)
    hall.targets.finish()
    assert hall.texts() == FIRST
    hall.recorder.close(5)


def test_what_was_hidden_wrongly_is_brought_back_and_stays(tmp_path: Path) -> None:
    hall = Interpreted(tmp_path, "hidden")
    hall.say("es", BOTH["es"][1], BOTH["en"][1], number=2)
    assert [each.target.text for each in hall.screen.messages if each.id == 2] == [""]
    hall.commands.obey(command("show", id=2))
    assert hall.texts() == BOTH
    hall.say("es", "Fui al médico el martes.", "I saw the doctor on Tuesday.", number=3)
    last = [texts[-1] for texts in hall.texts().values()]
    assert last == ["Fui al médico el martes.", "I saw the doctor on Tuesday."]
    hall.recorder.close(5)


def test_what_an_operator_has_written_is_not_hidden_with_what_an_interpreter_said(
    tmp_path: Path,
) -> None:
    hall = Interpreted(tmp_path, "hidden")
    hall.say("es", "Dios es", "God is", number=2, final=False)
    hall.commands.obey(command("edit", id=2, text="Escrito a mano.", lang="es"))
    hall.say("es", BOTH["es"][1], BOTH["en"][1], number=2)
    assert hall.texts() == {"es": [*FIRST["es"], "Escrito a mano."], "en": FIRST["en"]}
    hall.recorder.close(5)


@pytest.mark.parametrize("is_shown", [False, True])
def test_who_goes_on_with_something_new_is_shown_whole(tmp_path: Path, *, is_shown: bool) -> None:
    hall = Interpreted(tmp_path, "hidden")
    first = utterance(2, 4.0, 5.0, revision=1, can_resume=True)
    longer = replace(first, revision=3, end_sample=160_000)
    again, more = "Dios es fiel a todos.", "Dios es fiel a todos. Yo lo vi en el hospital."

    def final(spoken: Utterance, text: str) -> Rendition:
        said = Transcript(spoken, "es", text, text, Recognition(text))
        return Rendition("es", Caption(said, "es", text, "heard", final=True))

    hall.targets.take(first)
    hall.targets.take(final(first, again))
    assert hall.texts()["es"] == FIRST["es"]
    if is_shown:
        hall.commands.obey(command("show", id=2))
    hall.targets.take(replace(longer, revision=2, final=False, cause="resumed"))
    hall.targets.take(longer)
    hall.targets.take(final(longer, more))
    assert hall.texts()["es"] == [*FIRST["es"], more]
    assert hall.screen.messages[-1].target.text == more
    hall.recorder.close(5)
