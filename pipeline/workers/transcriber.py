"""The transcribe thread: recognizer -> dictionary -> hallucination filter -> partial translator."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import structlog

from pipeline.core.errors import EngineCancelledError, EngineError, EngineGoneError
from pipeline.core.reports import Fault
from pipeline.core.types import SAMPLE_RATE, Recognition, Transcript, Utterance
from pipeline.dictionary.matcher import correct
from pipeline.dictionary.store import Dictionary
from pipeline.engines.ctranslate2.lost_tail import joined
from pipeline.engines.protocols import MultilingualRecognizer, Recognizer
from pipeline.text.hallucinations import reason
from pipeline.text.language_check import gibberish
from pipeline.text.sentences import (
    goes_on,
    is_ended,
    is_fragment,
    split,
    weights_of,
    without_guessed_end,
)
from pipeline.workers.base import Worker
from pipeline.workers.queues import Retranslation, TranscriptQueue, UtteranceQueue
from pipeline.workers.quick import QuickPass
from pipeline.workers.steps import transcribe

log = structlog.get_logger()

_RAN_AWAY = {"repetition", "compression", "too-fast", "control-tokens", "wrong-script"}
"""Reasons that come from the decoding, not from the speech: the recognizer ran away."""

_HARDLY_OVER = 0.8
"""From this probability of going on, a full stop inside a partial is taken for a guess."""


class Transcribe(Worker):
    """Makes a caption of every utterance, and passes finals on for the final translation."""

    def __init__(
        self,
        *,
        quick: QuickPass,
        recognizer: Recognizer,
        dictionary: Dictionary,
        utterances: UtteranceQueue,
        shed: bool,
        expect_more: Callable[[Utterance, float], None] = lambda *_: None,
        end_sentences: Callable[[Utterance, Sequence[float]], None] = lambda *_: None,
        extra_targets: Sequence[TranscriptQueue] = (),
    ) -> None:
        """`quick` is the first target's, and has the current settings; `extra_targets` are the
        queues of the others. `expect_more` gets the probability that each whole text goes on,
        `end_sentences` where sentences of a partial end.
        """
        super().__init__(quick.stage, quick.emit)
        self.spoken = SpokenLanguage(quick.settings.translate.spoken)
        self.quick = quick
        self._recognizer = recognizer
        self._dictionary = dictionary
        self._utterances = utterances
        self._expect_more = expect_more
        self._end_sentences = end_sentences
        self._extra_targets = extra_targets
        self._commits = quick.commits
        self._shed = shed
        self._free_s = 0.0
        self._doing: Utterance | None = None
        self.busy_since_s = 0.0
        """Start time of the current work, 0.0 while it waits; for the supervisor."""
        self._at_s = math.inf
        # The recognizer calls it in this thread, so `_doing` needs no lock.
        recognizer.is_cancelled = self._is_cancelled
        # The newest usable text, for a final for which the recognizer gives no text.
        self._last: Transcript | None = None

    @property
    def degraded_reason(self) -> str:
        """Why either engine is degraded, empty when neither is."""
        return "; ".join(
            filter(None, (self._recognizer.degraded_reason, self.quick.degraded_reason))
        )

    @property
    def waiting_since_s(self) -> float:
        """When the oldest whole utterance that is processed or waits was closed (monotonic).

        Infinity if there is none. Any thread may read it.
        """
        return min(self._at_s, self._utterances.waiting_since_s)

    def load(self) -> None:
        """Load recognizer and quick translator. If the translator crashes, go on without it."""
        self._recognizer.load()
        self.quick.load()
        for lang in self.spoken.langs:
            weights_of(lang)  # now, since the file may be unavailable during a service

    def work(self) -> None:
        """Take utterances until their queue is closed and empty."""
        try:
            while (work := self._utterances.take()) is not None:
                self.busy_since_s = time.monotonic()
                if isinstance(work, Retranslation):
                    self.quick.retranslate(work)
                else:
                    # A partial that is processed delays nothing: it yields to a final.
                    self._at_s = work.closed_s if work.is_whole else math.inf
                    self.take(work)
                    self._at_s = math.inf
                self.busy_since_s = 0.0
                # Utterances that came before this time have waited; records show how long.
                self._free_s = time.monotonic()
        finally:
            # However this thread ends, the threads after it must not wait forever.
            self.quick.end()
            for transcripts in self._extra_targets:
                transcripts.close()

    def take(self, utterance: Utterance) -> None:
        """Make a caption of an utterance, and the draft of a final if it is whole."""
        if self._utterances.is_stale(utterance):
            return
        if utterance.is_song:
            self._commits.heard_nothing_of_use(utterance)
            # It has no text, but its partials may be on screen; this report removes them.
            self.emit(self._nothing(utterance, "song"))
            return
        try:
            transcript = self._transcript(utterance)
        except EngineCancelledError:
            # A newer version follows, or waits already.
            return
        if self._utterances.is_stale(utterance):
            return  # speech has returned meanwhile, so it will get another text
        if transcript.filtered:
            self._commits.heard_nothing_of_use(utterance)
            if utterance.is_whole:
                self.emit(transcript)
            return
        if utterance.is_whole:
            transcript = replace(transcript, goes_on=self._goes_on(transcript))
            # Before the translation: the segmenter needs it during the present pause.
            self._expect_more(utterance, transcript.goes_on)
        elif transcript.recognition.ends_s:
            self._end_sentences(utterance, sentence_ends(transcript.recognition, transcript.lang))
        # Only here: a filtered text is no fallback.
        self._last = transcript
        self.quick.take(transcript)
        for transcripts in self._extra_targets:  # the first target comes first
            transcripts.put(transcript)

    def _goes_on(self, transcript: Transcript) -> float:
        """Return the probability that a text goes on. Hot words cost full stops: none is needed.

        A fragment goes on: a slow speaker's one or two words can be longer than `fragment_ms`.
        """
        text, settings = transcript.text, self.quick.settings
        if is_fragment(text) or not (settings.stt.hotwords or is_ended(text)):
            return 1.0
        return goes_on(text, transcript.lang) if settings.vad.hold_ms > 0 else 0.0

    def _transcript(self, utterance: Utterance) -> Transcript:
        """Recognize and correct.

        A final falls back on its last partial after an engine error, or if the recognizer runs
        away, since it understood the partial.
        """
        stt = self.quick.settings.stt
        # Set each time, since a reload or an operator's new rule changes them.
        self._recognizer.hotwords = self._dictionary.hotwords if stt.hotwords else ""
        try:
            transcript = self._recognized(utterance)
        except EngineGoneError:
            # Not one of the errors in a row: its keeper replaces the process and reports it.
            if utterance.is_whole:
                message = "The recognizer's process ended twice over one utterance."
                self.emit(Fault(self.name, "stt-failed", message))
            return self._fallback(utterance, "stt-failed")
        except EngineCancelledError:
            # A subclass of EngineError, but no fault of the engine.
            raise
        except EngineError as error:
            self.fault(error)
            # The recognizer is gone: this ends the daemon, and systemd restarts it.
            if self.too_many_failures:
                raise
            return self._fallback(utterance, error.code)
        self.note_success()
        heard = transcript.recognition.words
        lexicon = self._dictionary.lexicon_for(transcript.raw_text, heard, transcript.lang)
        transcript = correct(lexicon, transcript)
        if not utterance.is_whole:
            # The audio ends here, not the sentence; the recognizer cannot distinguish the two.
            transcript = replace(transcript, text=without_guessed_end(transcript.text))
        # The raw text is judged, since a dictionary rule must not hide the recognizer's errors.
        why = self._objection(transcript)
        # A partial of the same audio was good: the fault is the decoding's, not the speaker's.
        last = self._heard_before(utterance) if why in _RAN_AWAY else None
        if last is not None:
            message = f"The recognizer ran away ({why}); its last partial stands in."
            self.emit(Fault(self.name, "stt-unusable", message))
            said = self._with_rest(last, utterance)
            return replace(said, utterance=utterance, span=transcript.span)
        return replace(transcript, filtered=why)

    def _is_cancelled(self) -> bool:
        """Whether speech has returned to the current utterance, or a final waits behind a partial.

        A partial that began in the last syllables would delay its own final.
        """
        doing = self._doing
        if doing is None:
            return False
        makes_way = self._shed and not doing.is_whole and len(self._utterances) > 0
        return makes_way or self._utterances.is_stale(doing)

    def _objection(self, transcript: Transcript) -> str:
        """Return why a text cannot be shown, "" if it can."""
        length_s = len(transcript.utterance.pcm) / SAMPLE_RATE
        text = (transcript.recognition, transcript.raw_text, transcript.level_dbfs)
        why = reason(*text, length_s)
        return why or gibberish(transcript.raw_text, transcript.lang)

    def _with_rest(self, last: Transcript, utterance: Utterance) -> Transcript:
        """Return the text of an utterance that speech returned to, its two parts recognized apart.

        Together they made the recognizer fail. If the rest does too, return `last` alone.
        """
        heard = len(last.utterance.pcm)
        if not last.utterance.is_whole or heard >= len(utterance.pcm):
            return last
        try:
            rest = self._recognized(replace(utterance, pcm=utterance.pcm[heard:]))
        except EngineError:
            return last
        if self._objection(rest):
            return last
        both = joined(last.recognition, rest.recognition)
        whole = replace(rest, recognition=both, raw_text=both.text, text=both.text)
        return correct(self._dictionary.lexicon_of(whole.lang), whole)

    def _recognized(self, utterance: Utterance) -> Transcript:
        """Recognize in the expected language, and again if another one was spoken."""
        transcript = self._recognized_in(self.spoken.expected, utterance)
        if len(self.spoken.langs) == 1:
            return transcript
        lang = self.spoken.hear(
            dict(transcript.recognition.langs),
            (utterance.end_sample - utterance.start_sample) / SAMPLE_RATE,
            utterance.id,
            is_whole=utterance.is_whole,
        )
        if not lang:  # words of the wrong language would be replaced in a moment
            raise EngineCancelledError("engine-cancelled", "The language is not known yet.")
        if lang == transcript.lang:
            return transcript
        log.info("spoken language", lang=lang)
        return self._recognized_in(lang, utterance)

    def _recognized_in(self, lang: str, utterance: Utterance) -> Transcript:
        """Recognize; retry a final once if the recognizer's process ends meanwhile."""
        self._doing = utterance
        if isinstance(self._recognizer, MultilingualRecognizer):
            self._recognizer.lang = lang
        prefix = self._commits.prefix(utterance, self.quick.settings.stt, lang)
        attempt = partial(
            transcribe, self._recognizer, utterance, lang=lang, free_s=self._free_s, prefix=prefix
        )
        try:
            return attempt()
        except EngineGoneError:
            if not utterance.is_whole:  # another partial follows soon
                raise
        return attempt()  # waits for the next process

    def _fallback(self, utterance: Utterance, code: str) -> Transcript:
        if last := self._heard_before(utterance):
            return replace(self._with_rest(last, utterance), utterance=utterance)
        return self._nothing(utterance, code)

    def _nothing(self, utterance: Utterance, code: str) -> Transcript:
        lang = self.spoken.now
        return Transcript(utterance, lang, "", "", Recognition(""), filtered=code)

    def _heard_before(self, utterance: Utterance) -> Transcript | None:
        """Return the last partial of a final."""
        last = self._last
        same = utterance.is_whole and last is not None and last.utterance.id == utterance.id
        return last if same else None


SURE = 0.8
"""Least share of a language, among those spoken here, for a detection to count."""
LONG_S = 3.0
"""Least length of speech for one utterance to change the language."""
SOME_S = 1.5
"""Least length of speech to know the language at all: "amen" may be any language."""


def sentence_ends(heard: Recognition, lang: str) -> tuple[float, ...]:
    """Return when sentences inside a partial end, in seconds, without those that likely go on.

    The last sentence is still open.
    """
    ends, at = [], 0
    for sentence in split(heard.text)[:-1]:
        at = heard.text.index(sentence, at) + len(sentence)
        if goes_on(sentence, lang) < _HARDLY_OVER:
            timed = zip(heard.tokens, heard.ends_s, strict=False)
            ends += [end_s for token, end_s in timed if token.until >= at][:1]
    return tuple(ends)


class SpokenLanguage:
    """Tracks the spoken language. One thread calls `hear`; any thread may read and force it."""

    def __init__(self, langs: Sequence[str]) -> None:
        """`langs` are the spoken languages; a service begins in the first."""
        self.langs = tuple(langs)
        self.now = langs[0]
        """The language of the latest speech."""
        self.forced = ""
        """The language that an operator has chosen, "" if it is detected."""
        self._other = ""
        self._other_id = -1

    @property
    def expected(self) -> str:
        """The language in which the next utterance is first recognized."""
        return self.forced or self.now

    def hear(
        self, shares: Mapping[str, float], speech_s: float, utterance_id: int, *, is_whole: bool
    ) -> str:
        """Return the language to recognize an utterance in, "" if it is not known yet.

        `shares` are the languages' probabilities, which sum to 1; `speech_s` is the length of
        speech. One long utterance or two short ones that agree change the language. A single short
        one keeps its own language; an unsure or very short one takes the current language.
        """
        # Read once: an operator may release it meanwhile, and "" is no language.
        if forced := self.forced:
            self.now = forced
            return forced
        likely = max(shares, key=lambda lang: shares[lang], default=self.now)
        if shares.get(likely, 0.0) < SURE:
            return self.now
        # An eager utterance and its final are the same speech, so they do not confirm each other.
        is_second = self._other == likely and self._other_id != utterance_id
        if speech_s >= LONG_S or (is_whole and is_second) or likely == self.now:
            # If an utterance has two versions, the later one counts.
            self.now, self._other = likely, ""
            return likely
        if is_whole:
            # A partial is no separate evidence: its final is recognized again.
            self._other, self._other_id = likely, utterance_id
        if speech_s >= SOME_S:
            return likely
        return self.now if is_whole else ""
