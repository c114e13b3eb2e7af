"""Speech to text on another machine: a recognizer behind an OpenAI-compatible server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pipeline.core.types import Pcm, Recognition, Word
from pipeline.engines.remote.engine import RemoteEngine
from pipeline.engines.remote.transcriptions import SpokenWord, Transcription, Transcriptions
from pipeline.engines.streaming.incremental import Piece, partial_of, piece_id
from pipeline.text.repetition import compression_ratio


class OpenAiSpeech(RemoteEngine):
    """A Recognizer on a server: `model` is the server's name of it, `url` where it listens.

    All that is spoken goes there as sound. `lang` is the spoken language; `key_file`, `ca_file`,
    `section`: see `ApiServer`, `EngineSpec`. What only a model at hand can do is left out: it
    begins with no words that stand, looks for no lost tail and does not tell the language.
    """

    server: Transcriptions

    def __init__(
        self,
        model: str,
        *,
        url: str,
        key_file: str = "",
        ca_file: str = "",
        lang: str = "en",
        deadline_s: float = 3.0,
        section: str = "",
    ) -> None:
        where = {"key_file": key_file, "ca_file": ca_file, "section": section}
        server = Transcriptions(url, model, **where, model_key="server_model")
        super().__init__(server, deadline_s)
        self.name = f"openai:{model}"
        self._lang = lang
        self.hotwords = ""

    def recognize(
        self,
        pcm: Pcm,
        *,
        final: bool,
        prefix: Sequence[int] = (),  # noqa: ARG002 - a server cannot be made to begin so
    ) -> Recognition:
        """Return the text of `pcm`, shape (n,). Raises EngineError, EngineCancelledError.

        What may pass is tried again while the deadline allows. Finals tell of their words where
        the server says how sure it is of each; partials of theirs as tokens, with their times
        where it gives them.
        """
        if not pcm.size:
            return Recognition("")
        # For all attempts together: a caption does not wait longer because there were several.
        until_s = time.monotonic() + self.deadline_s
        attempt = partial(
            self.server.transcribe,
            pcm,
            lang=self._lang,
            hotwords=self.hotwords,
            until_s=until_s,
            check=self._check,
        )
        heard = self._ask(lambda: self._patiently(attempt, until_s))
        pieces = pieces_of(heard)
        made = Recognition(heard.text) if final else partial_of(pieces)
        return replace(
            made,
            avg_logprob=heard.avg_logprob,
            no_speech_prob=heard.no_speech_prob,
            compression_ratio=compression_ratio(heard.text),
            words=_sure_words(heard) if final else (),
        )


def pieces_of(heard: Transcription) -> tuple[Piece, ...]:
    """Return the words of a text with their times, where a server tells these of all of them.

    Some write their words as they stand in the text, with spaces and marks, others without.
    """
    if "".join(word.text for word in heard.words).split() == heard.text.split():
        return tuple(_timed(word, word.text) for word in heard.words)
    texts = [f" {text}" for text in heard.text.split()]
    if [_plain(text) for text in texts] == [_plain(word.text) for word in heard.words]:
        return tuple(map(_timed, heard.words, texts))
    return tuple(Piece(piece_id(text), text) for text in texts)


def _timed(word: SpokenWord, text: str) -> Piece:
    return Piece(piece_id(text), text, word.start_s, word.end_s, word.probability)


def _sure_words(heard: Transcription) -> tuple[Word, ...]:
    """Return the words with how sure the server is; () where it does not tell of each."""
    texts = heard.text.split()
    if [word.text.strip() for word in heard.words] != texts:
        return ()
    sure = [word.probability for word in heard.words]
    if any(each is None for each in sure):
        return ()
    return tuple(Word(text, round(each or 0.0, 4)) for text, each in zip(texts, sure, strict=True))


def _plain(word: str) -> str:
    return "".join(filter(str.isalnum, word)).casefold()
