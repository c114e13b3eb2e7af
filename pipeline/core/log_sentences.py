"""Sentences for log lines, for the person at the terminal.

For systemd and programs the line itself is unchanged: a name with its fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

UNSAID = {"commit by agreement", "engine", "no lost-tail guard"}
"""Lines that are not shown to people: they describe how engines work."""

SENTENCES: Mapping[str, Sequence[str]] = {
    "caption": ("Caption {id}, by {engine}.",),
    "certificate": (
        "The pages' certificate is for {names}, until {until}.",
        "Others on this machine can read the certificate's key. {fix} [{code}]",
        "{reason}",
    ),
    "certificate not renewed": ("The new certificate is not used: {reason}",),
    "check broken": ("The check did not finish.",),
    "church logo not shown": ("{reason} [{code}]",),
    "command": ("The desk: {name}.",),
    "connection lost, trying again": (
        "The connection was lost; going on with {file} ({error}).",
        "The connection was lost; going on with {wheel} ({error}).",
    ),
    "demo": ("{says}",),
    "dictionary reloaded": ("The dictionary was read again: {rules} rules.",),
    "fault": ("{message} [{code}]",),
    "few displays": ("This machine allows {most} displays at once, fewer than are set. [{code}]",),
    "file": ("{name} takes {length}.",),
    "filtered": ("Caption {id} was left out: it is not speech ({reason}).",),
    "following again": ("The captions come from {server} again.",),
    "gpu": ("The final translator: {step}.",),
    "incomplete": ("The record of {session} could not be finished. [{code}]",),
    "index of verses built": ("Verses are recognized ({editions}).",),
    "index of verses is built": ("{reason} It is built now, which takes some seconds.",),
    "judge unreadable": ("{file} is not used: {error} It goes on with {instead}.",),
    "language": ("Captions in {language} begin ({watchers} reading).",),
    "language rests": ("Captions in {language} rest: nobody is reading them.",),
    "listener cut off": ("Somebody who listens in {language} was {reason}, and is cut off.",),
    "lines left out": ("{file} is damaged: {count} lines were left out (line {lines}).",),
    "model crashes not kept": ("{file} cannot be written: {error}.",),
    "models": (
        "Recognizer: {recognizer}. Translators: {quick_translator}, then {final_translator}.",
        "Recognizer: {recognizer}. Translator: {quick_translator}.",
        "Recognizer: {recognizer}.",
    ),
    "new session": ("A new session begins: {reason}.",),
    "no notes": ("The preacher's notes are not used: {error}",),
    "no report": ("There is no report of {session}: {reason}",),
    "no such translation": ("“{say}” cannot be “{write}” in this service: {error}",),
    "no translator": ("{message} {fix}",),
    "no verses": ("{message} {fix} [{code}]",),
    "nobody can join": ("No more displays can join: {reason}. [{code}]",),
    "not compared": ("No second translation is made: {reason}.",),
    "not following": ("{message} [{code}]",),
    "not locked": ("{file} cannot be locked: {error}.",),
    "not published": ("{captions} captions never left for the relays. [{code}]",),
    "not purged": ("What was off the record is still in {session}: {error}. [{code}]",),
    "old setting": ("{advice}",),
    "no translations": ("The translations in the notes cannot be used: {error}",),
    "not read": ("A reader of files ended with an error of its own: {error}",),
    "not said": ("Caption {id} cannot be read aloud and is left out: {message} [{code}]",),
    "notes": ("The preacher's notes are known: {names} names, {verses} verses.",),
    "notes given back": ("Nobody spoke: the next service has the notes.",),
    "notes not given back": ("{notes} is not known to the next service: {error}",),
    "notes not taken": ("The notes are known, and wait for the next service as well: {error}",),
    "nothing to say": ("Caption {caption} is not spoken: {reason}.",),
    "nothing to review": ("There is nothing to review: {reason}.",),
    "nothing was said": ("Nothing was said, and nothing is kept. {advice}.",),
    "off the record": ("Off the record: {utterances} captions are gone.",),
    "operator": ("The desk is at {page}; `stark-translate desk` opens it.",),
    "output works again": ("{output} takes captions again.",),
    "page script not joined": ("The page {page} may be slow to open: {reason}.",),
    "paired": ("The tablet of {volunteer} was let in.",),
    "played": ("{at} of {of} has been played.",),
    "publishing again": ("Captions go to {server} again.",),
    "purged": ("What was off the record was removed from {session}.",),
    "ready": ("Ready: speak.",),
    "recognizer given up": (
        "This recognizer crashes whenever it is loaded. Going on with {goes_on_with}.",
    ),
    "reloaded": (
        "The settings were read again; only after a restart: {restart}.",
        "The settings were read again.",
    ),
    "report": ("The report is {file}",),
    "revoked": ("The devices of {volunteer} were signed out.",),
    "rung": (
        "{language}: {reason}.",
        "{reason}.",
        "{language} keeps up again.",
        "The machine keeps up again.",
    ),
    "server is back": ("{server} makes the captions again.",),
    "server is not used": ("{reason} {fix} [{code}]",),
    "serving": ("The pages are at {address}, the record is in {session}",),
    "session": ("Captions of {name} come in.",),
    "session kept": ("The session is kept in {folder}",),
    "session not removed": ("{folder} could not be removed: {error}.",),
    "session removed": ("{folder} was removed ({why}).",),
    "session resumed": ("Going on where it broke off, with {captions} captions: {folder}",),
    "song": ("{held:.0}Music or singing: captions are held.", "Captions go on."),
    "sound not kept": ("The sound of caption {id} is not kept: {error}. [{code}]",),
    "sound is sent": ("All that is spoken is sent to {server}, as sound.",),
    "source": ("{message}",),
    "starter": ("{reason} For a service: {better}",),
    "spoken language": ("Spoken now: {lang}.",),
    "state": ("{state}: {reason}.", "{state}."),
    "thread broken": ("A task of {thread} was cut short: {error}.",),
    "unfinished": ("{utterances} captions were not finished in time.",),
    "volunteers": ("{message} [{code}]",),
    "worker broken": ("{error} [{code}]",),
}
"""Templates by the line's name: the first with all its fields set (not empty, not False) is used.

A field with ".0" after it is only tested, and not printed.
"""

# A field may end with its own full stop. An ellipsis stays, and so does the path "../notes".
_TWO_STOPS = re.compile(r"(?<!\.)\.\.(?!\S)")


def sentence(name: str, fields: Mapping[str, Any]) -> str:
    """Return the sentence of a log line, "" for a line that is not shown to people.

    A line without a sentence here, such as a library's, becomes its name with its fields.
    """
    if name in UNSAID:
        return ""
    said = {key: _said(value) for key, value in fields.items()}
    for template in SENTENCES.get(name, ()):
        # A precision of 0 (`{held:.0}`) prints no characters: the field is only tested.
        if all(said.get(key) for key in keys_of(template)):
            return _begun(template.format_map(said))
    # Without a sentence all fields are shown: this line may be an unexpected error.
    brought = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in said.items() if value)
    return _begun(f"{name}: {brought}." if brought else name)


def keys_of(template: str) -> set[str]:
    """Return the fields that a sentence names."""
    return {key for _, key, _, _ in Formatter().parse(template) if key}


def _said(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    # 0 is kept, because a count must be shown.
    return "" if value is None or value is False else str(value)


def _begun(text: str) -> str:
    """Return a text with a capital at the start and without double full stops."""
    return _TWO_STOPS.sub(".", text[:1].upper() + text[1:])
