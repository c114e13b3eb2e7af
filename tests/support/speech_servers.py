"""A recognizer's server: faster-whisper with a real model at the transcriptions endpoint.

It follows the protocol of speaches, which uses the same library: the form's fields, the fields of
`verbose_json`, words with spaces and probabilities, 404 for a missing model.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any

import orjson

from tests.support.model_servers import Answer, Handler, ScriptedServer, scripted, serves

SPEECH_MODEL = "church/whisper"


@dataclass(frozen=True, slots=True)
class Form:
    """A transcription request."""

    fields: dict[str, list[str]]
    file: bytes
    filename: str


def read_form(headers: dict[str, str], body: bytes) -> Form:
    """Parse a multipart form with the standard library."""
    head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
    fields: dict[str, list[str]] = {}
    file, filename = b"", ""
    for part in BytesParser(policy=HTTP).parsebytes(head + body).iter_parts():
        name = part.get_param("name", header="content-disposition")
        content: Any = part.get_payload(decode=True)
        if given := part.get_filename():
            file, filename = content, given
        else:
            fields.setdefault(str(name), []).append(content.decode())
    return Form(fields, file, filename)


def forms(server: ScriptedServer) -> list[Form]:
    """Return all transcription requests of a server."""
    return [read_form(headers, body) for _, headers, body in server.seen if body]


def hears(text: str, **fields: Any) -> Answer:
    """Answer with this text, and with these further fields if there are any."""
    return gives({"text": text, **fields})


def gives(answer: dict[str, Any], status: int = 200) -> Answer:
    body = orjson.dumps(answer)
    return lambda handler: handler.send(status, "application/json", body)


def heard_in_full(*words: str, step_s: float = 0.5) -> Answer:
    """Answer as speaches does, each word `step_s` long."""
    listed = [
        {"word": f" {w}", "start": n * step_s, "end": (n + 1) * step_s, "probability": 0.9}
        for n, w in enumerate(words)
    ]
    text = " ".join(words)
    segment = {"text": f" {text}", "avg_logprob": -0.2, "no_speech_prob": 0.1, "words": listed}
    return hears(text, segments=[segment], words=listed)


@contextmanager
def speech_server(
    model: Path, *, before: list[Answer] | None = None, port: int = 0
) -> Iterator[ScriptedServer]:
    """Run a server that recognizes with a CTranslate2 model, after the answers `before`."""
    import faster_whisper  # imported here: quick tests do not need it

    whisper = faster_whisper.WhisperModel(str(model), compute_type="int8", cpu_threads=2)
    # Here the library's model takes one request at a time.
    at_work = threading.Lock()

    def recognize(handler: Handler) -> None:
        _, headers, body = handler.server.seen[-1]
        asked = read_form(headers, body)
        if asked.fields["model"] != [SPEECH_MODEL]:
            refusal = {"detail": f"Model '{asked.fields['model'][0]}' is not installed locally."}
            gives(refusal, 404)(handler)
            return
        with at_work:
            answer = _transcribe(whisper, asked)
        # Times are numpy values.
        body = orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
        handler.send(200, "application/json", body)

    with scripted(*(before or []), recognize, models=serves(SPEECH_MODEL), port=port) as server:
        yield server


def _transcribe(whisper: Any, asked: Form) -> dict[str, Any]:
    with_words = "word" in asked.fields.get("timestamp_granularities[]", [])
    segments, info = whisper.transcribe(
        io.BytesIO(asked.file),
        language=asked.fields["language"][0],
        temperature=float(asked.fields["temperature"][0]),
        hotwords=asked.fields.get("hotwords", [None])[0],
        beam_size=1,
        without_timestamps=True,  # the starter was not trained on them
        word_timestamps=with_words,
    )
    made_segments = [
        {
            "id": segment.id,
            "start": segment.start,
            "end": segment.end,
            "text": segment.text,
            "avg_logprob": segment.avg_logprob,
            "compression_ratio": segment.compression_ratio,
            "no_speech_prob": segment.no_speech_prob,
            "words": [_word(word) for word in segment.words] if with_words else None,
        }
        for segment in segments
    ]
    text = "".join(segment["text"] for segment in made_segments).strip()
    if asked.fields["response_format"] == ["json"]:
        return {"text": text}
    words = [word for segment in made_segments for word in segment["words"]] if with_words else None
    return {
        "task": "transcribe",
        "language": info.language,
        "duration": info.duration,
        "text": text,
        "segments": made_segments,
        "words": words,
    }


def _word(word: Any) -> dict[str, Any]:
    times = {"start": float(word.start), "end": float(word.end)}
    return {"word": word.word, "probability": float(word.probability), **times}
