"""An engine on a server, and a local one that steps in while the server is gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from pipeline.core.backoff import Backoff
from pipeline.core.errors import EngineCancelledError, EngineError
from pipeline.core.types import Pcm, Recognition, Translation
from pipeline.engines.protocols import (
    PLAIN,
    Recognizer,
    Scorer,
    SentencePair,
    TranslationRequest,
    Translator,
    never,
)
from pipeline.engines.remote.openai import OpenAi
from pipeline.engines.remote.openai_speech import OpenAiSpeech
from pipeline.engines.streaming.incremental import Piece, keep, partial_of

_FIRST_S, _MOST_S = 5.0, 60.0
"""How long a failed server rests: at first, and at most; doubled in between."""
_SHARE = 0.6
"""Of the time that a translation may take, what the server gets: the local one needs the rest."""

Server = TypeVar("Server", OpenAi, OpenAiSpeech)
Local = TypeVar("Local", Translator, Recognizer)
Made = TypeVar("Made", Translation, Recognition)


class _Pair(Generic[Server, Local]):
    """A server, the local engine behind it, and whether the server rests."""

    kernels = ""

    def __init__(self, server: Server, local: Local) -> None:
        self._server: Server = server
        self._local: Local = local
        self.name = server.name
        self.is_cancelled: Callable[[], bool] = never
        # After the first failure: each further one would take its time from a caption.
        self._rest = Backoff(after=1, first_s=_FIRST_S, most_s=_MOST_S)

    @property
    def degraded_reason(self) -> str:
        """Why the server is not used, and who stands in; "" while it is."""
        reason = self._server.degraded_reason.rstrip(".")
        return f"{reason}; {self._local.name} stands in on this machine" if reason else ""

    def load(self) -> None:
        """Load the local model, and see whether the server is there. Raises ModelError."""
        # The local one first: a mistake in its settings ends the start, a missing server does not.
        self._local.load()
        self._server.load()

    def _ask(self, ask: Callable[[], Made]) -> Made | None:
        """Return what the server makes; None where it fails, or rests."""
        if self._rest.is_active(time.monotonic()):
            return None
        # Each time: who asks sets another one for each request.
        self._server.is_cancelled = self.is_cancelled
        try:
            made = ask()
        # The server has not failed, and the local one need not make it either.
        except EngineCancelledError:
            raise
        except EngineError:
            self._rest.failed(time.monotonic())
            return None
        self._rest.succeeded()
        return made


class StandIn(_Pair[OpenAi, Translator]):
    """A Translator that asks a server, and the local translator where that fails.

    It stays degraded until the server has answered again; each translation names who made it.
    """

    gpu_layers = 0

    def __init__(self, server: OpenAi, local: Translator) -> None:
        super().__init__(server, local)
        self.deadline_s = server.deadline_s
        self.target = server.target  # may change between calls; the local one knows a single one

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
        """Translate `text`. Raises EngineError where the local translator fails too."""
        # Each time: a request brings its own.
        self._server.deadline_s = _SHARE * self.deadline_s
        self._server.target = self.target
        made = self._ask(lambda: self._server.translate(text, request))
        return self._local.translate(text, request) if made is None else made

    def score(
        self, text: str, targets: Sequence[str], previous: SentencePair | None = None
    ) -> list[tuple[float, float]]:
        """Return what the local translator thinks of translations. Raises EngineError."""
        # The server never can: it only says so.
        judge = self._local if isinstance(self._local, Scorer) else self._server
        return judge.score(text, targets, previous)


class RecognizerStandIn(_Pair[OpenAiSpeech, Recognizer]):
    """A Recognizer that asks a server, and the local recognizer where that fails.

    It stays degraded until the server has answered again; each recognition names who made it.
    Neither can be made to begin with words that the other has heard, nor the server with its own:
    committed words are put before what was spoken after them. So no partial takes a word off the
    screen, and commits wait until two partials agree, for want of times (`text.commit_policy`).
    """

    def __init__(self, server: OpenAiSpeech, local: Recognizer) -> None:
        super().__init__(server, local)
        self.hotwords = ""
        self._told: tuple[Piece, ...] = ()
        self._is_told_by_local = False

    @property
    def gpu_layers(self) -> int:
        """How many layers of the local recognizer are on a GPU, -1 for all."""
        return int(getattr(self._local, "gpu_layers", 0))

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        """Return the text of `pcm`, shape (n,). Raises EngineError where the local one fails too.

        A partial begins with the tokens `prefix` if they are what the one before it began with.
        """
        self._server.hotwords = self.hotwords
        made = self._ask(lambda: self._server.recognize(pcm, final=final))
        if made is not None:
            made = made if final else self._joined(made, prefix)
            return replace(made, engine=self._server.name)
        made = self._from_local(pcm, final=final, prefix=prefix)
        # With each text: of a service in which the server went, records tell who heard what.
        return replace(made, engine=self._local.name)

    def _from_local(self, pcm: Pcm, *, final: bool, prefix: Sequence[int]) -> Recognition:
        self._local.hotwords, self._local.is_cancelled = self.hotwords, self.is_cancelled
        if final:
            return self._local.recognize(pcm, final=True)
        # The local recognizer knows its own ids: those of others mean nothing to it.
        forced = prefix if self._is_told_by_local and self._begins_with(prefix) else ()
        made = self._local.recognize(pcm, final=False, prefix=forced)
        if len(forced) < len(prefix):
            return self._joined(made, prefix)
        self._told, self._is_told_by_local = _pieces(made), True
        return made

    def _begins_with(self, prefix: Sequence[int]) -> bool:
        return [piece.id for piece in self._told[: len(prefix)]] == list(prefix)

    def _joined(self, made: Recognition, prefix: Sequence[int]) -> Recognition:
        """Return a partial that begins with the committed words, whoever heard them."""
        pieces = _pieces(made)
        if self._begins_with(prefix):
            pieces = keep(self._told[: len(prefix)], pieces)
        self._told, self._is_told_by_local = pieces, False
        joined = partial_of(pieces)
        # Times are of two decodings: good enough to join them, not to commit by.
        return replace(made, text=joined.text, tokens=joined.tokens, ends_s=())


def _pieces(made: Recognition) -> tuple[Piece, ...]:
    """Return the tokens of a partial as pieces of its text."""
    starts = (0, *(token.until for token in made.tokens))
    ends_s = made.ends_s or (None,) * len(made.tokens)
    begins_s = (0.0, *ends_s) if made.ends_s else ends_s
    return tuple(
        # Of the text, not of the token: one may be a part of a letter.
        Piece(token.id, made.text[start : token.until], begin_s, end_s)
        for token, start, begin_s, end_s in zip(made.tokens, starts, begins_s, ends_s, strict=False)
    )
