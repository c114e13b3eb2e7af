"""An engine in a separate process: a crash ends that process and nothing else.

`RecognizerProcess`, `TranslatorProcess` and `SpeakerProcess` have the interface of the engines
that they start. Each talks to a child (`child`) over a socket, and `keeper` keeps one running.

Requests and answers are messages of `channel`:

    {"do": "recognize", "final", "prefix", "hotwords", "lang", "log_level"} + samples
                                                                      -> {"is": "done", "value"}
    {"do": "translate", "text", "target", "draft", "standing", "wanted", "rivals",
     "previous", "stream", "deadline_s", "log_level"}
                            -> any number of {"is": "text", "text"}   -> {"is": "done", "value"}

    {"do": "cancel"} while it translates                             -> {"is": "error", ...}
    {"do": "score", "text", "targets", "previous", "log_level"}       -> {"is": "done", "value"}
    {"do": "speak", "text", "lang", "rate", "log_level"}   -> {"is": "done", "value": {}} + samples

or {"is": "error", ...} with the fields of the StarkError. Done and error also hold the engine's
`degraded_reason`. Before the first request the child gets the engine's description and answers
{"is": "loaded", ...}.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from pipeline.core.errors import EngineCancelledError, EngineError
from pipeline.core.standing import TargetPart, Token
from pipeline.core.terms import TermRepair
from pipeline.core.types import SAMPLE_RATE, Alternative, Pcm, Recognition, Translation, Word
from pipeline.engines.process.channel import Channel, Patience
from pipeline.engines.process.child_process import ChildProcess, own_log_level
from pipeline.engines.process.deaths import Cause
from pipeline.engines.process.keeper import KeptProcess
from pipeline.engines.protocols import PLAIN, SentencePair, TranslationRequest, never
from pipeline.engines.specification import EngineSpec, Part

# If shorter, an engine that notices its deadline late is killed. If longer, finals wait for a hang.
_GRACE_S = 1.0
"""How much longer than its own deadline a translator may take."""

_LOOK_S = 0.02
"""How often to check whether a translation is still wanted."""

_CANCELLED = EngineCancelledError.__name__

_GPU_ERRORS = {"gemma-failed", "stt-failed"}
"""Errors that a dead GPU may cause."""


@dataclass(frozen=True, slots=True)
class Work:
    """An engine's work since the start of the service, summed over all its processes."""

    busy_s: float = 0.0
    prompt_tokens: int = 0
    generated_tokens: int = 0

    @property
    def tokens_per_s(self) -> float | None:
        """Generated tokens per second of work, None before the first."""
        return self.generated_tokens / self.busy_s if self.generated_tokens else None


class EngineProcess(KeptProcess):
    """Sends requests to the process. Only one thread may call it."""

    work = Work()
    """Replaced as a whole after each call: another thread may read it."""

    def _call(
        self,
        request: Mapping[str, Any],
        data: bytes | memoryview = b"",
        *,
        patience_s: float,
        on_text: Callable[[str], None] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> dict[str, Any]:
        """Return the value of the answer. Raises EngineError or its subclass EngineGoneError."""
        # Read once: the keeper may replace the process at any time.
        child, patience = self.take_child(), Patience(patience_s)
        # With each request: the settings may change while the engine runs.
        message = {**request, "log_level": own_log_level()}
        try:
            # Another thread may request a score: answers must not be mixed up.
            with child.lock:
                child.channel.send(message, data, patience=patience)
                while True:
                    if is_cancelled is not None and _await(child.channel, is_cancelled, patience):
                        child.channel.send({"do": "cancel"}, patience=patience)
                        # Cancel once: the answer is now the error, or a text that was already done.
                        is_cancelled = None
                    answer, sent = child.channel.receive(patience)
                    if answer["is"] != "text":
                        break
                    if on_text is not None:
                        on_text(answer["text"])
        # Before OSError, its base class. The process is killed and not reused: its late answer
        # would be taken for the answer to the next request.
        except TimeoutError:
            child.kill(Cause("engine-hangs", f"did not answer for {patience_s:.0f} s"))
            self.lose(child)
        except (EOFError, OSError):
            self.lose(child)
        except ValueError:
            child.kill(Cause("engine-crashed", "answered nonsense"))
            self.lose(child)
        # Each time: the server behind an engine may have gone or come back.
        self._own_reason = answer.get("degraded_reason", "")
        if answer["is"] == "error":
            self._raise(answer, child)
        value: dict[str, Any] = answer["value"]
        if sent:
            value["data"] = sent
        with self._changed:  # another thread may request a score
            self.work = Work(
                self.work.busy_s + answer["took_s"],
                self.work.prompt_tokens + value.get("prompt_tokens", 0),
                self.work.generated_tokens + _written(value),
            )
        return value

    def _raise(self, answer: Mapping[str, Any], child: ChildProcess) -> NoReturn:
        # A CUDA context that failed once returns the same error for every later call.
        if child.gpu_layers and answer["code"] in _GPU_ERRORS:
            child.kill(Cause("gpu-failed", f"failed on the GPU: {answer['message']}"))
            self.lose(child)
        kind = EngineCancelledError if answer["class"] == _CANCELLED else EngineError
        raise kind(answer["code"], answer["message"], answer["fix"])


def _written(value: Mapping[str, Any]) -> int:
    """Return a translation's token count. A recognition's `tokens` is not a number."""
    tokens = value.get("tokens", 0)
    return tokens if isinstance(tokens, int) else 0


def _await(channel: Channel, is_cancelled: Callable[[], bool], patience: Patience) -> bool:
    """Wait for a message; return True instead as soon as the request is cancelled."""
    while not is_cancelled():  # first: a fast translator always has a message ready
        if channel.has_message(_LOOK_S):
            return False
        patience.spend(_LOOK_S)
    return True


class RecognizerProcess(EngineProcess):
    """A Recognizer in a separate process. A call waits while the process is being replaced."""

    hotwords = ""
    lang = ""

    def __init__(self, spec: EngineSpec, part: Part, **options: Any) -> None:
        super().__init__(spec, part, **options)
        self.is_cancelled = never
        # How long a server may take before this machine's own recognizer begins.
        self._server_s: float = spec.arguments.get("server", {}).get("deadline_s", 0.0)

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        """Return the text of `pcm`, shape (n,). Raises EngineError.

        EngineCancelledError: the text is no longer wanted.
        EngineGoneError: the process ended meanwhile; the next call uses a new one.
        ModelCrashError and other ModelErrors: there will be no new process.
        """
        request = {
            "do": "recognize",
            "final": final,
            "prefix": prefix,
            "hotwords": self.hotwords,
            "lang": self.lang,
        }
        # A slow machine needs longer for a long utterance than its duration.
        patience_s = self._hang_s + 2 * len(pcm) / SAMPLE_RATE + self._server_s
        # Only a contiguous array can be sent without a copy.
        samples = np.ascontiguousarray(pcm, np.float32)
        value = self._call(
            request, samples.data, patience_s=patience_s, is_cancelled=self.is_cancelled
        )
        heard = value.pop("words")
        # JSON has no NaN, so such a probability arrives as null: then no words are returned.
        is_measured = all(word["probability"] is not None for word in heard)
        words = tuple(Word(**word) for word in heard) if is_measured else ()
        tokens = tuple(Token(**token) for token in value.pop("tokens"))
        return Recognition(**value, words=words, tokens=tokens)


class TranslatorProcess(EngineProcess):
    """A Translator in a separate process. While it is being replaced, a call raises at once."""

    def __init__(self, spec: EngineSpec, part: Part, **options: Any) -> None:
        super().__init__(spec, part, **options)
        self.deadline_s: float = spec.arguments.get("deadline_s", math.inf)
        self.is_cancelled = never
        self.target: str = spec.arguments.get("target", "")
        """The language to translate into; may change between calls."""

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
        """See `Translator`. Raises EngineError; EngineGoneError if there is no process."""
        endless = math.isinf(self.deadline_s)
        message = {
            "do": "translate",
            "text": text,
            "target": self.target,
            "draft": request.draft,
            "standing": request.standing,
            "wanted": request.wanted,
            "rivals": request.rivals,
            "previous": request.previous,
            "stream": request.on_text is not None,
            "deadline_s": None if endless else self.deadline_s,
        }
        # The engine enforces its own deadline; the extra second is for an engine that hangs.
        patience_s = self._hang_s if endless else self.deadline_s + _GRACE_S
        value = self._call(
            message, patience_s=patience_s, on_text=request.on_text, is_cancelled=self.is_cancelled
        )
        parts = tuple(TargetPart(**part) for part in value.pop("parts"))
        repairs = tuple(TermRepair(**repair) for repair in value.pop("repairs"))
        alternatives = tuple(Alternative(**each) for each in value.pop("alternatives"))
        return Translation(**value, parts=parts, repairs=repairs, alternatives=alternatives)

    def score(
        self, text: str, targets: Sequence[str], previous: SentencePair | None = None
    ) -> list[tuple[float, float]]:
        """See `Scorer`; only a fast translator supports it. Raises EngineError."""
        request = {
            "do": "score",
            "text": text,
            "targets": targets,
            "previous": previous,
        }
        return list(self._call(request, patience_s=self._hang_s)["scores"])


class SpeakerProcess(EngineProcess):
    """A Speaker in a separate process. While it is being replaced, a call raises at once."""

    def speak(self, text: str, lang: str, rate: float) -> Pcm:
        """See `Speaker`. Raises EngineError; EngineGoneError if there is no process."""
        request = {"do": "speak", "text": text, "lang": lang, "rate": rate}
        # The engine enforces its own deadline; the extra second is for an engine that hangs.
        patience_s = self.spec.arguments["deadline_s"] + _GRACE_S
        value = self._call(request, patience_s=patience_s)
        return np.frombuffer(value.get("data", b""), np.float32)
