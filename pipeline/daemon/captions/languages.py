"""The further target languages: each with a board, displays and a journal of its own.

The first target is captioned whether anybody watches or not. A further one rests while nobody
does; when somebody comes, what was said last is filled in. Belongs to the event loop's thread.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import structlog

from pipeline.captions.redaction import Redaction
from pipeline.config.schema import Settings
from pipeline.core.errors import ProtocolError, quoted
from pipeline.core.reports import Rendition, Retranslated
from pipeline.core.types import Transcript, Utterance
from pipeline.daemon.captions.coordinator import CaptionCoordinator
from pipeline.daemon.captions.language import Back, Language
from pipeline.daemon.captions.late_translations import LateTranslations
from pipeline.daemon.captions.retranslations import Retranslations
from pipeline.daemon.context.context import DaemonContext
from pipeline.engines.process.sharing import LanguageTranslator
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.messages import DoubtfulMessage
from pipeline.records.health import RUNG_NAMES, LanguageHealth
from pipeline.workers.engines import TargetEngines
from pipeline.workers.queues import without_sound
from pipeline.workers.target import TargetWorkers

log = structlog.get_logger()

_REST_AFTER_S = 60.0
"""A language that nobody watches rests after so long: phones come back from a short sleep."""

_FILLED = 30
"""Captions that are filled in, at most, when somebody begins to watch."""


class Languages:
    """Hands what happens on to the languages that are translated into."""

    def __init__(
        self,
        settings: Settings,
        context: DaemonContext,
        workers: Sequence[TargetWorkers],
        engines: Sequence[TargetEngines],
    ) -> None:
        """Take the parts, in the order of `settings.translate.targets`."""
        self._facts = context.facts
        self._hub = context.hub
        self._subtitles = context.subtitles
        self._shown_elsewhere = tuple(context.outputs)
        self._settled: deque[Transcript] = deque(maxlen=_FILLED)
        self._languages: dict[str, Language] = {}
        targets = settings.translate.targets
        for target, own, group, engine in zip(
            targets, context.targets[1:], workers, engines, strict=True
        ):
            final = engine.final
            coordinator = CaptionCoordinator(context, own)
            retranslations = Retranslations(own.board, coordinator, group.retranslate)
            self._languages[target.lang] = Language(
                lang=target.lang,
                board=own.board,
                coordinator=coordinator,
                workers=group,
                retranslations=retranslations,
                late=LateTranslations(own.board, retranslations),
                translator=final if isinstance(final, LanguageTranslator) else None,
                may_rest=target.rest and group.may_rest,
            )
            # Nobody watches yet.
            group.rest(self._languages[target.lang].may_rest)

    def look(self, now_s: float) -> None:
        """See who watches, and how each language keeps up."""
        watchers = self._hub.watchers() if self._languages else Counter()
        if self._subtitles:
            # Who watches a stream with subtitles has no display open.
            watchers += self._subtitles.watchers()
        # Nor has the program that shows a language by `outputs`.
        watchers.update(self._shown_elsewhere)
        for each in self._languages.values():
            # What has settled with it is of no use here: only the first target's is offered on.
            each.coordinator.release_due(now_s)
            self._set_watchers(each, watchers, now_s)
            if each.workers.observe(now_s):
                ladder = each.workers.degradation
                reason = ladder.reason
                log.warning("rung", language=each.lang, rung=ladder.rung.name, reason=reason)
            has_time = not self._facts.off_record and each.workers.has_time(now_s)
            each.late.look(now_s, has_time=has_time)

    def on_closed(self, utterance: Utterance) -> None:
        """Note that a final utterance is on its way."""
        quiet = without_samples(utterance)
        for each in self._awake():
            each.coordinator.on_closed(quiet)

    def on_resumed(self, utterance: Utterance) -> None:
        """Forget what was made of an utterance: its speaker has gone on."""
        for each in self._awake():
            if reopened := each.coordinator.on_resumed(without_samples(utterance)):
                each.workers.go_on(reopened)

    def on_settled(self, utterance_id: int) -> None:
        """Write the record of a final that speech can no longer return to."""
        for each in self._awake():
            each.coordinator.on_settled(utterance_id)

    def on_filtered(self, transcript: Transcript) -> None:
        """Take back what was shown of a text that turned out not to be one."""
        for each in self._awake():
            each.coordinator.on_filtered(without_sound(transcript))

    def show(self, rendition: Rendition) -> None:
        """Publish a caption in a further language, unless its caption is hidden."""
        self._languages[rendition.lang].show(rendition.caption)

    def offer(self, transcript: Transcript) -> None:
        """Take a transcript that has settled, for languages that were not given it."""
        if not self._languages:
            return
        # It can no longer be resumed, whatever its final could.
        utterance = replace(without_samples(transcript.utterance), can_resume=False)
        settled = replace(transcript, utterance=utterance)
        self._settled.append(settled)
        for each in self._awake():
            each.fill(settled)

    # What operators do to captions

    @property
    def langs(self) -> tuple[str, ...]:
        """The further languages."""
        return tuple(self._languages)

    @property
    def retranslations(self) -> tuple[Retranslations, ...]:
        """Those of each language."""
        return tuple(each.retranslations for each in self._languages.values())

    def hide(self, caption_id: int) -> Back:
        """Hide a caption in every further language; return what shows it again."""
        return _together([each.hide(caption_id) for each in self._languages.values()])

    def unhide(self, caption_id: int) -> Back:
        """Show a hidden caption again in every further language; return what hides it."""
        for each in self._languages.values():
            each.unhide(caption_id)

        def back() -> None:
            self.hide(caption_id)

        return back

    def revision(self, lang: str, caption_id: int) -> int:
        """Return the revision of a caption's newest version in one."""
        return self._languages[lang].coordinator.revision(caption_id)

    def correct(self, caption_id: int, text: str) -> Back:
        """Replace what was said in every further language; return what takes it back."""
        old = [each for each in self._settled if each.utterance.id == caption_id]
        for transcript in old:  # what is filled in later is to be right as well
            self._replace_settled(replace(transcript, text=text))
        backs = [each.correct(caption_id, text) for each in self._languages.values()]
        backs += [partial(self._replace_settled, transcript) for transcript in old]
        return _together(backs)

    def edit(self, lang: str, caption_id: int, text: str) -> Back | None:
        """Replace a caption's translation into one; return what takes it back, None: no change.

        Raises ProtocolError (unknown-lang, unknown-caption).
        """
        if lang not in self._languages:
            raise ProtocolError("unknown-lang", f"{quoted(lang)} is not translated into.")
        return self._languages[lang].edit(caption_id, text)

    def approve(self, caption_id: int) -> Back | None:
        """Take the mark of a doubtful caption away in every further language that has one.

        Returns what puts it back, None where no language has one.
        """
        approved = [each.approve(caption_id) for each in self._languages.values()]
        backs = [back for back in approved if back is not None]
        return _together(backs) if backs else None

    def doubtful(self, now_s: float) -> tuple[DoubtfulMessage, ...]:
        """Return the finals that are kept back for an operator."""
        return tuple(
            message
            for each in self._languages.values()
            for message in each.coordinator.doubtful(now_s)
        )

    def say(self, caption_id: int, at_s: float, text: str, lang: str) -> Back:
        """Show a typed caption in the language that it is in; what is spoken in all of them."""
        only = self._languages.get(lang)
        shown = [only] if only else self._languages.values()
        return _together([each.say(caption_id, at_s, text, lang) for each in shown])

    def on_retranslated(self, result: Retranslated) -> None:
        """Show what was made of a text that an operator has written."""
        self._languages[result.target].retranslations.on_retranslated(result)

    def redact(self, redaction: Redaction) -> dict[str, list[CaptionMessage]]:
        """Forget what was said in a stretch of time; return what takes it off displays."""
        # Found first: a deque must not change while it is gone through.
        gone = [
            transcript
            for transcript in self._settled
            if redaction.takes(
                transcript.utterance.id, transcript.utterance.start_s, transcript.utterance.end_s
            )
        ]
        for transcript in gone:
            self._settled.remove(transcript)
        removed: dict[str, list[CaptionMessage]] = {}
        for each in self._languages.values():
            removed[each.lang] = each.coordinator.redact(redaction)
            each.forget({*redaction.ids, *(message.id for message in removed[each.lang])})
        return removed

    def return_to_record(self, at_s: float) -> None:
        """Drop all that workers still report of what began before `at_s` of the audio."""
        for each in self._languages.values():
            each.coordinator.return_to_record(at_s)

    def settle(self) -> None:
        """At the end: publish drafts that have no final, and write all records."""
        for each in self._languages.values():
            for caption in each.workers.take_unfinished():
                self.show(Rendition(each.lang, caption))
            each.coordinator.release_all()
            each.coordinator.settle()

    def set_history(self, history: int) -> None:
        """Keep so many final captions of each from now on."""
        for each in self._languages.values():
            each.board.set_history(history)

    def health(self, now_s: float) -> tuple[LanguageHealth, ...]:
        """Return how each language is."""
        return tuple(
            LanguageHealth(
                lang=each.lang,
                watchers=each.watchers,
                is_resting=each.workers.is_resting,
                rung=RUNG_NAMES[each.workers.degradation.rung],
                waiting=each.workers.waiting,
                lag_s=round(each.workers.lag_s(now_s), 2),
                setback=each.workers.degraded_reason,
            )
            for each in self._languages.values()
        )

    def _replace_settled(self, transcript: Transcript) -> None:
        for at, each in enumerate(self._settled):
            if each.utterance.id == transcript.utterance.id:
                self._settled[at] = transcript

    def _awake(self) -> list[Language]:
        return [each for each in self._languages.values() if not each.workers.is_resting]

    def _set_watchers(self, each: Language, watchers: Mapping[str, int], now_s: float) -> None:
        each.watchers = watchers.get(each.lang, 0)
        if each.translator is not None:
            each.translator.watchers = each.watchers
        if each.watchers:
            each.watched_s = now_s
        is_unwatched = each.may_rest and now_s - each.watched_s > _REST_AFTER_S
        if is_unwatched == each.workers.is_resting:
            return
        each.workers.rest(is_unwatched)
        if each.workers.is_resting:
            log.info("language rests", language=each.lang)
            each.coordinator.rest()
        else:
            log.info("language", language=each.lang, watchers=each.watchers)
            for transcript in self._settled:
                each.fill(transcript)


def without_samples(utterance: Utterance) -> Utterance:
    """Return an utterance that holds no sound in memory: the first target's has it."""
    # A copy: an empty view would keep all the samples that it is a view of.
    return replace(utterance, pcm=utterance.pcm[:0].copy())


def _together(backs: Sequence[Back]) -> Back:
    """Return what takes all of these back."""

    def back() -> None:
        for each in backs:
            each()

    return back
