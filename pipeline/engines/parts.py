"""A text that was translated in parts, put together again. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.types import Translation


def join(engine: str, parts: Sequence[Translation]) -> Translation:
    """Return the whole: texts joined by spaces, counts summed, confidence weighted by tokens.

    It ended the way its first part did that did not end by itself.
    """
    tokens = sum(part.tokens for part in parts)
    logprob = sum((part.avg_logprob or 0.0) * part.tokens for part in parts)
    return Translation(
        text=" ".join(part.text for part in parts if part.text),
        engine=engine,
        tokens=tokens,
        avg_logprob=logprob / tokens if tokens else None,
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        reused_tokens=sum(part.reused_tokens for part in parts),
        draft_tokens=sum(part.draft_tokens for part in parts),
        stopped=next((part.stopped for part in parts if part.stopped != "end"), "end"),
    )
