"""The transcriptions endpoint of OpenAI-compatible servers: speaches, vLLM and others.

A POST of `audio/transcriptions` with a form: `file` (a WAV file here), `model`, `language`,
`response_format`, `timestamp_granularities[]`; of speaches and vLLM also `hotwords`. Answers differ
in how much they tell: `verbose_json` has segments with measures, and words where they were asked
for; some servers refuse it, or the words, and give `json`, which has the text alone.
"""

from __future__ import annotations

import io
import math
import secrets
import wave
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import structlog

from pipeline.core.types import SAMPLE_RATE, Pcm
from pipeline.engines.remote.api_server import JSON, ApiServer, Check
from pipeline.engines.remote.http_call import Head, HttpCall

log = structlog.get_logger()

Fields = tuple[tuple[str, str], ...]

_SEGMENTS = ("timestamp_granularities[]", "segment")
_WORDS = ("timestamp_granularities[]", "word")
_FORMS: Sequence[Fields] = (
    (("response_format", "verbose_json"), _WORDS, _SEGMENTS),
    (("response_format", "verbose_json"),),
    (("response_format", "json"),),
)
"""How an answer is asked for: what tells most first, what every server can last."""
_REFUSALS = {400, 415, 422}
"""What servers answer to a form that they do not know, as FastAPI, vLLM and others do."""
_FULL = 32_767


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word as a server heard it, as it is written in its list."""

    text: str
    start_s: float
    end_s: float
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Transcription:
    """A server's answer; what it does not tell is None, or empty."""

    text: str
    avg_logprob: float | None = None
    """Mean over all segments, longer ones counting for more."""
    no_speech_prob: float | None = None
    """Of the segment that is most likely speech."""
    words: tuple[SpokenWord, ...] = ()


class Transcriptions(ApiServer):
    """A server's transcriptions. How much it tells is found out by asking, once."""

    _form = 0

    def check_model(self, *, until_s: float, check: Check) -> None:
        """See that the server is there and has the model. Raises EngineError."""
        self._form = 0  # what has come back may be another one
        super().check_model(until_s=until_s, check=check)

    def transcribe(
        self, pcm: Pcm, *, lang: str, hotwords: str = "", until_s: float, check: Check
    ) -> Transcription:
        """Have `pcm`, shape (n,), heard. Raises EngineError as `Completions.complete` does.

        `until_s` is monotonic, `check` is called while waiting.
        """
        fields: Fields = (("model", self._model), ("language", lang), ("temperature", "0"))
        if hotwords:
            fields += (("hotwords", hotwords),)
        file, refusal = wav(pcm), None
        # From the form that was taken last time: a refusal would cost a request each time.
        for number in range(self._form, len(_FORMS)):
            head, body = self._post((*fields, *_FORMS[number]), file, until_s, check)
            if head.status not in _REFUSALS:
                break
            refusal = refusal or (head, body)
        else:  # it was not the form then: what is wrong is said best of the first
            head, body = refusal or (head, body)
        self._expect(head, body, JSON)
        answer = self._read(self._object(body))
        # Only when the answer could be read: else a broken server would teach us to ask for less.
        if number > self._form:
            log.debug("server tells less", server=self.place, asked=_FORMS[number])
            self._form = number
        return answer

    def _post(
        self, fields: Fields, file: bytes, until_s: float, check: Check
    ) -> tuple[Head, bytes]:
        # At random: it must not occur in the sound.
        boundary = secrets.token_hex(16)
        kind = f"multipart/form-data; boundary={boundary}"
        call = HttpCall(
            self._base,
            "audio/transcriptions",
            headers={**self._headers, "Accept": JSON, "Content-Type": kind},
            until_s=until_s,
            body=form(fields, file, boundary),
            tls=self._tls,
        )
        with closing(call):
            return self._whole(call, check)

    def _read(self, answer: dict[str, Any]) -> Transcription:
        """Return an answer in our terms. Raises EngineError `server-nonsense`."""
        text, segments, words = (answer.get(key) for key in ("text", "segments", "words"))
        if not isinstance(text, str):
            raise self._nonsense("a transcription without text")
        if not all(isinstance(each, list | None) for each in (segments, words)):
            raise self._nonsense("segments or words that are no list")
        parts = [part for part in segments or () if isinstance(part, dict)]
        return Transcription(
            text=" ".join(text.split()),
            avg_logprob=_mean_logprob(parts),
            no_speech_prob=min(_numbers(parts, "no_speech_prob", 0.0, 1.0), default=None),
            words=_words(words or ()),
        )


def wav(pcm: Pcm) -> bytes:
    """Return samples, shape (n,), -1 to 1, as a WAV file of 16 bits, mono, 16 kHz."""
    # nan has no value in 16 bits: any could come out.
    samples = np.clip(np.nan_to_num(pcm) * _FULL, -_FULL, _FULL).astype("<i2")
    with io.BytesIO() as file:
        with wave.open(file, "wb") as writer:
            writer.setnchannels(1)
            writer.setsampwidth(2)
            writer.setframerate(SAMPLE_RATE)
            writer.writeframes(samples.tobytes())
        return file.getvalue()


def form(fields: Fields, file: bytes, boundary: str) -> bytes:
    """Return a body of multipart/form-data (RFC 7578) with the file behind the fields."""
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields
    ]
    head = (
        f"--{boundary}\r\n"
        'Content-Disposition: form-data; name="file"; filename="speech.wav"\r\n'
        "Content-Type: audio/wav\r\n\r\n"
    )
    before = "".join((*parts, head)).encode(errors="replace")
    return b"".join((before, file, f"\r\n--{boundary}--\r\n".encode()))


def _mean_logprob(segments: Sequence[dict[str, Any]]) -> float | None:
    """Return the mean of the segments', by length; None unless every one tells its own."""
    means = _numbers(segments, "avg_logprob", -math.inf, 0.0)
    if not means or len(means) < len(segments):
        return None
    sizes = [max(1, len(str(segment.get("text", "")))) for segment in segments]
    return float(np.average(means, weights=sizes))


def _numbers(
    segments: Iterable[dict[str, Any]], key: str, least: float, most: float
) -> list[float]:
    """Return what segments tell under a key, without what cannot be meant."""
    told = (_number(segment.get(key)) for segment in segments)
    return [number for number in told if number is not None and least <= number <= most]


def _number(value: object) -> float | None:
    """Return a number of JSON, None for anything else."""
    # To Python true and false are numbers.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type]


def _words(listed: Iterable[object]) -> tuple[SpokenWord, ...]:
    """Return the words with their times; none if one of them makes no sense."""
    words: list[SpokenWord] = []
    for each in listed:
        if not isinstance(each, dict) or not isinstance(text := each.get("word"), str):
            return ()
        start_s, end_s = _number(each.get("start")), _number(each.get("end"))
        if start_s is None or end_s is None:
            return ()
        words.append(SpokenWord(text, start_s, end_s, _number(each.get("probability"))))
    return tuple(words)
