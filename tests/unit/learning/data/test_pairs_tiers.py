"""Which pairs are used for training, and their weights."""

from __future__ import annotations

from dataclasses import replace

from pipeline.learning.data.pairs import LearningPair, select

BASE = LearningPair(
    session_id="a",
    source_lang="en",
    text="",
    target_lang="es",
    translation="",
    source="auto",
    status="accepted",
    quality_score=0.9,
)


def pair(text: str, **changes: object) -> LearningPair:
    return replace(BASE, text=text, translation=f"{text} es", **changes)  # type: ignore[arg-type]


def test_the_same_pair_is_there_once_as_the_most_trusted_tells_it() -> None:
    twice = [pair("Let us pray."), pair("let us pray", source="review", session_id="b")]
    (only,) = select(twice, [])
    assert (only.source, only.tier) == ("review", "accepted")


def test_rare_words_count_more_and_a_repeated_phrase_less() -> None:
    pairs = [pair(f"let us pray {name}") for name in ("now", "here", "again", "today")]
    pairs += [pair("Melchizedek blesses"), pair("amen"), replace(pair("amen"), translation="Amén")]
    weights = {each.text: each.weight for each in select(pairs, [])}
    assert weights["Melchizedek blesses"] > weights["let us pray now"] > weights["amen"]


def test_middling_pairs_come_for_their_new_words_within_their_share() -> None:
    accepted = [pair(f"we give thanks {number}") for number in range(10)]
    middling = [
        pair("we give thanks", status="moderate"),
        pair("Zerubbabel rebuilt the temple", status="moderate"),
        pair("tabernacle curtains of goat hair", status="moderate"),
        pair("propitiation", status="moderate", obstacle="half a sentence"),
    ]
    chosen = select([*accepted, *middling], [])
    assert {each.text for each in chosen if each.tier == "diversity"} == {
        "Zerubbabel rebuilt the temple",
        "tabernacle curtains of goat hair",
    }
    few = select([*accepted[:5], *middling], [])
    assert sum(each.tier == "diversity" for each in few) == 1


def test_no_speaker_has_more_than_his_share_of_the_second_tier() -> None:
    accepted = [pair(f"we give thanks {number}") for number in range(40)]
    loud = [pair(f"new{n} words{n} spoken{n}", status="moderate", speaker="A") for n in range(10)]
    quiet = [pair(f"rare{n}", status="moderate", speaker="B") for n in range(10)]
    chosen = select([*accepted, *loud, *quiet], [])
    speakers = [each.speaker for each in chosen if each.tier == "diversity"]
    assert (speakers.count("A"), speakers.count("B")) == (4, 4)


def test_general_pairs_have_their_share_and_are_the_same_each_time() -> None:
    accepted = [pair(f"sermon sentence {number}") for number in range(90)]
    general = [pair(f"general {n}", source="general", session_id="") for n in range(50)]
    chosen = select(accepted, general)
    drawn = [each for each in chosen if each.tier == "general"]
    assert len(drawn) == 7
    assert chosen == select(accepted, general)


def test_the_same_words_in_two_languages_are_a_pair_of_each() -> None:
    spanish = replace(BASE, text="Holy, holy, holy.", translation="Santo, santo, santo.")
    both = [spanish, replace(spanish, target_lang="pt")]
    assert [each.target_lang for each in select(both, [])] == ["es", "pt"]
