"""Captions from a few words of data, as the pipeline would make them."""

from __future__ import annotations

import numpy as np

from pipeline.core.types import SAMPLE_RATE, Caption, Recognition, Transcript, Utterance


def caption(
    id: int,  # noqa: A002
    source: str,
    target: str,
    *,
    final: bool = False,
    stable: int = 0,
    engine: str = "marian",
    lang: str = "es",
    start_s: float = 0.0,
    end_s: float = 1.0,
) -> Caption:
    """Return a caption as the translator gives it; times are seconds of audio."""
    utterance = Utterance(
        id=id,
        revision=0,
        final=final,
        cause="silence" if final else "partial",
        start_sample=round(start_s * SAMPLE_RATE),
        end_sample=round(end_s * SAMPLE_RATE),
        pcm=np.zeros(1, np.float32),
    )
    transcript = Transcript(utterance, "en", source, source, Recognition(source))
    return Caption(transcript, lang, target, engine, final, stable)
