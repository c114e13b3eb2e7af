"""Text to text at the best quality: an instruct model such as TranslateGemma, in llama.cpp."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import structlog

from pipeline.core.errors import EngineCancelledError, EngineError, ModelError
from pipeline.core.standing import Standing
from pipeline.core.terms import WantedTerm, by_part
from pipeline.core.types import Alternative, Translation
from pipeline.engines import prompts
from pipeline.engines.borrowed_words import keeps_borrowed
from pipeline.engines.llama_cpp import llama
from pipeline.engines.llama_cpp.decoding import Bias, Decoding, Draft, Written, count_within
from pipeline.engines.llama_cpp.gemma_terms import AnswerScorer
from pipeline.engines.output import WholeWords, growing, join, one_line
from pipeline.engines.protocols import (
    PLAIN,
    SentencePair,
    TranslationRequest,
    never,
    until_deadline,
)
from pipeline.engines.specification import setting
from pipeline.engines.term_repair import Repaired, lacking, repair
from pipeline.text import repetition, sentences

log = structlog.get_logger()


def gpu_steps(path: Path, asked: int, share: float) -> list[int]:
    """Return the numbers of GPU layers to try in turn; `asked` is -1 for all.

    The first number is `share` (0..1) of the layers.
    """
    total = llama.layers(path)
    most = total if asked < 0 else min(total, asked)
    # Each number once: half of one layer is already none.
    return list(dict.fromkeys([asked if share == 1 else int(most * share), most // 2, 0]))


def in_words(gpu_layers: int) -> str:
    """Return in words where the layers are."""
    if gpu_layers == 0:
        return "the CPU alone"
    return f"{'all' if gpu_layers < 0 else gpu_layers} layers on the GPU"


_WARM_UP = "Grace to you and peace."
_NOTHING = Draft()
_SURE = -0.2
"""Above this mean log-probability an answer is used as it is: docs/decisions/074."""
_QUICK_S = 1.0
"""If the first answer takes longer, it is the only one: a caption's delay at most doubles."""
# Measured: docs/decisions/017-calm-finals.md.
_STANDS = Bias(standing=0.45, tail=0.3, final=0.5)


def _by_sentence(
    draft: str, standing: Standing | None, count: int
) -> list[tuple[str, Standing | None]]:
    """Return `count` sentences of a draft, each with its part that is shown on screen.

    All are empty if the draft has another number of sentences: then they cannot be matched.
    """
    drafted = sentences.split(draft) if count > 1 else [draft]
    found: list[tuple[str, Standing | None]] = []
    end = 0
    for sentence in drafted if len(drafted) == count else [""] * count:
        # After the one before: the same sentence may come twice.
        start = draft.find(sentence, end)
        end = start + len(sentence)
        if standing is None:
            found.append((sentence, None))
            continue
        target, was_final = (
            min(max(0, shown_length - start), len(sentence))
            for shown_length in (standing.target, standing.was_final)
        )
        found.append((sentence, Standing(target=target, was_final=was_final)))
    return found


def _alternatives(parts: Sequence[Translation]) -> tuple[Alternative, ...]:
    """Return the alternatives of all sentences; a sentence without any gives its only answer."""
    if not any(part.alternatives for part in parts):
        return ()
    found: list[Alternative] = []
    for number, part in enumerate(parts):
        only = Alternative(part.text, part.avg_logprob or 0.0, part.avg_logprob or 0.0)
        found += [replace(each, part=number) for each in part.alternatives or (only,)]
    return tuple(found)


class Gemma:
    """A Translator on a GGUF file.

    `prompt` is a style or "auto". `gpu_layers` is 0 for none and -1 for all; `gpu_share` (0..1) of
    them is tried first. `context` is in tokens, `batch` is how many of them are evaluated at once.
    `draft` is how many draft tokens are checked at once (0: none). A translation that takes longer
    than `deadline_s` is given up. `section`: see `EngineSpec`.
    """

    name = "gemma"
    _llama: llama.Llama

    def __init__(
        self,
        path: Path,
        *,
        prompt: prompts.Style | Literal["auto"] = "auto",
        source: str = "en",
        target: str = "es",
        gpu_layers: int = 0,
        gpu_share: float = 1.0,
        threads: int = 2,
        context: int = 2048,
        batch: int = 128,
        draft: int = 0,
        deadline_s: float = 8.0,
        section: str = "",
    ) -> None:
        self._path = path
        self._section = section
        self._style = prompts.style_for(path) if prompt == "auto" else prompt
        self._borrows = prompts.copies(path)
        self._source = source
        self.target = target  # may change between calls
        # Share 0: earlier processes died on the GPU, each with fewer layers on it.
        self._gpu_layers = gpu_layers if gpu_share else 0
        self._gpu_share = gpu_share
        self._settings: dict[str, Any] = {"threads": threads, "context": context, "batch": batch}
        self._most_guesses = draft
        self._end = prompts.END_OF_TURN
        self._lead = ""
        self.deadline_s = deadline_s
        self.is_cancelled = never
        self.bias = _STANDS
        """How strongly draft words that are already on screen are preferred."""
        self.degraded_reason = ""
        self.gpu_layers = 0
        """Layers on the GPU, once the model is loaded."""

    def load(self) -> None:
        """Load and warm up the model. If the GPU fails, use fewer GPU layers or the CPU.

        Raises ModelError, ConfigError for a language that the prompt cannot name, or EngineError
        if llama.cpp has no kernels for this CPU.
        """
        # First: a language that no prompt can name is detected without the weights.
        prompt = prompts.render(self._style, "", self._source, self.target, self._section)
        key = setting(self._section, "model")
        self._end = prompt.end
        if self._path.is_dir():
            raise ModelError(
                "model-wrong-kind",
                f"{key}: {self._path} is a folder, not a GGUF model.",
                "Give a .gguf file.",
            )
        if not self._path.is_file():
            raise ModelError(
                "model-missing", f"{key}: there is no file {self._path}.", "Give a .gguf file."
            )
        llama.library()
        try:
            steps = self._steps()
            for step, fewer in zip(steps, [*steps[1:], None], strict=True):
                try:
                    self._start(step)
                except llama.LlamaError as error:
                    if fewer is None:
                        raise
                    self._retreat(f"{in_words(step)}: {error}; trying {in_words(fewer)}")
                    self.__dict__.pop("_llama", None)  # its memory is needed for the next try
                else:
                    self.gpu_layers = step
                    return
        # EngineError comes from the warm-up translation, e.g. if the context is too small for it.
        except (llama.LlamaError, EngineError) as error:
            context = setting(self._section, "context")
            raise ModelError(
                "model-broken",
                f"{key}: {self._path} cannot be loaded: {error}.",
                f"Copy or pull it again; if memory is short, lower {context}.",
            ) from error

    @property
    def kernels(self) -> str:
        """The CPU features that llama.cpp uses, in words."""
        return " ".join(name for name, value in llama.kernels().items() if value == "1")

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
        """Translate `text`; `on_text` gets the text so far, whole words only, as it grows.

        A draft only makes decoding faster: tokens in which draft and answer agree are evaluated
        several at once, which saves time if reading the weights is the bottleneck. It does not
        change the answer. (Another order of summation may decide between two equally likely tokens,
        mostly on a GPU.) With `standing` the draft changes the answer: a draft token stays unless
        the model clearly prefers another one, above all a token that is committed on screen.
        Missing terms of `wanted` are inserted. The alternatives are its answer, another one where a
        draft token stayed against a far likelier one, and `rivals`. A starter translates sentence
        by sentence, as it was trained; with several sentences, each one's rival is its draft. Each
        sentence gets the one before it as context, the first one `previous` (docs/decisions/081).
        Raises EngineError: `final-late` after `deadline_s`, `text-too-long` for a word that does
        not fit the context, `gemma-failed` if llama.cpp reports an error; EngineCancelledError.
        """
        parts: list[Translation] = []
        check, grow = until_deadline(self), growing(request.on_text, parts)
        # For an empty text the model would invent something.
        if not text.strip():
            return Translation("", self.name)
        try:
            whole = sentences.split(text) if self._style == "starter" else [text]
            cut = [piece for each in whole for piece in sentences.pack(each, self._fits)]
            begun = _by_sentence(request.draft, request.standing, len(cut))
            previous = request.previous if self._has_time else None
            for (part, _, terms), (own, shown) in zip(
                by_part(text, cut, request.wanted), begun, strict=True
            ):
                others = request.rivals
                if others is not None and len(cut) > 1:
                    others = (own,) * bool(own)
                done = self._part(
                    part, check, grow, own, shown, wanted=terms, rivals=others, previous=previous
                )
                parts.append(done)
                is_known = self._has_time and done.stopped == "end"
                previous = SentencePair(part, done.text) if is_known else None
        except llama.LlamaError as error:
            raise EngineError("gemma-failed", f"{self._path.name}: {error}.") from error
        return replace(join(self.name, parts), alternatives=_alternatives(parts))

    @property
    def _has_time(self) -> bool:
        """Whether it reads one more sentence in some 50 ms; a large model on a CPU cannot."""
        return self._borrows if self._style == "starter" else self.gpu_layers != 0

    def _part(
        self,
        source: str,
        check: Callable[[], None],
        grow: Callable[[str], None],
        draft: str = "",
        standing: Standing | None = None,
        *,
        wanted: Sequence[WantedTerm] = (),
        rivals: Sequence[str] | None = None,
        previous: SentencePair | None = None,
    ) -> Translation:
        prompt, head, cap = self._prompt(source, previous)
        if previous is not None and len(prompt) + cap > self._llama.context:
            prompt, head, cap = self._prompt(source)
        # The text has been cut to fit: only a single word can still be too long.
        if len(prompt) + cap > self._llama.context:
            sizes = f"{len(prompt)} tokens of prompt and {cap} of answer"
            raise EngineError("text-too-long", f"{sizes} do not fit the context.")
        reused = self._llama.prompt(prompt, check, head)
        # "Holy, holy, holy" is no loop: the translation may repeat as often as the source.
        repeats = repetition.longest(repetition.words(source)).count
        decoding = Decoding(
            self._llama,
            cap=cap,
            repeats=repeats,
            guesses=self._most_guesses,
            ends=self._ends,
            check=check,
        )
        words, began_s = WholeWords(self.target, grow), time.monotonic()
        guesses = self._draft(draft, standing)
        written = decoding.write(guesses, words.add)
        # After a slow first answer, several more would be late.
        is_quick = time.monotonic() - began_s < _QUICK_S
        made = written.tokens
        kept = repetition.cut(made, written.loop, repeats) if written.loop else made
        text = self._text(kept)
        scorer = AnswerScorer(self._llama, prompt, kept, encode=self._as_answer, check=check)
        try:
            # The rest is never decoded again: a large model would take too long.
            done = repair(
                text,
                written.mean,
                wanted,
                said=source,
                weigh=lambda term: scorer.weights(text, term),
                score=scorer.score,
            )
        except EngineCancelledError:
            raise
        # The deadline passed while a term was inserted: keep the finished answer.
        except EngineError:
            done = Repaired(text)
        found: tuple[Alternative, ...] = ()
        is_unsure = written.whole_mean < _SURE
        if rivals is not None and written.stopped == "end" and is_quick and is_unsure:
            missing = len(lacking(done.text, wanted))
            others = self._others(decoding, written, prompt, text, rivals)
            found = (
                Alternative(done.text, written.mean, written.whole_mean),
                *(
                    each
                    for each in others
                    if len(lacking(each.text, wanted)) <= missing
                    and self._keeps_borrowed(source, done.text, each.text)
                ),
            )
        return Translation(
            text=done.text,
            engine=self.name,
            tokens=len(made),
            avg_logprob=written.mean if made else None,
            prompt_tokens=len(prompt),
            reused_tokens=reused,
            draft_tokens=written.drafted,
            repairs=done.repairs,
            stopped=written.stopped,
            alternatives=found,
        )

    def _others(
        self,
        decoding: Decoding,
        first: Written,
        prompt: Sequence[int],
        text: str,
        rivals: Sequence[str],
    ) -> list[Alternative]:
        """Return another answer than `text` and the `rivals`, as many as the deadline allows."""
        end = self._llama.tokenize(self._end, special=True)
        found: dict[str, Alternative] = {}
        try:
            if branch := decoding.branch(prompt, first, end):
                other = self._text(branch.tokens)
                found[other] = Alternative(other, branch.mean, branch.whole_mean)
            scorer = AnswerScorer(
                self._llama,
                prompt,
                [*first.tokens, *end],
                encode=self._as_answer,
                check=decoding.check,
                known=first.logprobs,
            )
            for rival in rivals:
                logprobs = scorer.logprobs([*self._as_answer(rival), *end])
                own = logprobs[: -len(end)]
                whole = sum(logprobs) / len(logprobs)
                found.setdefault(rival, Alternative(rival, sum(own) / max(1, len(own)), whole))
        except EngineCancelledError:
            raise
        except EngineError:  # the deadline has passed: return what is ready
            pass
        found.pop(text, None)
        return list(found.values())

    def _keeps_borrowed(self, source: str, first: str, other: str) -> bool:
        langs = (self._source, self.target)
        borrows = self._borrows and self._style == "starter"
        return not borrows or keeps_borrowed(source, first, other, langs)

    def _text(self, tokens: Sequence[int]) -> str:
        # Joined before decoding: two tokens may share one character.
        return one_line(b"".join(map(self._llama.piece, tokens)).decode(errors="replace"))

    def _draft(self, draft: str, standing: Standing | None) -> Draft:
        """Return `draft` as answer tokens."""
        if not draft or (standing is None and not self._most_guesses):
            return _NOTHING
        tokens = self._as_answer(draft)
        # With its end, so that a correct draft saves that step too.
        end = self._llama.tokenize(self._end, special=True)
        if standing is None:
            return Draft([*tokens, *end])
        pieces = [self._llama.piece(token) for token in tokens]
        shown_count, was_final = (
            # The tokens begin with the lead as well.
            count_within(pieces, (self._lead + draft[:characters]) if characters else "")
            for characters in (standing.target, standing.was_final)
        )
        return Draft([*tokens, *end], shown_count, was_final, self.bias)

    def _as_answer(self, text: str) -> list[int]:
        return self._llama.tokenize(self._lead + text, special=False)

    def _ends(self, token: int) -> bool:
        # A token may hold a line break and more. Text after the line break is not the answer.
        if self._end == "\n" and b"\n" in self._llama.piece(token):
            return True
        return self._llama.ends(token)

    def _fits(self, text: str) -> bool:
        prompt, _, cap = self._prompt(text)
        return len(prompt) + cap <= self._llama.context

    def _prompt(
        self, text: str, previous: SentencePair | None = None
    ) -> tuple[list[int], int, int]:
        """Return the prompt's tokens, the length of its head, and the most tokens of its answer.

        With `previous`, the prompt holds both sentences and already the answer to the first one.
        """
        whole = f"{previous.source} {text}" if previous else text
        prompt = prompts.render(
            self._style, whole, self._source, self.target, borrows=self._borrows
        )
        self._lead = prompt.lead
        # As plain text: nobody can speak a control token.
        spoken = self._llama.tokenize(prompt.text, special=False)
        head = [*self._llama.begin, *self._llama.tokenize(prompt.head, special=True)]
        tokens = [*head, *spoken, *self._llama.tokenize(prompt.tail, special=True)]
        count = len(spoken)
        if previous:
            count -= len(self._llama.tokenize(previous.source, special=False))
            tokens += self._as_answer(previous.target)
            self._lead = " "
        return tokens, len(head), 20 + int(2.5 * count)

    def _start(self, gpu_layers: int) -> None:
        self._llama = llama.Llama(self._path, gpu_layers=gpu_layers, **self._settings)
        # This reads the weights into memory and leaves the prompt's head in the cache.
        # It has no deadline, because reading weights from a disk may take long.
        self._part(_WARM_UP, lambda: None, lambda _: None)

    def _retreat(self, step: str) -> None:
        self.degraded_reason = step
        log.warning("gpu", step=step)

    def _steps(self) -> list[int]:
        if self._gpu_layers == 0:
            return [0]
        if not llama.has_gpu():
            asked, instead = in_words(self._gpu_layers), in_words(0)
            self._retreat(f"{asked}: no GPU that llama.cpp can use; {instead}")
            return [0]
        return gpu_steps(self._path, self._gpu_layers, self._gpu_share)
