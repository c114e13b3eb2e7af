"""sherpa-onnx itself, on a transducer that hears tones (no published weights can be had here)."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pipeline.core.errors import EngineError, EngineGoneError, ModelError
from pipeline.core.types import SAMPLE_RATE, Pcm
from pipeline.engines.process.engine_process import RecognizerProcess
from pipeline.engines.specification import EngineSpec
from pipeline.engines.streaming.incremental import Heard, IncrementalRecognizer
from pipeline.engines.streaming.sherpa import Sherpa, find_files, pieces
from pipeline.text.commit_policy import CommitPolicy
from tests.support.engine_processes import Kept, kept_processes
from tests.support.needs import needs_module
from tests.support.tiny_transducer import tones, write_transducer

SPOKEN = ("", "▁GRACE", "▁TO", "▁YOU", "R", "▁GRACE", "")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs_module("sherpa_onnx", "onnx")
    return write_transducer(tmp_path_factory.mktemp("models") / "tones")


@pytest.fixture
def sherpa(model: Path) -> Iterator[Sherpa]:
    engine = Sherpa(model, threads=1, section="stt")
    engine.load()
    yield engine
    engine.close()


def text(heard: Heard) -> str:
    return "".join(piece.text for piece in (*heard.committed, *heard.tail)).strip()


def chunks(pcm: Pcm, size: int) -> list[Pcm]:
    return [pcm[at : at + size] for at in range(0, len(pcm), size)]


def test_what_is_said_is_heard_word_by_word(sherpa: Sherpa) -> None:
    said = [text(sherpa.push(chunk)) for chunk in chunks(tones(*SPOKEN), 1600)]
    said.append(text(sherpa.push(np.zeros(0, np.float32), is_last=True)))
    assert list(dict.fromkeys(said)) == [
        *("", "grace", "grace to", "grace to you", "grace to your", "grace to your grace"),
    ]


def test_no_word_is_ever_taken_back(sherpa: Sherpa) -> None:
    before: tuple[Any, ...] = ()
    for chunk in chunks(tones(*SPOKEN), 1000):
        heard = sherpa.push(chunk)
        assert heard.tail == ()
        assert [p.id for p in heard.committed][: len(before)] == [p.id for p in before]
        before = heard.committed
    assert before


def test_pieces_of_any_length_give_the_same_text(sherpa: Sherpa) -> None:
    texts = set()
    for size in (700, 5120, 10**6):
        sherpa.reset()
        for chunk in chunks(tones(*SPOKEN), size):
            sherpa.push(chunk)
        texts.add(text(sherpa.push(np.zeros(0, np.float32), is_last=True)))
    assert texts == {"grace to your grace"}


def test_it_tells_when_a_word_was_spoken_and_how_sure_it_is(sherpa: Sherpa) -> None:
    heard = sherpa.push(tones(*SPOKEN), is_last=True).committed
    starts_s = np.array([piece.start_s for piece in heard], np.float64)
    np.testing.assert_allclose(starts_s, np.arange(0.3, 1.6, 0.3), atol=0.1)
    assert all(a.end_s == b.start_s for a, b in itertools.pairwise(heard))
    assert all(piece.probability is not None and 0 < piece.probability <= 1 for piece in heard)


def test_after_a_reset_nothing_of_the_speech_before_is_left(sherpa: Sherpa) -> None:
    sherpa.push(tones("▁GRACE", "▁TO"))
    sherpa.reset()
    assert text(sherpa.push(tones("▁YOU", ""), is_last=True)) == "you"


def test_all_but_the_last_word_stands_at_once(sherpa: Sherpa) -> None:
    pcm = tones("▁GRACE", "▁TO", "▁YOU", "")
    heard = IncrementalRecognizer(sherpa).recognize(pcm, final=False)
    commit = CommitPolicy().push(
        heard.tokens,
        heard.ends_s,
        len(pcm) / SAMPLE_RATE,
        is_final=False,
        unchanging=heard.committed,
    )
    assert [token.text for token in commit.committed] == [" grace", " to"]


def test_quantized_parts_go_before_others(model: Path, tmp_path: Path) -> None:
    for name in ("encoder-1.onnx", "encoder-1.int8.onnx", "decoder-1.onnx", "joiner-1.onnx"):
        (tmp_path / name).touch()
    (tmp_path / "tokens.txt").touch()
    found = find_files(tmp_path, "stt.model")
    assert {part: file.name for part, file in found.items()} == {
        "encoder": "encoder-1.int8.onnx",
        "decoder": "decoder-1.onnx",
        "joiner": "joiner-1.onnx",
        "tokens": "tokens.txt",
    }


def test_a_folder_that_lacks_a_part_is_told_by_its_setting(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"stt\.model: there is no folder .*\[model-missing\]"):
        find_files(tmp_path / "none", "stt.model")
    (tmp_path / "encoder.onnx").touch()
    with pytest.raises(ModelError, match=r"lacks decoder, joiner, tokens\..*\[model-wrong-kind\]"):
        find_files(tmp_path, "stt.model")


def test_a_file_that_is_no_model_is_a_broken_model(model: Path, tmp_path: Path) -> None:
    for name in ("encoder", "decoder", "joiner"):
        (tmp_path / f"{name}.onnx").write_bytes(b"not a model")
    (tmp_path / "tokens.txt").write_text((model / "tokens.txt").read_text())
    with pytest.raises(ModelError, match=r"stt\.model: .*\[model-broken\]"):
        Sherpa(tmp_path, section="stt").load()


def result(text: str, tokens: list[str], timestamps: list[float]) -> Any:
    return SimpleNamespace(text=text, tokens=tokens, timestamps=timestamps, ys_probs=[])


def test_a_text_with_small_letters_stays_as_it_is() -> None:
    made = pieces(result(" Grace to you", [" Gr", "ace", " to", " you"], [0.0, 0.1, 0.2, 0.3]))
    assert [piece.text for piece in made] == [" Gr", "ace", " to", " you"]


def test_tokens_that_are_bytes_are_read_as_words_of_the_whole_text() -> None:
    made = pieces(
        result(" né là", ["▁n", "<0xC3>", "<0xA9>", "▁l", "à"], [0.0, 0.1, 0.2, 0.3, 0.4])
    )
    assert [piece.text for piece in made] == [" né", " là"]
    assert {piece.start_s for piece in made} == {0.4}


def test_nothing_heard_has_no_pieces() -> None:
    assert pieces(result("", [], [])) == ()


@pytest.fixture
def keep() -> Iterator[Callable[..., Kept]]:
    with kept_processes() as make:
        yield make


def described(model: Path) -> EngineSpec:
    return EngineSpec("sherpa-onnx", f"sherpa-onnx:{model.name}", model, {"threads": 1}, "stt")


@pytest.mark.slow
def test_a_process_that_dies_in_the_middle_of_an_utterance_costs_no_word(
    model: Path, keep: Callable[..., Kept]
) -> None:
    kept = keep("stt", engine=described(model))
    process = kept.process
    assert isinstance(process, RecognizerProcess)
    process.load()
    pcm = tones(*SPOKEN)
    half = process.recognize(pcm[: len(pcm) // 2], final=False)
    assert half.committed == len(half.tokens) > 0
    os.kill(kept.pid, signal.SIGKILL)
    prefix = [token.id for token in half.tokens]
    with pytest.raises(EngineGoneError):
        process.recognize(pcm, final=False, prefix=prefix)
    whole = process.recognize(pcm, final=False, prefix=prefix)
    assert whole.text == "grace to your grace"
    assert [token.id for token in whole.tokens][: len(prefix)] == prefix


@pytest.mark.slow
def test_a_kind_of_model_that_the_library_does_not_know_ends_its_own_process_at_most(
    tmp_path: Path, keep: Callable[..., Kept]
) -> None:
    needs_module("sherpa_onnx", "onnx")
    model = write_transducer(tmp_path / "unheard-of", kind="unheard-of")
    kept = keep("stt", engine=described(model), restarts=False)
    with pytest.raises((EngineError, ModelError)) as caught:
        kept.process.load()
    assert str(model) in str(caught.value)
