"""The table of operators' commands: what each does, and how to undo it.

Belongs to the event loop's thread.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol

import structlog

from pipeline.captions.redaction import Redaction
from pipeline.core.errors import ProtocolError, quoted
from pipeline.core.formats import utc_now
from pipeline.core.types import CommandName, SongControl
from pipeline.daemon.captions.targets import Targets
from pipeline.daemon.context.context import DaemonContext
from pipeline.daemon.context.state import DaemonState
from pipeline.daemon.desk.live_check import LiveCheck
from pipeline.daemon.desk.service_notes import ServiceNotes
from pipeline.daemon.desk.service_rules import ServiceRules
from pipeline.daemon.desk.undo import Undo
from pipeline.daemon.desk.written_texts import Speech, WrittenTexts
from pipeline.protocol.commands import (
    AddNotesCommand,
    AddRuleCommand,
    CaptionCommand,
    CommandMessage,
    CorrectCommand,
    DropNoteCommand,
    EditCommand,
    HoldTermCommand,
    PlainCaptionCommand,
    PlainCommand,
    SpokenCommand,
    TypeCommand,
    caption_of,
)
from pipeline.protocol.messages import ConsoleMessage, DoneMessage
from pipeline.records.events import CommandEvent, held_rules
from pipeline.session.resume import Unfinished
from pipeline.workers.group import HearingControls

log = structlog.get_logger()

_MARK_S = 0.25
"""The longest time that the disk may block the event loop when going off the record."""

_SONG_COMMAND: Mapping[SongControl, CommandName] = {
    "auto": "song-auto",
    "caption": "song-caption",
    "hold": "song-hold",
}
_SONG: Mapping[str, SongControl] = {name: control for control, name in _SONG_COMMAND.items()}

_Switch = Literal["paused", "blank"]


class Hearing(Speech, Protocol):
    """The part of the workers that commands reach."""

    def apply(self, controls: HearingControls) -> None:
        """Set what operators want: listen, pause or forget."""


class OperatorCommands:
    """Executes commands. What operators have set is kept in the facts that all parts share."""

    def __init__(
        self,
        context: DaemonContext,
        targets: Targets,
        hearing: Hearing,
        reload: Callable[[], Awaitable[None]],
        *,
        live_check: LiveCheck,
        notes: ServiceNotes,
    ) -> None:
        """Take the parts; `reload` reads the settings again, or raises ProtocolError."""
        self._live_check = live_check
        self._context = context
        self._facts = context.facts
        self._recorder = context.recorder
        self._verses = context.targets[0].verses
        self._operators = context.hub.operators
        self._targets = targets
        self._hearing = hearing
        self._notes = notes
        self._reload = reload
        self._undo = Undo()
        self.written = WrittenTexts(context, targets, hearing, self._undo)
        self._held_rules = ServiceRules(
            context, targets, self.written, self._undo, lambda: hearing.heard_s
        )
        self._acts_on_caption = {
            "approve": self.written.approve,
            "dismiss-verse": self._verses.dismiss,
            "hide": self.written.hide,
            "settle": self.written.settle,
            "show": self.written.unhide,
            "take-verse": self.written.take_verse,
        }

    def done(self, name: CommandName) -> DoneMessage:
        """Return the message to operators' pages about an executed command."""
        # The whole state, not the change: a page may have missed an earlier one.
        return DoneMessage(name=name, **self._switches())

    def _switches(self) -> dict[str, Any]:
        return {
            "undo": self._undo.says,
            "paused": self._facts.paused,
            "blank": self._facts.blank,
            "off_record": self._facts.off_record,
            "song": self._facts.song,
            "spoken": self._facts.spoken,
            "forced": self._facts.forced_language,
        }

    def console(self) -> ConsoleMessage:
        """Return the state for a page that connects late, except what only the hub knows."""
        now_s, dictionary = time.monotonic(), self._context.dictionary
        return ConsoleMessage(
            dictionary=str(dictionary.own) if dictionary.enabled else "",
            **self._switches(),
            off_record_s=self._facts.settings.operator.off_record_s,
            check=self._live_check.last(),
            suggestion=self._verses.suggestion,
            doubtful=tuple(
                message
                for each in self._targets
                for message in each.coordinator.doubts.messages(now_s)
            ),
            notes=self._notes.message,
            keep_audio=self._recorder.keep_audio,
            models=self._facts.models,
        )

    def sound(self, caption_id: int, lang: str) -> bytes:
        """Return the audio of a target language's doubtful caption as WAV, or b""."""
        return self._targets.of(lang).coordinator.doubts.sound(caption_id)

    def obey(self, command: CommandMessage) -> Awaitable[None] | None:
        """Execute an authorized operator's command, record it and report it. Raises ProtocolError.

        A slow command is returned as an awaitable, which may raise ProtocolError as well.
        """
        match command:
            case PlainCommand(name="reload"):
                return self._obey_later(command, self._reload())
            case AddNotesCommand():
                drawing = self._notes.add(command)
                return None if drawing is None else self._obey_later(command, drawing)
            case DropNoteCommand(entry=entry):
                return self._obey_later(command, self._notes.drop(entry))
            case AddRuleCommand(name="preview-rule", heard=heard, write=write):
                self._operators.tell(self._held_rules.preview(heard, write))
            case HoldTermCommand(name="preview-term", say=say, write=write, instead=instead):
                self._operators.tell(self._held_rules.preview_term(say, write, instead))
            case SpokenCommand(lang=lang):
                self._force_language(lang)
                self._note(command.name, lang=lang)
                self._tell(command)
            case _:
                self._do(command)
        return None

    def _do(self, command: CommandMessage) -> None:
        """Execute a command at once (see `_obey_later`). Raises ProtocolError."""
        # Before a held final is released: a refused command must not show it.
        self._require_newest(command)
        # Before any change: otherwise half a correction stays, without a record.
        if isinstance(command, CorrectCommand) and command.target:
            self.written.require_caption(command.id, command.lang)
        if command.name == "take-verse":
            self._verses.require(caption_of(command))
        try:
            with self._targets[0].coordinator.deciding(self._decided(command)):
                self._act(command)
        except ProtocolError:
            if command.name == "undo":  # a failed undo step is removed as well
                self._operators.tell(self.done("undo"))
            raise
        self._tell(command)

    async def _obey_later(self, command: CommandMessage, doing: Awaitable[None]) -> None:
        await doing
        # Only an executed command is recorded: a refused one has raised.
        self._note(command.name)
        self._tell(command)

    def _tell(self, command: CommandMessage) -> None:
        log.info("command", name=command.name, id=caption_of(command))
        self._context.announcer.announce()
        self._operators.tell(self.done(command.name))
        # After every command, so that no command needs to know whether it affects the workers.
        self._hearing.apply(self._facts)

    def restore(self, earlier: Unfinished) -> None:
        """Restore what operators had set in the session that is resumed."""
        self._facts.paused = earlier.set_by_operator("pause", "resume")
        self._facts.blank = earlier.set_by_operator("blank", "unblank")
        self._facts.off_record = earlier.set_by_operator("off-record", "on-record")
        self._facts.song_control = _SONG.get(earlier.last_command(_SONG), "auto")
        # The settings may have changed: a language that is no longer spoken cannot be forced.
        if earlier.forced_language in self._facts.spoken:
            self._facts.forced_language = earlier.forced_language
        if earlier.notice:
            self.written.notices.restore(earlier.notice)
        self._held_rules.restore(held_rules(earlier.records))
        self._hearing.apply(self._facts)

    def _require_newest(self, command: CommandMessage) -> None:
        """Raise ProtocolError (caption-changed) if the operator has not seen the newest version."""
        if not (isinstance(command, CaptionCommand) and command.revision):
            return
        newest = self._targets.of(command.lang).coordinator.revision(command.id)
        if newest > command.revision:
            message = f"Caption {command.id} has changed meanwhile."
            raise ProtocolError("caption-changed", message)

    def _decided(self, command: CommandMessage) -> int:
        """Return the id of the first target language's caption that a command decides on, or 0."""
        # An edit decides in its own language only (`TargetCaptions.edit`), and an operator who has
        # only begun to change a caption, or wants no verse for it, releases nothing.
        is_open = isinstance(command, EditCommand) or command.name in ("settle", "dismiss-verse")
        return 0 if is_open else caption_of(command)

    def _act(self, command: CommandMessage) -> None:
        about = caption_of(command)
        match command:
            case CorrectCommand(id=key, text=text, target=target, lang=lang):
                self.written.correct(key, text)
                # After the correction: its retranslation does not replace an edit.
                if target:
                    self.written.edit(key, target, lang)
            case TypeCommand(name="say", text=text, lang=lang):
                about = self.written.say(text, lang)
            case TypeCommand(text=text, lang=lang):
                self.written.put_notice(text, lang)
            case EditCommand(id=key, text=text, lang=lang):
                self.written.edit(key, text, lang)
            case PlainCaptionCommand(name=name, id=key):
                self._acts_on_caption[name](key)
            case AddRuleCommand(name=name, heard=heard, write=write):
                add = self._held_rules.hold if name == "hold-rule" else self._held_rules.add
                add(heard, write)
            case HoldTermCommand(say=say, write=write, instead=instead):
                self._held_rules.hold_term(say, write, instead)
            case PlainCommand(name="undo", step=step):
                self._undo.take_back(step)
            case PlainCommand():
                self._act_plainly(command.name)
        self._note(command.name, about)

    def _act_plainly(self, name: CommandName) -> None:
        match name:
            case "clear-notice":
                self.written.clear_notice()
            case "pause":
                self._switch_on("pause", "resume", "paused")
            case "resume":
                self._switch_off("pause", "paused")
            case "blank":
                self._switch_on("blank", "unblank", "blank")
            case "unblank":
                self._switch_off("blank", "blank")
            case "check":
                self._live_check.start()
            case "new-session":
                ask_for_new_session(self._facts)
            case "off-record":
                self._leave_record()
            case "on-record":
                self._return_to_record()
            case "song-auto" | "song-caption" | "song-hold":
                self._control_song(name)

    def _force_language(self, lang: str) -> None:
        if lang not in ("", *self._facts.spoken):
            spoken = ", ".join(self._facts.spoken) or "one language only"
            raise ProtocolError("unknown-lang", f"{quoted(lang)} is not spoken here: {spoken}.")
        self._facts.forced_language = lang

    def _control_song(self, name: CommandName) -> None:
        if self._facts.song == "off":
            raise ProtocolError("song-off", 'Song mode is off: church.song = "off" in config.toml.')
        before, wanted = self._facts.song_control, _SONG[name]

        def back() -> None:
            self._facts.song_control = before
            self._note(_SONG_COMMAND[before])

        if wanted == "auto":
            # "auto" has undone both, so an undo must not repeat it.
            for other in ("song-hold", "song-caption"):
                self._undo.forget(other)
        elif wanted != before:
            # Pressing the button twice makes only one undo step.
            self._undo.push(name, back)
        self._facts.song_control = wanted

    def _switch_on(self, name: CommandName, opposite: CommandName, fact: _Switch) -> None:
        def back() -> None:
            setattr(self._facts, fact, False)
            self._note(opposite)  # a session resumed after a crash reads this event

        if not getattr(self._facts, fact):
            self._undo.push(name, back)
        setattr(self._facts, fact, True)

    def _switch_off(self, name: CommandName, fact: _Switch) -> None:
        # The undo step would only repeat this.
        self._undo.forget(name)
        setattr(self._facts, fact, False)

    def _leave_record(self) -> None:
        """Make all parts forget the last speech and the current speech."""
        # Already off the record: nothing was heard since that could be removed.
        if self._facts.off_record:
            return
        to_s = self._hearing.heard_s
        from_s = max(0.0, to_s - self._facts.settings.operator.off_record_s)
        # Also by id: an earlier version of a caption in a file may have ended before `from_s`.
        recent = {key for each in self._targets for key in each.board.ids_since(from_s)}
        unsettled = self._targets[0].coordinator.tracks.ids_since(from_s)
        redaction = Redaction(from_s, to_s, (*unsettled, *recent))
        self._recorder.purge(redaction)  # first: the program may stop before the rest is done
        # From here on the coordinators drop all reports of workers.
        self._facts.off_record = True
        self._context.announcer.announce()
        ids, removed = self._targets.redact(redaction)
        for sink in self._context.sinks:
            sink.on_redaction(redaction, removed)
        self.written.forget(ids, from_s)
        self._held_rules.forget(from_s)
        # All captions are hidden now. The operator gets the answer once the purge survives a kill.
        self._recorder.await_mark(_MARK_S)
        log.warning("off the record", utterances=len(ids), from_s=round(from_s, 1))

    def _return_to_record(self) -> None:
        if self._facts.off_record:
            self._facts.off_record = False
            # By audio time and not by the clock: pending utterances were heard before this.
            self._targets.return_to_record(self._hearing.heard_s)

    def _note(self, name: CommandName, caption_id: int = 0, lang: str = "") -> None:
        self._recorder.record(CommandEvent(utc=utc_now(), name=name, id=caption_id, lang=lang))


def ask_for_new_session(facts: DaemonState) -> None:
    """Let the supervisor begin a new session as soon as nobody is speaking.

    Raises ProtocolError (not-now) if this mode has only one session, or while an operator's switch
    is set that the next session would not have.
    """
    if not facts.may_begin_anew:
        message = "A rehearsal, a demonstration and a file are one session each."
        raise ProtocolError("not-now", message)
    if facts.paused or facts.blank or facts.off_record:
        message = "Go on first: a new session is neither paused, blank nor off the record."
        raise ProtocolError("not-now", message)
    facts.is_new_session_wanted = True
