"""A recognizer on a server, over real sockets; the real one has the starter model behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pipeline.core.errors import EngineError
from pipeline.core.standing import Token
from pipeline.core.types import Recognition, Word
from pipeline.engines.remote import api_server as remote
from pipeline.engines.remote.openai_speech import OpenAiSpeech, Transcription, pieces_of
from pipeline.engines.streaming.incremental import Piece, piece_id
from tests.support.model_servers import Answer, free_port, scripted, serves
from tests.support.speech_servers import SPEECH_MODEL, forms, heard_in_full, hears

PCM = np.zeros(16_000, np.float32)
LISTS = serves(SPEECH_MODEL)
PATIENT_S = 60.0


def engine(url: str, **more: Any) -> OpenAiSpeech:
    arguments: dict[str, Any] = {"url": url, "deadline_s": PATIENT_S, "section": "stt", **more}
    made = OpenAiSpeech(SPEECH_MODEL, **arguments)
    made.load()
    return made


def final_of(*turns: Answer, **more: Any) -> Recognition:
    with scripted(*turns, models=LISTS) as server:
        return engine(server.url, **more).recognize(PCM, final=True)


def test_a_final_has_its_measures_and_its_words() -> None:
    made = final_of(heard_in_full("Grace", "to", "you."))
    assert made.text == "Grace to you."
    assert made.words == (Word("Grace", 0.9), Word("to", 0.9), Word("you.", 0.9))
    assert (made.avg_logprob, made.no_speech_prob) == (-0.2, 0.1)
    assert made.compression_ratio == pytest.approx(13 / 21)
    assert (made.tokens, made.ends_s, made.lang_prob) == ((), (), None)


def test_a_partial_has_its_words_as_tokens_with_their_times() -> None:
    with scripted(heard_in_full("Grace", "to"), models=LISTS) as server:
        made = engine(server.url).recognize(PCM, final=False)
    assert made.tokens == (
        Token(piece_id(" Grace"), " Grace", 5),
        Token(piece_id(" to"), " to", 8),
    )
    assert made.ends_s == (0.5, 1.0)
    assert made.words == ()


def test_a_text_alone_is_enough() -> None:
    made = final_of(hears("Grace to you."))
    assert made.text == "Grace to you."
    assert (made.words, made.avg_logprob, made.no_speech_prob) == ((), None, None)


def test_nothing_is_asked_for_nothing() -> None:
    with scripted(models=LISTS) as server:
        assert engine(server.url).recognize(PCM[:0], final=True) == Recognition("")
        assert forms(server) == []


def test_hot_words_and_the_language_go_along() -> None:
    with scripted(hears("Selah."), models=LISTS) as server:
        made = engine(server.url, lang="fr")
        made.hotwords = "Selah, Habakkuk"
        made.recognize(PCM, final=True)
        (asked,) = forms(server)
    assert asked.fields["hotwords"] == ["Selah, Habakkuk"]
    assert asked.fields["language"] == ["fr"]


class TestWordsOfAText:
    def test_without_marks_and_spaces_they_get_those_of_the_text(self) -> None:
        listed = (Piece(0, "grace", 0.0, 0.4), Piece(0, "amen", 0.4, 0.9))
        made = pieces_of(Transcription("Grace, amen.", words=listed))
        assert [(piece.text, piece.end_s) for piece in made] == [(" Grace,", 0.4), (" amen.", 0.9)]

    def test_of_a_language_without_spaces_too(self) -> None:
        listed = (
            Piece(0, "恩典", 0.0, 0.4),
            Piece(0, "归", 0.4, 0.6),
            Piece(0, "你。", 0.6, 1),
        )
        made = pieces_of(Transcription("恩典归你。", words=listed))
        assert [piece.text for piece in made] == ["恩典", "归", "你。"]

    def test_others_have_no_times(self) -> None:
        listed = (Piece(0, "Grays", 0.0, 0.4),)
        made = pieces_of(Transcription("Grace, amen.", words=listed))
        assert [(piece.text, piece.end_s) for piece in made] == [
            (" Grace,", None),
            (" amen.", None),
        ]
        assert pieces_of(Transcription("")) == ()


class TestServersThatFail:
    @pytest.fixture(autouse=True)
    def _briefly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(remote, "_WAITS_S", (0.01, 0.01))

    def test_one_that_is_not_there_may_come_later(self) -> None:
        port = free_port()
        made = engine(f"http://127.0.0.1:{port}")
        assert "nothing listens there" in made.degraded_reason
        with pytest.raises(EngineError, match="server-gone"):
            made.recognize(PCM, final=True)
        with scripted(hears("Amen."), models=LISTS, port=port):
            assert made.recognize(PCM, final=True).text == "Amen."
        assert made.degraded_reason == ""
