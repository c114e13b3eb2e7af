"""The transcriptions endpoint: the form it sends and what it reads from the answers."""

from __future__ import annotations

import io
import time
import wave
from typing import Any

import numpy as np
import pytest

from pipeline.audio.file import wav
from pipeline.core.errors import EngineError
from pipeline.core.types import SAMPLE_RATE
from pipeline.engines.remote.openai_speech import Transcription, Transcriptions, form
from tests.support.model_servers import Answer, ScriptedServer, answers, go_on, scripted
from tests.support.speech_servers import SPEECH_MODEL, forms, gives, heard_in_full, hears

PCM = np.linspace(-1, 1, SAMPLE_RATE // 2, dtype=np.float32)
REFUSES = gives({"error": {"message": "verbose_json is not supported"}}, 400)


def asked_of(server: ScriptedServer) -> Transcriptions:
    made = Transcriptions(server.url, SPEECH_MODEL, section="stt", model_key="server_model")
    made.open()
    return made


def heard(made: Transcriptions, **more: Any) -> Transcription:
    return made.transcribe(PCM, lang="en", until_s=time.monotonic() + 60.0, check=go_on, **more)


def answer_to(*turns: Answer) -> Transcription:
    with scripted(*turns) as server:
        return heard(asked_of(server))


def test_samples_are_a_wav_file_of_16_bits_at_16_khz() -> None:
    loud = np.array([0.0, 0.5, -1.0, 7.0, -7.0, np.nan], np.float32)
    with wave.open(io.BytesIO(wav(loud))) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 16_000)
        samples = np.frombuffer(file.readframes(10), "<i2")
    assert samples.tolist() == [0, 16_383, -32_767, 32_767, -32_767, 0]


def test_a_form_that_any_reader_of_forms_reads() -> None:
    body = form((("model", "ä"), ("hotwords", "Selah,\r\nHabakkuk")), b"\r\n--RIFF\x00\xff", "x9")
    with scripted(hears("")) as server:
        server.seen.append(("/", {"Content-Type": "multipart/form-data; boundary=x9"}, body))
        (read,) = forms(server)
    assert read.fields == {"model": ["ä"], "hotwords": ["Selah,\r\nHabakkuk"]}
    assert (read.file, read.filename) == (b"\r\n--RIFF\x00\xff", "speech.wav")


def test_what_is_asked_for() -> None:
    with scripted(hears("Amen.")) as server:
        heard(asked_of(server))
        (plain,) = forms(server)
        assert {path for path, _, _ in server.seen} == {"/v1/audio/transcriptions"}
    assert plain.fields == {
        "model": [SPEECH_MODEL],
        "language": ["en"],
        "temperature": ["0"],
        "response_format": ["verbose_json"],
        "timestamp_granularities[]": ["word", "segment"],
    }
    assert plain.file == wav(PCM)


def test_several_segments_are_one_text_in_which_the_longer_ones_count_for_more() -> None:
    segments = [
        {"text": "Grace to you", "avg_logprob": -0.1, "no_speech_prob": 0.7},
        {"text": "and.", "avg_logprob": -0.5, "no_speech_prob": 0.2},
    ]
    made = answer_to(hears(" Grace to you\n and. ", segments=segments))
    assert made.text == "Grace to you and."
    assert made.avg_logprob == pytest.approx(-0.2)
    assert made.no_speech_prob == 0.2


@pytest.mark.parametrize(
    "fields",
    [
        {"segments": None, "words": None},
        {"segments": [{"avg_logprob": "no", "no_speech_prob": 7}]},
        {"segments": [{"avg_logprob": 3.0, "no_speech_prob": True}], "words": [{"word": "A"}]},
        {"segments": [{"text": "A", "avg_logprob": -0.1}, {"text": "B"}], "words": [{"word": 7}]},
    ],
)
def test_what_is_not_told_or_makes_no_sense_is_left_out(fields: dict[str, Any]) -> None:
    assert answer_to(hears("Amen.", **fields)) == Transcription("Amen.")


def test_silence_has_no_text() -> None:
    assert answer_to(hears("", segments=[], words=[])) == Transcription("")


class TestServersThatTellLess:
    def test_one_that_knows_no_words_is_asked_without_and_remembered(self) -> None:
        with scripted(REFUSES, hears("Amen.")) as server:
            made = asked_of(server)
            assert [heard(made).text for _ in range(2)] == ["Amen."] * 2
            asked = [each.fields for each in forms(server)]
        assert len(asked) == 3, "the refused form, then twice the next"
        assert "timestamp_granularities[]" not in asked[-1]
        assert asked[-1]["response_format"] == ["verbose_json"]

    def test_the_text_alone_is_had_of_any(self) -> None:
        with scripted(REFUSES, gives({"detail": []}, 422), hears("Amen.")) as server:
            assert heard(asked_of(server)) == Transcription("Amen.")
            assert forms(server)[-1].fields["response_format"] == ["json"]

    def test_what_comes_back_after_a_failure_is_asked_for_all_again(self) -> None:
        with scripted(REFUSES, hears("Amen.")) as server:
            made = asked_of(server)
            heard(made)
            with pytest.raises(EngineError):
                made.check_model(until_s=time.monotonic() + 60.0, check=go_on)
            heard(made)
            assert "timestamp_granularities[]" in forms(server)[-1].fields

    def test_one_that_refuses_everything_says_why_and_is_not_remembered(self) -> None:
        other = gives({"error": "no json either"}, 400)
        with scripted(REFUSES, other, other, heard_in_full("Amen.")) as server:
            made = asked_of(server)
            with pytest.raises(EngineError, match="verbose_json is not supported") as raised:
                heard(made)
            assert raised.value.code == "server-nonsense"
            assert heard(made).words


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (answers(200, b"<html>Router</html>", "text/html"), "server-nonsense", "text/html"),
        (answers(200, b'{"text": "Gra'), "server-nonsense", "no JSON object"),
        (gives({"segments": []}), "server-nonsense", "without text"),
        (hears("Amen.", words="Amen."), "server-nonsense", "that are no list"),
        (gives({"detail": "Model 'x' is not installed"}, 404), "server-other-model", "not inst"),
        (gives({}, 500), "server-failed", "status 500"),
    ],
)
def test_an_answer_that_is_no_transcription(answer: Answer, code: str, words: str) -> None:
    with pytest.raises(EngineError) as raised:
        answer_to(answer)
    assert raised.value.code == code
    assert words in raised.value.message
    assert "Amen" not in raised.value.message, "what was said is not quoted"
