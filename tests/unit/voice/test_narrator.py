"""Which parts of captions the church's voice speaks, and when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.captions.board import CaptionBoard
from pipeline.core.types import Verse
from pipeline.protocol.caption import CaptionMessage, TargetText
from pipeline.voice.narrator import Narrator
from scripts.support.records import caption


class Hall:
    """A board with captions, and the voice that follows them."""

    def __init__(self, lang: str = "es") -> None:
        self.board = CaptionBoard("one", "en", lang, 50)
        self.narrator = Narrator(lang, 1.25)
        self.now_s = 0.0

    def tell(self, message: CaptionMessage | None) -> None:
        assert message is not None
        self.narrator.take(message, self.now_s)

    def say(self, key: int, text: str, *, stable: int | None = None) -> None:
        lang = self.board.target
        final = stable is None
        shown = caption(key, "said", text, final=final, stable=stable or 0, lang=lang)
        self.tell(self.board.show(shown))

    def heard(self, queued_s: float = 0.0) -> list[str]:
        texts = []
        while clause := self.narrator.next(self.now_s, queued_s):
            texts.append(clause.text)
        return texts


def test_settled_clauses_are_said_once_and_nothing_that_may_change() -> None:
    hall = Hall()
    hall.say(1, "El Señor es mi", stable=11)
    assert hall.heard() == []
    hall.say(1, "El Señor es mi pastor, nada me", stable=25)
    assert hall.heard() == ["El Señor es mi pastor,"]
    hall.say(1, "El Señor es mi pastor, nada me falta", stable=25)
    assert hall.heard() == []
    hall.say(1, "El Señor es mi pastor; nada me faltará.")
    assert hall.heard() == ["nada me faltará."]


def test_a_correction_is_said_only_if_nothing_of_it_was() -> None:
    hall = Hall()
    hall.say(1, "Juan come carne.")
    hall.say(2, "Lean el salmo cien.")
    hall.tell(hall.board.edit(1, "Juan come pan."))
    assert hall.narrator.next(0.0, 0.0) is not None
    hall.tell(hall.board.edit(1, "Juan come mucho pan y también carne."))
    hall.tell(hall.board.edit(2, "Lean el salmo diez."))
    assert hall.heard() == ["Lean el salmo diez."]


def test_what_was_heard_wrongly_is_not_said_while_its_correction_is_translated() -> None:
    hall = Hall()
    hall.say(1, "Juan come carne.")
    hall.tell(hall.board.correct(1, "John eats bread."))
    assert hall.heard() == []
    hall.tell(hall.board.retranslate(1, TargetText("es", "Juan come pan.", "gemma")))
    assert hall.heard() == ["Juan come pan."]


def test_what_is_shown_again_is_not_said_again() -> None:
    hall = Hall()
    hall.say(1, "Oremos.")
    assert hall.heard() == ["Oremos."]
    hall.tell(hall.board.hide(1))
    hall.tell(hall.board.unhide(1))
    assert hall.heard() == []


def test_what_comes_after_a_final_is_said_once_its_speaker_has_gone_on() -> None:
    hall = Hall()
    hall.say(1, "Oremos.")
    assert hall.heard() == ["Oremos."]
    hall.tell(hall.board.reopen(1))
    hall.say(1, "Oremos por los enfermos.")
    assert hall.heard() == ["por los enfermos."]


@pytest.mark.parametrize("is_filtered", [True, False])
def test_what_was_off_the_screens_and_says_more_now_goes_on_where_it_was(
    *, is_filtered: bool
) -> None:
    hall = Hall()
    hall.say(1, "Oremos, hermanos", stable=16)
    assert hall.heard() == ["Oremos,"]
    hall.tell(hall.board.retract(1) if is_filtered else hall.board.hide(1))
    assert hall.board.reopen(1) is None
    if is_filtered:
        hall.say(1, "Oremos, hermanos, por los enfermos.")
    else:
        # An interpreter's words that turn out to be longer are shown again like this.
        longer = caption(1, "said", "Oremos, hermanos, por los enfermos.", final=True, lang="es")
        assert hall.board.show(longer) is None
        hall.tell(hall.board.unhide(1))
    assert hall.heard() == ["hermanos, por los enfermos."]


def test_an_approval_in_the_middle_of_a_caption_takes_none_of_its_words() -> None:
    hall = Hall()
    text = "El Señor nuestro Dios los ha bendecido en todas sus obras de este año difícil."
    shown = hall.board.show(caption(1, "said", text, final=True, lang="es"), marked=True)
    hall.tell(shown)
    first = hall.narrator.next(0.0, 0.0)
    assert first is not None
    hall.tell(hall.board.approve(1))
    assert " ".join([first.text, *hall.heard(6.0)]) == text


def test_what_is_written_for_a_hidden_caption_is_not_said_from_its_middle() -> None:
    hall = Hall()
    hall.say(1, "Juan come carne.")
    assert hall.heard() == ["Juan come carne."]
    hall.tell(hall.board.hide(1))
    hall.tell(hall.board.edit(1, "Juan come mucho pan y también carne."))
    assert hall.heard() == []


def test_a_language_that_rested_is_not_read_backwards() -> None:
    hall = Hall()
    for key, final in ((9, False), (8, True), (5, True), (2, True)):
        text = f"Frase {key}."
        shown = caption(key, "x", text, final=final, start_s=key * 6.0, end_s=key * 6.0 + 5.0)
        hall.tell(hall.board.show(shown))
    assert hall.heard() == ["Frase 8."]


def test_what_is_hidden_before_its_turn_is_never_said() -> None:
    hall = Hall()
    hall.say(1, "Esto no debe oírse.")
    hall.say(2, "Oremos.")
    hall.tell(hall.board.hide(1))
    assert hall.narrator.is_silenced(1)
    assert not hall.narrator.is_silenced(2)
    assert hall.heard() == ["Oremos."]


def test_what_goes_off_the_record_or_off_the_screens_is_passed_over() -> None:
    hall = Hall()
    hall.say(1, "Nadie oye esto,", stable=15)
    hall.narrator.pass_over_all()
    hall.say(1, "Nadie oye esto, ni esto.")
    assert hall.heard() == ["ni esto."]  # said afterwards


def test_far_behind_it_goes_on_with_the_newest_and_a_little_faster() -> None:
    hall = Hall()
    for key in range(1, 5):
        hall.say(key, f"Frase {key}.")
    rates = []
    for at_s, queued_s in ((0.0, 0.0), (0.0, 1.8), (5.0, 1.2)):
        clause = hall.narrator.next(at_s, queued_s)
        assert clause is not None
        rates.append((clause.text, clause.rate))
    assert rates == [("Frase 1.", 1.0), ("Frase 2.", 1.2), ("Frase 4.", 1.25)]
    assert hall.heard() == []


def test_a_printed_verse_is_read_and_other_languages_are_not() -> None:
    hall = Hall()
    hall.say(1, "El Señor es mi pastor.")
    hall.tell(hall.board.put_verse(1, Verse("Salmo 23:1", "Jehová es mi pastor.", "rv", "es")))
    assert hall.heard() == ["Jehová es mi pastor."]
    stand_in = hall.board.show(caption(2, "Amen.", "Amen.", final=True, lang="en", engine="source"))
    assert stand_in is not None
    hall.tell(stand_in)
    assert hall.heard() == []
    translated = replace(stand_in, target=TargetText("es", "Amén.", "gemma"))
    hall.tell(translated)
    assert hall.heard() == ["Amén."]


def test_a_long_caption_is_said_in_pieces_so_that_it_can_be_left() -> None:
    hall = Hall()
    hall.say(1, " ".join(f"palabra{number}," for number in range(60)))
    first = hall.narrator.next(0.0, 6.0)
    assert first is not None
    assert 100 < len(first.text) <= 200
    hall.say(2, "Oremos.")
    assert [c.text for c in [hall.narrator.next(7.0, 0.0)] if c] == ["Oremos."]


def test_where_nothing_is_being_said_the_first_phrase_comes_alone() -> None:
    hall = Hall()
    hall.say(1, "El Señor nuestro Dios los ha bendecido en todas sus obras de este año difícil.")
    said = [hall.narrator.next(0.0, queued_s) for queued_s in (0.0, 1.3, 2.0)]
    assert [(clause.text, clause.is_end) for clause in said if clause] == [
        ("El Señor nuestro Dios", False),
        ("los ha bendecido en todas sus obras", False),
        ("de este año difícil.", True),
    ]
    hall.say(2, "Hoy vino Juan, y comió.")  # one clause, as it is short
    assert hall.heard() == ["Hoy vino Juan, y comió."]


def test_a_notice_is_said_once_and_before_all_else() -> None:
    hall = Hall()
    hall.say(1, "Oremos.")
    hall.narrator.notice("Hay comida en el salón.")
    assert hall.heard() == ["Hay comida en el salón.", "Oremos."]
    hall.narrator.notice("Hay comida en la sala.", is_new=False)  # a better translation
    assert hall.heard() == []
    hall.narrator.notice("Hay café.")
    hall.narrator.notice("")
    assert hall.heard() == []


@pytest.mark.parametrize(("lang", "text"), [("zh", "神爱世人，甚至"), ("ja", "神は愛です。そして")])
def test_without_spaces_a_clause_ends_at_its_sign(lang: str, text: str) -> None:
    hall = Hall(lang)
    hall.say(1, text, stable=len(text))
    end = max(text.find("，"), text.find("。")) + 1
    assert hall.heard() == [text[:end]]
    hall.say(1, f"{text}。")
    assert hall.heard() == [f"{text[end:]}。"]


def test_only_so_many_captions_are_remembered_with_listeners_and_without() -> None:
    hall = Hall()
    for key in range(1, 600):
        shown = hall.board.show(caption(key, "said", "Oremos.", final=True, lang="es"))
        assert shown is not None
        if key < 300:
            hall.tell(shown)
        else:
            hall.narrator.pass_over(shown)
        assert hall.heard() == ["Oremos."] * (key < 300)
        assert len(hall.narrator._captions) == len(hall.narrator._said) == min(key, 200)
