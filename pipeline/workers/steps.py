"""One function per stage: transcribe, translate, and fallbacks for a stage without a result."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace

from pipeline.audio.level import level_dbfs, peak_dbfs
from pipeline.church.fidelity.given_text import given
from pipeline.config.schema import Church
from pipeline.core.types import HEARD, SAMPLE_RATE, Caption, Span, Transcript, Utterance
from pipeline.dictionary.glossary_store import GlossaryStore
from pipeline.engines.protocols import PLAIN, Recognizer, TranslationRequest, Translator
from pipeline.text.hallucinations import said_once
from pipeline.text.words import SHOWN_WORD, UNSPACED, closed_up


def transcribe(
    recognizer: Recognizer,
    utterance: Utterance,
    *,
    lang: str,
    free_s: float,
    prefix: Sequence[int] = (),
) -> Transcript:
    """Recognize an utterance. `free_s` is when the recognizer's thread became free.

    A partial begins with the committed tokens `prefix`.
    """
    start_s = time.monotonic()
    # An eager utterance is recognized as a final: if silence lasts, its text is the final's.
    recognition = recognizer.recognize(utterance.pcm, final=utterance.is_whole, prefix=prefix)
    if utterance.is_whole:
        recognition = said_once(recognition, len(utterance.pcm) / SAMPLE_RATE)
    # A recognizer with a fallback sets the engine that was used.
    recognition = replace(recognition, engine=recognition.engine or recognizer.name)
    return Transcript(
        utterance=utterance,
        lang=lang,
        raw_text=recognition.text,
        text=recognition.text,
        recognition=recognition,
        level_dbfs=level_dbfs(utterance.pcm),
        peak_dbfs=peak_dbfs(utterance.pcm),
        # Not below 0: an idle engine has waited for the utterance, not the other way round.
        span=Span(start_s, time.monotonic(), max(0.0, free_s - utterance.closed_s)),
    )


def translate(
    translator: Translator,
    transcript: Transcript,
    *,
    lang: str,
    handed_s: float = 0.0,
    free_s: float = 0.0,
    request: TranslationRequest = PLAIN,
    church: Church | None = None,
    glossaries: GlossaryStore | None = None,
) -> Caption:
    """Translate a transcript; the caption is not yet final.

    It was queued at `handed_s`, and the translator's thread became free at `free_s`.

    The translator gets references and numbers in the form that `church` sets (`given`). The
    glossary of `lang` sets the translation of church words in a whole utterance.
    """
    start_s = time.monotonic()
    text = transcript.text
    if church:
        text, request = _given(transcript, request, church)
    # Not for partials, which are soon replaced and have no time for this.
    glossary = glossaries.of(lang) if glossaries and transcript.utterance.is_whole else None
    if glossary:
        request = replace(request, wanted=glossary.find(text))
    translation = translator.translate(text, request)
    return Caption(
        transcript=transcript,
        lang=lang,
        text=closed_up(translation.text),
        engine=translation.engine,
        final=False,
        translation=translation,
        span=Span(start_s, time.monotonic(), max(0.0, free_s - handed_s)),
    )


def _given(
    transcript: Transcript, request: TranslationRequest, church: Church
) -> tuple[str, TranslationRequest]:
    """Return the translator's text of a transcript, and the request for it.

    A change across the end of the committed text is left out, since its first part is translated.
    """
    text, lang, standing = transcript.text, transcript.lang, request.standing
    said = given(text, lang, church)
    if standing is None or not standing.source:
        return said, request
    committed = given(text[: standing.source], lang, church)
    is_beginning = said.startswith(committed)
    if not is_beginning or not re.match(r"[.,;:!?]?(\s|$)", said[len(committed) :]):
        return text, request
    return said, replace(request, standing=replace(standing, source=len(committed)))


def source_caption(transcript: Transcript) -> Caption:
    """Return the source text as the caption: the fallback if no translator can be used."""
    return Caption(transcript, transcript.lang, transcript.text, engine="source", final=False)


def untranslated(transcript: Transcript, target: str) -> Caption:
    """Return a caption without a translator: of speech in the caption language, of the recognizer's
    own English translation, or else of the source text.
    """
    if transcript.lang == target:
        return Caption(transcript, target, transcript.text, engine=HEARD, final=False)
    if target == "en" and (english := transcript.recognition.english):
        return Caption(transcript, "en", english, transcript.recognition.engine, final=False)
    return source_caption(transcript)


def as_final(caption: Caption) -> Caption:
    """Return the caption as its own final."""
    return replace(caption, final=True, stable=len(caption.text))


def blend(beginning: str, draft: Caption) -> Caption:
    """Replace the start of the draft on screen by the start of a final, to keep the text's length.

    The stable text of the rest of the draft stays stable.
    """
    text = closed_up(lay_over(beginning, draft.text))
    unsettled = len(draft.text) - draft.stable
    return replace(draft, text=text, stable=max(len(beginning), len(text) - unsettled))


_SKIP = 0.5
"""Cost of a draft's word that the beginning omits. It is the cheapest; otherwise a word further on
in the draft would be shown twice."""
_INSERT = _REPLACE = 1.0

_LETTER = re.compile(f"[{UNSPACED}]")


def lay_over(beginning: str, draft: str) -> str:
    """Return `beginning` and the rest of `draft` after the words that it replaces.

    Words are aligned by edit distance, not by count, since the two often say the same with more or
    fewer words.
    No word is on both sides of the seam unless the draft itself has it twice in a row.
    """
    above, below = list(SHOWN_WORD.finditer(beginning)), list(SHOWN_WORD.finditer(draft))
    covered = _covered([_bare(word) for word in above], [_bare(word) for word in below])
    if covered == len(below):
        return beginning
    rest = draft[below[covered].start() :]
    is_unspaced = _LETTER.match(beginning[-1:]) and _LETTER.match(rest)
    return f"{beginning}{'' if is_unspaced else ' '}{rest}".strip()


def _covered(beginning: Sequence[str], draft: Sequence[str]) -> int:
    """Return how many words of `draft` the words of `beginning` replace.

    It is the number with the least cost; among equals the one nearest to the length of `beginning`.
    """
    # costs[k]: cost of turning the draft's first k words into the words of `beginning` so far.
    costs = [k * _SKIP for k in range(len(draft) + 1)]
    for word in beginning:
        before, costs = costs, [costs[0] + _INSERT]
        for k, other in enumerate(draft, 1):
            replaced = before[k - 1] + (0.0 if word == other else _REPLACE)
            costs.append(min(replaced, before[k] + _INSERT, costs[k - 1] + _SKIP))
    return min(range(len(costs)), key=lambda k: (costs[k], abs(k - len(beginning))))


def _bare(word: re.Match[str]) -> str:
    """Return a word without case and punctuation; pure punctuation stays as it is."""
    return re.sub(r"[^\w\s]", "", word.group()).casefold() or word.group()
