"""Plain words for the codes that records use. Pure."""

from __future__ import annotations

from dataclasses import fields

from pipeline.records.events import (
    BrokenEvent,
    CommandEvent,
    EventRecord,
    FaultEvent,
    ModelsEvent,
    OffRecordEvent,
    RecordsDroppedEvent,
    ResumedEvent,
    RungEvent,
    SongEvent,
    SourceEvent,
)
from pipeline.records.health import RungName

# Without numbers: reviewers were at the service, but do not know log-probabilities.
_DOUBTS = {
    "avg-logprob": "some words may have been heard wrong",
    "no-speech-prob": "perhaps nobody spoke",
    "compression-ratio": "it repeats itself",
    "estimate": "the translation may be wrong",
    "agreement": "the two translations are not alike",
    "doubt": "the translation is likely to be wrong",
    "low-score": "in doubt as a whole",
    "no-score": "nothing to compare it with",
    "too-short": "too short",
    "untranslated": "not translated",
    "length-ratio": "far longer or shorter than what was said",
}
# Two filters may have the same words: people want to know what is wrong, not which filter.
_FILTERS = {
    "empty": "no words in it",
    "no-speech": "not speech",
    "repetition": "repeats itself",
    "compression": "repeats itself",
    "stock-phrase": "a phrase that recognizers make up",
    "guess": "only guessed",
    "other-language": "another language was spoken",
    "too-fast": "more words than anybody speaks in that time",
    "control-tokens": "the recognizer's own signs",
    "song": "sung",
    "wrong-script": "letters of another language",
}
_GIVEN_UP: dict[RungName, str] = {
    "full": "nothing any more",
    "fewer-partials": "every second caption in progress",
    "no-partials": "captions in progress",
    "partial-engine-finals": "the final translator",
    "source-captions": "translation",
    "behind": "all that can be, and still behind",
}


GRADES = {"accept": "good", "moderate": "good", "review": "worth a look", "reject": "doubtful"}
"""The grades that people see for the decisions about a score: three instead of four."""


def _by(event: SongEvent) -> str:
    return " by the operator" if event.by == "operator" else ""


def doubt(reason: str) -> str:
    """Return why a caption is in doubt; `reason` is a flag, an exclusion or "low-score"."""
    name, _, limit = reason.partition(":")
    # A code of a later version has no words here; its name is the fallback.
    return _DOUBTS.get(name, name.replace("-", " ")) + (
        " (strong doubt)" if limit == "reject" else ""
    )


def filter_reason(filtered: str) -> str:
    """Return why an utterance was not shown."""
    return _FILTERS.get(filtered, filtered.replace("-", " "))


def event_text(event: EventRecord) -> str:  # noqa: PLR0911 - one for each kind
    """Return what happened, as the start of a sentence; for rarer events, their name and values."""
    match event:
        case FaultEvent() | BrokenEvent():
            return f"{event.message} ({event.code})"
        case ModelsEvent():
            return "models: " + ", ".join(f"{each.engine} {each.setting}" for each in event.models)
        case SourceEvent():
            return f"microphone {'lost' if event.lost else 'back'}: {event.message}"
        case SongEvent(held=True):
            return "song: captions held" + _by(event)
        case SongEvent():
            return f"song over after {event.to_s - event.from_s:.0f} s{_by(event)}"
        case RungEvent():
            return f"given up to keep pace: {_GIVEN_UP[event.rung]}"
        case RecordsDroppedEvent():
            return f"{event.count} records could not be written"
        case ResumedEvent():
            return f"started again; {event.captions} captions were there"
        case OffRecordEvent():
            return f"off the record; {event.captions} captions were taken out"
        case CommandEvent():
            return f"operator: {event.name}" + (f" (caption {event.id})" if event.id else "")
    # Any event may come: a new kind gets a line before it has its own sentence.
    values = [
        ", ".join(value) if isinstance(value, tuple) else str(value)
        for field in fields(event)
        if field.name not in ("type", "utc", "event")
        and (value := getattr(event, field.name)) != ()
    ]
    return f"{event.event}: {', '.join(values)}"
