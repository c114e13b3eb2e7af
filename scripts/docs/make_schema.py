"""Make schema/: a JSON Schema for every record and every protocol message, from their types.

    python -m scripts.docs.make_schema

The schemas of the daemon's records and messages are exact for this version: every field is required
and no other field occurs. A reader should still ignore fields that it does not know. The schemas of
the displays' messages allow further fields, as the daemon does.
"""

from __future__ import annotations

from typing import Any

import orjson
from pydantic import ConfigDict, RootModel

from pipeline.evaluation.rescore import QualityRecord
from pipeline.protocol import commands, messages
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.events import EventRecord
from pipeline.records.health import HealthRecord
from pipeline.records.summary import SummaryRecord
from pipeline.records.utterance import CompareRecord, TranslationRecord, UtteranceRecord
from pipeline.review.store import Reviewed
from pipeline.session.training_pairs import Pair, ReviewItem
from scripts.support.paths import ROOT

SCHEMA = ROOT / "schema"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

WRITTEN: dict[str, Any] = {
    "records/utterance": UtteranceRecord,
    "records/translation": TranslationRecord,
    "records/compare": CompareRecord,
    "records/health": HealthRecord,
    "records/event": EventRecord,
    "records/summary": SummaryRecord,
    "records/pair": Pair,
    "records/review": ReviewItem,
    "records/reviewed": Reviewed,
    "records/quality": QualityRecord,
    "messages/caption": CaptionMessage,
    "messages/hello": messages.HelloMessage,
    "messages/status": messages.StatusMessage,
    "messages/notice": messages.NoticeMessage,
    "messages/level": messages.LevelMessage,
    "messages/earlier": messages.EarlierMessage,
    "messages/alive": messages.AliveMessage,
    "messages/authorized": messages.AuthorizedMessage,
    "messages/paired": messages.PairedMessage,
    "messages/invitation": messages.InvitationMessage,
    "messages/volunteers": messages.VolunteersMessage,
    "messages/console": messages.ConsoleMessage,
    "messages/health": messages.HealthMessage,
    "messages/done": messages.DoneMessage,
    "messages/fault": messages.FaultMessage,
    "messages/purged": messages.PurgedMessage,
    "messages/preview": messages.PreviewMessage,
    "messages/rule": messages.RuleMessage,
    "messages/reloaded": messages.ReloadedMessage,
    "messages/check": messages.CheckMessage,
    "messages/doubtful": messages.DoubtfulMessage,
    "messages/notes": messages.NotesMessage,
    "messages/suggestion": messages.SuggestionMessage,
    "messages/error": messages.ErrorMessage,
}
"""Records and messages of the daemon; an `utterance` or `compare` message is the record."""

RECEIVED: dict[str, Any] = {
    "messages/ack": commands.AckMessage,
    "messages/auth": commands.AuthMessage,
    "messages/pair": commands.PairMessage,
    "messages/invite": commands.InviteMessage,
    "messages/revoke": commands.RevokeMessage,
    "messages/command": commands.CommandMessage,
}
"""Messages of displays."""


def schemas() -> dict[str, dict[str, Any]]:
    """Return every schema by its name."""
    made = {name: _schema(name, kind, exact=True) for name, kind in WRITTEN.items()}
    return made | {name: _schema(name, kind, exact=False) for name, kind in RECEIVED.items()}


def text(schema: dict[str, Any]) -> bytes:
    """Return the content of a schema's file."""
    return orjson.dumps(schema, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def main() -> None:
    """Write the files, and remove files of schemas that no longer exist."""
    made = {SCHEMA / f"{name}.json": text(schema) for name, schema in schemas().items()}
    for path in SCHEMA.rglob("*.json"):
        if path not in made:
            path.unlink()
    for path, content in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _schema(name: str, kind: Any, *, exact: bool) -> dict[str, Any]:
    # Only a model passes this setting to the types inside it: docstrings become descriptions.
    holder: Any = type(
        "Holder",
        (RootModel,),
        {
            "model_config": ConfigDict(use_attribute_docstrings=True),
            "__module__": __name__,
            # Not RootModel[kind]: pydantic would build it as well, which doubles the time.
            "__annotations__": {"root": kind},
        },
    )
    made = holder.model_json_schema(ref_template="#/$defs/{model}")
    made.pop("title")
    root = made.pop("$ref", None)
    if root is not None:  # the type itself is among the definitions: move it to the top
        made = made["$defs"].pop(root.rsplit("/", 1)[1]) | made
    if not made.get("$defs", True):
        del made["$defs"]
    _tidy(made, exact=exact)
    group, word = name.split("/")
    head = {"$schema": DIALECT, "$id": f"{name}.json", "title": f"{word}, of {group}"}
    return {**head, **made}


def _tidy(schema: Any, *, exact: bool) -> None:
    """Remove titles that repeat names; state exactly which fields there are."""
    if isinstance(schema, list):
        for each in schema:
            _tidy(each, exact=exact)
    if not isinstance(schema, dict):
        return
    optional = {
        name
        for name, its in schema.get("properties", {}).items()
        # The field that names the message may not be left out.
        if not exact and "default" in its and name not in ("type", "name")
    }
    for key, inner in schema.items():
        if key in ("properties", "$defs"):
            for each in inner.values():
                each.pop("title", None)
                each.pop("default", None)
                _tidy(each, exact=exact)
        elif key not in ("enum", "required"):
            _tidy(inner, exact=exact)
    if "properties" in schema:
        schema.pop("title", None)
        schema["required"] = [name for name in schema["properties"] if name not in optional]
        if exact:
            schema["additionalProperties"] = False


if __name__ == "__main__":
    main()
