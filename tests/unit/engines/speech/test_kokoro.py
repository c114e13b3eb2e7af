"""Kokoro speaks the phonemes of espeak-ng with the real weights."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import soxr

from pipeline.core.errors import EngineError, ModelError
from pipeline.core.types import SAMPLE_RATE
from pipeline.engines.ctranslate2.whisper import Whisper
from pipeline.engines.speech.espeak import RATE_HZ
from pipeline.engines.speech.kokoro import LANGUAGES, Kokoro, tokens
from pipeline.evaluation.word_errors import word_errors
from tests.support.needs import needs_program
from tests.support.programs import put_program
from tests.support.real_models import real_model

SAID = {
    "en": "The shepherd looks for the sheep that was lost.",
    "es": "Que el Señor los bendiga y los guarde; nada me faltará.",
    "fr": "Il est sorti cette nuit-là et il a trouvé la maison.",
    "pt": "Um bom pastor não dorme, e Deus sabe o seu nome.",
}


def test_phonemes_become_the_models_signs_and_keep_their_punctuation() -> None:
    needs_program("espeak-ng")
    # tS is one symbol, and so are the two vowels of "seis".
    assert tokens("noche, seis", "es", 10.0) == [
        *(56, 156, 57, 133, 47, 3, 16, 61, 156, 24, 61),
    ]
    assert tokens("bon", "fr", 10.0)[-1] == 17  # the tilde of a nasal vowel
    assert 10 not in tokens("(the) hola", "es", 10.0)
    # "Bird" has an r, and "I" a stress: without them "I serve a church" is heard as "Save a chuch".
    assert tokens("bird", "en", 10.0) == [44, 156, 87, 123, 46]
    assert tokens("I go", "en", 10.0) == [157, 25, 16, 92, 156, 31]


@pytest.mark.parametrize(
    ("lang", "text", "clauses"),
    [
        ("es", "Fueron 3.500 hombres", 1),
        ("fr", "2,5 millions", 1),
        ("en", "1,000 sheep, and 3.5 more", 2),
        ("pt", "1.250 reais", 1),
        ("es", "Salmo 23, 4, 5.", 3),
    ],
)
def test_a_sign_within_a_number_ends_no_clause(lang: str, text: str, clauses: int) -> None:
    needs_program("espeak-ng")
    said = tokens(text.rstrip("."), lang, 10.0)
    assert said.count(3) + said.count(4) + 1 == clauses  # a comma and a full stop


def test_all_clauses_of_a_text_share_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(tmp_path, "exec /bin/sleep 0.3", monkeypatch, "espeak-ng")
    began_s = time.monotonic()
    with pytest.raises(EngineError) as late:
        tokens("sí, " * 12, "es", 0.5)
    assert late.value.code == "speech-late"
    assert time.monotonic() - began_s < 1.5


def test_broken_weights_are_named(tmp_path: Path) -> None:
    needs_program("espeak-ng")
    (tmp_path / "kokoro.onnx").write_bytes(b"no model")
    with pytest.raises(ModelError, match=r"speech\.model") as broken:
        Kokoro(tmp_path, section="speech", languages=("es",), threads=1, deadline_s=9).load()
    assert broken.value.code == "model-broken"


def test_an_espeak_that_fails_is_named_and_not_the_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(tmp_path, "echo 'no phontab' >&2\nexit 1", monkeypatch, "espeak-ng")
    voice = Kokoro(tmp_path, section="speech", languages=("es",), threads=1, deadline_s=9)
    with pytest.raises(ModelError, match="espeak-ng: no phontab") as raised:
        voice.load()
    assert raised.value.code == "speech-failed"


@pytest.mark.slow
def test_whisper_hears_what_it_says_and_bad_input_is_no_hang(whisper_base: Path) -> None:
    needs_program("espeak-ng")
    model = real_model("kokoro-82m-int8")
    voice = Kokoro(model, section="speech", languages=LANGUAGES, threads=1, deadline_s=60.0)
    voice.load()
    for lang, text in SAID.items():
        sound = voice.speak(text, lang, 1.0)
        assert 1.5 < len(sound) / RATE_HZ < 6.0
        hearing = Whisper(whisper_base, lang=lang)
        hearing.load()
        heard = hearing.recognize(soxr.resample(sound, RATE_HZ, SAMPLE_RATE), final=True).text
        errors, words = word_errors(text, heard)
        assert errors <= 0.1 * words, heard
    for text in ("", "😀", "上帝", "¡!"):
        assert voice.speak(text, "es", 1.0).shape == (0,)
    assert np.isfinite(voice.speak("Amén 😀 上帝 https://x.org/?a=1", "es", 1.25)).all()
    with pytest.raises(EngineError) as unknown:
        voice.speak("hallo", "de", 1.0)
    assert unknown.value.code == "speech-no-voice"
    hurried = Kokoro(model, section="speech", languages=("es",), threads=1, deadline_s=0.05)
    hurried.load()  # a busy machine must not disable a voice
    with pytest.raises(EngineError) as late:
        hurried.speak("Dios es amor y nunca te dejará. " * 62, "es", 1.0)
    assert late.value.code == "speech-late"
