"""The church's voice: two threads that speak captions and send the sound to listeners.

`voice` asks the engine for one clause after another, for the languages in turn. `voice sound` sends
a quarter of a second of each language four times a second, or silence, so that players continue.
Captions never wait for either thread. Without listeners no sound is made.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np
import structlog

from pipeline.captions.redaction import Redaction
from pipeline.captions.sink import Removed, Sink
from pipeline.captions.subtitles import newest
from pipeline.core.errors import EngineError, EngineGoneError, StarkError
from pipeline.core.reports import Emit, Fault
from pipeline.core.threads import Thread, described
from pipeline.engines.protocols import Speaker
from pipeline.protocol.caption import CaptionMessage
from pipeline.voice.narrator import LATE_S, NOTICE, Narrator
from pipeline.voice.playout import FRAME, RATE_HZ, Encoder, Playout

log = structlog.get_logger()

# Whole frames. A shorter step costs more packets; a longer one adds delay for each listener.
_STEP = 10 * FRAME
STEP_S = _STEP / RATE_HZ
"""Length of the sound that is sent at a time, seconds."""
# With less, a slow machine leaves gaps; with more, sound of a later hidden caption exists already.
_AHEAD_S = 1.5
"""Queued sound at which the next clause is made."""
_LOST_S = 2.0
"""Delay after which the sound continues from now: the machine was asleep."""
# A new process loads its model meanwhile; an immediate retry would lose the next clause too.
_GONE_S = 1.0
_FAULT = "voice"

Spread = Callable[[str, bytes], None]
"""Takes a language and its next sound; b"" takes back the latest sent sound. Any thread."""


class _Channel:
    """A language: the text to say in it, and its sound."""

    def __init__(self, lang: str, fastest: float, forget: Callable[[str], None]) -> None:
        """`forget` takes back the language's sent sound, so that new listeners do not get it."""
        self.lang = lang
        self._forget = forget
        self.narrator = Narrator(lang, fastest)
        self.playout = Playout()
        # Belongs to `voice sound`; the lock of the voice guards everything else here.
        self.encoder: Encoder | None = None
        self.making: int | None = None
        """The caption of the clause being made; None if that clause must not be heard any more."""
        self.taken_back = 0
        """How often sent sound has been taken back."""

    def silence(self) -> None:
        """Drop everything that was not heard yet."""
        self.narrator.pass_over_all()
        self.playout.drop()
        self.making = None
        self._take_back()

    def cut_off(self, caption_id: int) -> None:
        """Stop the sound of a caption; the others continue."""
        self.playout.drop(caption_id)
        self._take_back()
        if self.making == caption_id:
            self.making = None

    def _take_back(self) -> None:
        # New listeners still get the latest sent sound, so it is taken back too.
        self.taken_back += 1
        self._forget(self.lang)


class Voice(Sink):
    """Speaks the captions of some languages. Any thread may call."""

    def __init__(
        self, langs: Sequence[str], fastest: float, listeners: Callable[[], Collection[str]]
    ) -> None:
        """`listeners` returns the languages that have listeners; any thread calls it."""
        self._channels = {lang: _Channel(lang, fastest, self._forget_sent) for lang in langs}
        self._listeners = listeners
        self._changed = threading.Condition()
        """Guards all attributes below, narrators and playouts."""
        # Kept, since captions continue while the displays are blank and must be skipped.
        self._is_blank = False
        self._is_spared = False
        self._notice: dict[str, str] = {}
        self._spread: Spread = lambda lang, sound: None  # noqa: ARG005 - `start` sets it
        self._ending = threading.Event()
        self._threads: list[Thread] = []

    def start(
        self,
        speaker: Speaker,
        spread: Spread,
        emit: Emit,
        spare: Callable[[], bool],
        gone: Callable[[], None],
    ) -> None:
        """Start the threads. `spare` tells whether the machine has no time for the voice now.

        `gone` is called, in a thread, if the voice cannot speak at all. Faults are reported to
        `emit`.
        """

        # A failure is reported and the thread restarts: a voice must not end the service.
        def failed(error: BaseException) -> None:
            emit(Fault(_FAULT, "voice-broken", f"The voice has failed: {described(error)}."))

        def speak() -> None:
            self._speak(speaker, emit, spare, gone)

        # Before the threads start, since a caption may be taken back from then on.
        self._spread = spread
        self._threads = [
            Thread(speak, "voice", failed=failed, again=True),
            Thread(lambda: self._send(spread), "voice sound", failed=failed, again=True),
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End, without waiting for the engine."""
        self._ending.set()
        with self._changed:
            # Wakes the voice thread, which waits for something to say.
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(1.0)

    # What happens in the service

    def on_caption(self, message: CaptionMessage, lang: str) -> None:
        """Take a new or changed caption."""
        channel = self._channels.get(lang)
        if channel is None:
            return
        with self._changed:
            narrator = channel.narrator
            if self._is_blank or self._is_spared or lang not in self._listeners():
                narrator.pass_over(message)
            else:
                narrator.take(message, time.monotonic())
            # After the narrator took it, since only the new version says that it is hidden.
            if narrator.is_silenced(message.id):
                channel.cut_off(message.id)
            self._changed.notify_all()

    def on_blank(self, *, is_blank: bool) -> None:
        """Be silent while the displays are blank."""
        with self._changed:
            self._is_blank = is_blank
            # Not when the displays return: captions that came meanwhile were skipped one by one.
            if is_blank:
                self._silence()

    def on_notice(self, texts: dict[str, str]) -> None:
        """Say a notice to the listeners, in each language of `texts`.

        Each new translation comes together with the earlier ones; none is said twice.
        """
        with self._changed:
            # If one text stays the same, it is the old notice with another translation.
            is_new = not any(self._notice.get(lang) == text for lang, text in texts.items())
            self._notice = texts
            for lang, channel in self._channels.items():
                if is_new:
                    channel.cut_off(NOTICE)
                # Later listeners read it on the page, since it may be outdated by then.
                text = texts.get(lang, "") if lang in self._listeners() else ""
                channel.narrator.notice(text, is_new=is_new)
            self._changed.notify_all()

    def on_redaction(self, redaction: Redaction, removed: Removed) -> None:
        """Drop all earlier speech, since some of it is off the record."""
        super().on_redaction(redaction, removed)
        with self._changed:
            self._silence()

    def _forget_sent(self, lang: str) -> None:
        self._spread(lang, b"")

    def _silence(self) -> None:
        for channel in self._channels.values():
            channel.silence()

    # The thread that speaks

    def _speak(
        self, speaker: Speaker, emit: Emit, spare: Callable[[], bool], gone: Callable[[], None]
    ) -> None:
        try:
            speaker.load()
        except StarkError as error:
            # At the end of the service a missing engine is no fault.
            if not self._ending.is_set():
                emit(Fault(_FAULT, error.code, f"{error.message} {error.fix}".rstrip()))
                gone()
            return
        while not self._ending.is_set():
            self._look(spare())
            # A list, not a generator: `any` would stop at the first language that speaks.
            spoken = [self._speak_next(channel, speaker, emit) for channel in self._heard()]
            if not any(spoken):
                with self._changed:
                    # With a timeout, since a shrinking sound queue does not notify.
                    self._changed.wait(STEP_S)

    def _look(self, is_spared: bool) -> None:
        """Pause or resume by the machine's load: the voice is given up first."""
        # Read without the lock, since only this thread writes it.
        if is_spared == self._is_spared:
            return
        log.warning("voice given up" if is_spared else "voice goes on", reason="machine is behind")
        with self._changed:
            self._is_spared = is_spared
            for channel in self._channels.values():
                channel.narrator.pass_over_all()

    def _heard(self) -> list[_Channel]:
        heard = self._listeners()
        return [channel for lang, channel in self._channels.items() if lang in heard]

    def _speak_next(self, channel: _Channel, speaker: Speaker, emit: Emit) -> bool:
        """Say the next clause of a language; return whether there was one."""
        with self._changed:
            queued_s = channel.playout.queued_s
            # A notice waits until the screens show it too.
            if queued_s > _AHEAD_S or self._is_blank:
                return False
            clause = channel.narrator.next(time.monotonic(), queued_s)
            channel.making = clause.caption_id if clause else None
        if clause is None:
            return False
        try:
            # Without the lock, since this may take seconds and captions must not wait.
            pcm = speaker.speak(clause.text, channel.lang, clause.rate)
        except EngineGoneError:  # its keeper reports it
            self._ending.wait(_GONE_S)
            return True
        except EngineError as error:
            emit(Fault(_FAULT, error.code, f"{error.message} {error.fix}".rstrip()))
            return True
        if not len(pcm):
            log.info("nothing to say", caption=clause.caption_id, reason="no word that can be said")
        with self._changed:
            # None if it was hidden, blanked or put off the record meanwhile: then drop it.
            if channel.making is not None:
                channel.playout.put(clause.caption_id, pcm)
                # No text, since logs may be shared. `make bench-voice` reads when words are heard.
                count, is_end = len(clause.text.split()), clause.is_end
                said = {"caption": clause.caption_id, "words": count, "is_end": is_end}
                length_s = len(pcm) / RATE_HZ
                in_s = channel.playout.queued_s - length_s
                log.debug("clause", lang=channel.lang, in_s=in_s, length_s=length_s, **said)
        return True

    # The thread that sends

    def _send(self, spread: Spread) -> None:
        # By the clock: fixed pauses would add up, and players would run dry after minutes.
        due_s = time.monotonic()
        while not self._ending.wait(max(0.0, due_s - time.monotonic())):
            due_s += STEP_S
            if time.monotonic() - due_s > _LOST_S:
                due_s = time.monotonic()
            heard = self._heard()
            for channel in self._channels.values():
                if channel not in heard:
                    if channel.encoder is not None:  # the last one has just left
                        channel.encoder = None
                        with self._changed:
                            channel.silence()
                            channel.narrator.notice("")
                    continue
                # Made here, in its thread and without the lock, since loading the codec takes long.
                channel.encoder = channel.encoder or Encoder()
                with self._changed:
                    pcm, taken_back = channel.playout.take(_STEP), channel.taken_back
                # Without the lock, since encoding takes milliseconds and captions must not wait.
                spread(channel.lang, channel.encoder.encode(pcm))
                # It was taken back before it was sent, so take it back again.
                if channel.taken_back != taken_back:
                    self._forget_sent(channel.lang)


_RECORDED_PAUSE_S = 0.4


def recorded(messages: Iterable[CaptionMessage], lang: str, speaker: Speaker) -> Iterator[bytes]:
    """Yield the sound of a journal's captions in `lang`, clause by clause, when a service is over.

    So nothing is in it that was hidden, off the record or corrected. A clause that cannot be said
    is left out, and told to the log. Raises EngineGoneError.
    """
    # The live voice's rules, so that numbers, verses and long clauses are said in the same way.
    encoder, narrator = Encoder(), Narrator(lang, fastest=1.0)
    # The newest versions only, hidden ones left out: a caption that was mended is said as it is.
    for message in newest(messages):
        narrator.take(message, now_s=0.0)
        while clause := narrator.next(0.0, LATE_S):  # nobody waits: whole clauses
            try:
                pcm = speaker.speak(clause.text, lang, 1.0)
            # It is an EngineError too; without an engine every other clause would fail as well.
            except EngineGoneError:
                raise
            except EngineError as error:
                log.warning("not said", id=message.id, code=error.code, message=error.message)
                continue
            # Silence fills the last frame: the encoder takes whole frames only.
            pause = round(_RECORDED_PAUSE_S * RATE_HZ)
            silence = np.zeros(pause + -(len(pcm) + pause) % FRAME, np.float32)
            yield encoder.encode(np.concatenate([pcm, silence]))
