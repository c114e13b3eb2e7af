"""Which caption a command is about; test_codec.py tests its fields."""

from __future__ import annotations

from pipeline.protocol.commands import EditCommand, PlainCaptionCommand, caption_of
from tests.support.commands import command


def test_only_some_commands_are_about_a_caption() -> None:
    assert caption_of(EditCommand(id=3, text="Amén")) == 3
    assert caption_of(PlainCaptionCommand(name="hide", id=4)) == 4
    assert caption_of(command("pause")) == 0
    assert caption_of(command("add-rule", heard="a", write="b")) == 0
