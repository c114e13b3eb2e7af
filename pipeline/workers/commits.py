"""Committed text of the current utterance, kept from one partial to the next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import structlog

from pipeline.config.schema import Stt
from pipeline.core.languages import language
from pipeline.core.standing import Reopened, Standing
from pipeline.core.types import SAMPLE_RATE, Caption, Correction, Transcript, Utterance
from pipeline.text.commit_policy import (
    CommitPolicy,
    Stabilizer,
    TargetCommit,
    agreed,
    revised_words,
)
from pipeline.text.sentences import is_ended, without_end, without_unclear_opening
from pipeline.text.words import behind, closed_up, words

log = structlog.get_logger()


class Commitments:
    """Applies the commit policies of source and target to the current utterance."""

    def __init__(self) -> None:
        self._stabilizer = Stabilizer()
        self._target = TargetCommit()
        self._reasons: set[str] = set()
        self._lang = ""
        self._begin(None, Stt())

    def _begin(self, id: int | None, stt: Stt) -> None:  # noqa: A002 - the protocol's word
        self._id = id
        self._stt = stt
        self._source = CommitPolicy(stt.commit, stt.commit_s)
        # The knowledge about the translator stays valid for the next utterance.
        self._target = TargetCommit(attention_follows=self._target.attention_follows)
        self._settled = ""
        self._stands = 0
        # Committed source words and the committed part of their translation, oldest first.
        self._history: list[tuple[list[str], Standing]] = []
        self._stood = ""
        self._revised = 0
        self._reopened: Reopened | None = None
        self.said = 0
        """Leading characters of the source text whose translation is `lead`; it is not remade."""
        self.lead = ""

    def prefix(self, utterance: Utterance, stt: Stt, lang: str) -> tuple[int, ...]:
        """Return the ids of the tokens with which the recognition of a partial must begin.

        Empty if they are in another language than `lang`.
        `stt` applies from the start of an utterance. An utterance that resumes after it seemed over
        starts fresh only if its final took back committed words, since these were misheard.
        """
        if utterance.id != self._id:
            self._begin(utterance.id, stt)
        return tuple(token.id for token in self._source.committed) if lang == self._lang else ()

    def go_on(self, transcript: Transcript, reopened: Reopened | None) -> None:
        """Keep the translation of a reopened final while its words are still recognized.

        Then only the rest is translated and appended to it.
        """
        if self._lang not in ("", transcript.lang):
            # The words so far were recognized in the wrong language.
            self._begin(self._id, self._stt)
        self._lang = transcript.lang
        # `said` counts characters of an earlier text, and a reload may just have ended the calm.
        lead, self.said, self.lead = self.lead, 0, ""
        if reopened is None or reopened.id != self._id:
            return
        # By identity, since the same final may be reopened again with another text.
        if reopened is not self._reopened:
            self._reopened, self._stood = reopened, reopened.target
            lead = reopened.target
            self._target = TargetCommit(attention_follows=self._target.attention_follows)
            self._history = []
        at = behind(transcript.text, reopened.source) if lead else None
        if at is None:  # the recognized words have changed: the final's translation is void
            return
        self.said = at
        is_between = bool(transcript.text[at:].strip())
        goes_on = is_between and not is_ended(transcript.text[:at])
        self.lead = without_end(reopened.target) if goes_on else reopened.target

    def behind_lead(self, rest: Caption, transcript: Transcript) -> Caption:
        """Return the caption of the whole text; `rest` is the newly translated part."""
        # The rest was translated as a sentence, so it has a capital that is wrong inside one.
        lowers = rest.transcript.text[:1].islower() and not is_ended(self.lead)

        def whole(text: str) -> str:
            text = _inside(text, rest.lang) if self.lead and lowers else text
            return closed_up(f"{self.lead} {text}".strip())

        made = rest.translation
        if made is not None:
            others = tuple(replace(each, text=whole(each.text)) for each in made.alternatives)
            made = replace(made, alternatives=others)
        return replace(
            rest,
            transcript=transcript,
            text=whole(rest.text),
            translation=made,
            was_final=len(self.lead),
        )

    def heard_nothing_of_use(self, utterance: Utterance) -> None:
        """Drop the recognizer's prefix, since its text was unusable."""
        if utterance.is_whole:
            # If the speaker goes on, the next revision starts without a prefix.
            self._id = None
        self._source = CommitPolicy(self._stt.commit, self._stt.commit_s)

    def heard(self, transcript: Transcript, *, keeps: bool) -> Standing:
        """Commit the possible part of a partial; return how its translation must begin.

        For a final with `keeps`, return the committed translation of words that it still has.
        """
        if transcript.utterance.is_whole:
            # A final is recognized without a prefix, so its tokens differ from the committed ones.
            return self._still_said(transcript.text[self.said :]) if keeps else Standing()
        tokens, ends_s = transcript.recognition.tokens, transcript.recognition.ends_s
        raw = 0
        if tokens:
            audio_s = len(transcript.utterance.pcm) / SAMPLE_RATE
            unchanging = transcript.recognition.committed
            commit = self._source.push(tokens, ends_s, audio_s, unchanging=unchanging)
            stands = len(tokens) - len(commit.tail)
            raw = tokens[stands - 1].until if stands else 0
            # Once for each reason, since every partial would repeat it.
            if commit.reason and commit.reason not in self._reasons:
                self._reasons.add(commit.reason)
                log.info("commit by agreement", why=commit.reason)
        settled = corrected(raw, transcript.corrections)
        self._stands = len(transcript.text[:settled].rstrip())
        settled_text = transcript.text[self.said : max(settled, self.said)].strip()
        self._settled = without_unclear_opening(settled_text, transcript.lang)
        target = self._target
        return Standing(len(self._settled), 0, target.committed, target.closed)

    def _still_said(self, text: str) -> Standing:
        """Return the longest committed translation whose source words `text` still begins with."""
        said = words(text)
        # The longest valid one: each entry contains the words of the entry before it.
        for source, standing in reversed(self._history):
            if said[: len(source)] == source:
                return replace(standing, source=len(text))
        return Standing()

    def shown(self, caption: Caption) -> Caption:
        """Return the caption with the length of its stable text and the count of revised words."""
        text, is_whole = caption.text, caption.transcript.utterance.is_whole
        parts = caption.translation.parts if caption.translation else ()
        lead = len(self.lead)
        # A final is not committed word by word: shown text that it still begins with is stable.
        if (parts or lead) and is_whole:
            stable = agreed(self._stood, text)
        elif caption.engine != "source" and (parts or lead):
            made = caption.translation.text if caption.translation else ""
            rest = self._target.push(parts)
            tail = len(closed_up(made)) - len(closed_up(made[:rest]))
            stable = len(text) - tail if rest else lead
            standing = Standing(0, 0, self._target.committed, self._target.closed)
            self._history.append((words(self._settled), standing))
        elif caption.translation is None and caption.transcript.recognition.tokens and not is_whole:
            stable = self._stands
        else:
            stable = self._stabilizer.push(caption.id, text)
        lost = revised_words(self._stood, text)
        self._revised += lost
        if not is_whole:
            self._stood = text[:stable]
        elif lost:
            # The words were misheard: if the speaker goes on, the utterance starts fresh.
            self._id = None
        return replace(caption, stable=stable, revised=self._revised)


def _inside(text: str, lang: str) -> str:
    """Return a sentence as the end of another one: without the capital of its beginning."""
    at = len(text) - len(text.lstrip("¿¡"))
    first = re.match(r"\w*", text[at:])
    if first and language(lang).keeps_capital(first.group()):
        return text
    letters = _TURKISH if lang in ("az", "tr") else {}
    return text[: at + 1].translate(letters).lower() + text[at + 1 :]


_TURKISH = str.maketrans("Iİ", "ıi")
"""Turkish and Azerbaijani have two letters i, with and without a dot."""


def corrected(length: int, corrections: Sequence[Correction]) -> int:
    """Return the length in the corrected text of the first `length` characters of the raw text.

    A correction that reaches beyond them is completely left out.
    """
    shift = 0
    for correction in corrections:
        end = correction.start + len(correction.found)
        if correction.start >= length:
            break
        if end > length:
            return correction.start + shift
        shift += len(correction.replacement) - len(correction.found)
    return length + shift
