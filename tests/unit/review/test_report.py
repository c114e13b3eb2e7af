"""The report of a session as a whole: complete, self-contained, with all text escaped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.core.errors import SessionError
from pipeline.core.resources import bundled
from pipeline.core.types import Correction
from pipeline.records.events import EndEvent, FaultEvent, Record, RuleEvent
from pipeline.review.report import report
from scripts.support.journal import BEGAN, message, record, session, utc
from scripts.support.records import health_record
from tests.support.daemon import Service
from tests.support.examples import examples
from tests.support.pages import Reader

POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def service(directory: Path, said: str) -> Path:
    """Write a session in which every text of people and engines is `said`."""
    fix = Correction(rule=said, found=said, replacement=said, start=0)
    fault = FaultEvent(utc=utc(25), stage=said, code=said, message=said)
    name = BEGAN.strftime("%Y-%m-%dT%H-%M-%S")
    return session(
        directory,
        [
            message(1, said, said),
            message(2, "two", said, engine="operator"),
            message(3, said, said, engine=said, lang="es"),
        ],
        f"{name}-{len(list(directory.glob('*')))}",
        records=[
            health_record(utc=utc(0), audio_s=0.0, state="no-audio", reason=said, source=said),
            record(1, said, said, corrections=(fix,), flags=("estimate:flag",), lang=said),
            record(2, "two", said),
            record(4, said, filtered=said),
            fault,
            RuleEvent(utc=utc(25), id=said, heard=said, write=said, removed=False),
        ],
    )


def structure(page: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(name, tuple(key for key, _ in pairs)) for name, pairs in Reader(page).elements]


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, tuple[str, ...]]]:
    return structure(report(service(tmp_path_factory.mktemp("harmless"), "harmless")))


@pytest.mark.slow
@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    said=st.one_of(
        st.text(st.sampled_from("<>&'\"/=!-[]; abscriptylet"), min_size=1, max_size=40),
        st.sampled_from(
            ["</style><script>alert(1)</script>", "--><img src=x onerror=alert(1)>", "&lt;b&gt;"]
        ),
    ).filter(str.strip)
)
def test_any_text_is_text(
    tmp_path: Path, harmless: list[tuple[str, tuple[str, ...]]], said: str
) -> None:
    page = report(service(tmp_path, f"x{said}x"))
    assert structure(page) == harmless
    shown = " ".join(Reader(page).text.split())  # as a browser shows it
    assert shown.count(" ".join(f"x{said}x".split())) >= 3


def test_it_needs_nothing_from_anywhere(tmp_path: Path) -> None:
    page = report(service(tmp_path, "amen"))
    names = {name for name, _ in structure(page)}
    assert not names & {"script", "img", "link", "iframe", "object", "base", "form"}
    targets = [value for _, pairs in Reader(page).elements for key, value in pairs if key == "href"]
    assert targets
    assert all(str(target).startswith("#") for target in targets)
    ids = {value for _, pairs in Reader(page).elements for key, value in pairs if key == "id"}
    assert {str(target)[1:] for target in targets} <= ids
    assert not re.search(r"url\(|@import|https?:", page)
    policies = [pairs for name, pairs in Reader(page).elements if ("content", POLICY) in pairs]
    assert len(policies) == 1


def test_it_tells_when_and_how_quickly(tmp_path: Path) -> None:
    records = [record(n, "said", "dicho") for n in range(1, 101)]
    captions = [message(n, "said", "dicho") for n in range(1, 101)]
    text = Reader(report(session(tmp_path, captions, records=records))).text
    assert "Captions of Sunday, 22 November 2026, 09:30" in text
    assert "100 captions in 16 min 42 s." in text
    assert "Half of them were there within 1.4 s of the last syllable" in text
    assert "only real time tells" not in text
    assert "too slow" not in text
    assert "0things went wrong" in text


def test_a_file_played_fast_says_that_its_latencies_are_waiting(tmp_path: Path) -> None:
    records = [record(n, "said", "dicho", utc=utc(n)) for n in range(1, 9)]
    captions = [message(n, "said", "dicho") for n in range(1, 9)]
    page = report(session(tmp_path, captions, records=records))
    assert "only real time tells" in page


def test_a_machine_that_is_too_slow_is_told(tmp_path: Path) -> None:
    fields = {"last_syllable_to_final_ms": 7000.0}
    records = [record(n, "said", "dicho", **fields) for n in range(1, 9)]
    captions = [message(n, "said", "dicho") for n in range(1, 9)]
    page = report(session(tmp_path, captions, records=records))
    assert "This machine is too slow for its models" in page


def test_it_tells_who_heard_what_when_a_servers_recognizer_went(tmp_path: Path) -> None:
    names = ["openai:large-v3"] * 3 + ["whisper:base-8s"] * 2 + [""]
    records = [record(n, "said", "dicho", recognizer=who) for n, who in enumerate(names, 1)]
    captions = [message(n, "said", "dicho") for n in range(1, 7)]
    text = Reader(report(session(tmp_path, captions, records=records))).text
    assert "heard by 3 openai:large-v3, 2 whisper:base-8s" in text


@pytest.mark.parametrize(
    ("heard_s", "told"), [(59.0, "in 59 s."), (61.0, "in 1 min 01 s."), (3725.0, "in 1 h 02 min.")]
)
def test_lengths_are_told_as_people_do(tmp_path: Path, heard_s: float, told: str) -> None:
    end = EndEvent(utc=utc(heard_s), unfinished=0, audio_s=heard_s)
    assert told in report(session(tmp_path, [], records=[end]))


def test_an_empty_session_has_a_page_too(tmp_path: Path) -> None:
    text = Reader(report(session(tmp_path, [], "an odd name"))).text
    assert "Captions of an odd name" in text
    assert "0 captions in 0 s." in text


def test_a_reference_adds_what_was_misheard(tmp_path: Path) -> None:
    captions = [message(1, "Welcome, my friends, and good morning.", "Bienvenidos.", start_s=0.8)]
    records: list[Record] = [
        record(1, captions[0].source.text, "Bienvenidos.", normalized_erasure=0.0),
        health_record(utc=utc(0), audio_s=0.0),
        EndEvent(utc=utc(9), unfinished=0, audio_s=7.0),
    ]
    folder = session(tmp_path, captions, records=records)
    text = Reader(report(folder, bundled("demo", "sermon.json"))).text
    assert "words misheard (WER)" in text
    assert "translation (chrF)" in text
    assert "Missed sentences" in text
    with pytest.raises(SessionError, match="reference-unreadable"):
        report(folder, tmp_path / "nothing.json")


@pytest.mark.slow
def test_a_session_of_the_daemon_itself(tmp_path: Path) -> None:
    made = Service(tmp_path)
    assert made.run() == 0
    text = Reader(report(made.app.folder)).text
    for said in ("sentence number one is spoken", "sentence-gemma number-gemma one-gemma"):
        assert said in text


def test_one_caption_says_nothing_of_the_pace(tmp_path: Path) -> None:
    page = report(session(tmp_path, [message(1, "one", "uno")], records=[record(1, "one", "uno")]))
    assert "within 0.9 s of the last syllable" in page
    assert "as fast as the machine could" not in page
