"""An engine on a server, with a local fallback for the time that the server fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

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
"""Back-off of a failed server: the first and the longest; it doubles in between."""
_SHARE = 0.6
"""The server's share of a translation's deadline: the local engine needs the rest."""

Server = TypeVar("Server", OpenAi, OpenAiSpeech)


class QuickTranslator(Translator, Scorer, Protocol):
    """A local quick translator, which can score."""


Local = TypeVar("Local", QuickTranslator, Recognizer)
Made = TypeVar("Made", Translation, Recognition)


class _Pair(Generic[Server, Local]):
    """A server, its local fallback, and the server's back-off."""

    kernels = ""

    def __init__(self, server: Server, local: Local) -> None:
        self._server: Server = server
        self._local: Local = local
        self.name = server.name
        self.is_cancelled: Callable[[], bool] = never
        # Already after one failure: each further failure would delay a caption.
        self._rest = Backoff(after=1, first_s=_FIRST_S, most_s=_MOST_S)

    @property
    def degraded_reason(self) -> str:
        """Why the server is not used, and its fallback; "" while it is used."""
        reason = self._server.degraded_reason.rstrip(".")
        return f"{reason}; {self._local.name} stands in on this machine" if reason else ""

    def load(self) -> None:
        """Load the local model, and check whether the server answers. Raises ModelError."""
        # The local engine first: wrong settings for it end the start, a missing server does not.
        self._local.load()
        self._server.load()

    def _ask(self, ask: Callable[[], Made]) -> Made | None:
        """Return the server's result; None if it fails, or during its back-off."""
        if self._rest.is_active(time.monotonic()):
            return None
        # Each time: the caller sets a new one for each request.
        self._server.is_cancelled = self.is_cancelled
        try:
            made = ask()
        # The server has not failed, and the fallback is not needed either.
        except EngineCancelledError:
            raise
        except EngineError:
            self._rest.failed(time.monotonic())
            return None
        self._rest.succeeded()
        return made


class StandIn(_Pair[OpenAi, QuickTranslator]):
    """A Translator that asks a server, and the local translator if the server fails.

    It stays degraded until the server answers again; each translation names its engine.
    """

    gpu_layers = 0

    def __init__(self, server: OpenAi, local: QuickTranslator) -> None:
        super().__init__(server, local)
        self.deadline_s = server.deadline_s
        self.target = server.target  # may change between calls; the local engine has only one

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
        """Translate `text`. Raises EngineError if the local translator fails too."""
        # Each time: every request has its own deadline and target.
        self._server.deadline_s = _SHARE * self.deadline_s
        self._server.target = self.target
        made = self._ask(lambda: self._server.translate(text, request))
        return self._local.translate(text, request) if made is None else made

    def score(
        self, text: str, targets: Sequence[str], previous: SentencePair | None = None
    ) -> list[tuple[float, float]]:
        """Return the local translator's scores of translations. Raises EngineError."""
        return self._local.score(text, targets, previous)


class RecognizerStandIn(_Pair[OpenAiSpeech, Recognizer]):
    """A Recognizer that asks a server, and the local recognizer if the server fails.

    It stays degraded until the server answers again; each recognition names its engine.
    Neither can be forced to begin with the other's words, nor the server with its own: the
    committed prefix is put before what was spoken after it. So no partial removes a word from the
    screen. Without times, commits wait until two partials agree (`text.commit_policy`).
    """

    def __init__(self, server: OpenAiSpeech, local: Recognizer) -> None:
        super().__init__(server, local)
        self.hotwords = ""
        self._told: tuple[Piece, ...] = ()
        self._is_told_by_local = False

    @property
    def gpu_layers(self) -> int:
        """Number of layers of the local recognizer on a GPU, -1 for all."""
        return int(getattr(self._local, "gpu_layers", 0))

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        """Return the text of `pcm`, shape (n,). Raises EngineError if the local one fails too.

        A partial begins with the tokens `prefix` if the partial before it began with them.
        """
        self._server.hotwords = self.hotwords
        made = self._ask(lambda: self._server.recognize(pcm, final=final))
        if made is not None:
            made = made if final else self._joined(made, prefix)
            return replace(made, engine=self._server.name)
        made = self._from_local(pcm, final=final, prefix=prefix)
        # With each text: records show which engine recognized it, also if the server was lost.
        return replace(made, engine=self._local.name)

    def _from_local(self, pcm: Pcm, *, final: bool, prefix: Sequence[int]) -> Recognition:
        self._local.hotwords, self._local.is_cancelled = self.hotwords, self.is_cancelled
        if final:
            return self._local.recognize(pcm, final=True)
        # The local recognizer knows only its own token ids.
        forced = prefix if self._is_told_by_local and self._begins_with(prefix) else ()
        made = self._local.recognize(pcm, final=False, prefix=forced)
        if len(forced) < len(prefix):
            return self._joined(made, prefix)
        self._told, self._is_told_by_local = _pieces(made), True
        return made

    def _begins_with(self, prefix: Sequence[int]) -> bool:
        return [piece.id for piece in self._told[: len(prefix)]] == list(prefix)

    def _joined(self, made: Recognition, prefix: Sequence[int]) -> Recognition:
        """Return a partial that begins with the committed prefix of either engine."""
        pieces = _pieces(made)
        if self._begins_with(prefix):
            pieces = keep(self._told[: len(prefix)], pieces)
        self._told, self._is_told_by_local = pieces, False
        joined = partial_of(pieces)
        # The times come from two decodings: good enough for joining, but not for commits.
        return replace(made, text=joined.text, tokens=joined.tokens, ends_s=())


def _pieces(made: Recognition) -> tuple[Piece, ...]:
    """Return the tokens of a partial as pieces of its text."""
    starts = (0, *(token.until for token in made.tokens))
    ends_s = made.ends_s or (None,) * len(made.tokens)
    begins_s = (0.0, *ends_s) if made.ends_s else ends_s
    return tuple(
        # Slice the text, not the token: a token may be part of a letter.
        Piece(token.id, made.text[start : token.until], begin_s, end_s)
        for token, start, begin_s, end_s in zip(made.tokens, starts, begins_s, ends_s, strict=False)
    )
