"""The judgement of a caption: each limit from both sides, each figure counted by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.records.quality import (
    THRESHOLDS,
    Limit,
    Measures,
    Parts,
    Quality,
    confidence,
    flags,
    judge,
    probability,
)
from tests.support.examples import examples

GOOD = Measures(
    source="The Lord is my shepherd.",
    target="El Señor es mi pastor, amén.",
    translated=True,
    avg_logprob=-0.05,
    no_speech_prob=0.01,
    compression_ratio=1.1,
    estimate=0.9,
    agreement=0.95,
)


def but(**changes: Any) -> Measures:
    return replace(GOOD, **changes)


def test_a_good_caption_is_accepted() -> None:
    assert flags(GOOD) == ()
    # 1 / (1 + exp(-2.5)) = 0.9241; 0.35 * 0.9241 + 0.45 * 0.9 + 0.2 * 0.95
    assert judge(GOOD) == Quality(
        score=0.9184,
        parts=Parts(stt=0.9241, estimate=0.9, agreement=0.95),
        decision="accept",
        excluded=(),
    )


def test_confidence_has_no_extremes_that_break_it() -> None:
    assert confidence(-0.3) == 0.5
    assert confidence(-1e6) == 0.0
    assert confidence(1e6) == 1.0
    assert confidence(None) is None


def test_the_log_probability_is_an_estimate() -> None:
    estimates = [probability(logprob) for logprob in (math.log(0.8), None, 0.0)]
    assert estimates == [pytest.approx(0.8), None, 1.0]
    assert probability(1e-9) == 1.0  # rounding may leave a mean above 0


@pytest.mark.parametrize(
    ("field", "name", "fine", "flagged", "rejected"),
    [
        ("avg_logprob", "avg-logprob", -0.5, -0.51, -1.01),
        ("no_speech_prob", "no-speech-prob", 0.3, 0.31, 0.61),
        ("compression_ratio", "compression-ratio", 2.0, 2.01, 2.41),
        ("estimate", "estimate", 0.7, 0.69, 0.49),
        ("agreement", "agreement", 0.6, 0.59, 0.39),
    ],
)
def test_each_measure_has_two_limits(
    field: str, name: str, fine: float, flagged: float, rejected: float
) -> None:
    assert flags(but(**{field: fine})) == ()
    assert flags(but(**{field: None})) == ()
    assert flags(but(**{field: flagged})) == (f"{name}:flag",)
    assert flags(but(**{field: rejected})) == (f"{name}:reject",)
    assert judge(but(**{field: rejected})).decision == "reject"


def test_a_value_at_a_limit_is_not_past_it() -> None:
    high, low = Limit(0.3, 0.6), Limit(-0.5, -1.0)
    assert [high.passed(value) for value in (0.3, 0.6, 0.61)] == [None, "flag", "reject"]
    assert [low.passed(value) for value in (-0.5, -1.0, -1.01)] == [None, "flag", "reject"]


@pytest.mark.parametrize(
    ("score", "decision"),
    [
        (1.0, "accept"),
        (0.85, "accept"),
        (0.8499, "moderate"),
        (0.70, "moderate"),
        (0.6999, "review"),
        (0.50, "review"),
    ],
)
def test_the_score_decides(score: float, decision: str) -> None:
    # The only known part has all the weight. The limits of the two other parts are above 0.5,
    # so only the estimate can be that low.
    judged = judge(but(avg_logprob=None, agreement=None, estimate=score))
    assert (judged.score, judged.decision) == (score, decision)


def test_a_low_score_without_a_flag_past_its_second_limit_is_rejected() -> None:
    measures = but(avg_logprob=-0.9, estimate=None, agreement=None)
    assert flags(measures) == ("avg-logprob:flag",)
    assert judge(measures).score == 0.0025
    assert judge(measures).decision == "reject"


@pytest.mark.parametrize(
    ("known", "score"),
    [
        ({"avg_logprob", "estimate", "agreement"}, 0.35 * 0.5 + 0.45 * 0.8 + 0.2 * 0.6),
        ({"avg_logprob", "estimate"}, (0.35 * 0.5 + 0.45 * 0.8) / 0.8),
        ({"avg_logprob", "agreement"}, (0.35 * 0.5 + 0.2 * 0.6) / 0.55),
        ({"estimate", "agreement"}, (0.45 * 0.8 + 0.2 * 0.6) / 0.65),
    ],
)
def test_the_weights_are_those_of_the_parts_that_exist(known: set[str], score: float) -> None:
    parts = {"avg_logprob": -0.3, "estimate": 0.8, "agreement": 0.6}
    given_ = {name: value if name in known else None for name, value in parts.items()}
    assert judge(but(**given_)).score == pytest.approx(score, abs=1e-4)


def test_of_a_caption_nothing_is_known_about_a_person_decides() -> None:
    judged = judge(but(avg_logprob=None, estimate=None, agreement=None))
    assert (judged.score, judged.decision) == (None, "review")


@pytest.mark.parametrize(
    ("changes", "excluded"),
    [
        ({"compression_ratio": 2.41}, "compression-ratio"),
        ({"no_speech_prob": 0.61}, "no-speech-prob"),
        ({"source": "Good morning!", "target": "¡Buenos días!"}, "too-short"),
        ({"target": "the Lord is my shepherd"}, "untranslated"),
        ({"translated": False}, "untranslated"),
        ({"target": "El pastor."}, "length-ratio"),
        (
            {"target": "El Señor es mi pastor, y nada me faltará en los días de mi vida."},
            "length-ratio",
        ),
    ],
)
def test_what_is_of_no_use_is_excluded(changes: dict[str, Any], excluded: str) -> None:
    judged = judge(but(**changes))
    assert judged.excluded == (excluded,)
    assert judged.decision == "reject"
    assert judged.score == judge(GOOD).score


@pytest.mark.parametrize(("characters", "ok"), [(79, False), (80, True), (250, True), (251, False)])
def test_the_length_ratio_counts_characters(characters: int, ok: bool) -> None:
    source = "one two three " + "x" * 86
    judged = judge(but(source=source, target="y" * characters))
    assert (judged.excluded == ()) is ok


JOHN = (
    "For God so loved the world that he gave his one and only Son, that whoever believes in him "
    "shall not perish but have eternal life."
)


@pytest.mark.parametrize(
    "target",
    [
        "神爱世人，甚至将他的独生子赐给他们，叫一切信他的，不至灭亡，反得永生。",
        (
            "神は、実に、そのひとり子をお与えになったほどに、世を愛された。それは御子を信じる者が、"
            "一人として滅びることなく、永遠のいのちを持つためである。"
        ),
        (
            "하나님이 세상을 이처럼 사랑하사 독생자를 주셨으니 이는 그를 믿는 자마다 멸망하지 않고 "
            "영생을 얻게 하려 하심이라"
        ),
        (
            "لأنه هكذا أحب الله العالم حتى بذل ابنه الوحيد لكي لا يهلك كل من يؤمن به بل تكون له "
            "الحياة الأبدية"
        ),
        (
            "כי כה אהב אלוהים את העולם עד שנתן את בנו יחידו, למען לא יאבד כל המאמין בו, אלא ינחל "
            "חיי עולם."
        ),
    ],
    ids=["zh", "ja", "ko", "ar", "he"],
)
def test_a_right_translation_is_as_long_in_every_script(target: str) -> None:
    judged = judge(but(source=JOHN, target=target))
    assert (judged.excluded, judged.decision) == ((), "accept")
    assert judge(but(source=target, target=JOHN)).excluded == ()
    # A third of the text is too short here as well.
    short = judge(but(source=JOHN, target=target[: len(target) // 3]))
    assert short.excluded == ("length-ratio",)


def test_several_exclusions_are_all_told() -> None:
    assert judge(but(source="", target="")).excluded == (
        "too-short",
        "untranslated",
        "length-ratio",
    )


MAYBE = st.none() | st.floats(0, 1)


@settings(max_examples=examples(30))
@given(
    st.builds(
        Measures,
        source=st.text(max_size=30),
        target=st.text(max_size=30),
        translated=st.booleans(),
        avg_logprob=st.none() | st.floats(-20, 0),
        no_speech_prob=MAYBE,
        compression_ratio=st.none() | st.floats(0, 10),
        estimate=MAYBE,
        agreement=MAYBE,
    )
)
def test_any_caption_can_be_judged(measures: Measures) -> None:
    judged = judge(measures)
    assert judged.score is None or 0 <= judged.score <= 1
    past = any(flag.endswith(":reject") for flag in flags(measures))
    if past or judged.excluded:
        assert judged.decision == "reject"
    if judged.decision == "accept":
        assert judged.score is not None
        assert judged.score >= THRESHOLDS.accept
