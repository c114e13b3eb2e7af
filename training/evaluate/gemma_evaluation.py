"""Evaluate the starter Gemma through llama-cpp-python."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from llama_cpp import Llama

from pipeline.engines.llama_cpp.llama import load_kernels
from pipeline.engines.prompts import starter_text
from pipeline.models.registry import shipped
from training.data import corpora
from training.evaluate.evaluate import Row, size_of
from training.evaluate.translation_score import score

HEAD, TAIL = "<start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n"


def rows(directory: Path, split: corpora.Split, threads: int) -> Iterator[Row]:
    """Translate greedily, one utterance at a time, as for finals; also into English if it can."""
    load_kernels()
    model = Llama(
        str(directory / "model.gguf"),
        n_ctx=512,
        n_threads=threads,
        n_threads_batch=threads,
        verbose=False,
    )
    head = model.tokenize(HEAD.encode(), add_bos=True, special=True)
    tail = model.tokenize(TAIL.encode(), add_bos=False, special=True)

    def translate(text: str, target: str = split.target) -> tuple[str, int]:
        # special=False: spoken text never becomes a control token.
        asked = starter_text(text, target)
        tokens = model.tokenize(asked.encode(), add_bos=False, special=False)
        answer = model.create_completion(
            [*head, *tokens, *tail], max_tokens=20 + int(2.5 * len(tokens)), temperature=0.0
        )
        return answer["choices"][0]["text"], answer["usage"]["completion_tokens"]

    yield from score("gemma", translate, split)
    about = shipped("gemma", directory.parent.name)
    if about and f"{split.target}-en" in about.languages:
        preaching = tuple(
            corpora.Pair(pair.target, pair.en, pair.source) for pair in split.sermon_test
        )
        turned = corpora.Split({}, (), (), preaching, target="en")
        yield from score(f"gemma from {split.target}", partial(translate, target="en"), turned)
    if split.target == corpora.SPANISH:  # one file serves all languages
        yield "gemma", "size", size_of(directory)
