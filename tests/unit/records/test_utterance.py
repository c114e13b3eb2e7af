"""The record of an utterance: each time counts once, each figure is counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import orjson
import pytest
from pydantic import TypeAdapter

from pipeline.core.types import Caption, Opinion, Recognition, Span, Translation, Word
from pipeline.records.utterance import UtteranceRecord, filtered_record, judged
from pipeline.session.reader import parse_record
from pipeline.text.commit_policy import normalized_erasure
from tests.support.utterances import UTC, draft, final, kept, record, transcript


def record_filtered(*, shown: Sequence[str] = (), **changes: Any) -> dict[str, Any]:
    return asdict(filtered_record(transcript(**changes), mode="live", utc=UTC, shown=shown))


def test_the_whole_record() -> None:
    assert record(final(), draft()) == {
        "type": "utterance",
        "id": 7,
        "utc": UTC,
        "mode": "demo",
        "lang": "en",
        "start_s": 2.0,
        "end_s": 4.0,
        "cause": "silence",
        "level_dbfs": -23.4,
        "peak_dbfs": -6.1,
        "recognizer": "whisper:base-8s",
        "raw_text": "the grace of gods",
        "text": "the grace of God",
        "corrections": ({"rule": "god", "found": "gods", "replacement": "God", "start": 13},),
        "avg_logprob": -0.2123,
        "no_speech_prob": 0.01,
        "compression_ratio": 1.2,
        "words": (
            {"text": "the", "probability": 0.988},
            {"text": "gods", "probability": 0.4},
        ),
        "lang_prob": 0.98,
        "lost_tail_s": 1.26,
        "tail_recovered": True,
        "filtered": "",
        "eager": False,
        "cancelled_runs": 0,
        "reopened": 0,
        "pauses_ms": (),
        "pause_before_ms": None,
        "updates": 3,
        "partial": {"lang": "es", "text": "la gracia de Dios", "engine": "marian"},
        "final": {
            "lang": "es",
            "text": "La gracia de Dios.",
            "engine": "gemma",
            "tokens": 8,
            "tokens_per_s": 20.0,
            "prompt_tokens": 40,
            "reused_tokens": 30,
            "draft_tokens": 7,
            "avg_logprob": -0.105,
            "stopped": "end",
        },
        # The final's capital letter makes it replace all four words of the draft.
        "normalized_erasure": 1.0,
        "revised": 2,
        "agreement": 0.8508,
        "vad_wait_ms": 400.0,
        "stt_busy_ms": 100.0,
        "stt_ms": 200.0,
        "partial_ms": 10.0,
        "final_busy_ms": 250.0,
        "final_ms": 400.0,
        "start_to_first_text_ms": 1300.0,
        "last_syllable_to_partial_ms": 711.0,
        "last_syllable_to_final_ms": 1402.0,
        "held_ms": None,
        # 1002 ms since the utterance was closed: 300 recognizer, 10 draft, 650 final translator
        "overhead_ms": 42.0,
        "verse": "",
        "checks": (),
        "opinion": None,
        "doubt": None,
        "is_doubtful": False,
        "repeats": None,
        "queues": {"mailbox": 1},
        "flags": (),
        "quality": {
            # 0.35 * 0.7062 + 0.45 * 0.9003 + 0.2 * 0.8508, with 0.9003 = exp(-0.105)
            "score": 0.8225,
            "parts": {"stt": 0.7062, "estimate": 0.9003, "agreement": 0.8508},
            "decision": "moderate",
            "excluded": (),
        },
    }


def test_a_record_is_json_and_fits_its_own_schema() -> None:
    adapter = TypeAdapter(UtteranceRecord)
    for made in (
        kept(final(), draft()),
        kept(final(), None),
        filtered_record(transcript(filtered="no-speech"), mode="live", utc=UTC, shown=["a"]),
    ):
        line = orjson.dumps(made)
        assert line == orjson.dumps(asdict(made))
        assert adapter.validate_json(line, strict=True) == made
    properties = adapter.json_schema()["properties"]
    assert set(properties) == set(record(final(), draft()))


def test_a_draft_that_became_the_final_is_counted_once() -> None:
    made = record(replace(draft(), final=True), draft(), published_s=100.315)
    assert (made["final_ms"], made["final_busy_ms"]) == (None, None)
    assert made["final"]["engine"] == "marian"
    assert made["final"]["tokens_per_s"] == 500.0
    assert made["partial_ms"] == 10.0
    assert made["agreement"] is None
    assert made["overhead_ms"] == pytest.approx(315 - 300 - 10)


def test_without_a_draft_the_final_engine_alone_counts() -> None:
    made = record(final(), None)
    assert made["partial"] is None
    assert made["agreement"] is None
    assert made["partial_ms"] is made["last_syllable_to_partial_ms"] is None
    assert made["overhead_ms"] == pytest.approx(1002 - 300 - 650)


def test_the_time_that_a_final_was_kept_back_is_told_and_is_not_ours() -> None:
    at_once = record(final(), draft())
    made = record(final(), draft(), published_s=101.002 + 1.75, held_s=1.75)
    assert (at_once["held_ms"], made["held_ms"]) == (None, 1750.0)
    waited = made["last_syllable_to_final_ms"] - at_once["last_syllable_to_final_ms"]
    assert waited == pytest.approx(1750)
    assert made["overhead_ms"] == pytest.approx(at_once["overhead_ms"], abs=0.2)


def test_a_source_caption_is_no_translation_and_has_no_times_of_one() -> None:
    of = transcript()
    stand_in = Caption(of, "en", of.text, "source", final=False)
    made = record(replace(stand_in, final=True), stand_in, published_s=100.31)
    told = {name: value for name, value in made["final"].items() if value is not None}
    assert told == {"lang": "en", "text": "the grace of God", "engine": "source"}
    assert (made["partial_ms"], made["final_ms"]) == (None, None)
    # The draft was ready when the recognizer was done.
    assert made["last_syllable_to_partial_ms"] == 700.0
    assert made["overhead_ms"] == 10.0
    quality = made["quality"]
    assert (quality["excluded"], quality["decision"]) == (("untranslated",), "reject")
    assert quality["parts"]["estimate"] is None


def test_an_engine_without_measures_leaves_none() -> None:
    of = transcript(recognition=Recognition("x", float("-inf"), float("nan"), None))
    made = record(final(of=of), None, first_shown_s=None)
    assert made["avg_logprob"] is made["no_speech_prob"] is made["compression_ratio"] is None
    assert made["start_to_first_text_ms"] is None


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_whatever_numbers_engines_give_a_record_can_be_read_back(number: float) -> None:
    words = (Word("x", number), Word("y", 0.5))
    heard = Recognition("x", number, number, number, words, lang_prob=number)
    made = replace(
        final(of=transcript(recognition=heard)),
        opinion=Opinion(number, -0.5, number),
        translation=Translation("x", "gemma", avg_logprob=number),
        doubt=number,
    )
    whole = kept(made, draft())
    assert (whole.opinion, whole.doubt) == (None, None)
    assert whole.words == (Word("x", 0.0), Word("y", 0.5))
    assert parse_record(orjson.dumps(whole)) == whole


def test_a_transcript_older_than_the_closing_is_no_time_after_it() -> None:
    # The recognizer failed on the final, so its last, earlier partial replaces the final.
    of = transcript(span=Span(99.0, 99.4))
    made = record(final(of=of), draft(of=of))
    assert made["overhead_ms"] == pytest.approx(1002 - 10 - 650)


def test_empty_texts_do_not_agree() -> None:
    assert record(final(), draft(""))["agreement"] is None


@pytest.mark.parametrize(
    ("shown", "updates", "erasure"),
    [
        ([], 1, 0.0),
        (["La gracia de Dios."], 1, 0.0),
        (["La", "La gracia"], 3, 0.0),
        (["Mi gracia", "La gracia"], 3, 0.5),
    ],
)
def test_the_final_counts_among_the_texts_shown(
    shown: list[str], updates: int, erasure: float
) -> None:
    made = record(final(), None, shown=shown)
    assert (made["updates"], made["normalized_erasure"]) == (updates, erasure)


@pytest.mark.parametrize(
    ("texts", "erasure"),
    [
        (["a", "a b", "a b c"], 0.0),
        (["a b x", "a b c"], 1 / 3),
        (["a b c d", "a b"], 1.0),
        (["x y", "a b", "x y"], 2.0),
        ([], None),
        (["a b", ""], None),
    ],
)
def test_normalized_erasure(texts: list[str], erasure: float | None) -> None:
    assert normalized_erasure(texts) == erasure


def test_a_filtered_record_says_why_and_has_no_final() -> None:
    made = record_filtered(filtered="repetition", shown=["la", "la la"])
    assert made["filtered"] == "repetition"
    assert (made["final"], made["partial"], made["overhead_ms"]) == (None, None, None)
    assert (made["updates"], made["normalized_erasure"]) == (2, None)
    assert made["stt_ms"] == 200.0
    assert made["raw_text"] == "the grace of gods"
    assert (made["flags"], made["quality"]) == ((), None)


def test_a_filtered_text_has_the_flags_of_what_was_heard() -> None:
    of = transcript(filtered="no-speech", recognition=Recognition("x", -1.2, 0.7, 1.0))
    made = asdict(filtered_record(of, mode="live", utc=UTC))
    assert made["flags"] == ("avg-logprob:reject", "no-speech-prob:reject")
    assert made["quality"] is None


def test_another_estimate_takes_the_place_of_the_log_probability() -> None:
    read = kept(final(), draft())
    assert judged(read) == read
    again = judged(read, 0.65)
    assert again.flags == ("estimate:flag",)
    assert again.quality is not None
    assert again.quality.parts.estimate == 0.65
    assert replace(again, flags=read.flags, quality=read.quality) == read


def test_a_failed_final_takes_its_time_but_keeps_the_drafts_speed() -> None:
    own = draft()
    made = record(replace(own, final=True, span=Span(100.6, 101.0)), own)
    assert made["final_ms"] == 400.0
    assert made["final"]["tokens_per_s"] == 500.0
