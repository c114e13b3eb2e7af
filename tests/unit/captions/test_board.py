from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.captions.board import _OPEN, CaptionBoard
from pipeline.captions.redaction import Redaction
from pipeline.core.errors import ProtocolError
from pipeline.protocol import codec
from pipeline.protocol.caption import CaptionMessage, TargetText
from scripts.support.records import caption


def board(history: int = 200) -> CaptionBoard:
    return CaptionBoard("session", "en", "es", history)


def some(message: CaptionMessage | None) -> CaptionMessage:
    """Return the message; it must exist."""
    assert message is not None
    return message


def shown(board: CaptionBoard, *args: object, **fields: object) -> CaptionMessage:
    return some(board.show(caption(*args, **fields)))  # type: ignore[arg-type]


def test_seq_counts_all_versions_and_revision_those_of_one_caption() -> None:
    screen = board()
    messages = [
        shown(screen, 1, "a", "A"),
        shown(screen, 2, "b", "B"),
        shown(screen, 1, "a a", "A A"),
        shown(screen, 2, "b", "B", final=True),
        shown(screen, 1, "a a", "A A", final=True),
    ]
    told = [(m.seq, m.id, m.revision) for m in messages]
    assert told == [(1, 1, 1), (2, 2, 1), (3, 1, 2), (4, 2, 2), (5, 1, 3)]
    assert screen.seq == 5


@pytest.mark.parametrize(("final", "stable", "expected"), [(True, 0, 4), (False, 9, 4)])
def test_stable_is_within_the_text_and_all_of_a_final(
    final: bool, stable: int, expected: int
) -> None:
    assert shown(board(), 1, "amen", "amén", final=final, stable=stable).stable == expected


@pytest.mark.parametrize("final", [True, False])
def test_nothing_from_the_pipeline_changes_a_final(final: bool) -> None:
    screen = board()
    first = shown(screen, 1, "a", "A", final=True)
    assert screen.show(caption(1, "b", "B", final=final)) is None
    assert screen.snapshot().messages == (first,)
    assert screen.seq == 1


def test_a_repeat_is_ignored_and_any_change_is_not() -> None:
    screen = board()
    shown(screen, 1, "a", "A")
    assert screen.show(caption(1, "a", "A", end_s=2.0, engine="gemma")) is None
    assert shown(screen, 1, "b", "A").revision == 2
    assert shown(screen, 1, "b", "B").revision == 3
    assert shown(screen, 1, "b", "B", stable=1).revision == 4
    assert shown(screen, 1, "b", "B", final=True).revision == 5


def test_an_edit_is_final_and_stays() -> None:
    screen = board()
    shown(screen, 1, "lamb", "cordero de", engine="source", lang="en")
    edited = some(screen.edit(1, "Cordero"))
    assert (edited.final, edited.revision, edited.stable) == (True, 2, 7)
    assert edited.target == TargetText("es", "Cordero", "operator")
    assert edited.source.text == "lamb"
    assert screen.edit(1, "Cordero") is None
    assert screen.show(caption(1, "lamb", "cordero", final=True)) is None


def test_a_hidden_caption_is_empty_and_can_be_edited_back() -> None:
    screen = board()
    shown(screen, 1, "secret", "secreto", final=True)
    hidden = some(screen.hide(1))
    assert (hidden.final, hidden.stable) == (True, 0)
    assert (hidden.source.text, hidden.target.text) == ("", "")
    assert hidden.target.engine == "operator"
    assert screen.hide(1) is None
    assert screen.snapshot().messages == ()
    assert screen.show(caption(1, "secret", "secreto", final=True)) is None
    back = some(screen.edit(1, "público"))
    assert back.source.text == "", "that stays hidden"
    assert screen.snapshot().messages == (back,)


@pytest.mark.parametrize(
    ("text", "translated", "engine"), [("a", "A", "operator"), ("", "", ""), ("amen", "", "")]
)
def test_an_edit_to_the_same_words_and_a_hiding_make_a_partial_final(
    text: str, translated: str, engine: str
) -> None:
    screen = board()
    for key in (1, 2):
        shown(screen, key, text, translated, engine=engine)
    assert some(screen.edit(1, translated)).final
    assert some(screen.hide(2)).final


def test_changing_an_unknown_caption_is_refused() -> None:
    with pytest.raises(ProtocolError, match=r"Caption 7.*\[unknown-caption\]"):
        board().edit(7, "x")


def test_retract_takes_a_partial_away_and_leaves_finals_and_strangers() -> None:
    screen = board()
    shown(screen, 1, "thanks for watching", "gracias por ver")
    shown(screen, 2, "amen", "amén", final=True)
    gone = some(screen.retract(1))
    assert gone.final
    assert (gone.source.text, gone.target.text, gone.target.engine) == ("", "", "")
    assert screen.retract(1) is None
    assert screen.retract(2) is None
    assert screen.retract(3) is None
    assert [m.id for m in screen.snapshot().messages] == [2]


def test_since_gives_the_newest_of_what_changed_hidden_ones_too() -> None:
    screen = board()
    for key in (1, 2, 3):
        shown(screen, key, "a", "A", final=True)
    screen.edit(2, "B")
    screen.hide(1)
    resumed = screen.since(3)
    assert resumed.resumed
    assert [(m.id, m.seq, m.target.text) for m in resumed.messages] == [(1, 5, ""), (2, 4, "B")]
    nothing = screen.since(5)
    assert nothing.resumed
    assert nothing.messages == ()


@pytest.mark.parametrize("seq", [None, 1, 6, 10**15])
def test_since_gives_everything_where_it_cannot_tell(seq: int | None) -> None:
    screen = board(history=3)
    for key in range(1, 6):  # captions 1 and 2 (seq 1 and 2) are forgotten
        shown(screen, key, "a", "A", final=True)
    everything = screen.since(seq)
    assert not everything.resumed
    assert [m.id for m in everything.messages] == [3, 4, 5]
    assert screen.since(2).resumed, "the last that is forgotten"


def test_finals_are_bounded_sorted_and_not_pushed_out_by_open_captions() -> None:
    screen = board(history=2)
    for key in range(10):
        shown(screen, key, "a", "A", final=True)
    shown(screen, 11, "a", "A")
    shown(screen, 10, "a", "A")
    assert [m.id for m in screen.snapshot().messages] == [8, 9, 10, 11]


def test_a_new_bound_holds_at_once_and_both_ways() -> None:
    screen = board(history=5)
    for key in range(1, 8):
        shown(screen, key, "amen", "amén", final=True)
    screen.set_history(2)
    assert [message.id for message in screen.snapshot().messages] == [6, 7]
    assert not screen.since(screen.seq - 4).resumed  # the missed messages are gone
    screen.set_history(4)
    for key in range(8, 12):
        shown(screen, key, "amen", "amén", final=True)
    assert [message.id for message in screen.snapshot().messages] == [8, 9, 10, 11]


def test_open_captions_are_bounded() -> None:
    screen = board()
    for key in range(_OPEN + 3):
        shown(screen, key, "a", "A")
    assert [m.id for m in screen.snapshot().messages] == list(range(3, _OPEN + 3))


def test_a_final_of_a_forgotten_caption_is_published_a_late_partial_is_not() -> None:
    screen = board(history=1)
    shown(screen, 5, "a", "A", final=True)
    shown(screen, 6, "b", "B", final=True)
    assert screen.show(caption(4, "c", "C")) is None
    assert shown(screen, 4, "c", "C", final=True).seq == 3
    assert [m.id for m in screen.snapshot().messages] == [6]
    assert screen.last_id == 6


def test_restore_brings_the_newest_of_the_journal_back_and_counts_on() -> None:
    before = board()
    lines = []
    for key in (1, 2):
        shown(before, key, "a", "A")
        lines.append(codec.encode(shown(before, key, "a a", "A A", final=True)))
    edited = some(before.edit(1, "AA"))
    lines.append(codec.encode(edited))

    after = board()
    assert after.last_id == -1
    after.restore(codec.parse_caption(line) for line in lines)
    assert after.snapshot() == before.snapshot()
    assert (after.seq, after.last_id) == (5, 2)
    assert shown(after, 3, "b", "B").seq == 6
    small = board(history=1)
    small.restore(map(codec.parse_caption, [*lines, lines[0]]))
    assert small.snapshot().messages == before.snapshot().messages[1:]
    assert not small.since(0).resumed


_OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["partial", "partial", "final", "edit", "hide", "retract"]),
        st.integers(0, 7),
        st.sampled_from(["", "x", "y"]),
    ),
    max_size=60,
)


@settings(deadline=None)
@given(operations=_OPERATIONS, history=st.integers(1, 5), leaves=st.integers(0, 60))
def test_a_display_that_comes_back_is_up_to_date(
    operations: list[tuple[str, int, str]], history: int, leaves: int
) -> None:
    """The display follows `leaves` operations, misses the rest, and asks with `since`."""
    screen, has, last, finals = board(history), dict[int, CaptionMessage](), 0, set[int]()
    for number, (what, key, text) in enumerate(operations):
        seq = screen.seq
        message: CaptionMessage | None
        try:
            match what:
                case "edit":
                    message = screen.edit(key, text or "z")
                case "hide":
                    message = screen.hide(key)
                case "retract":
                    message = screen.retract(key)
                case _:
                    message = screen.show(caption(key, text, text, final=what == "final"))
        except ProtocolError:
            message = None
        assert screen.seq == seq + (message is not None)
        if message is None:
            continue
        assert message.seq == screen.seq
        assert message.final or key not in finals
        if message.final:
            finals.add(key)
        if number < leaves:
            has[key], last = message, message.seq
    answer = screen.since(last)
    if not answer.resumed:
        has = {}
    has |= {message.id: message for message in answer.messages}
    truth = {message.id: message for message in screen.snapshot().messages}
    assert {key: has.get(key) for key in truth} == truth
    kept = [m for m in screen.snapshot().messages if m.final]
    assert len(kept) <= history


# Undoing an operator's actions


def test_an_edit_and_a_hiding_are_taken_back_as_new_versions() -> None:
    screen = board()
    first = shown(screen, 1, "grace", "gracia", final=True, engine="gemma")
    edited = some(screen.edit(1, "la gracia"))
    screen.hide(1)
    again = screen.put_back(edited)
    assert (again.seq, again.revision, again.target) == (4, 4, edited.target)
    again = screen.put_back(first)
    assert (again.seq, again.revision, again.target) == (5, 5, first.target)
    assert screen.since(4).messages == (again,)


def test_a_caption_edited_too_early_comes_back_as_the_pipeline_made_it_since() -> None:
    screen = board()
    partial = shown(screen, 1, "grac", "graci")
    screen.edit(1, "la gracia")
    for late in (caption(1, "grace", "gracia", final=True), caption(1, "grac", "grac")):
        assert screen.show(late) is None
    assert screen.reopen(1) is None
    last = caption(1, "grace is", "la gracia es", final=True, end_s=9.0)
    assert screen.show(last) is None
    assert screen.ids_since(8.0) == (1,)
    again = screen.put_back(partial)
    assert (again.final, again.target.text, again.revision) == (True, "la gracia es", 3)


def test_a_caption_that_is_still_spoken_goes_on_after_it_was_put_back() -> None:
    screen = board()
    partial = shown(screen, 1, "grac", "graci")
    screen.hide(1)
    again = screen.put_back(partial)
    assert (again.final, again.target.text) == (False, "graci")
    assert shown(screen, 1, "grace", "gracia", final=True).revision == 4


def test_what_an_operator_had_written_before_it_was_hidden_is_shown_again() -> None:
    screen = board()
    first = shown(screen, 1, "grace", "gracia", final=True, engine="gemma")
    edited = some(screen.edit(1, "la gracia"))
    screen.hide(1)
    again = some(screen.unhide(1))
    assert (again.source, again.target) == (edited.source, edited.target)
    assert screen.put_back(first).target == first.target


def test_what_is_said_of_a_hidden_caption_is_kept_and_its_newest_final_shown() -> None:
    screen = board()
    shown(screen, 1, "the", "el")
    screen.hide(1)
    assert screen.show(caption(1, "the prophet", "el profeta", final=True)) is None
    assert screen.reopen(1) is None, "its speaker goes on"
    assert screen.show(caption(1, "the prophet says", "el profeta dice", end_s=2.0)) is None
    longer = caption(1, "the prophet says: comfort", "el profeta dice: consolad", final=True)
    assert screen.show(longer) is None
    assert screen.show(caption(1, "the pro", "el pro")) is None, "a late partial"
    again = some(screen.unhide(1))
    assert (again.final, again.target.text) == (True, "el profeta dice: consolad")


def test_one_that_is_shown_again_while_its_speaker_goes_on_goes_on_until_it_is_edited() -> None:
    screen = board()
    shown(screen, 1, "the prophet", "el profeta", final=True)
    screen.hide(1)
    screen.reopen(1)
    again = some(screen.unhide(1))
    assert (again.final, again.target.text) == (False, "el profeta")
    last = shown(screen, 1, "the prophet says", "el profeta dice", final=True)
    assert screen.message(1) == last
    screen.reopen(1)
    edited = some(screen.edit(1, "B"))
    assert (edited.final, edited.status) == (True, "")


def test_an_undo_after_it_was_shown_again_leads_to_the_same_final() -> None:
    screen = board()
    partial = shown(screen, 1, "the", "el")
    hidden = some(screen.hide(1))
    screen.show(caption(1, "the prophet", "el profeta", final=True))
    screen.unhide(1)
    screen.put_back(hidden)
    assert screen.snapshot().messages == ()
    assert screen.put_back(partial).target.text == "el profeta"


def test_what_was_hidden_is_shown_again_after_a_restart_too() -> None:
    screen = board()
    first = shown(screen, 1, "grace", "gracia", final=True, engine="gemma")
    hidden = some(screen.hide(1))
    filtered = shown(screen, 2, "", "", final=True, engine="")
    again = board()
    again.restore([first, hidden, filtered])
    back = some(again.unhide(1))
    assert (back.source, back.target, back.final) == (first.source, first.target, True)
    assert again.unhide(1) is None, "it is shown already"
    with pytest.raises(ProtocolError, match="unknown-caption"):
        again.unhide(2)


@pytest.mark.parametrize("end_s", [4.0, 9.0])
def test_nothing_that_went_off_the_record_is_shown_again(end_s: float) -> None:
    """The speaker may have gone on after the caption was hidden."""
    screen = board()
    shown(screen, 1, "a", "A", final=end_s == 4.0, start_s=1.0, end_s=4.0)
    screen.hide(1)
    screen.show(caption(1, "a secret", "un secreto", final=True, start_s=1.0, end_s=end_s))
    screen.purge(Redaction(end_s - 1.0, 20.0))
    with pytest.raises(ProtocolError, match="unknown-caption"):
        screen.unhide(1)
    assert not screen._hidden
    assert not screen._passed_over


def test_an_undone_approval_takes_nothing_back_that_was_said_since() -> None:
    screen = board()
    said = some(screen.show(caption(1, "the prophet", "el profeta", final=True), marked=True))
    screen.approve(1)
    screen.reopen(1)
    longer = shown(screen, 1, "the prophet says", "el profeta dice", final=True, end_s=2.0)
    with pytest.raises(ProtocolError, match="caption-changed"):
        screen.put_back(said)
    assert screen.message(1) == longer


def test_a_forgotten_caption_cannot_be_put_back() -> None:
    screen = board(history=1)
    partial = shown(screen, 1, "a", "A")
    screen.edit(1, "B")
    screen.show(caption(1, "a", "A", final=True))
    shown(screen, 2, "c", "C", final=True)
    with pytest.raises(ProtocolError, match="unknown-caption"):
        screen.put_back(partial)
    assert not screen._passed_over


def test_what_was_said_off_the_record_leaves_no_trace() -> None:
    screen = board(history=3)
    for key in range(1, 7):
        start_s = 10.0 * key
        shown(screen, key, "s", "t", final=True, start_s=start_s, end_s=start_s + 5)
    shown(screen, 7, "open", "abierto", start_s=1.0, end_s=2.0)  # has no final yet
    before = screen.seq
    # Captions 3 and 4; 3 has left the board, but displays may still have it.
    sent = screen.purge(Redaction(32.0, 54.0))
    assert [(m.id, m.seq) for m in sent] == [(3, before + 1), (4, 9), (5, 10), (7, 11)]
    assert all(m.final and (m.source.text, m.target.text) == ("", "") for m in sent)
    assert screen.seq == before + 4
    assert [m.id for m in screen.snapshot().messages] == [6]
    for seq in range(before, screen.seq):
        away = screen.since(seq)
        assert (away.resumed, [m.id for m in away.messages]) == (False, [6])
    assert screen.since(screen.seq).resumed
    with pytest.raises(ProtocolError, match="unknown-caption"):
        screen.edit(4, "x")
    with pytest.raises(ProtocolError, match="unknown-caption"):
        screen.hide(7)
    assert screen.show(caption(7, "open", "abierto")) is None
    assert screen.last_id == 7
    assert shown(screen, 8, "on", "en").seq == before + 5
    assert screen.purge(Redaction(90.0, 99.0, (6,)))[0].id == 6
    assert screen.purge(Redaction(200.0, 300.0)) == []


def test_a_final_whose_speaker_goes_on_is_open_again() -> None:
    screen = board()
    first = shown(screen, 1, "ask not", "No preguntes.", final=True)
    reopened = screen.reopen(1)
    assert reopened == replace(first, seq=2, revision=2, final=False, status="resumed")
    assert screen.reopen(1) is None, "it is open"
    partial = shown(screen, 1, "ask not what", "No preguntes lo que")
    assert (partial.final, partial.status, partial.revision) == (False, "resumed", 3)
    last = shown(screen, 1, "ask not what", "No preguntes lo que", final=True)
    assert (last.final, last.status, last.revision) == (True, "", 4)
    assert screen.snapshot().messages == (last,)
    assert screen.reopen(99) is None


def test_what_was_filtered_may_come_after_all() -> None:
    screen = board()
    shown(screen, 1, "hm", "eh")
    screen.retract(1)
    assert screen.reopen(1) is None, "there is nothing to show"
    again = shown(screen, 1, "hm amen", "eh amén")
    assert (again.final, again.revision) == (False, 3)


def test_a_corrected_text_stands_with_the_old_translation_until_the_new_one() -> None:
    screen = board()
    shown(screen, 1, "gracious", "gracioso", final=True)
    new = some(screen.correct(1, "grace"))
    assert (new.source.text, new.target.text, new.corrected) == ("grace", "gracioso", True)
    assert screen.correct(1, "grace") is None
    made = screen.retranslate(1, TargetText("es", "gracia", "marian"))
    assert (made.source.text, made.target.engine, made.corrected) == ("grace", "marian", True)
    assert (made.revision, made.stable) == (3, 6)
    assert screen.reopen(1) is None, "speech does not change what an operator has written"
    assert screen.show(caption(1, "gracious", "x", final=True)) is None


def test_where_the_spoken_words_stand_in_a_corrected_text_stands_in_at_once() -> None:
    screen = board()
    message = shown(screen, 1, "gracious", "gracious", final=True, engine="source")
    new = some(screen.correct(message.id, "grace"))
    assert new.target.text == "grace"


def test_a_typed_caption_is_in_the_language_it_was_typed_in() -> None:
    screen = board()
    shown(screen, 1, "a", "A", final=True)
    spoken = screen.add_typed(2, 10.0, "Children may go now.", "en")
    assert (spoken.source.text, spoken.target.text) == ("Children may go now.", "")
    assert spoken.corrected
    shown_as_is = screen.add_typed(3, 10.0, "Bienvenidos.", "es")
    assert (shown_as_is.source.text, shown_as_is.target.text) == ("", "Bienvenidos.")
    assert shown_as_is.target.engine == "operator"
    assert not shown_as_is.corrected
    assert shown_as_is.end_s == 10.001  # nobody has spoken it
    assert screen.ids_since(10.0) == (2, 3)
    assert screen.last_id == 3


def test_a_board_takes_each_version_of_another_one_once() -> None:
    hall, edge = board(), board()
    first = shown(hall, 1, "a", "A")
    second = shown(hall, 1, "a b", "A B", final=True)
    assert [edge.take(each) for each in (first, second)] == [first, second]
    assert edge.take(second) is None
    assert edge.take(first) is None
    assert edge.snapshot() == hall.snapshot()
    assert edge.seq == hall.seq


def test_finals_in_the_spoken_language_are_untranslated_until_somebody_changes_them() -> None:
    screen = board()
    for key, engine in enumerate(("source", "marian", "source", "source"), 1):
        screen.show(caption(key, "a", "a", final=True, engine=engine))
    screen.show(caption(5, "a", "a", engine="source"))
    assert [m.id for m in screen.untranslated()] == [4, 3, 1]
    screen.hide(4)
    screen.edit(3, "Mía.")
    assert [m.id for m in screen.untranslated()] == [1]
    screen.retranslate(1, TargetText("es", "uno", "marian"))
    assert screen.untranslated() == []


def test_what_is_hidden_when_it_was_just_filtered_stays_hidden_when_its_speaker_goes_on() -> None:
    screen = board()
    shown(screen, 1, "hm", "eh")
    screen.retract(1)
    assert screen.hide(1)
    assert screen.hide(1) is None
    assert screen.reopen(1) is None
    assert screen.show(caption(1, "Anna", "Ana", final=True)) is None
    assert screen.snapshot().messages == ()


def test_a_filtered_utterance_does_not_take_a_correction_away_that_waits_for_its_translation() -> (
    None
):
    screen = board()
    first = shown(screen, 1, "thanks for watching", "gracias por ver")
    screen.correct(1, "Thanks be to God.")
    assert screen.retract(1) is None
    assert screen.message(1).source.text == "Thanks be to God."
    done = screen.retranslate(1, TargetText("es", "Gracias a Dios.", "gemma"))
    assert (done.source.text, done.target.text) == ("Thanks be to God.", "Gracias a Dios.")
    # Undo brings back the pipeline's last result, which is nothing.
    back = screen.put_back(first)
    assert (back.final, back.source.text, back.corrected) == (True, "", False)
