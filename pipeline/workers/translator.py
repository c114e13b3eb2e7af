"""The translate thread runs the final translator. If that fails, a final is still made."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TypeAlias

from pipeline.church.fidelity.given_text import given, prepare
from pipeline.config.schema import Settings
from pipeline.core.backoff import Backoff
from pipeline.core.errors import EngineCancelledError, EngineError, EngineGoneError
from pipeline.core.languages import language
from pipeline.core.reports import Emit, Fault, Retranslated
from pipeline.core.standing import Standing
from pipeline.core.types import Alternative, Caption, Opinion, Span, Utterance
from pipeline.dictionary.glossary_store import GlossaryStore
from pipeline.engines.process.sharing import is_there
from pipeline.engines.protocols import Scorer, SentencePair, TranslationRequest, Translator
from pipeline.records.quality import agreement
from pipeline.text.commit_policy import revised_words
from pipeline.text.language_check import OutputLanguage, gibberish
from pipeline.text.sentences import HALF, split
from pipeline.text.words import closed_up
from pipeline.workers.address import Addressing
from pipeline.workers.base import FAULTS_IN_A_ROW, Worker, WorkLog
from pipeline.workers.degradation import Degradation
from pipeline.workers.previous import PreviousCaptions
from pipeline.workers.queues import MOST_ATTEMPTS, Draft, DraftQueue, Retranslation
from pipeline.workers.steps import as_final, blend, translate

_STREAM_S = 0.25
"""Least time between two updates of a streamed final on the screen."""

_SLOW_S = 2.0
"""If the last final took longer, the engine makes one answer only and streams it."""
_SECOND = 1.5
"""Weight of the quick translator's score relative to the final translator's own."""
_TAKEN_BACK = 0.1
"""Penalty for each committed word that a translation changes (mean log-probability)."""

_REST_S = (15.0, 60.0)
"""Back-off of the engine after too many errors in a row: first and longest pause."""


_Score: TypeAlias = tuple[float, float]
"""Mean log-probability of a translation, and log-probability of its least likely token."""


class Translate(Worker):
    """Turns drafts into finals. If the translator fails, the draft itself becomes the final."""

    def __init__(
        self,
        *,
        settings: Settings,
        translator: Translator,
        drafts: DraftQueue,
        degradation: Degradation,
        emit: Emit,
        glossaries: GlossaryStore | None = None,
        scorer: Scorer | None = None,
        shed: bool = True,
        is_stale: Callable[[Utterance], bool] = lambda _: False,
        name: str = "translate",
    ) -> None:
        """`is_stale` tells whether speech has returned to an utterance since. `shed`: it weighs
        fewer answers while another caption waits.
        """
        super().__init__(name, emit)
        self.settings = settings
        """Current settings, set by the main thread. A change applies from the next draft."""
        self._lang = settings.translate.target
        self._written = OutputLanguage(self._lang)
        self._glossaries = glossaries
        self._scorer = scorer
        self._shed = shed
        self._translator = translator
        self._drafts = drafts
        self._degradation = degradation
        self._free_s = 0.0
        self._took_s = 0.0  # for the last final
        self._backoff = Backoff(after=FAULTS_IN_A_ROW, first_s=_REST_S[0], most_s=_REST_S[1])
        self._is_stale = is_stale
        self._makes_way = False  # the current work can wait for drafts
        self.previous = PreviousCaptions()
        self.addressing = Addressing()
        # The engine calls it repeatedly in this thread while it works.
        translator.is_cancelled = self._is_cancelled
        self.work_log = WorkLog()
        """The translator's working time on speech."""
        self.doing: Draft | None = None
        """The draft being translated and its start time. The main thread detects hangs with it."""

    @property
    def deadline_s(self) -> float:
        """Time limit of the translator for the current draft."""
        return self._translator.deadline_s

    @property
    def degraded_reason(self) -> str:
        """Why the translator is degraded, "" when it is not."""
        own = self._translator.degraded_reason
        if self._backoff.is_exhausted:
            failed = "the final translator failed; the quick one makes the finals"
            return f"{failed} ({own.rstrip('.')})" if own else failed
        return own

    @property
    def _is_idle(self) -> bool:
        """Whether the translator is in back-off, or degradation skips it for now."""
        resting = self._backoff.is_active(time.monotonic())
        return resting or self._degradation.spares_final

    @property
    def is_usable(self) -> bool:
        """Whether the translator can be used now. Any thread may call this."""
        return is_there(self._translator) and not self._is_idle

    def load(self) -> None:
        """Load the translator. If it is broken, report that; drafts then become finals."""
        prepare(self.settings.translate.spoken)
        if not self.may_use(self._translator):
            self._backoff.give_up()
            return
        if self._translator.degraded_reason:
            code = "server-gone" if self._translator.name == "openai" else "gpu-unavailable"
            self.emit(Fault(self.name, code, self._translator.degraded_reason))

    def work(self) -> None:
        """Take drafts until the end of the queue."""
        while (work := self._drafts.take()) is not None:
            if isinstance(work, Retranslation):
                self._retranslate(work)
            else:
                self.take(work)
            self._free_s = time.monotonic()

    def take(self, draft: Draft) -> None:
        """Make the final of a draft, unless speech has returned to it."""
        # A reload may have changed it.
        self._translator.deadline_s = self.settings.translate.final.deadline_s
        # One assignment, since the main thread may read it between any two instructions.
        self.doing = (draft[0], time.monotonic())
        with self.work_log.working():
            caption = None if self._is_cancelled() else self._final(*draft)
        if caption is not None:
            self.emit(caption)
        # Last, since `take_unfinished` must find the draft until its final is emitted.
        self.doing = None

    def _retranslate(self, request: Retranslation) -> None:
        """Translate an operator's text. If a draft comes, stop and try again later."""
        self._translator.deadline_s = self.settings.translate.final.deadline_s
        request = replace(request, attempts=request.attempts + 1)
        quick = request.quick if request.quick and request.quick.engine != "source" else None
        made = None
        if not self._is_idle:
            self._makes_way = True
            try:
                made = self._retranslated(request)
            except EngineCancelledError:
                if request.attempts < MOST_ATTEMPTS:
                    # The quick translation stays on screen until the next attempt.
                    self._drafts.ask(request)
                    return
            except EngineError as error:
                # Does not count as one of the errors in a row: no speech is affected.
                self.emit(Fault(self.name, error.code, error.message))
            finally:
                self._makes_way = False
        best = made or quick
        self.emit(Retranslated(request.ticket, as_final(best) if best else None, self._lang))

    def _retranslated(self, request: Retranslation) -> Caption | None:
        caption = translate(
            self._translator,
            request.transcript,
            lang=self._lang,
            request=TranslationRequest(
                previous=self.addressing.before(request.transcript, self.settings.translate)
            ),
            church=self.settings.church,
            glossaries=self._glossaries,
        )
        if _unusable(caption):
            return None
        if request.quick is None or not self.settings.church.doubt:
            return caption
        return replace(caption, opinion=self._opinion(request.quick, caption))

    def take_unfinished(self) -> list[Caption]:
        """Return every draft as a final, the current one first. Used when the translator hangs."""
        doing = self.doing  # read once: the engine may return meanwhile
        taken = [doing] if doing else []
        try:
            while (draft := self._drafts.get_nowait()) is not None:
                taken.append(draft)
            self._drafts.put(None)  # keep the end marker
        except queue.Empty:
            pass
        return [as_final(draft[0]) for draft in taken]

    def _is_cancelled(self) -> bool:
        """Whether the current translation is not needed any more, or must yield to a draft."""
        if self._makes_way:
            return not self._drafts.empty()
        doing = self.doing
        return doing is not None and self._is_stale(doing[0].transcript.utterance)

    def _final(self, draft: Caption, handed_s: float) -> Caption | None:
        """Return the final caption of a draft, None if it is not needed any more."""
        if self._is_idle:
            return as_final(draft)
        start_s, final = time.monotonic(), self.settings.translate.final
        # No streaming if an operator must see the final first, or if the sentence probably goes
        # on: then the screens keep the text that they already show.
        is_over = draft.transcript.goes_on < HALF
        may_stream = final.stream and is_over and not self.settings.church.hold_doubtful
        searches = final.search and self._scorer is not None
        rivals = _texts(draft)
        # The draft itself is always weighed: a first answer alone is no better than it
        # (docs/decisions/074).
        if self._shed and not self._drafts.empty():
            rivals = (draft.text,) * bool(rivals)
        # With several answers it is not known yet which one will be chosen.
        may_stream = may_stream and (not searches or self._took_s > _SLOW_S)
        shown = self.addressing.before(draft.transcript, self.settings.translate)
        previous = shown or self.previous.before(draft.transcript, self.settings.church)
        try:
            caption = translate(
                self._translator,
                draft.transcript,
                lang=self._lang,
                handed_s=handed_s,
                free_s=self._free_s,
                request=TranslationRequest(
                    on_text=self._streamer(draft) if may_stream else None,
                    # A draft may be the source text, which is in another language.
                    draft=draft.text if draft.lang == self._lang else "",
                    standing=Standing(target=draft.stable, was_final=draft.was_final)
                    if final.stability == "calm"
                    else None,
                    rivals=rivals if searches else None,
                    previous=previous,
                ),
                church=self.settings.church,
                glossaries=self._glossaries,
            )
        except EngineCancelledError:
            return None
        except EngineError as error:
            if not isinstance(error, EngineGoneError):  # the process's keeper reports that
                self._failed(error)
            # The engine spent the time, although the text is the draft's.
            span = Span(start_s, time.monotonic(), max(0.0, self._free_s - handed_s))
            return as_final(replace(draft, span=span))
        if wrong := _unusable(caption):
            # The report does not contain the text: it could be off the record a moment later.
            self._failed(EngineError("final-unusable", f"The final cannot be shown: {wrong}."))
            return as_final(replace(draft, span=caption.span))
        self._backoff.succeeded()
        self._took_s = time.monotonic() - start_s
        stood = draft.text[: draft.stable] if draft.lang == self._lang else ""
        caption, score = self._best(caption, stood, previous)
        self._look_at_language(caption.text)
        self.previous.add(caption)
        revised = draft.revised + revised_words(stood, caption.text)
        opinion = None
        if self.settings.church.doubt:
            opinion = self._opinion(draft, caption, previous, score)
        return as_final(replace(caption, revised=revised, opinion=opinion))

    def _best(
        self, caption: Caption, stood: str, previous: SentencePair | None
    ) -> tuple[Caption, _Score | None]:
        """Return the caption with the translation that both translators together score highest.

        The second value is the quick translator's score of it, if known. `stood` is the text that
        was committed on screen: each of its words that a translation changes lowers the score.
        """
        made = caption.translation
        if made is None or not made.alternatives or self._scorer is None:
            return caption, None
        found: list[list[Alternative]] = []
        for each in made.alternatives:
            found += [[] for _ in range(each.part + 1 - len(found))]
            found[each.part].append(each)
        said = self._given(caption)
        # Each sentence is judged separately, as it was translated.
        sources = [said] if len(found) == 1 else split(said)
        # The translator split it differently, so answers cannot be matched to sentences.
        if len(sources) != len(found):
            return replace(caption, translation=replace(made, alternatives=())), None
        shown = [stood] if len(found) == 1 else [*split(stood), *[""] * len(found)]
        chosen: list[tuple[Alternative, _Score | None]] = []
        for sentence, answers, part in zip(sources, found, shown, strict=False):
            chosen.append(self._best_of(sentence, answers, part, previous))
            previous = SentencePair(sentence, chosen[-1][0].text)
        text = " ".join(best.text for best, _ in chosen if best.text)
        made = replace(made, alternatives=())
        if text != made.text:
            sizes = [len(best.text) for best, _ in chosen]
            logprob = fmean((best.avg_logprob for best, _ in chosen), sizes)
            made = replace(made, text=text, avg_logprob=logprob, repairs=())
        score = chosen[0][1] if len(chosen) == 1 else None
        return replace(caption, text=closed_up(text), translation=made), score

    def _best_of(
        self,
        said: str,
        found: Sequence[Alternative],
        stood: str,
        previous: SentencePair | None,
    ) -> tuple[Alternative, _Score | None]:
        """Return the best translation of a text, and the quick translator's score of it."""
        assert self._scorer is not None  # noqa: S101 - `_best` has checked
        try:
            scores = self._scorer.score(said, [each.text for each in found], previous)
        except EngineError:
            # Without scores, the final translator's first answer is used.
            scores = []

        def weight(scored: tuple[Alternative, _Score]) -> float:
            own, (mean, _) = scored
            changed = revised_words(stood, own.text)
            return own.whole_logprob + _SECOND * mean - _TAKEN_BACK * changed

        scored = zip(found, scores, strict=False)
        usable = [each for each in scored if not gibberish(each[0].text, self._lang)]
        return max(usable, key=weight, default=(found[0], None))

    def _given(self, caption: Caption) -> str:
        said = caption.transcript
        return given(said.text, said.lang, self.settings.church)

    def _look_at_language(self, text: str) -> None:
        """Report that the finals are now in another language. They are still shown: a final that
        quotes a hymn is right, and the draft may have the same mistake.
        """
        if other := self._written.take(text):
            wrote, asked = language(other).name, language(self._lang).name
            message = f"What the final translator wrote last is {wrote}, not {asked}."
            self.emit(Fault(self.name, "final-language", message))

    def _opinion(
        self,
        draft: Caption,
        caption: Caption,
        previous: SentencePair | None = None,
        score: _Score | None = None,
    ) -> Opinion | None:
        """Return the quick translator's opinion of a final, None if it cannot score it.

        `score` is its score if that is known already.
        """
        if self._scorer is None or draft.lang != self._lang:
            return None
        try:
            said = self._given(caption)
            mean, least = score or self._scorer.score(said, [caption.text], previous)[0]
        except EngineError:  # reported by the worker that translates with it
            return None
        return Opinion(round(mean, 4), round(least, 4), agreement(draft.text, caption.text))

    def _failed(self, error: EngineError) -> None:
        self.fault(error)
        self._backoff.failed(time.monotonic())

    def _streamer(self, draft: Caption) -> Callable[[str], None]:
        # Starts now, so a final that is ready within _STREAM_S is shown whole, in one update.
        last_s = time.monotonic()

        def on_text(text: str) -> None:
            nonlocal last_s
            now = time.monotonic()
            # Gibberish at the start would stay on screen until the final is complete.
            if now - last_s >= _STREAM_S and not gibberish(text, self._lang):
                last_s = now
                self.emit(self._over(text, draft))

        return on_text

    def _over(self, text: str, draft: Caption) -> Caption:
        text = closed_up(text)
        if draft.lang == self._lang:
            return blend(text, draft)
        # Blended with the source text it would be a sentence in two languages.
        engine = self._translator.name
        return replace(draft, lang=self._lang, text=text, engine=engine, stable=len(text))


def _texts(draft: Caption) -> tuple[str, ...]:
    """Return the quick translator's alternative translations."""
    made = draft.translation
    return tuple(each.text for each in made.alternatives) if made else ()


def _unusable(caption: Caption) -> str:
    """Return what is wrong with a translation, "" if it can be shown."""
    stopped = caption.translation.stopped if caption.translation else "end"
    return gibberish(caption.text, caption.lang) or ("" if stopped == "end" else stopped)
