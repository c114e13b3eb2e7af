"""An engine in a process of its own: what goes wrong in it ends that process and nothing else.

`RecognizerProcess`, `TranslatorProcess` and `SpeakerProcess` are engines like those that they
start: each talks to a child (`child`) over a socket, and `keeper` sees that there is one.

Requests and answers are messages of `channel`:

    {"do": "recognize", "final", "prefix", "hotwords", "lang", "log_level"} + samples
                                                                      -> {"is": "done", "value"}
    {"do": "translate", "text", "target", "draft", "standing", "wanted", "rivals",
     "previous", "stream", "deadline_s", "log_level"}
                            -> any number of {"is": "text", "text"}   -> {"is": "done", "value"}

    {"do": "cancel"} while it translates                             -> {"is": "error", ...}
    {"do": "score", "text", "targets", "previous", "log_level"}       -> {"is": "done", "value"}
    {"do": "speak", "text", "lang", "rate", "log_level"}   -> {"is": "done", "value": {}} + samples

or {"is": "error", ...} with the fields of the StarkError; done and error also with the engine's
`degraded_reason`. Before them the child gets the engine's description and answers
{"is": "loaded", ...}.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
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

# Shorter: an engine that is slow to notice is killed. Longer: finals wait behind a hang.
_GRACE_S = 1.0
"""So much longer than its own deadline a translator may take."""

_LOOK_S = 0.02
"""How often it is looked whether a translation is still wanted."""

_CANCELLED = EngineCancelledError.__name__

_GPU_ERRORS = {"gemma-failed", "stt-failed"}
"""Errors behind which there may be a GPU that has died."""


@dataclass(frozen=True, slots=True)
class Work:
    """What an engine has done since the start of the service, in all of its processes."""

    busy_s: float = 0.0
    prompt_tokens: int = 0
    generated_tokens: int = 0

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens made in a second of work, None before the first."""
        return self.generated_tokens / self.busy_s if self.generated_tokens else None


class EngineProcess(KeptProcess):
    """Asks the process. Calls are for one thread."""

    work = Work()
    """Replaced whole after each call: another thread may read it."""
    added_s = 0.0
    """What the last call took beyond the engine's own time: the way there and back."""

    def __init__(self, spec: EngineSpec, part: Part, **options: Any) -> None:
        super().__init__(spec, part, **options)
        self._counting = threading.Lock()

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
        # Taken once: the keeper may put the next process in its place at any time.
        child, patience = self.take_child(), Patience(patience_s)
        start_s = time.perf_counter()
        # With each request: the settings may change while the engine runs.
        message = {**request, "log_level": own_log_level()}
        try:
            # A score may be asked for by another thread: answers must not be mixed up.
            with child.lock:
                child.channel.send(message, data, patience=patience)
                while True:
                    if is_cancelled is not None and _await(child.channel, is_cancelled, patience):
                        child.channel.send({"do": "cancel"}, patience=patience)
                        # Once: what comes now is the error, or a text that was done already.
                        is_cancelled = None
                    answer, sent = child.channel.receive(patience)
                    if answer["is"] != "text":
                        break
                    if on_text is not None:
                        on_text(answer["text"])
        # Before OSError, of which it is one. The process is killed and not asked again: its late
        # answer would be taken for that of the next request.
        except TimeoutError:
            child.kill(Cause("engine-hangs", f"did not answer for {patience_s:.0f} s"))
            self.lose(child)
        except (EOFError, OSError):
            self.lose(child)
        except ValueError:
            child.kill(Cause("engine-crashed", "answered nonsense"))
            self.lose(child)
        # Each time: the server behind an engine may be gone, or back.
        self.note_reason(answer.get("degraded_reason", ""))
        if answer["is"] == "error":
            self._raise(answer, child)
        self.added_s = time.perf_counter() - start_s - answer["took_s"]
        value: dict[str, Any] = answer["value"]
        if sent:
            value["data"] = sent
        with self._counting:  # a score is asked for by another thread
            self.work = Work(
                self.work.busy_s + answer["took_s"],
                self.work.prompt_tokens + value.get("prompt_tokens", 0),
                self.work.generated_tokens + _written(value),
            )
        return value

    def _raise(self, answer: Mapping[str, Any], child: ChildProcess) -> NoReturn:
        # A CUDA context that has failed once answers every later call with the same error.
        if child.gpu_layers and answer["code"] in _GPU_ERRORS:
            child.kill(Cause("gpu-failed", f"failed on the GPU: {answer['message']}"))
            self.lose(child)
        kind = EngineCancelledError if answer["class"] == _CANCELLED else EngineError
        raise kind(answer["code"], answer["message"], answer["fix"])


def _written(value: Mapping[str, Any]) -> int:
    """Return how many tokens a translation has; a recognition does not tell that of finals."""
    tokens = value.get("tokens", 0)
    return tokens if isinstance(tokens, int) else 0


def _await(channel: Channel, is_cancelled: Callable[[], bool], patience: Patience) -> bool:
    """Wait for a message; return True instead as soon as the request is cancelled."""
    while not is_cancelled():  # first: a quick translator's words leave no time without a message
        if channel.has_message(_LOOK_S):
            return False
        patience.spend(_LOOK_S)
    return True


class RecognizerProcess(EngineProcess):
    """A Recognizer in a process of its own. A call waits while that is being replaced."""

    hotwords = ""
    lang = ""

    def __init__(self, spec: EngineSpec, part: Part, **options: Any) -> None:
        super().__init__(spec, part, **options)
        self.is_cancelled = never
        # What a server may take before the recognizer of this machine begins.
        self._server_s: float = spec.arguments.get("server", {}).get("deadline_s", 0.0)

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        """Return the text of `pcm`, shape (n,). Raises EngineError.

        EngineCancelledError: nobody wants the text any more.
        EngineGoneError: the process ended meanwhile; the next call is for another one.
        ModelCrashError and other ModelErrors: there will be no other one.
        """
        request = {
            "do": "recognize",
            "final": final,
            "prefix": list(prefix),
            "hotwords": self.hotwords,
            "lang": self.lang,
        }
        # A long utterance takes a slow machine longer than it took to say.
        patience_s = self._hang_s + 2 * len(pcm) / SAMPLE_RATE + self._server_s
        # A view with gaps has no bytes that could be sent as they lie.
        samples = np.ascontiguousarray(pcm, np.float32)
        value = self._call(
            request, samples.data, patience_s=patience_s, is_cancelled=self.is_cancelled
        )
        heard = value.pop("words")
        # JSON has no NaN: a probability that is none comes as null. Then the model gives none.
        is_measured = all(word["probability"] is not None for word in heard)
        words = tuple(Word(**word) for word in heard) if is_measured else ()
        tokens = tuple(Token(**token) for token in value.pop("tokens"))
        ends_s = tuple(value.pop("ends_s"))
        langs = tuple((lang, share) for lang, share in value.pop("langs"))
        return Recognition(**value, words=words, tokens=tokens, ends_s=ends_s, langs=langs)


class TranslatorProcess(EngineProcess):
    """A Translator in a process of its own. While that is being replaced a call raises at once."""

    def __init__(self, spec: EngineSpec, part: Part, **options: Any) -> None:
        super().__init__(spec, part, **options)
        self.deadline_s: float = spec.arguments.get("deadline_s", math.inf)
        self.is_cancelled = never
        self.target: str = spec.arguments.get("target", "")
        """The language to translate into; may change between calls."""

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
        """Translate `text`. Raises EngineError: EngineGoneError where there is no process,
        EngineCancelledError.
        """
        endless = math.isinf(self.deadline_s)
        message = {
            "do": "translate",
            "text": _encodable(text),
            "target": self.target,
            "draft": _encodable(request.draft),
            "standing": asdict(request.standing) if request.standing else None,
            "wanted": [asdict(term) for term in request.wanted],
            "rivals": None if request.rivals is None else list(map(_encodable, request.rivals)),
            "previous": _pair(request.previous),
            "stream": request.on_text is not None,
            "deadline_s": None if endless else self.deadline_s,
        }
        # The engine keeps its own deadline; the second more is for one that cannot any more.
        patience_s = self._hang_s if endless else self.deadline_s + _GRACE_S
        value = self._call(
            message, patience_s=patience_s, on_text=request.on_text, is_cancelled=self.is_cancelled
        )
        parts = tuple(map(_target_part, value.pop("parts")))
        repairs = tuple(TermRepair(**repair) for repair in value.pop("repairs"))
        alternatives = tuple(Alternative(**each) for each in value.pop("alternatives"))
        return Translation(**value, parts=parts, repairs=repairs, alternatives=alternatives)

    def score(
        self, text: str, targets: Sequence[str], previous: SentencePair | None = None
    ) -> list[tuple[float, float]]:
        """Return the mean log-probability of translations and that of their least likely token.

        Only a quick translator can. Any thread may ask. Raises EngineError.
        """
        request = {
            "do": "score",
            "text": _encodable(text),
            "targets": list(map(_encodable, targets)),
            "previous": _pair(previous),
        }
        scores = self._call(request, patience_s=self._hang_s)["scores"]
        return [(mean, least) for mean, least in scores]


def _target_part(value: Mapping[str, Any]) -> TargetPart:
    lists = {key: tuple(value[key]) for key in ("pieces", "until", "looked_at")}
    return TargetPart(**{**value, **lists})


def _pair(pair: SentencePair | None) -> dict[str, str] | None:
    if pair is None:
        return None
    return {"source": _encodable(pair.source), "target": _encodable(pair.target)}


def _encodable(text: str) -> str:
    """Return `text` with a question mark for every half of a character."""
    # orjson refuses them: UTF-8 has no halves of surrogate pairs.
    return text.encode(errors="replace").decode()


class SpeakerProcess(EngineProcess):
    """A Speaker in a process of its own. While that is being replaced a call raises at once."""

    def speak(self, text: str, lang: str, rate: float) -> Pcm:
        """Return `text` as speech at 24 kHz, shape (n,); empty where nothing can be said.

        Raises EngineError; EngineGoneError where there is no process.
        """
        request = {"do": "speak", "text": _encodable(text), "lang": lang, "rate": rate}
        # The engine keeps its own deadline; the second more is for one that cannot any more.
        patience_s = self.spec.arguments["deadline_s"] + _GRACE_S
        value = self._call(request, patience_s=patience_s)
        return np.frombuffer(value.get("data", b""), np.float32)
