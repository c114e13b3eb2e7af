"""Text to text on another machine: a model behind an OpenAI-compatible server."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import orjson

from pipeline.core.errors import EngineError
from pipeline.core.types import Translation
from pipeline.engines import prompts
from pipeline.engines.output import Growing, Piece, growing, join, read_answer
from pipeline.engines.protocols import PLAIN, SentencePair, TranslationRequest
from pipeline.engines.remote.api_server import (
    JSON,
    MOST_SAID,
    STREAM,
    ApiServer,
    RemoteEngine,
    words_of,
)
from pipeline.engines.remote.http_call import Check, HttpCall
from pipeline.text import sentences

_BYTES_A_TOKEN = 3
"""A lower bound for all our languages; only the server could count tokens."""


def events(lines: Iterable[str]) -> Iterator[str]:
    """Yield the data of each event of a stream; `lines` are without their line ends."""
    data: list[str] = []
    for line in lines:
        name, _, value = line.partition(":")
        if name == "data":  # a comment begins with a colon, so its name is empty
            # One space belongs to the format; more spaces belong to the text.
            data.append(value.removeprefix(" "))
        elif not line and data:  # consecutive blank lines end only one event
            yield "\n".join(data)
            data = []


class Completions(ApiServer):
    """The completions endpoint of any OpenAI-compatible server: llama-server, vLLM and others.

    Completions and not chats: the server makes a chat's prompt from its own template, which the
    client cannot see.
    """

    def complete(
        self, request: Mapping[str, Any], *, until_s: float, check: Check
    ) -> Generator[Piece, None, None]:
        """Yield the server's completion of a prompt in pieces, the last one with its `finish`.

        Raises EngineError: `server-gone`, also if it breaks off; `server-late` at `until_s`;
        `server-busy`, `server-refuses`, `server-other-model`, `server-failed`, `server-nonsense`.
        """
        body = orjson.dumps({"model": self._model, "stream": True, **request})
        call = self._call("completions", until_s, body, {"Content-Type": JSON})
        with closing(call):
            head = call.head(check)
            if head.status != 200 or head.content_type != STREAM:
                self._expect(head, self._rest(call, check), STREAM)
            yield from self._pieces(call, check)

    def _pieces(self, call: HttpCall, check: Check) -> Generator[Piece, None, None]:
        is_finished = False
        lines = iter(lambda: call.line(check), None)
        for data in events(line.decode(errors="replace").rstrip("\r\n") for line in lines):
            if data.strip() == "[DONE]":
                return
            piece = self._piece(self._object(data.encode()))
            # Not every server sends [DONE]; then a piece with a finish reason is enough.
            is_finished |= bool(piece.finish)
            yield piece
        if not is_finished:
            raise EngineError("server-gone", f"{self.place} broke off.")

    def _piece(self, event: Mapping[str, Any]) -> Piece:
        # Do not quote an event: it may contain spoken words, which must not get into a log.
        if error := event.get("error"):
            raise EngineError("server-failed", f"{self.place} failed: {words_of(error)}.")
        model, choices, usage = event.get("model"), event.get("choices"), event.get("usage") or {}
        if not isinstance(choices, list) or not isinstance(usage, dict):
            raise self._nonsense("an event without choices")
        # Some servers answer with the model that they have, whichever was requested.
        if isinstance(model, str) and model and model != self._model:
            raise self._other_model(model[:MOST_SAID])
        first = choices[0] if choices else {"text": ""}  # the last event may hold only the usage
        text = first.get("text") if isinstance(first, dict) else None
        if not isinstance(text, str):
            raise self._nonsense("an event without text")
        counts = (usage.get(name) for name in ("prompt_tokens", "completion_tokens"))
        tokens = (count if isinstance(count, int) else 0 for count in counts)
        return Piece(text, first.get("finish_reason") or "", *tokens)


class OpenAi(RemoteEngine):
    """A Translator on a server: `model` is the server's name for it, `url` its address.

    Greedy, streamed, one request at a time. `context` is in tokens. This interface does not allow
    log-probabilities, inserted church terms, or keeping a draft's words.
    `prompt`, `key_file`, `ca_file`, `section`: see `prompts`, `ApiServer`, `EngineSpec`.
    """

    name = "openai"
    server: Completions

    def __init__(
        self,
        model: str,
        *,
        url: str,
        key_file: str = "",
        ca_file: str = "",
        prompt: prompts.Style | Literal["auto"] = "auto",
        source: str = "en",
        target: str = "es",
        context: int = 2048,
        deadline_s: float = 8.0,
        section: str = "",
    ) -> None:
        server = Completions(url, model, key_file=key_file, ca_file=ca_file, section=section)
        super().__init__(server, deadline_s)
        self._style = prompts.style_for(model) if prompt == "auto" else prompt
        self._source = source
        self.target = target  # may change between calls
        self._context = context
        self._section = section

    def open(self) -> None:
        """Read what requests to the server need. Raises ModelError, ConfigError."""
        # Languages without a prompt must fail here, not at the first caption.
        prompts.render(self._style, "", self._source, self.target, self._section)
        super().open()

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
        """Translate `text`; `on_text` gets the growing text, whole words only.

        From the rest of the request, only `previous` is used. Transient errors are retried while
        the deadline allows. Raises EngineError (see `Completions.complete`); EngineCancelledError.
        """
        until_s = time.monotonic() + self.deadline_s
        parts: list[Translation] = []
        grow, previous = growing(request.on_text, parts), request.previous
        if not text.strip():
            return Translation("", self.name)

        def translate_parts() -> None:
            for part in sentences.pack(text, self._fits):
                growing_part = Growing(grow)
                before = previous if not parts else None
                attempt = partial(self._once, part, before, until_s, growing_part)
                # Append one by one: `grow` reads `parts`.
                parts.append(self._patiently(attempt, until_s))

        self._ask(translate_parts)
        # `join` turns an unknown confidence into 0.0, which would mean certainty.
        return replace(join(self.name, parts), avg_logprob=None)

    def _once(
        self, part: str, previous: SentencePair | None, until_s: float, growing: Growing
    ) -> Translation:
        asked, begun = prompts.harmless(part), ""
        if previous is not None and self._fits(f"{previous.source} {part} {previous.target}"):
            asked = f"{prompts.harmless(previous.source)} {asked}"
            begun = prompts.harmless(previous.target)
        prompt = prompts.render(self._style, asked, self._source, self.target)
        begun = begun and prompt.lead + begun
        request = {
            "prompt": f"{prompt.head}{prompt.text}{prompt.tail}{begun}",
            "max_tokens": self._cap(part),
            "temperature": 0,
            "stop": [prompt.end],
            # Without this, a stream does not report the token counts.
            "stream_options": {"include_usage": True},
        }
        with closing(self.server.complete(request, until_s=until_s, check=self._check)) as pieces:
            return read_answer(
                pieces,
                engine=self.name,
                source=part,
                target=self.target,
                end=prompt.end,
                grow=growing.to,
            )

    def _cap(self, text: str) -> int:
        return 20 + int(2.5 * _tokens(text))

    def _fits(self, text: str) -> bool:
        prompt = prompts.render(self._style, text, self._source, self.target)
        size = _tokens(prompt.head + prompt.text + prompt.tail)
        return size + self._cap(text) <= self._context


def _tokens(text: str) -> int:
    """Estimate the tokens of a text; the estimate is rather too high."""
    return len(text.encode(errors="replace")) // _BYTES_A_TOKEN + 1
