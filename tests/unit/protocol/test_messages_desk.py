"""What only operators are told."""

from __future__ import annotations

import orjson

from pipeline.protocol.caption import SourceText, TargetText
from pipeline.protocol.codec import encode
from pipeline.protocol.messages import DoubtfulMessage, NotesMessage


def test_without_notes_every_list_is_there_and_empty() -> None:
    told = orjson.loads(encode(NotesMessage()))
    assert told == {"type": "notes", "names": [], "verses": [], "numbers": [], "terms": []}


def test_a_final_that_is_kept_back_comes_with_both_texts_and_their_languages() -> None:
    message = DoubtfulMessage(
        id=7,
        source=SourceText("en", "Faith."),
        target=TargetText("fr", "Le sort.", "gemma"),
        left_s=1.75,
    )
    told = orjson.loads(encode(message))
    assert (told["source"]["lang"], told["target"]["lang"], told["left_s"]) == ("en", "fr", 1.75)
