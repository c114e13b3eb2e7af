"""Text to text on an NVIDIA GPU: an instruct model in the EXL2 format, in ExLlamaV2.

The package is an extra (`exllamav2`), since it brings torch along: only this engine's process
imports it. Its interface as of 0.3: examples/inference_stream.py there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pipeline.core.errors import EngineError, ModelError
from pipeline.core.resources import installing
from pipeline.core.standing import Standing
from pipeline.core.terms import WantedTerm
from pipeline.core.types import Translation
from pipeline.engines import prompts
from pipeline.engines.output import Piece, growing, join, read_answer
from pipeline.engines.protocols import never, until_deadline
from pipeline.engines.specification import setting
from pipeline.text import sentences

_WARM_UP = "Grace to you and peace."
_PAGE = 256
"""The length of a cache is a multiple of it."""
_FIX = (
    f"Run: {installing('exllamav2')}, which needs an NVIDIA GPU with CUDA; without one "
    'choose engine = "gemma".'
)
_FINISHES = {None: "", "max_new_tokens": "length"}
"""Of an answer by what the package calls the reason of its end; the others are ends of its own."""
_REFUSALS = (RuntimeError, AssertionError, ValueError, TypeError, KeyError, OSError)
"""What the package raises for files and GPUs that it cannot use; torch's errors are the first."""


class ExLlama:
    """A Translator on a folder with an EXL2 model, which is on the GPU whole.

    Greedy, one request at a time. `context` is in tokens. What this runtime does not tell or take
    is left out: log-probabilities (its sampler leaves one token, which is certain then), church
    words put in, a draft's words kept. `prompt`, `section`: see `prompts`, `EngineSpec`.
    """

    name = "exllamav2"
    kernels = ""
    degraded_reason = ""

    def __init__(
        self,
        path: Path,
        *,
        prompt: Literal["auto", "translategemma", "starter", "examples"] = "auto",
        source: str = "en",
        target: str = "es",
        context: int = 2048,
        deadline_s: float = 8.0,
        section: str = "",
    ) -> None:
        self._path = path
        self._section = section
        self._style = prompts.style_for(path) if prompt == "auto" else prompt
        self._source = source
        self.target = target  # may change between calls
        self._context = -(-context // _PAGE) * _PAGE
        self.deadline_s = deadline_s
        self.is_cancelled = never
        self.gpu_layers = 0
        """Layers that are on the GPU, once it has loaded: all."""

    def load(self) -> None:
        """Load the model and translate a sentence with it.

        Raises ModelError, or ConfigError for a language that the prompt cannot name.
        """
        # Only to fail here, not at the first caption, where the languages have no prompt.
        prompts.render(self._style, "", self._source, self.target, self._section)
        key = setting(self._section, "model")
        if not (self._path / "config.json").is_file():
            raise ModelError(
                "model-wrong-kind",
                f"{key}: {self._path} is no folder with an EXL2 model.",
                "docs/MODELS.md says how one is made.",
            )
        exllamav2 = self._package()
        try:
            self._start(exllamav2)
            self._part(_WARM_UP, lambda: None, lambda _: None)
        except (*_REFUSALS, EngineError) as error:
            raise ModelError(
                "model-broken",
                f"{key}: {self._path} cannot be loaded: {_said(error)}.",
                f"Convert it again; if the GPU's memory is short, lower "
                f"{setting(self._section, 'context')}.",
            ) from error

    def translate(
        self,
        text: str,
        on_text: Callable[[str], None] | None = None,
        draft: str = "",  # noqa: ARG002 - the runtime's own drafts are those of another model
        standing: Standing | None = None,  # noqa: ARG002
        wanted: Sequence[WantedTerm] = (),  # noqa: ARG002
        *,
        rivals: Sequence[str] | None = None,  # noqa: ARG002
    ) -> Translation:
        """Translate `text`; `on_text` gets the text so far, whole words only, as it grows.

        Raises EngineError: `final-late` after `deadline_s`, `text-too-long` for a word that does
        not fit into the context, `exllama-failed` for what the runtime refuses;
        EngineCancelledError.
        """
        parts: list[Translation] = []
        check, grow = until_deadline(self), growing(on_text, parts)
        if not text.strip():
            return Translation("", self.name)
        try:
            for part in sentences.pack(text, self._fits):
                # One by one: `grow` looks at them.
                parts.append(self._part(part, check, grow))  # noqa: PERF401
        except _REFUSALS as error:
            message = f"{self._path.name}: {_said(error)}."
            raise EngineError("exllama-failed", message) from error
        # `join` makes 0.0 of an unknown confidence, and that would be certainty.
        return replace(join(self.name, parts), avg_logprob=None)

    def _package(self) -> Any:
        """Return the package. Raises ModelError where it, or a GPU, is not there."""
        engine = setting(self._section, "engine")
        try:
            import torch  # noqa: PLC0415 - takes seconds, and only this process has it

            if not torch.cuda.is_available():
                message = f'{engine} = "exllamav2": there is no GPU that torch can use.'
                raise ModelError("gpu-missing", message, _FIX)
            # Where no built extension fits this torch it compiles one, which takes minutes.
            import exllamav2  # noqa: PLC0415
            import exllamav2.generator  # noqa: PLC0415
        except (ImportError, OSError, RuntimeError) as error:
            message = f'{engine} = "exllamav2": it cannot be used here: {_said(error)}.'
            raise ModelError("exllama-missing", message, _FIX) from error
        return exllamav2

    def _start(self, exllamav2: Any) -> None:
        config = exllamav2.ExLlamaV2Config(str(self._path))
        config.max_seq_len = self._context
        config.arch_compat_overrides(quiet=True)
        model = exllamav2.ExLlamaV2(config)
        # Lazy: `load_autosplit` makes it, each layer's on the GPU where the layer lies.
        cache = exllamav2.ExLlamaV2Cache(model, max_seq_len=self._context, lazy=True)
        model.load_autosplit(cache)
        self._tokenizer = exllamav2.ExLlamaV2Tokenizer(config)
        self._runtime = exllamav2.generator
        # Not paged: that asks for flash-attn, and is for several requests at a time.
        self._generator = self._runtime.ExLlamaV2DynamicGenerator(
            model=model, cache=cache, tokenizer=self._tokenizer, paged=False
        )
        self.gpu_layers = int(config.num_hidden_layers)

    def _part(
        self, source: str, check: Callable[[], None], grow: Callable[[str], None]
    ) -> Translation:
        tokens, cap, end = self._prompt(source)
        if len(tokens) + cap > self._context:
            sizes = f"{len(tokens)} tokens of prompt and {cap} of answer"
            raise EngineError("text-too-long", f"{sizes} do not fit the context.")
        with closing(self._pieces(tokens, cap, end, check)) as pieces:
            return read_answer(
                pieces, engine=self.name, source=source, target=self.target, end=end, grow=grow
            )

    def _pieces(
        self, tokens: Sequence[int], cap: int, end: str, check: Callable[[], None]
    ) -> Generator[Piece, None, None]:
        import torch  # noqa: PLC0415

        job = self._runtime.ExLlamaV2DynamicJob(
            input_ids=torch.tensor([tokens]),
            max_new_tokens=cap,
            gen_settings=self._runtime.ExLlamaV2Sampler.Settings.greedy(),
            # Gemma's end of a turn is one token, a line break is text.
            stop_conditions=[
                self._tokenizer.eos_token_id,
                self._tokenizer.extended_piece_to_id.get(end, end),
            ],
        )
        self._generator.enqueue(job)
        try:
            while self._generator.num_remaining_jobs():
                check()
                for result in self._generator.iterate():
                    if result["stage"] == "streaming":
                        finish = _FINISHES.get(result.get("eos_reason"), "stop")
                        made = int(result.get("new_tokens", 0))
                        yield Piece(result.get("text", ""), finish, len(tokens), made)
        finally:
            # However it ends: what is left of it would be worked on with the next text.
            self._generator.cancel(job)

    def _fits(self, text: str) -> bool:
        tokens, cap, _ = self._prompt(text)
        return len(tokens) + cap <= self._context

    def _prompt(self, text: str) -> tuple[list[int], int, str]:
        """Return the prompt's tokens, how many its answer may have, and what ends it."""
        spoken = prompts.harmless(text)
        prompt = prompts.render(self._style, spoken, self._source, self.target, self._section)
        tokens = self._encode(f"{prompt.head}{prompt.text}{prompt.tail}", add_bos=True)
        return tokens, 20 + int(2.5 * len(self._encode(prompt.text))), prompt.end

    def _encode(self, text: str, *, add_bos: bool = False) -> list[int]:
        ids = self._tokenizer.encode(text, add_bos=add_bos, encode_special_tokens=True)
        tokens: list[int] = ids[0].tolist()
        return tokens


def _said(error: Exception) -> str:
    """Return an error's first line: torch adds advice on debugging."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
