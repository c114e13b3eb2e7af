"""What to review next: misheard terms, the speakers recognized worst, the worst captions."""

from __future__ import annotations

from dataclasses import replace

from pipeline.learning.cycle import Candidate, find_focus
from pipeline.learning.data.pairs import LearningPair, Status

PAIR = LearningPair(
    session_id="s",
    source_lang="en",
    text="Grace to you.",
    heard="Grace to you.",
    target_lang="es",
    translation="Gracia a ustedes.",
    source="auto",
    status="accepted",
    quality_score=0.9,
    stt_confidence=0.9,
)


def captions(count: int, status: Status = "accepted") -> list[LearningPair]:
    return [replace(PAIR, id=n, status=status, quality_score=0.5 + n / 1000) for n in range(count)]


def test_terms_are_ranked_by_how_often_they_were_misheard() -> None:
    ezra = replace(PAIR, text="Ezra and Grace.", terms=("Ezra", "grace"), heard="Extra and Grace.")
    found = find_focus([ezra, ezra, replace(ezra, heard="Ezra and crates.")], "now", {"s"})
    assert [(each.term, each.said, each.misheard) for each in found.terms] == [
        ("Ezra", 3, 2),
        ("grace", 3, 1),
    ]
    assert find_focus([PAIR], "now", {"s"}).terms == ()


def test_the_speaker_who_is_heard_worst_is_named() -> None:
    ana, ben = (replace(PAIR, speaker=name) for name in ("Ana", "Ben"))
    pairs = [ana, replace(ana, stt_confidence=0.8), replace(ben, stt_confidence=0.6)]
    found = find_focus([*pairs, replace(ben, stt_confidence=None)], "now", {"s"}).speaker
    assert found is not None
    assert (found.speaker, found.captions, found.confidence) == ("Ben", 1, 0.6)
    assert find_focus([PAIR], "now", {"s"}).speaker is None


def test_between_5_and_15_of_100_captions_are_put_before_a_person() -> None:
    few = find_focus(captions(200), "now", {"s"})
    assert len(few.review) == 10
    assert few.review[0] == Candidate("s", 0, 0.5, "Grace to you.")
    assert len(find_focus(captions(200, "review"), "now", {"s"}).review) == 30
    some = [*captions(20, "review"), *captions(180)]
    assert len(find_focus(some, "now", {"s"}).review) == 20


def test_what_people_vouch_for_is_not_reviewed_again() -> None:
    found = find_focus([replace(each, source="review") for each in captions(100)], "now", {"s"})
    assert found.review == ()
    assert found.captions == 0


def test_a_caption_of_a_deleted_session_is_not_put_before_a_person() -> None:
    waiting = replace(PAIR, status="review")
    gone = replace(waiting, session_id="gone", quality_score=0.1)
    found = find_focus([gone, waiting], "now", {"s"})
    assert [each.session_id for each in found.review] == ["s"]
    assert found.captions == 1


def test_without_any_caption_there_is_nothing_to_say() -> None:
    found = find_focus([], "now", {"s"})
    assert (found.terms, found.speaker, found.review, found.captions) == ((), None, (), 0)
