"""The reference: read from the demo sermon, repeated, and compared with time spans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.core.errors import SessionError
from pipeline.evaluation.reference import Recording, Sentence, read_recording
from tests.support.paths import ROOT

SERMON = ROOT / "demo" / "sermon.json"


def sentence(start_s: float, end_s: float) -> Sentence:
    return Sentence(0, "greeting", start_s, end_s, "Grace.", "Gracia.", (("Grace", "Gracia"),))


def test_the_sermon_is_read_in_either_direction() -> None:
    there = read_recording(SERMON, "en", "es")
    back = read_recording(SERMON, "es", "en")
    content = json.loads(SERMON.read_text())
    assert there.duration_s == content["duration_s"]
    assert [s.source for s in there.once] == [entry["en"] for entry in content["sentences"]]
    assert [(s.source, s.target) for s in back.once] == [(s.target, s.source) for s in there.once]
    named = next(s for s in there.once if "Mary" in s.source)
    assert ("Mary", "María") in named.terms


@pytest.mark.parametrize(
    ("audio_s", "starts"),
    [
        (0.0, []),
        (1.9, []),
        (2.0, [1.0]),
        (10.0, [1.0, 8.0]),
        (11.9, [1.0, 8.0]),
        (25.0, [1.0, 8.0, 11.0, 18.0, 21.0]),
    ],
)
def test_what_was_spoken_to_its_end_counts_however_often(
    audio_s: float, starts: list[float]
) -> None:
    recording = Recording(10.0, (sentence(1.0, 2.0), sentence(8.0, 9.5)))
    sentences = recording.sentences(audio_s)
    assert [each.start_s for each in sentences] == starts
    assert [each.lap for each in sentences] == [int(start // 10) for start in starts]


@pytest.mark.parametrize(
    ("start_s", "end_s", "overlap_s"),
    [(0.0, 5.0, 1.0), (1.5, 5.0, 0.5), (0.0, 1.25, 0.25), (2.5, 4.0, -0.5), (0.0, 0.5, -0.5)],
)
def test_overlap(start_s: float, end_s: float, overlap_s: float) -> None:
    assert sentence(1.0, 2.0).overlap_s(start_s, end_s) == overlap_s


def test_a_language_that_is_not_there_is_named() -> None:
    with pytest.raises(SessionError, match="lacks 'fr'") as refused:
        read_recording(SERMON, "en", "fr")
    assert refused.value.code == "reference-unreadable"


def test_a_file_that_is_no_reference_is_named(tmp_path: Path) -> None:
    path = tmp_path / "reference.json"
    for content in (None, "{", '{"sentences": []}', '{"sentences": [1]}'):
        if content is not None:
            path.write_text(content)
        with pytest.raises(SessionError, match=r"reference\.json") as refused:
            read_recording(path, "en", "es")
        assert refused.value.code == "reference-unreadable"
