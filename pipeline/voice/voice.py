"""The church's voice: two threads that speak captions and send the sound to who listens.

`voice` asks the engine for one clause after another, of the languages in turns; `voice sound` sends
a quarter of a second of each language four times a second, silence where nothing is said, so that
players go on. Nothing that captions need waits for either. Where nobody listens nothing is made.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence

import structlog

from pipeline.core.errors import EngineError, EngineGoneError, StarkError
from pipeline.core.reports import Emit, Fault
from pipeline.core.threads import Thread, described
from pipeline.engines.protocols import Speaker
from pipeline.protocol.caption import CaptionMessage
from pipeline.voice.narrator import NOTICE, Narrator
from pipeline.voice.playout import FRAME, RATE_HZ, Encoder, Playout

log = structlog.get_logger()

# Whole frames. A shorter step costs more packets, a longer one makes each listener later.
_STEP = 10 * FRAME
STEP_S = _STEP / RATE_HZ
"""The sound that is sent at a time, seconds."""
# Less, and a slow machine leaves gaps; more, and what is hidden has been made already.
_AHEAD_S = 1.5
"""So much of what was said is still to be heard when the next clause is made."""
_LOST_S = 2.0
"""So late, the sound goes on from now: the machine was asleep."""
# A new process loads its model meanwhile; asking at once would only lose the next clause, too.
_GONE_S = 1.0
_FAULT = "voice"

Spread = Callable[[str, bytes], None]
"""Takes a language and its next sound; b"" takes back the sound that was sent last. Any thread."""


class _Channel:
    """A language: what is to be said in it, and its sound."""

    def __init__(self, lang: str, fastest: float, forget: Callable[[str], None]) -> None:
        """`forget` takes back what was sent of the language, for who joins in a moment."""
        self.lang = lang
        self._forget = forget
        self.narrator = Narrator(lang, fastest)
        self.playout = Playout()
        # Belongs to `voice sound`; all else here is under the lock of the voice.
        self.encoder: Encoder | None = None
        self.making: int | None = None
        """The caption of the clause that is being made; None: nobody is to hear that any more."""
        self.taken_back = 0
        """How often what was sent has been taken back."""

    def silence(self) -> None:
        """Say nothing of what was not heard yet."""
        self.narrator.pass_over_all()
        self.playout.drop()
        self.making = None
        self._take_back()

    def cut_off(self, caption_id: int) -> None:
        """Let nothing of a caption be heard any more; the others go on."""
        self.playout.drop(caption_id)
        self._take_back()
        if self.making == caption_id:
            self.making = None

    def _take_back(self) -> None:
        # What was sent last is still to be had by who joins: it goes as well.
        self.taken_back += 1
        self._forget(self.lang)


class Voice:
    """Speaks the captions of some languages. Any thread may call."""

    def __init__(
        self, langs: Sequence[str], fastest: float, listeners: Callable[[], Collection[str]]
    ) -> None:
        """`listeners` tells in which languages anybody listens; any thread calls it."""
        self._channels = {lang: _Channel(lang, fastest, self._forget_sent) for lang in langs}
        self._listeners = listeners
        self._changed = threading.Condition()
        """Guards all below, and narrators and playouts."""
        # Kept, since captions go on while the displays are blank and must be passed over.
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
        """Begin. `spare`: whether the machine has no time for it now.

        `gone` is called, in a thread, where it cannot speak at all. What goes wrong is reported to
        `emit`.
        """

        # Told and begun anew: the service must not end because of a voice.
        def failed(error: BaseException) -> None:
            emit(Fault(_FAULT, "voice-broken", f"The voice has failed: {described(error)}."))

        def speak() -> None:
            self._speak(speaker, emit, spare, gone)

        # Before the threads: from their first moment on a caption may be taken back.
        self._spread = spread
        self._threads = [
            Thread(speak, "voice", failed=failed, again=True),
            Thread(lambda: self._send(spread), "voice sound", failed=failed, again=True),
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End. What the engine is at is not waited for."""
        self._ending.set()
        with self._changed:
            # Wakes the voice thread, which waits for something to say.
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(1.0)

    # What happens in the service

    def take(self, message: CaptionMessage, lang: str) -> None:
        """Take a caption that is new or has changed."""
        channel = self._channels.get(lang)
        if channel is None:
            return
        with self._changed:
            narrator = channel.narrator
            if self._is_blank or self._is_spared or lang not in self._listeners():
                narrator.pass_over(message)
            else:
                narrator.take(message, time.monotonic())
            # After it was taken: only the new version says that the caption is hidden.
            if narrator.is_silenced(message.id):
                channel.cut_off(message.id)
            self._changed.notify_all()

    def set_blank(self, *, is_blank: bool) -> None:
        """Be silent while the displays are blank."""
        with self._changed:
            self._is_blank = is_blank
            # Not on the way back: captions that came meanwhile were passed over one by one.
            if is_blank:
                self._silence()

    def notice(self, texts: dict[str, str]) -> None:
        """Say a notice to who listens, in each language in which it is written.

        Each language's translation comes with all that there are: none is said twice for that.
        """
        with self._changed:
            # One text that stays the same: it is the old notice with one translation more.
            is_new = not any(self._notice.get(lang) == text for lang, text in texts.items())
            self._notice = texts
            for lang, channel in self._channels.items():
                if is_new:
                    channel.cut_off(NOTICE)
                # Who joins later reads it on the page: it may be of no use by then.
                text = texts.get(lang, "") if lang in self._listeners() else ""
                channel.narrator.notice(text, is_new=is_new)
            self._changed.notify_all()

    def forget(self) -> None:
        """Say nothing of what was said until now: something of it is off the record."""
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
            # At the end of the service an engine that cannot be had is no fault.
            if not self._ending.is_set():
                emit(Fault(_FAULT, error.code, f"{error.message} {error.fix}".rstrip()))
                gone()
            return
        while not self._ending.is_set():
            self._look(spare())
            # A list, not a generator in `any`: that would ask only the first language that speaks.
            spoken = [self._speak_next(channel, speaker, emit) for channel in self._heard()]
            if not any(spoken):
                with self._changed:
                    # With a limit: that less is left to be heard wakes nobody.
                    self._changed.wait(STEP_S)

    def _look(self, is_spared: bool) -> None:
        """Go by whether the machine has time: the voice is the first thing that it gives up."""
        # Read without the lock: this thread alone writes it.
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
            # A notice waits until the screens show it as well.
            if queued_s > _AHEAD_S or self._is_blank:
                return False
            clause = channel.narrator.next(time.monotonic(), queued_s)
            channel.making = clause.caption_id if clause else None
        if clause is None:
            return False
        try:
            # Without the lock: this may take seconds, and captions must not wait for it.
            pcm = speaker.speak(clause.text, channel.lang, clause.rate)
        except EngineGoneError:  # its keeper tells
            self._ending.wait(_GONE_S)
            return True
        except EngineError as error:
            emit(Fault(_FAULT, error.code, f"{error.message} {error.fix}".rstrip()))
            return True
        if not len(pcm):
            log.info("nothing to say", caption=clause.caption_id, reason="no word that can be said")
        with self._changed:
            # Hidden, blank or off the record since it was begun: then nobody is to hear it.
            if channel.making is not None:
                channel.playout.put(clause.caption_id, pcm)
                # No text: a log may be handed on. `make bench-voice` reads when words are heard.
                count, is_end = len(clause.text.split()), clause.is_end
                said = {"caption": clause.caption_id, "words": count, "is_end": is_end}
                length_s = len(pcm) / RATE_HZ
                in_s = channel.playout.queued_s - length_s
                log.debug("clause", lang=channel.lang, in_s=in_s, length_s=length_s, **said)
        return True

    # The thread that sends

    def _send(self, spread: Spread) -> None:
        # By the clock and not by pauses: these would add up, and players run dry after minutes.
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
                # Made here, in its thread: loading the codec takes long, and the lock is not held.
                channel.encoder = channel.encoder or Encoder()
                with self._changed:
                    pcm, taken_back = channel.playout.take(_STEP), channel.taken_back
                # Without the lock: encoding takes milliseconds, and captions must not wait for it.
                spread(channel.lang, channel.encoder.encode(pcm))
                # Hidden meanwhile: it was taken back before it was sent, so once more.
                if channel.taken_back != taken_back:
                    self._forget_sent(channel.lang)
