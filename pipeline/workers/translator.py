"""The translate thread: the final translator. Whatever happens to it, a final caption comes out."""

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
from pipeline.workers.base import FAULTS_IN_A_ROW, Worker, WorkLog
from pipeline.workers.degradation import Degradation
from pipeline.workers.previous import PreviousCaptions
from pipeline.workers.queues import Draft, DraftQueue, Retranslation
from pipeline.workers.steps import as_final, blend, translate

_STREAM_S = 0.25
"""The final's words reach the screen at most this often."""

_SLOW_S = 2.0
"""An engine that took longer for the last final looks at one answer only, and is seen at work."""
_SECOND = 1.0
"""What the quick translator's opinion weighs beside the final translator's own."""
_TAKEN_BACK = 0.1
"""What each committed word that changes counts against a translation (mean log-probability)."""

_REST_S = (15.0, 60.0)
"""How long the engine is left alone after too many errors in a row: at first, and at most."""


_Score: TypeAlias = tuple[float, float]
"""Mean log-probability of a translation, and that of its least likely token."""


class Translate(Worker):
    """Turns drafts into finals; the draft itself becomes final where the translator fails."""

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
        is_stale: Callable[[Utterance], bool] = lambda _: False,
        name: str = "translate",
    ) -> None:
        """Take the parts. `is_stale`: whether speech has returned to an utterance since."""
        super().__init__(name, emit)
        self.settings = settings
        """Those in force, set by the main thread; what may change holds from the next draft."""
        self._lang = settings.translate.target
        self._written = OutputLanguage(self._lang)
        self._glossaries = glossaries
        self._scorer = scorer
        self._translator = translator
        self._drafts = drafts
        self._degradation = degradation
        self._free_s = 0.0
        self._took_s = 0.0  # for the last final
        self._backoff = Backoff(after=FAULTS_IN_A_ROW, first_s=_REST_S[0], most_s=_REST_S[1])
        self._is_stale = is_stale
        self._makes_way = False  # what it is at can wait for drafts
        self.previous = PreviousCaptions()
        # Asked in this thread, again and again while the engine is at work.
        translator.is_cancelled = self._is_cancelled
        self.work_log = WorkLog()
        """Of the translator, at what was said."""
        self.doing: Draft | None = None
        """The draft being translated and since when, for the main thread's look-out for a hang."""

    @property
    def deadline_s(self) -> float:
        """How long the translator may take for the draft it is at."""
        return self._translator.deadline_s

    @property
    def waiting(self) -> int:
        """Drafts in the queue."""
        return self._drafts.qsize()

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
        """Whether the translator rests, or is given up for now."""
        resting = self._backoff.is_active(time.monotonic())
        return resting or self._degradation.spares_final

    @property
    def is_usable(self) -> bool:
        """Whether the translator can be asked now. Any thread may ask."""
        return is_there(self._translator) and not self._is_idle

    def load(self) -> None:
        """Load the translator. A broken one is reported, and drafts become finals."""
        prepare(self.settings.translate.spoken)
        if not self.may_use(self._translator):
            self._backoff.give_up()
            return
        if self._translator.degraded_reason:
            code = "server-gone" if self._translator.name == "openai" else "gpu-unavailable"
            self.emit(Fault(self.name, code, self._translator.degraded_reason))

    def work(self) -> None:
        """Take drafts until the end comes."""
        while (work := self._drafts.take()) is not None:
            if isinstance(work, Retranslation):
                self._retranslate(work)
            else:
                self.take(work)
            self._free_s = time.monotonic()

    def take(self, draft: Draft) -> None:
        """Make the final of a draft, unless speech has returned to it."""
        # Each time: a reload may have changed it.
        self._translator.deadline_s = self.settings.translate.final.deadline_s
        # In one assignment: the main thread may read it between any two instructions.
        self.doing = (draft[0], time.monotonic())
        with self.work_log.working():
            caption = None if self._is_cancelled() else self._final(*draft)
        if caption is not None:
            self.emit(caption)
        # Last: until its final is out the draft must be found by `take_unfinished`.
        self.doing = None

    def _retranslate(self, request: Retranslation) -> None:
        """Translate what an operator has written, unless a draft comes: then later, once more."""
        self._translator.deadline_s = self.settings.translate.final.deadline_s
        request = replace(request, attempts=request.attempts + 1)
        quick = request.quick if request.quick and request.quick.engine != "source" else None
        made = None
        if not self._is_idle:
            self._makes_way = True
            try:
                made = self._retranslated(request)
            except EngineCancelledError:
                if request.may_repeat:
                    # Until its turn comes again the quick translation is on screen.
                    self._drafts.ask(request)
                    return
            except EngineError as error:
                # Not one of the errors in a row: nothing that was spoken has failed.
                self.emit(Fault(self.name, error.code, error.message))
            finally:
                self._makes_way = False
        best = made or quick
        self.emit(Retranslated(request.ticket, as_final(best) if best else None, self._lang))

    def _retranslated(self, request: Retranslation) -> Caption | None:
        now = time.monotonic()
        caption = translate(
            self._translator,
            request.transcript,
            lang=self._lang,
            handed_s=now,
            free_s=now,
            clock=time.monotonic,
            church=self.settings.church,
            glossary=self._glossaries.of(self._lang) if self._glossaries else None,
        )
        if _unusable(caption):
            return None
        if request.quick is None or not self.settings.church.doubt:
            return caption
        return replace(caption, opinion=self._opinion(request.quick, caption))

    def take_unfinished(self) -> list[Caption]:
        """Take every draft, the one being worked on first, as a final: the translator hangs."""
        doing = self.doing  # read once: the engine may come back meanwhile
        taken = [doing] if doing else []
        try:
            while (draft := self._drafts.get_nowait()) is not None:
                taken.append(draft)
            self._drafts.put(None)  # the end stays the end
        except queue.Empty:
            pass
        return [as_final(draft[0]) for draft in taken]

    def _is_cancelled(self) -> bool:
        """Whether what is being translated is no longer wanted, or makes way for a draft."""
        if self._makes_way:
            return not self._drafts.empty()
        doing = self.doing
        return doing is not None and self._is_stale(doing[0].transcript.utterance)

    def _final(self, draft: Caption, handed_s: float) -> Caption | None:
        """Return the final caption of a draft, None if it is not wanted any more."""
        if self._is_idle:
            return as_final(draft)
        start_s, final = time.monotonic(), self.settings.translate.final
        # What an operator is to see first must not be on the screens word by word, nor what
        # probably goes on: of that the screens keep what stands already.
        is_over = draft.transcript.goes_on < HALF
        may_stream = final.stream and is_over and not self.settings.church.hold_doubtful
        # With another caption waiting there is no time for more than one answer.
        searches = final.search and self._scorer is not None and self._drafts.empty()
        # Among several answers nobody knows yet which of them it will be.
        may_stream = may_stream and (not searches or self._took_s > _SLOW_S)
        previous = self.previous.before(draft.transcript, self.settings.church)
        try:
            caption = translate(
                self._translator,
                draft.transcript,
                lang=self._lang,
                handed_s=handed_s,
                free_s=self._free_s,
                clock=time.monotonic,
                request=TranslationRequest(
                    on_text=self._streamer(draft) if may_stream else None,
                    # Spoken words that stand in for a draft are of another language.
                    draft=draft.text if draft.lang == self._lang else "",
                    standing=Standing(target=draft.stable, was_final=draft.was_final)
                    if final.stability == "calm"
                    else None,
                    rivals=_texts(draft) if searches else None,
                    previous=previous,
                ),
                church=self.settings.church,
                glossary=self._glossaries.of(self._lang) if self._glossaries else None,
            )
        except EngineCancelledError:
            return None
        except EngineError as error:
            if not isinstance(error, EngineGoneError):  # of that its process's keeper tells
                self._failed(error)
            # The time was the engine's, though the text is not.
            span = Span(start_s, time.monotonic(), max(0.0, self._free_s - handed_s))
            return as_final(replace(draft, span=span))
        if wrong := _unusable(caption):
            # What was said is not told: it could be off the record a moment later.
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
        """Return the caption with the translation that both translators together hold likeliest.

        And what the quick translator gives that one, if it was asked. `stood` is the text that was
        committed on screen: each of its words that a translation changes counts against it.
        """
        made = caption.translation
        if made is None or not made.alternatives or self._scorer is None:
            return caption, None
        found: list[list[Alternative]] = []
        for each in made.alternatives:
            found += [[] for _ in range(each.part + 1 - len(found))]
            found[each.part].append(each)
        said = self._given(caption)
        # Of several sentences each is judged by itself, as it was translated.
        told = [said] if len(found) == 1 else split(said)
        # The translator has cut it otherwise: nobody knows which answer is of which sentence.
        if len(told) != len(found):
            return replace(caption, translation=replace(made, alternatives=())), None
        stands = [stood] if len(found) == 1 else [*split(stood), *[""] * len(found)]
        chosen: list[tuple[Alternative, _Score | None]] = []
        for sentence, answers, part in zip(told, found, stands, strict=False):
            chosen.append(self._best_of(sentence, answers, part, previous))
            previous = SentencePair(sentence, chosen[-1][0].text)
        text = " ".join(best.text for best, _ in chosen)
        made = replace(made, alternatives=())
        if text != made.text:
            sizes = [len(best.text) for best, _ in chosen]
            logprob = fmean((best.avg_logprob for best, _ in chosen), sizes)
            made = replace(made, text=text, avg_logprob=logprob, repairs=())
        score = chosen[0][1] if len(chosen) == 1 else None
        return replace(caption, text=text, translation=made), score

    def _best_of(
        self,
        said: str,
        found: Sequence[Alternative],
        stood: str,
        previous: SentencePair | None,
    ) -> tuple[Alternative, _Score | None]:
        """Return the likeliest translation of a text, and what the quick translator gives it."""
        assert self._scorer is not None  # noqa: S101 - `_best` has looked
        try:
            scores = self._scorer.score(said, [each.text for each in found], previous)
        except EngineError:
            # Without a second opinion the final translator's own first answer stands.
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
        """Tell that the finals have gone over to another language. They are shown all the same:
        one that quotes a hymn is right, and the draft may come from the same mistake.
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
        """Return what the quick translator thinks of a final; None where it cannot say.

        `score` is what it has said already.
        """
        if self._scorer is None or draft.lang != self._lang:
            return None
        try:
            said = self._given(caption)
            mean, least = score or self._scorer.score(said, [caption.text], previous)[0]
        except EngineError:  # of that the worker that translates with it tells
            return None
        return Opinion(round(mean, 4), round(least, 4), agreement(draft.text, caption.text))

    def _failed(self, error: EngineError) -> None:
        self.fault(error)
        self._backoff.failed(time.monotonic())

    def _streamer(self, draft: Caption) -> Callable[[str], None]:
        # From now on: a final that is there in a quarter second comes whole, in one movement.
        last_s = time.monotonic()

        def on_text(text: str) -> None:
            nonlocal last_s
            now = time.monotonic()
            # A beginning that nobody can read would stand on screen until the end comes.
            if now - last_s >= _STREAM_S and not gibberish(text, self._lang):
                last_s = now
                self.emit(self._over(text, draft))

        return on_text

    def _over(self, text: str, draft: Caption) -> Caption:
        if draft.lang == self._lang:
            return blend(text, draft)
        # Laid over the spoken words, it would be a sentence in two languages.
        engine = self._translator.name
        return replace(draft, lang=self._lang, text=text, engine=engine, stable=len(text))


def _texts(draft: Caption) -> tuple[str, ...]:
    """Return the translations that the quick translator has looked at."""
    made = draft.translation
    return tuple(each.text for each in made.alternatives) if made else ()


def _unusable(caption: Caption) -> str:
    """Return what is wrong with a translation, "" if it can be shown."""
    stopped = caption.translation.stopped if caption.translation else "end"
    return gibberish(caption.text, caption.lang) or ("" if stopped == "end" else stopped)
