"""The table of levels: size, error against the checkpoint, translation quality and speed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import sacrebleu

from pipeline.core.errors import EngineError, ModelError
from pipeline.core.resources import bundled
from pipeline.engines.llama_cpp.gemma import Gemma
from pipeline.evaluation.reference import read_recording

Pair = tuple[str, str]
"""A sentence and its human translation."""

_DEADLINE_S = 600.0


@dataclass(frozen=True, slots=True)
class Asking:
    """The way to ask a model for a translation, as in the setting translate.final.prompt."""

    prompt: Literal["translategemma", "starter"]
    source: str
    target: str
    threads: int
    context: int
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Language code by set, for sets in a language other than `target`."""


@dataclass(frozen=True, slots=True)
class Level:
    """A row of the table. `difference` is the logits' error as a share of their spread.

    For a model that could not translate, `chrf` by set is empty and the speed is None.
    """

    name: str
    size_bytes: int
    difference: float
    chrf: dict[str, float]
    tokens_per_s: float | None


def sermon(source: str, target: str) -> list[Pair]:
    """Return the sentences of the demo sermon with their references."""
    recording = read_recording(bundled("demo", "sermon.json"), source, target)
    return [(each.source, each.target) for each in recording.once]


def read_pairs(path: Path) -> list[Pair]:
    """Read `source TAB target` lines, `#` for a comment. Raises ModelError."""
    found: list[Pair] = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError("pairs-unreadable", f"{path} cannot be read: {error}.", "") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) < 2:
            raise ModelError(
                "pairs-unreadable",
                f"{path}, line {number}: a sentence, a tab and its translation are needed.",
                "",
            )
        found.append((cells[0], cells[1]))
    if not found:
        raise ModelError("pairs-unreadable", f"{path} holds no pairs.", "")
    return found


def measure(
    path: Path,
    asking: Asking,
    sets: Mapping[str, Sequence[Pair]],
    on_sentence: Callable[[], None],
) -> tuple[dict[str, float], float | None]:
    """Translate all sets with the daemon's own engine, greedy, one sentence at a time.

    Returns chrF by set and the tokens per second over all, None if there were no tokens. Raises
    ModelError for a model whose context is too short for any translation.
    """
    engine = Gemma(
        path,
        prompt=asking.prompt,
        source=asking.source,
        target=asking.target,
        threads=asking.threads,
        context=asking.context,
        deadline_s=_DEADLINE_S,
    )
    engine.load()
    chrf, tokens, spent_s = {}, 0, 0.0
    for name, pairs in sets.items():
        engine.target = asking.elsewhere.get(name, asking.target)
        answers = []
        for source, _ in pairs:
            began_s = time.perf_counter()
            try:
                made = engine.translate(source)
            except EngineError:  # only this sentence is lost, as in a service
                answers.append("")
            else:
                answers.append(made.text)
                tokens += made.tokens or 0
            spent_s += time.perf_counter() - began_s
            on_sentence()
        chrf[name] = sacrebleu.corpus_chrf(answers, [[target for _, target in pairs]]).score
    return chrf, tokens / spent_s if tokens else None


def markdown(levels: Sequence[Level], sets: Sequence[str]) -> str:
    """Return the table as docs/MODELS.md shows it, with a column for each of `sets`."""
    head = ["level", "size", "logits off by", *(f"chrF {name}" for name in sets), "tokens/s"]
    rows = [
        [
            level.name,
            f"{level.size_bytes / 1e6:.1f} MB",
            f"{level.difference:.2%}",
            *(f"{level.chrf[name]:.1f}" if name in level.chrf else "-" for name in sets),
            f"{level.tokens_per_s:.0f}" if level.tokens_per_s else "-",
        ]
        for level in levels
    ]
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])
