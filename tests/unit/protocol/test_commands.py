"""Commands hold their own rules, also where no message is parsed."""

from __future__ import annotations

import pytest

from pipeline.core.errors import ProtocolError
from pipeline.protocol.commands import AddRuleCommand, EditCommand, HideCommand, caption_of
from tests.support.commands import command


def test_only_some_commands_are_about_a_caption() -> None:
    assert caption_of(EditCommand(id=3, text="Amén")) == 3
    assert caption_of(HideCommand(id=4)) == 4
    assert caption_of(command("pause")) == 0
    assert caption_of(command("add-rule", heard="a", write="b")) == 0


@pytest.mark.parametrize(("heard", "write"), [("...", "b"), ("a", "!"), ("same", "same")])
def test_a_rule_that_makes_no_sense_cannot_be_made(heard: str, write: str) -> None:
    with pytest.raises(ProtocolError, match="bad-field"):
        AddRuleCommand(heard=heard, write=write)
