"""The target languages of a service: each has its own board, displays and journal.

The first target always gets captions, and its captions decide what an operator can do to a caption.
An extra target rests while nobody watches. When somebody comes, its latest captions are filled in.
Belongs to the event loop's thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial

import structlog

from pipeline.captions.interpreter import Interpreter
from pipeline.captions.redaction import Redaction
from pipeline.captions.sink import Removed
from pipeline.config.schema import Settings
from pipeline.core.formats import utc_now
from pipeline.core.reports import CaptionReport, Rendition, Retranslated, Settled
from pipeline.core.types import Caption, Comparison, Transcript, Utterance
from pipeline.daemon.captions.target import Back, TargetCaptions, together
from pipeline.daemon.context.context import DaemonContext
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.events import RungEvent
from pipeline.records.health import RUNG_NAMES, LanguageHealth
from pipeline.workers.target import TargetWorkers

log = structlog.get_logger()

_REST_AFTER_S = 60.0
"""The time after which an unwatched language rests: phones come back from a short sleep."""

_LOOKED_AT = 8
"""The number of captions that are searched for the sentence that an interpreter repeats."""

_FILLED = 30
"""The most captions that are filled in when somebody begins to watch."""


class Targets:
    """Passes the workers' reports on to the languages concerned; `targets[0]` is the first."""

    def __init__(
        self,
        settings: Settings,
        context: DaemonContext,
        workers: Sequence[TargetWorkers],
        compare: Callable[[Caption], None],
    ) -> None:
        """`workers` are in the order of the settings; `compare` requests a second translation."""
        rests = (False, *(target.rest for target in settings.translate.targets))
        self._targets = tuple(
            TargetCaptions(context, target, group, may_rest=rest and group.may_rest)
            for target, group, rest in zip(context.targets, workers, rests, strict=True)
        )
        self._by_lang = {each.lang: each for each in self._targets}
        self._compare = compare
        self._facts = context.facts
        self._hub = context.hub
        self._recorder = context.recorder
        self._subtitles = context.outside.subtitles
        self._shown_elsewhere = tuple(context.outside.outputs)
        self._settled: deque[Transcript] = deque(maxlen=_FILLED)
        self._interpreter = Interpreter()

    def __iter__(self) -> Iterator[TargetCaptions]:
        return iter(self._targets)

    def __getitem__(self, number: int) -> TargetCaptions:
        return self._targets[number]

    @property
    def langs(self) -> tuple[str, ...]:
        """The target languages."""
        return tuple(self._by_lang)

    def of(self, lang: str) -> TargetCaptions:
        """Return the target of a language. The first target also has the source text."""
        return self._by_lang.get(lang, self._targets[0])

    # What workers report

    def take(self, report: CaptionReport) -> None:
        """Act on a report."""
        match report:
            case Rendition(lang, caption):
                final = self._by_lang[lang].show(self._looked_at(caption))
                self._on_settled(final if lang == self._targets[0].lang else None)
            case Retranslated():
                self._by_lang[report.target].retranslations.on_retranslated(report)
            case Comparison():
                self._targets[0].coordinator.on_comparison(report)
            case Utterance(final=True):
                awake = self._hearing(report)
                # The first target never rests, so it is always the first in the list.
                final, *_ = [each.coordinator.on_closed(heard, each.show) for each, heard in awake]
                self._on_settled(final)
            # Not final: speech has returned to it (`CaptionReport`).
            case Utterance():
                for each, heard in self._hearing(report):
                    if reopened := each.coordinator.on_resumed(heard):
                        each.workers.quick.go_on(reopened)
            case Settled(id=key):
                final, *_ = [each.coordinator.on_settled(key) for each in self._awake()]
                self._on_settled(final)
            case Transcript():
                for each, heard in self._hearing(report.utterance):
                    each.coordinator.on_filtered(replace(report, utterance=heard))

    def _looked_at(self, caption: Caption) -> Caption:
        """Return a caption with `repeats` set if an interpreter repeats an earlier caption."""
        said = caption.transcript
        theirs = self._by_lang.get(said.lang)
        if theirs is None:  # the language spoken now is not a target language
            return caption
        shown = theirs.board.snapshot().messages[-_LOOKED_AT:]
        start_s = said.utterance.start_s
        again = self._interpreter.repeated(caption.id, said.text, said.lang, start_s, shown)
        return caption if again is None else replace(caption, repeats=again)

    def _awake(self) -> list[TargetCaptions]:
        return [each for each in self._targets if not each.workers.is_resting]

    def _hearing(self, utterance: Utterance) -> list[tuple[TargetCaptions, Utterance]]:
        """Return the awake languages, each with its version of the utterance."""
        # Only the first gets the samples: the sound is recorded once.
        quiet = without_samples(utterance)
        first, *extra = self._awake()
        return [(first, utterance), *((each, quiet) for each in extra)]

    def _on_settled(self, final: Caption | None) -> None:
        """Pass the first target's final, if it has settled, to languages that do not have it.

        Settled finals of extra targets are not used here.
        """
        if final is None:
            return
        self._compare(final)
        transcript = final.transcript
        # It can no longer be resumed, even if its final could.
        utterance = replace(without_samples(transcript.utterance), can_resume=False)
        self._settled.append(replace(transcript, utterance=utterance))
        for each in self._awake()[1:]:
            each.fill(self._settled[-1])

    # Periodic work

    def look(self, now_s: float) -> None:
        """Update the watchers, and do the work that is due in each language."""
        watchers = self._hub.watchers()
        if self._subtitles:
            # A person who watches a stream with subtitles has no display open.
            watchers += self._subtitles.watchers()
        # Neither has a program that shows a language by `outputs`.
        watchers.update(self._shown_elsewhere)
        for each in self._targets:
            released = each.coordinator.release_due(now_s)
            for final in released if each is self._targets[0] else ():
                self._on_settled(final)
            self._set_watchers(each, watchers, now_s)
            # Off the record nothing is translated. The board keeps what must be translated later.
            has_time = not self._facts.off_record and each.workers.has_time(now_s)
            each.late.look(now_s, has_time=has_time)
            each.retranslations.look(now_s)

    def observe(self, now_s: float) -> None:
        """Check whether each language keeps up, and log every change of its rung."""
        for each in self._targets:
            workers, ladder = each.workers, each.workers.degradation
            if not workers.observe(now_s):
                continue
            waits = {stage: round(s, 2) for stage, s in asdict(workers.waits(now_s)).items()}
            fields = {"rung": ladder.rung.name, **waits, "reason": ladder.reason}
            if each is self._targets[0]:  # its rung is the service's rung
                log.warning("rung", **fields)
                rung = RUNG_NAMES[ladder.rung]
                self._recorder.record(RungEvent(utc=utc_now(), rung=rung))
            else:
                log.warning("rung", language=each.lang, **fields)

    def _set_watchers(
        self, each: TargetCaptions, watchers: Mapping[str, int], now_s: float
    ) -> None:
        each.watchers = watchers.get(each.lang, 0)
        each.workers.note_watchers(each.watchers)
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
            # Oldest first: the queue returns the newest item first.
            for transcript in self._settled:
                each.fill(transcript)

    def health(self, now_s: float) -> tuple[LanguageHealth, ...]:
        """Return the health of each extra target; the whole record describes the first."""
        return tuple(
            LanguageHealth(
                lang=each.lang,
                watchers=each.watchers,
                is_resting=each.workers.is_resting,
                rung=RUNG_NAMES[each.workers.degradation.rung],
                waiting=each.workers.waiting,
                lag_s=round(each.workers.waits(now_s).longest_s, 2),
                setback=each.workers.degraded_reason,
            )
            for each in self._targets[1:]
        )

    # What operators do

    def correct(self, caption_id: int, text: str) -> Back:
        """Correct the source text in every language; return a function that undoes it."""
        settled = (each.text for each in self._settled if each.utterance.id == caption_id)
        said = next(settled, None)
        backs = [each.correct(caption_id, text, said) for each in self._targets]
        # A caption that is filled in later must have the correction as well.
        for at, old in enumerate(self._settled):
            if old.utterance.id == caption_id:
                self._settled[at] = replace(old, text=text)
                backs.append(partial(self._replace_settled, old))
        return together(backs)

    def redact(self, redaction: Redaction) -> tuple[set[int], Removed]:
        """Forget the speech of a period.

        Returns the removed ids and, by language, the messages that remove captions from displays.
        """
        self._interpreter = Interpreter()  # the old one remembers words
        # Collected first: a deque must not change during iteration.
        gone = [each for each in self._settled if _takes(redaction, each.utterance)]
        for transcript in gone:
            self._settled.remove(transcript)
        ids = set(redaction.ids)
        removed: dict[str, Sequence[CaptionMessage]] = {}
        for each in self._targets:
            messages = each.coordinator.redact(redaction)
            removed[each.lang] = messages
            each.forget({*redaction.ids, *(message.id for message in messages)})
            ids |= {message.id for message in messages}
            if each is self._targets[0]:  # ids that it removed are removed in every language
                redaction = replace(redaction, ids=tuple(ids))
                # At once: the languages' queues, which are emptied next, take a final only once.
                for final in each.coordinator.release_due(0.0):
                    self._on_settled(final)
        return ids, removed

    def return_to_record(self, at_s: float) -> None:
        """Caption the speech from audio time `at_s` on, and fill in what was left from before."""
        for each in self._targets:
            each.coordinator.return_to_record(at_s)
        for each in self._awake()[1:]:
            for transcript in self._settled:
                each.fill(transcript)

    def finish(self) -> None:
        """At the end: publish drafts that have no final, and all held finals."""
        for each in self._targets:
            self.show_unfinished(each)
            each.coordinator.release_all()
            # Last: captions that still wait for a translation become final as they are.
            each.retranslations.forget()

    def show_unfinished(self, each: TargetCaptions) -> None:
        """Publish a language's drafts that have no final as finals."""
        for caption in each.workers.take_unfinished():
            # Like a report: an interpreter may repeat an earlier caption with it.
            self.take(Rendition(each.lang, caption))

    def settle(self) -> None:
        """Write all records."""
        for each in self._targets:
            each.coordinator.settle()

    def _replace_settled(self, transcript: Transcript) -> None:
        for at, each in enumerate(self._settled):
            if each.utterance.id == transcript.utterance.id:
                self._settled[at] = transcript


def without_samples(utterance: Utterance) -> Utterance:
    """Return the utterance without samples: only the first target's copy keeps them in memory."""
    # A copy: an empty view would keep all samples of the original in memory.
    return replace(utterance, pcm=utterance.pcm[:0].copy())


def _takes(redaction: Redaction, utterance: Utterance) -> bool:
    return redaction.takes(utterance.id, utterance.start_s, utterance.end_s)
