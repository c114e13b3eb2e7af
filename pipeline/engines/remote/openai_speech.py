"""Speech to text on another machine: a recognizer behind an OpenAI-compatible server."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import structlog

from pipeline.audio.file import wav
from pipeline.core.types import Pcm, Recognition, Word
from pipeline.engines.remote.api_server import JSON, ApiServer, RemoteEngine
from pipeline.engines.remote.http_call import Check, Head
from pipeline.engines.streaming.incremental import Piece, partial_of, piece_id, words_of
from pipeline.text.repetition import compression_ratio
from pipeline.text.words import words

log = structlog.get_logger()

Fields = tuple[tuple[str, str], ...]

_SEGMENTS = ("timestamp_granularities[]", "segment")
_WORDS = ("timestamp_granularities[]", "word")
_FORMS: Sequence[Fields] = (
    (("response_format", "verbose_json"), _WORDS, _SEGMENTS),
    (("response_format", "verbose_json"),),
    (("response_format", "json"),),
)
"""Response formats: the most detailed first, the one that every server supports last."""
_REFUSALS = {400, 415, 422}
"""Statuses with which FastAPI, vLLM and other servers refuse an unknown format."""


@dataclass(frozen=True, slots=True)
class Transcription:
    """A server's answer; a missing value is None or empty."""

    text: str
    avg_logprob: float | None = None
    """Mean over all segments, weighted by their length."""
    no_speech_prob: float | None = None
    """The lowest of the segments: that of the one most likely to be speech."""
    words: tuple[Piece, ...] = ()
    """As they are written in the server's list, perhaps without spaces and punctuation."""


class Transcriptions(ApiServer):
    """The transcriptions endpoint of OpenAI-compatible servers: speaches, vLLM and others.

    Some refuse `verbose_json` or word times: the first request finds the format a server accepts.
    """

    _form = 0

    def check_model(self, *, until_s: float, check: Check) -> None:
        """Check that the server answers and has the model. Raises EngineError."""
        self._form = 0  # another server may have come back
        super().check_model(until_s=until_s, check=check)

    def transcribe(
        self, pcm: Pcm, *, lang: str, hotwords: str = "", until_s: float, check: Check
    ) -> Transcription:
        """Transcribe `pcm`, shape (n,). Raises EngineError as `Completions.complete` does.

        `until_s` is monotonic; `check` is called while waiting.
        """
        fields: Fields = (("model", self._model), ("language", lang), ("temperature", "0"))
        if hotwords:
            fields += (("hotwords", hotwords),)
        file, refusal = wav(pcm), None
        # Start with the format accepted last time: each refusal costs a request.
        for number in range(self._form, len(_FORMS)):
            head, body = self._post((*fields, *_FORMS[number]), file, until_s, check)
            if head.status not in _REFUSALS:
                break
            refusal = refusal or (head, body)
        else:  # the format is not the problem: the first refusal describes it best
            head, body = refusal or (head, body)
        self._expect(head, body, JSON)
        answer = self._read(self._object(body))
        # Only for a readable answer: a broken server must not lower the format.
        if number > self._form:
            log.debug("server tells less", server=self.place, asked=_FORMS[number])
            self._form = number
        return answer

    def _post(
        self, fields: Fields, file: bytes, until_s: float, check: Check
    ) -> tuple[Head, bytes]:
        # Random: the boundary must not occur in the audio.
        boundary = secrets.token_hex(16)
        kind = f"multipart/form-data; boundary={boundary}"
        headers = {"Accept": JSON, "Content-Type": kind}
        body = form(fields, file, boundary)
        with closing(self._call("audio/transcriptions", until_s, body, headers)) as call:
            return self._whole(call, check)

    def _read(self, answer: dict[str, Any]) -> Transcription:
        text, segments, listed = (answer.get(key) for key in ("text", "segments", "words"))
        if not isinstance(text, str):
            raise self._nonsense("a transcription without text")
        if not all(isinstance(each, list | None) for each in (segments, listed)):
            raise self._nonsense("segments or words that are no list")
        parts = [part for part in segments or () if isinstance(part, dict)]
        return Transcription(
            text=" ".join(text.split()),
            avg_logprob=_mean_logprob(parts),
            # The minimum: one segment with speech means that the whole is not silence.
            no_speech_prob=min(_numbers(parts, "no_speech_prob", 0.0, 1.0), default=None),
            words=_timed_words(listed or ()),
        )


def form(fields: Fields, file: bytes, boundary: str) -> bytes:
    """Return a body of multipart/form-data (RFC 7578) with the file after the fields."""
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields
    ]
    head = (
        f"--{boundary}\r\n"
        # Some servers take the audio format from the file name's extension.
        'Content-Disposition: form-data; name="file"; filename="speech.wav"\r\n'
        "Content-Type: audio/wav\r\n\r\n"
    )
    before = "".join((*parts, head)).encode(errors="replace")
    return b"".join((before, file, f"\r\n--{boundary}--\r\n".encode()))


def _mean_logprob(segments: Sequence[dict[str, Any]]) -> float | None:
    """Return the segments' mean, weighted by length; None unless every segment has a value."""
    means = _numbers(segments, "avg_logprob", -math.inf, 0.0)
    if not means or len(means) < len(segments):
        return None
    sizes = [max(1, len(str(segment.get("text", "")))) for segment in segments]
    return float(np.average(means, weights=sizes))


def _numbers(
    segments: Iterable[dict[str, Any]], key: str, least: float, most: float
) -> list[float]:
    """Return the segments' values of a key that are within the limits."""
    values = (_number(segment.get(key)) for segment in segments)
    return [number for number in values if number is not None and least <= number <= most]


def _number(value: object) -> float | None:
    # In Python, true and false are numbers too.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type]


def _timed_words(listed: Iterable[object]) -> tuple[Piece, ...]:
    """Return the words with their times; () if one of them is malformed."""
    found: list[Piece] = []
    for each in listed:
        if not isinstance(each, dict) or not isinstance(text := each.get("word"), str):
            return ()
        start_s, end_s = _number(each.get("start")), _number(each.get("end"))
        if start_s is None or end_s is None:
            return ()
        probability = _number(each.get("probability"))
        found.append(Piece(piece_id(text), text, start_s, end_s, probability))
    return tuple(found)


class OpenAiSpeech(RemoteEngine):
    """A Recognizer on a server: `model` is the server's name for it, `url` its address.

    All speech goes to the server as audio. `lang` is the spoken language; `key_file`, `ca_file`,
    `section`: see `ApiServer`, `EngineSpec`. Unlike a local model, it takes no committed prefix,
    looks for no lost tail and does not detect the language.
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
        prefix: Sequence[int] = (),  # noqa: ARG002 - a server takes no committed prefix
    ) -> Recognition:
        """Return the text of `pcm`, shape (n,). Raises EngineError, EngineCancelledError.

        Transient errors are retried while the deadline allows. Finals have words if the server
        gives the probability of each; partials have their words as tokens, with times if the
        server gives them.
        """
        if not pcm.size:
            return Recognition("")
        # One deadline for all attempts: retries must not make a caption wait longer.
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
    """Return the words of a text, with their times if the server gives them for all words.

    Some servers write words as in the text, with spaces and punctuation, others without.
    """
    if "".join(word.text for word in heard.words).split() == heard.text.split():
        return heard.words
    pieces = tuple(Piece(piece_id(text), text) for text in map(" {}".format, heard.text.split()))
    if [words(piece.text) for piece in pieces] == [words(word.text) for word in heard.words]:
        return tuple(
            replace(word, id=piece.id, text=piece.text)
            for word, piece in zip(heard.words, pieces, strict=True)
        )
    return pieces


def _sure_words(heard: Transcription) -> tuple[Word, ...]:
    """Return the words with the server's probabilities; () unless each word has one."""
    is_whole = [word.text.strip() for word in heard.words] == heard.text.split()
    return words_of(heard.words) if is_whole else ()
