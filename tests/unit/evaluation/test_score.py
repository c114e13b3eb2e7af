"""Scoring: sessions made from the demo sermon's own reference, whole, damaged and repeated."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from rich.console import Console

from pipeline.core.errors import SessionError
from pipeline.evaluation.reference import read_recording
from pipeline.evaluation.score import Score, score, table
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.events import EndEvent, Record
from pipeline.records.health import Dropped
from pipeline.records.utterance import FinalRecord
from pipeline.text.words import words
from scripts.support.journal import message, record, utc
from scripts.support.journal import session as write_session
from scripts.support.records import health_record
from tests.support.paths import ROOT

SERMON = ROOT / "demo" / "sermon.json"


@dataclass
class Said:
    """One utterance of an invented session: its texts and times."""

    start_s: float
    end_s: float
    source: str
    target: str
    filtered: str = ""
    engine: str = "gemma"


def sermon(laps: int = 1) -> list[Said]:
    """Return what a perfect run makes of the sermon: one utterance for each sentence."""
    recording = read_recording(SERMON, "en", "es")
    sentences = recording.sentences(laps * recording.duration_s)
    return [Said(s.start_s - 0.25, s.end_s + 0.1, s.source, s.target) for s in sentences]


def session(
    directory: Path, said: Iterable[Said], *, audio_s: float | None, speed: float = 1.0
) -> Path:
    """Write a session; each final appears 600 ms after its end."""
    captions: list[CaptionMessage] = []
    dropped = Dropped(blocks=1, records=0, partials=4, drafts=0)
    records: list[Record] = [health_record(audio_s=0.0, dropped=dropped)]
    for number, each in enumerate(said, 1):
        span: dict[str, Any] = {"start_s": each.start_s, "end_s": each.end_s}
        heard = span | {"stt_busy_ms": 0.0, "stt_ms": 50.0, "utc": utc(each.end_s / speed)}
        if each.filtered:
            records.append(record(number, each.source, filtered=each.filtered, **heard))
            continue
        final = FinalRecord(lang="es", text=each.target, engine=each.engine)
        records.append(record(number, each.source, each.target, final=final, **TIMES, **heard))
        captions.append(message(number, each.source, each.target, engine=each.engine, **span))
    if audio_s is not None:
        records.append(EndEvent(utc=utc(audio_s), unfinished=0, audio_s=audio_s))
    return write_session(directory, captions, records=records)


TIMES: dict[str, Any] = {
    "vad_wait_ms": 400.0,
    "partial_ms": 10.0,
    "final_busy_ms": 0.0,
    "final_ms": 130.0,
    "overhead_ms": 10.0,
    "last_syllable_to_final_ms": 600.0,
    "normalized_erasure": 1.0,
}


@pytest.fixture(scope="module")
def perfect(tmp_path_factory: pytest.TempPathFactory) -> Score:
    return scored(tmp_path_factory.mktemp("perfect"), sermon())


def scored(tmp_path: Path, said: list[Said], audio_s: float | None = 136.9, **kw: Any) -> Score:
    return score(session(tmp_path, said, audio_s=audio_s, **kw), SERMON)


def test_a_perfect_session(perfect: Score) -> None:
    result = perfect
    sentences = len(sermon())
    assert (result.utterances, result.finals) == (sentences, sentences)
    assert (result.wer, result.chrf, result.bleu) == (0.0, 100.0, 100.0)
    assert result.source_terms.found == result.source_terms.of > 20
    assert result.target_terms.found == result.target_terms.of == result.source_terms.of
    assert result.uncovered == []
    assert result.engines == {"gemma": sentences}
    assert result.filtered == {}
    assert result.dropped == {"blocks": 1, "records": 0, "partials": 4, "drafts": 0}
    assert result.normalized_erasure == 1.0
    assert orjson.loads(orjson.dumps(asdict(result)))["finals"] == sentences


def test_the_times_are_those_of_the_records(perfect: Score) -> None:
    result = perfect
    assert result.last_syllable_to_final is not None
    assert result.last_syllable_to_final.p50 == result.last_syllable_to_final.max == 600.0
    # The detector put the end 100 ms behind the true one.
    true = result.true_last_syllable_to_final
    assert true is not None
    assert true.p50 == pytest.approx(700.0, abs=0.6)
    assert true.count == len(sermon())
    stages = {name: spread.p50 for name, spread in result.stages.items() if spread is not None}
    assert stages == {
        "voice detector's wait": 400.0,
        "recognizer, waiting": 0.0,
        "recognizer": 50.0,
        "quick translator": 10.0,
        "final translator, waiting": 0.0,
        "final translator": 130.0,
        "everything else": 10.0,
    }


@pytest.mark.slow
def test_a_fast_session_has_no_true_delay(tmp_path: Path) -> None:
    fast = scored(tmp_path, sermon(), speed=4.0)
    assert fast.true_last_syllable_to_final is None
    assert fast.last_syllable_to_final is None
    assert fast.start_to_first_text is None
    assert scored(tmp_path / "one", sermon()[:1]).true_last_syllable_to_final is None


def test_an_utterance_cut_within_a_sentence_has_no_true_delay(tmp_path: Path) -> None:
    said = sermon()
    said[3].end_s -= 1.0
    result = scored(tmp_path, said)
    assert result.true_last_syllable_to_final is not None
    assert result.true_last_syllable_to_final.count == len(said) - 1


def test_a_lost_and_a_filtered_sentence_are_uncovered(tmp_path: Path) -> None:
    said = sermon()
    said[5].filtered = "no-speech"
    lost = said.pop(2)
    result = scored(tmp_path, said)
    assert result.uncovered == [lost.source, sermon()[5].source]
    assert result.filtered == {"no-speech": 1}
    missing = len(words(lost.source)) + len(words(sermon()[5].source))
    everything = sum(len(words(each.source)) for each in sermon())
    assert result.wer == pytest.approx(missing / everything, abs=1e-4)
    assert result.chrf is not None
    assert 80 < result.chrf < 100
    assert result.source_terms.found < result.source_terms.of


@pytest.mark.slow
def test_a_loop_is_scored_against_as_many_repetitions(tmp_path: Path) -> None:
    lap_s = read_recording(SERMON, "en", "es").duration_s
    once = len(sermon())
    said = sermon(3)[: 2 * once + 4]  # stopped after four sentences of the third lap
    result = scored(tmp_path, said, audio_s=said[-1].end_s + 0.5)
    assert (result.wer, result.chrf, result.uncovered) == (0.0, 100.0, [])
    assert result.audio_s == pytest.approx(2 * lap_s + 12.7, abs=0.5)
    lost = said.pop(once + 2)
    assert scored(tmp_path / "b", said, audio_s=result.audio_s).uncovered == [lost.source]


def test_a_session_that_broke_off_is_held_to_the_whole_sermon(tmp_path: Path) -> None:
    result = scored(tmp_path, sermon()[:10], audio_s=None)
    assert len(result.uncovered) == len(sermon()) - 10
    folder = tmp_path / "2026-11-22T09-30-00"
    with (folder / "diagnostics.jsonl").open("ab") as file:
        file.write(b'{"type":"utterance","id":10,"st')  # the power failed
    assert score(folder, SERMON) == result


def test_a_session_stopped_before_the_first_sentence_has_no_quality(tmp_path: Path) -> None:
    result = scored(tmp_path, [], audio_s=0.5)
    assert result.wer is result.chrf is result.bleu is result.normalized_erasure is None
    assert result.last_syllable_to_final is None
    assert result.source_terms.of == 0
    assert "WER" in printed(result)


def printed(result: Score) -> str:
    console = Console(file=io.StringIO(), width=80)
    console.print(table(result))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_table_tells_everything(tmp_path: Path) -> None:
    said = sermon()
    said[5].filtered = "no-speech"
    said[7].engine = "marian"
    shown = printed(scored(tmp_path, said))
    for part in (
        f"gemma {len(said) - 2}, marian 1",
        "no-speech 1",
        f"1: {sermon()[5].source[:20]}",
        "600 / 600 / 600 / 600",
        "10.0 / 10.0 / 10.0 / 10.0",
        "blocks 1, records 0",
    ):
        assert part in shown, part


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("diagnostics.jsonl", None, "session-unreadable"),
        ("captions.jsonl", b"no\njson\n", "session-unreadable"),
        ("reference.json", b"{", "reference-unreadable"),
    ],
)
def test_unreadable_files_are_named(
    tmp_path: Path, name: str, content: bytes | None, code: str
) -> None:
    folder = session(tmp_path, sermon()[:2], audio_s=7.0)
    (folder / "reference.json").write_bytes(SERMON.read_bytes())
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(SessionError) as refused:
        score(folder, folder / "reference.json")
    assert refused.value.code == code
    assert name in refused.value.message
