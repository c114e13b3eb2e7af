"""The judge of finals: its evidence, its fitting, and the shipped judge."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pipeline.church.fidelity.doubt import (
    SHARE,
    Evidence,
    Judge,
    dumped,
    evidence_of,
    of_texts,
    parsed,
    shipped,
)
from pipeline.core.types import Check, Opinion, Recognition, Translation, Word
from scripts.support.records import caption


def test_all_that_is_known_of_a_final_is_evidence() -> None:
    final = caption(1, "Twelve men.", "Hombres y mujeres.", final=True)
    recognition = Recognition("Twelve men.", words=(Word("Twelve", 0.5), Word("men.", 0.9)))
    checks = (Check("number", "doubtful", "Twelve"), Check("term", "doubtful", "x"))
    final = replace(
        final,
        transcript=replace(final.transcript, recognition=recognition),
        translation=Translation("", "gemma", avg_logprob=-0.5),
        opinion=Opinion(-2.0, -7.0, 0.25),
        checks=checks,
    )
    evidence = evidence_of(final)
    assert (evidence.quick_mean, evidence.quick_least, evidence.agreement) == (-2.0, -7.0, 0.25)
    assert (evidence.final_mean, evidence.rules, evidence.terms) == (-0.5, 1.0, 1.0)
    assert evidence.heard == pytest.approx(math.log(0.5))
    assert evidence.length == pytest.approx(math.log(18 / 11))


def test_a_judge_is_read_back_and_another_versions_is_refused() -> None:
    model = replace(shipped(), bias=-1.5)
    assert parsed(dumped(model)) == model
    for broken in ("", "{}", "[]", dumped(model).replace('"heard"', '"smelt"')):
        with pytest.raises(ValueError):  # noqa: PT011 - whatever json says
            parsed(broken)


@pytest.mark.parametrize("has_own", [True, False])
def test_the_judge_that_ships_doubts_what_is_plainly_wrong(*, has_own: bool) -> None:
    model, judge = shipped(), Judge(shipped())
    good = Evidence(quick_mean=-0.5, quick_least=-2.0, agreement=0.8, length=0.05)
    bad = Evidence(quick_mean=-6.0, quick_least=-14.0, agreement=0.3, length=0.7, rules=1.0)
    if has_own:
        good, bad = replace(good, final_mean=-0.1), replace(bad, final_mean=-0.9)
    assert not judge.is_among_worst(model.probability(good))
    assert judge.is_among_worst(model.probability(bad))


def test_how_sure_the_translator_was_counts() -> None:
    sure = Evidence(quick_mean=-1.5, quick_least=-5.0, final_mean=-0.1)
    unsure = replace(sure, final_mean=-0.8)
    doubts = [shipped().probability(each) for each in (sure, unsure, replace(sure, final_mean=-2))]
    assert doubts[0] < doubts[1] - 0.1 < doubts[2] - 0.3


def test_the_worst_share_of_a_service_is_doubtful_however_sure_its_translator_is() -> None:
    for low in (0.3, 0.6):
        judge = Judge(shipped())
        doubts = [low + 0.3 * (number * 37 % 400) / 400 for number in range(400)]
        marked = [judge.is_among_worst(doubt) for doubt in doubts]
        assert sum(marked[200:]) / 200 == pytest.approx(SHARE, abs=0.05)


def test_in_a_service_that_goes_well_nothing_is_doubtful() -> None:
    judge = Judge(shipped())
    assert not any(judge.is_among_worst(0.001 * number) for number in range(240))


def test_a_final_of_the_quick_translator_alone_is_judged_by_the_rules() -> None:
    alone = Translation("Un final.", "marian", avg_logprob=-0.1)
    said = "Twelve men came to the house of the Lord."
    original = caption(1, said, "Doce hombres vinieron a la casa del Señor.", final=True)
    final = replace(original, translation=alone)
    assert evidence_of(final).final_mean is None  # Marian would judge itself
    right = Judge(shipped()).judged(final)
    assert right.doubt is not None
    assert not right.is_doubtful
    lost = Check("number", "doubtful", "Twelve")
    assert Judge(shipped()).judged(replace(final, checks=(lost,))).is_doubtful
    short = replace(caption(1, "Please stand.", "Por favor, pónganse de pie.", final=True),
                    translation=alone)  # fmt: skip
    assert not Judge(shipped()).judged(short).is_doubtful


def test_a_reference_is_compared_as_the_translator_got_it() -> None:
    said = "Second Corinthians, chapter twelve, verse nine."
    final = caption(1, said, "2 Corintios 12:9.", final=True)
    assert evidence_of(final).length == pytest.approx(math.log(19 / 17))  # 47 spoken letters


@pytest.mark.parametrize(
    "translated",
    ["耶和华是我的牧者，我必不致缺乏。", "여호와는 나의 목자시니 내게 부족함이 없으리로다"],
    ids=["zh", "ko"],
)
def test_a_right_translation_is_as_long_in_every_script(translated: str) -> None:
    said = "The Lord is my shepherd; I shall not want."
    spanish = of_texts(said, "en", "El Señor es mi pastor, nada me falta.", [])["length"]
    assert of_texts(said, "en", translated, [])["length"] < spanish + 0.25
    assert of_texts(said, "en", translated[: len(translated) // 3], [])["length"] > spanish + 0.5


def test_what_nobody_has_an_opinion_of_is_not_judged() -> None:
    original = caption(1, "Twelve men came.", "Doce hombres.", final=True)
    alone = replace(original, translation=Translation("", "marian"))
    for final in (original, replace(alone, engine="gemma"), replace(alone, engine="source")):
        assert Judge(shipped()).judged(final).doubt is None
