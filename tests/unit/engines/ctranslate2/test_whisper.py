from __future__ import annotations

import difflib
import json
import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.audio.file import read_audio
from pipeline.core.errors import EngineCancelledError, EngineError, ModelError
from pipeline.core.resources import bundled
from pipeline.core.types import SAMPLE_RATE, Pcm, Recognition
from pipeline.engines.ctranslate2.whisper import Whisper, padded, window_frames
from pipeline.evaluation.word_errors import word_error_rate
from pipeline.text.commit_policy import CommitPolicy, revised_words
from tests.support.needs import needs_file
from tests.support.paths import TESTIMONY

STARTER = bundled("models", "starter", "stt")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the starter model that a test may break."""
    needs_file(STARTER)
    return shutil.copytree(STARTER, tmp_path / "stt")


def test_frames_of_the_window() -> None:
    assert window_frames(content=300, floor=1000, n_mels=80) == 1000
    assert window_frames(content=900, floor=1000, n_mels=80) == 1100
    assert window_frames(content=901, floor=1000, n_mels=80) == 1102, "even"
    assert window_frames(content=2900, floor=1000, n_mels=80) == 3000, "never more than 30 s"
    assert window_frames(content=0, floor=256, n_mels=128) == 258, "never twice the mel bands"


@pytest.mark.slow
def test_a_recording_is_padded_with_its_own_silence(whisper: Whisper) -> None:
    """Padding features is the same as padding the samples with digital silence."""
    speech = np.random.default_rng(1).normal(0, 0.1, 2 * SAMPLE_RATE).astype(np.float32)
    extract = whisper._model.feature_extractor
    behind = extract(np.pad(speech, (0, 4 * SAMPLE_RATE)), padding=160)
    out = padded(extract(speech, padding=160), 600)
    assert out.shape == (80, 600)
    np.testing.assert_allclose(out[:, 210:], behind[:, 210:600], atol=1e-6)
    np.testing.assert_allclose(out[:, :190], behind[:, :190], atol=1e-6)


def test_digital_silence_is_padded_with_itself_and_what_does_not_fit_is_cut_off(
    whisper: Whisper,
) -> None:
    features = whisper._model.feature_extractor(np.zeros(8000, np.float32), padding=160)
    np.testing.assert_allclose(padded(features, 600), features[0, 0], atol=1e-6)
    assert padded(np.ones((80, 3001), np.float32), 3000).shape == (80, 3000)


@pytest.mark.slow
def test_hears_the_sermon(whisper: Whisper, sermon: list[tuple[Pcm, str]]) -> None:
    assert whisper.name == f"whisper:{STARTER.name}"
    heard = [whisper.recognize(pcm, final=True) for pcm, _ in sermon[:8]]
    errors = word_error_rate((said, h.text) for (_, said), h in zip(sermon, heard, strict=False))
    assert (errors or 0.0) < 0.3, [h.text for h in heard]
    for recognition in heard:
        assert recognition.text == recognition.text.strip()
        assert -2.0 < (recognition.avg_logprob or 0.0) < 0.0
        assert recognition.no_speech_prob is not None
        assert 0.0 <= recognition.no_speech_prob <= 1.0
        assert 0.3 < (recognition.compression_ratio or 0.0) < 2.4


@pytest.mark.slow
def test_the_same_audio_gives_the_same_text(
    whisper: Whisper, sermon: list[tuple[Pcm, str]]
) -> None:
    final = whisper.recognize(sermon[0][0], final=True)
    assert whisper.recognize(sermon[0][0], final=True) == final
    partial = whisper.recognize(sermon[0][0], final=False)
    assert replace(partial, tokens=(), ends_s=()) == replace(final, words=())


@pytest.mark.slow
def test_a_partial_tells_its_tokens_and_when_each_was_over(
    whisper: Whisper, sermon: list[tuple[Pcm, str]]
) -> None:
    pcm = sermon[0][0]
    heard = whisper.recognize(pcm, final=False)
    assert "".join(token.text for token in heard.tokens).strip() == heard.text
    assert [heard.text[: token.until] for token in heard.tokens][-1] == heard.text
    for before, after in pairwise(heard.tokens):
        assert heard.text[before.until : after.until] == after.text
    assert len(heard.ends_s) == len(heard.tokens)
    assert list(heard.ends_s) == sorted(heard.ends_s)
    assert 0.5 * pcm.size / SAMPLE_RATE < heard.ends_s[-1] <= pcm.size / SAMPLE_RATE + 0.02
    assert not whisper.recognize(pcm, final=True).tokens


@pytest.mark.slow
def test_a_partial_begins_with_what_is_committed_and_a_final_is_free(
    whisper: Whisper, sermon: list[tuple[Pcm, str]]
) -> None:
    pcm = sermon[0][0]
    free = whisper.recognize(pcm, final=False)
    right = [token.id for token in free.tokens]
    for count in (1, len(right) // 2, len(right)):
        again = whisper.recognize(pcm, final=False, prefix=right[:count])
        assert [token.id for token in again.tokens] == right, "it goes on as it would have"
        assert again.avg_logprob is not None
        assert -2.0 < again.avg_logprob < 0.0
    wrong = [token.id for token in whisper.recognize(sermon[2][0], final=False).tokens][:3]
    misled = whisper.recognize(pcm, final=False, prefix=wrong)
    assert [token.id for token in misled.tokens][:3] == wrong
    assert whisper.recognize(pcm, final=True, prefix=wrong).text == free.text


@pytest.mark.slow
def test_a_beginning_longer_than_the_model_can_take_is_no_error(whisper: Whisper) -> None:
    heard = whisper.recognize(np.zeros(8000, np.float32), final=False, prefix=[5] * 600)
    assert isinstance(heard, Recognition)


@pytest.mark.slow
def test_the_sermon_as_it_grows_takes_no_word_back(
    whisper: Whisper, sermon: list[tuple[Pcm, str]]
) -> None:
    """Policy and engine together: the committed text grows, and nearly all is in the final."""
    committed = kept = 0
    for pcm, _ in sermon[:2]:
        policy = CommitPolicy()
        shown = ""
        for end in range(SAMPLE_RATE, pcm.size, round(0.6 * SAMPLE_RATE)):
            ids = [token.id for token in policy.committed]
            heard = whisper.recognize(pcm[:end], final=False, prefix=ids)
            commit = policy.push(heard.tokens, heard.ends_s, end / SAMPLE_RATE)
            assert not commit.reason
            text = heard.text[: commit.committed[-1].until] if commit.committed else ""
            assert text.startswith(shown)
            shown = text
        final = whisper.recognize(pcm, final=True).text
        committed += len(shown.split())
        kept += len(shown.split()) - revised_words(shown, final)
    assert committed > 5
    assert kept > 0.8 * committed


@pytest.mark.slow
def test_encodes_a_short_window(whisper: Whisper) -> None:
    heard = whisper._decode(
        np.zeros(11 * SAMPLE_RATE - 160, np.float32), whisper._window_s, telling=False
    )
    assert np.asarray(heard.encoded).shape[:2] == (1, 13 * 50)


@pytest.mark.slow
def test_longer_audio_than_a_window_is_joined(
    whisper: Whisper, sermon: list[tuple[Pcm, str]]
) -> None:
    pcm = np.concatenate([pcm for pcm, _ in sermon[:8]] * 3)[: 37 * SAMPLE_RATE]
    assert pcm.size > 30 * SAMPLE_RATE
    whole = whisper.recognize(pcm, final=True).text.split()
    rest = whisper.recognize(pcm[30 * SAMPLE_RATE :], final=True).text.split()
    assert len(whole) > len(rest) > 6
    # Features are scaled over the whole audio, so the rest alone may give a slightly other text.
    assert difflib.SequenceMatcher(None, whole[-len(rest) :], rest).ratio() > 0.5


@pytest.mark.slow
def test_more_hotwords_than_fit(
    whisper: Whisper, sermon: list[tuple[Pcm, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hot words and a long utterance together must stay within the decoder's 448 tokens."""
    monkeypatch.setattr(whisper, "hotwords", "Nebuchadnezzar, Melchizedek, " * 200)
    pcm = np.concatenate([pcm for pcm, _ in sermon[:8]])[: 28 * SAMPLE_RATE]
    assert isinstance(whisper.recognize(pcm, final=False), Recognition)


def test_very_short_audio(whisper: Whisper) -> None:
    assert whisper.recognize(np.zeros(0, np.float32), final=True) == Recognition("")
    assert isinstance(whisper.recognize(np.zeros(1, np.float32), final=True).text, str)


@pytest.mark.slow
def test_whatever_is_raised_is_an_engine_error(whisper: Whisper) -> None:
    with pytest.raises(EngineError, match=r"\[stt-failed\]"):
        whisper.recognize(np.zeros((2, 3, 4), np.float32), final=True)
    assert isinstance(whisper.recognize(np.zeros(8000, np.float32), final=True), Recognition)


def test_a_broken_model(copy: Path) -> None:
    (copy / "model.bin").write_bytes((copy / "model.bin").read_bytes()[:100_000])
    with pytest.raises(ModelError, match=r"^model: .*stt: .*again.*\[model-broken\]"):
        Whisper(copy).load()


@pytest.mark.slow
def test_a_model_that_loads_and_does_not_work(copy: Path) -> None:
    """The warm-up notices a number of mel bands that does not fit the weights."""
    config = json.loads((copy / "preprocessor_config.json").read_text())
    (copy / "preprocessor_config.json").write_text(json.dumps(config | {"feature_size": 128}))
    with pytest.raises(ModelError, match=r"\[model-broken\]"):
        Whisper(copy).load()


def test_an_incomplete_model_and_a_name_for_which_nothing_is_fetched(copy: Path) -> None:
    (copy / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"lacks tokenizer\.json.*\[model-missing\]"):
        Whisper(copy).load()
    with pytest.raises(ModelError, match=r"there is no owner/name.*\[model-missing\]"):
        Whisper(Path("owner/name")).load()


@pytest.mark.slow
def test_an_english_model_for_portuguese() -> None:
    needs_file(STARTER)
    with pytest.raises(ModelError, match=r"language 'pt'.*\[model-wrong-lang\]"):
        Whisper(STARTER, lang="pt").load()


def test_a_compute_type_that_does_not_exist() -> None:
    needs_file(STARTER)
    with pytest.raises(ModelError, match=r"^compute_type: .*\[compute-type-unsupported\]"):
        Whisper(STARTER, compute_type="int7").load()


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="has a GPU")
def test_without_the_gpu_that_was_asked_for_it_runs_on_the_cpu_and_says_why() -> None:
    needs_file(STARTER)
    model = Whisper(STARTER, device="cuda", compute_type="float16")
    model.load()
    assert model.gpu_layers == 0
    assert re.search(r"on the CPU instead of the GPU: .*CUDA", model.degraded_reason)


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="has a GPU")
def test_a_model_that_is_broken_is_so_on_any_device(copy: Path) -> None:
    (copy / "model.bin").write_bytes((copy / "model.bin").read_bytes()[:100_000])
    with pytest.raises(ModelError, match="model-broken"):
        Whisper(copy, device="cuda").load()


@pytest.mark.slow
def test_the_language_is_asked_for_until_words_stand(whisper_base: Path) -> None:
    model = Whisper(whisper_base)
    model.load()
    pcm = read_audio(bundled("demo", "voices", "jfk_1961.flac"))[: 4 * SAMPLE_RATE]
    first = model.recognize(pcm, final=False)
    assert (first.lang_prob or 0.0) > 0.5
    prefix = [token.id for token in first.tokens[:3]]
    assert model.recognize(pcm, final=False, prefix=prefix).lang_prob is None
    assert model.recognize(pcm, final=True).lang_prob == pytest.approx(first.lang_prob)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [1, 2])
def test_what_nobody_wants_any_more_stops_between_two_steps(
    whisper: Whisper, sermon: list[tuple[Pcm, str]], asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pcm = sermon[0][0]
    whole = whisper.recognize(pcm, final=False)
    answers = iter([False, True] if asked == 2 else [True])
    monkeypatch.setattr(whisper, "is_cancelled", lambda: next(answers))
    with pytest.raises(EngineCancelledError):
        whisper.recognize(pcm, final=False)
    monkeypatch.setattr(whisper, "is_cancelled", lambda: False)
    assert whisper.recognize(pcm, final=False) == whole


@pytest.mark.slow
def test_several_spoken_languages_are_told_apart_and_put_into_english(whisper_base: Path) -> None:
    pcm, rate = soundfile.read(TESTIMONY, dtype="float32")
    assert rate == SAMPLE_RATE
    engine = Whisper(whisper_base, threads=1, also_spoken=["es"], to_english=["es"])
    engine.load()
    as_english = engine.recognize(pcm, final=True)
    assert dict(as_english.langs)["es"] > 0.9
    assert sum(share for _, share in as_english.langs) == pytest.approx(1.0, abs=0.001)
    assert as_english.english == ""
    engine.lang = "es"
    heard = engine.recognize(pcm, final=True)
    assert "hospital" in heard.text.lower()
    assert (heard.lang_prob or 0.0) > 0.9
    assert "my son" in heard.english.lower()
    # A partial reports the languages even behind committed words, and it is not translated.
    first = engine.recognize(pcm, final=False)
    again = engine.recognize(pcm, final=False, prefix=[first.tokens[0].id])
    assert dict(again.langs)["es"] > 0.9
    assert again.english == ""
