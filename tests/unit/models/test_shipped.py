"""What ships, and what is known of it."""

from __future__ import annotations

import pytest

from pipeline.core.resources import bundled
from pipeline.engines.prompts import style_for
from pipeline.models.integrity import known_files, wrong_files
from pipeline.models.shipped import SHIPPED, Shipped, shipped, shipped_folder
from tests.support.needs import needs_file


@pytest.mark.parametrize("model", SHIPPED, ids=lambda model: f"{model.name} {model.role}")
def test_every_file_is_listed_and_as_it_was_made(model: Shipped) -> None:
    """After making one anew: python -m training.export.list_shipped_files."""
    needs_file(model.folder)
    files = {file for file in model.folder.iterdir() if file.is_file()}
    assert {file for file, _ in known_files(model.folder)} == files
    assert wrong_files(model.folder) == []


def test_by_role_and_name() -> None:
    found = shipped("gemma", "tiny")
    assert found is not None
    assert found.languages == ("en-es",)
    assert shipped("stt", "tiny") is None
    assert shipped("gemma", "translategemma-4b-q4_k_m") is None


def test_the_folder_with_the_list_of_files() -> None:
    assert shipped_folder(bundled("models", "tiny", "gemma")) == bundled("models", "tiny")
    assert shipped_folder(bundled("models", "silero")) is None


def test_those_that_ship_are_asked_in_their_own_way() -> None:
    for model in SHIPPED:
        if model.role == "gemma":
            assert style_for(model.folder / "model.gguf") == style_for(model.name) == "starter"


def test_what_is_made_from_gemma_carries_its_terms() -> None:
    """Section 3.1 of the terms: a copy of them, a notice, and a statement of what was changed."""
    for model in SHIPPED:
        if model.licence == "Gemma":
            assert (model.folder / "TERMS.md").read_text("utf-8").startswith("# Gemma Terms of Use")
            notice = (model.folder / "NOTICE.txt").read_text("utf-8")
            assert (
                "Gemma is provided under and subject to the Gemma Terms of Use found at" in notice
            )
            assert "ai.google.dev/gemma/terms" in notice
            assert "modified" in notice
