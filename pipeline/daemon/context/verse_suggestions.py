"""Printed verses in a service: those shown with a final, and those suggested to operators.

Belongs to the event loop's thread; a call of `look` takes some milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace

import structlog

from pipeline.church.scripture import editions, verse_index
from pipeline.church.scripture.books import Reference
from pipeline.church.scripture.editions import Edition
from pipeline.church.scripture.passages import Passages
from pipeline.church.scripture.references import printed
from pipeline.config.schema import Settings
from pipeline.core.errors import ProtocolError, VersesError
from pipeline.core.threads import Thread
from pipeline.core.types import Caption, Verse
from pipeline.protocol.messages import SuggestionMessage

log = structlog.get_logger()

Tell = Callable[[SuggestionMessage], None]


class VerseSuggestions:
    """Checks every final for a verse. Without an index or an edition it changes nothing."""

    def __init__(
        self,
        passages: Passages | None,
        edition: Edition | None,
        *,
        may_air: bool,
        tell: Tell,
        lang: str = "",
    ) -> None:
        """`tell` shows operators a suggestion; `may_air`: verses may be shown without an operator.

        `lang` is the language of `passages` if several languages are spoken, else "".
        """
        self._lang = lang
        self._passages = passages
        self._edition = edition
        self._may_air = may_air
        self._tell = tell
        self._later: Future[Passages] | None = None
        self._expected: Sequence[Reference] = ()
        self._suggested: Reference | None = None
        self._at_s = 0.0
        self._last_id = 0
        self.suggestion = SuggestionMessage()
        """The current suggestion to operators; without a `ref` there is none."""

    def wait_for(self, later: Future[Passages]) -> None:
        """Use `later` with the first final that comes after it is done."""
        self._later = later

    def expect(self, references: Sequence[Reference]) -> None:
        """Set the verses that are likely in this service."""
        # Kept as well: an index that is still being built needs them later.
        self._expected = references
        if self._passages is not None:
            self._passages.expect(references)

    def look(self, caption: Caption) -> Caption:
        """Return a final with the printed verse that it quotes, if that is sure enough."""
        self._take_over()
        # An index is for one language: a text in another language quotes nothing in it.
        is_other = self._lang not in ("", caption.transcript.lang)
        if self._passages is None or is_other:
            return caption
        if caption.id == self._last_id:  # it was reopened, and is now final again
            self._passages.take_back()
        self._last_id = caption.id
        # `Passages` uses audio time to count how long it ignores a verse.
        self._at_s = caption.transcript.utterance.end_s
        heard = self._passages.push(caption.transcript.text, self._at_s, may_air=self._may_air)
        # The edition on screen may lack a verse that another one has.
        if heard.on_air and (verse := self._verse(heard.on_air)):
            self._suggest(None, 0)
            return replace(caption, verse=verse)
        if heard.suggested and self._verse(heard.suggested):
            self._suggest(heard.suggested, caption.id)
        return caption

    def require(self, caption_id: int) -> None:
        """Raise ProtocolError if no verse is suggested for a caption."""
        self._current(caption_id)

    def take(self, caption_id: int) -> Verse:
        """Return the suggested verse to show with a caption. Raises ProtocolError."""
        # First: a click on a suggestion that has just changed must not show another verse.
        reference, verse = self._current(caption_id)
        if self._passages is not None:
            self._passages.show(reference, self._at_s)
        self._suggest(None, 0)
        return verse

    def dismiss(self, caption_id: int) -> None:
        """Do not suggest the current verse again for a while. Raises ProtocolError."""
        reference, _ = self._current(caption_id)
        if self._passages is not None:
            self._passages.dismiss(reference, self._at_s)
        self._suggest(None, 0)

    def forget(self) -> None:
        """Forget earlier speech, because it is off the record."""
        # A suggestion also quotes the speech.
        if self._passages is not None:
            self._passages.forget()
            self._suggest(None, 0)

    def _take_over(self) -> None:
        # Checked with each final. A callback would run in the thread that builds the index.
        if self._later is None or not self._later.done():
            return
        later, self._later = self._later, None
        # A failure has already been logged.
        if later.exception() is None:
            self._passages = later.result()
            self._passages.expect(self._expected)

    def _current(self, caption_id: int) -> tuple[Reference, Verse]:
        verse = self._verse(self._suggested) if self._suggested else None
        if self._suggested is None or verse is None or self.suggestion.id != caption_id:
            raise ProtocolError("suggestion-gone", "This verse is not suggested any more.")
        return self._suggested, verse

    def _suggest(self, reference: Reference | None, caption_id: int) -> None:
        verse = self._verse(reference) if reference else None
        message = SuggestionMessage()
        if verse:
            message = SuggestionMessage(
                id=caption_id, ref=verse.ref, text=verse.text, edition=verse.edition
            )
        self._suggested = reference
        if message != self.suggestion:
            self.suggestion = message
            self._tell(message)

    def _verse(self, reference: Reference) -> Verse | None:
        if self._edition is None or not (text := self._edition.text(reference)):
            return None
        edition = self._edition
        return Verse(printed(reference, edition.lang), text, edition.title, edition.lang)


def open_verse_suggestions(settings: Settings, tell: Tell) -> VerseSuggestions:
    """Return the verse suggestions of a service; log what is missing and the command to fix it."""
    church, translate = settings.church, settings.translate
    nothing = VerseSuggestions(None, None, may_air=False, tell=tell)
    if church.verses == "off":
        return nothing
    try:
        name, file = editions.find(translate.target, church.edition)
        passages = _passages(translate.source)
        # Last: reading a whole Bible takes longer than all the rest here.
        edition = editions.read(file, name)
    except VersesError as error:
        _log_missing(error)
        return nothing
    made = VerseSuggestions(
        passages,
        edition,
        may_air=church.verses == "air",
        tell=tell,
        lang=translate.source if translate.also_spoken else "",
    )
    if passages is None:
        made.wait_for(_renewed(translate.source))
    return made


def _passages(lang: str) -> Passages | None:
    """Return the verse recognizer, None if its index must be built. Raises VersesError."""
    try:
        return Passages(verse_index.load_built(lang), lang)
    except VersesError as error:
        if error.code not in verse_index.MENDED:
            raise
        log.info("index of verses is built", reason=error.message)
        return None


def _log_missing(error: VersesError) -> None:
    # The start must not fail because of it: many languages have no Bible here.
    say = log.info if error.code == "verses-none" else log.warning
    say("no verses", code=error.code, message=error.message, fix=error.fix)


def _renewed(lang: str) -> Future[Passages]:
    """Rebuild an index while the engines load; no verse is recognized until it is done.

    An old index could name verses that are in another place in the current Bibles.
    """
    later: Future[Passages] = Future()

    def run() -> None:
        try:
            index = verse_index.renew(lang)
        except VersesError as error:
            _log_missing(error)
            later.set_exception(error)
            return
        later.set_result(Passages(index, lang))
        log.info("index of verses built", editions=", ".join(index.editions))

    # An error in this thread stops the verses, not the service.
    Thread(run, "verse index", failed=later.set_exception).start()
    return later
