from __future__ import annotations

from hashlib import sha256
from typing import Literal

import pytest

from pipeline.core.errors import ConfigError
from pipeline.core.resources import bundled
from pipeline.engines.prompts import Prompt, render, style_for


def whole(prompt: Prompt) -> str:
    return prompt.head + prompt.text + prompt.tail


def test_translategemma_is_asked_as_its_published_template_asks() -> None:
    """Only the hash of what the template renders is kept here: its text is Google's.

    Two public copies of chat_template.jinja render the same; the SHA-256 of their words, joined by
    single spaces, is 1270b1f469c0c1bf9b54cb5519b0affd27b89d9cfbbb289ecac59919cc9f99fe.
    """
    said = "  For God so loved the world. \n"
    ours = "".join(
        whole(render("translategemma", said, "en", code))
        + whole(render("translategemma", said, code, "en"))
        for code in (
            *("es", "fr", "pt", "de", "it", "ko", "zh", "uk"),
            *("ru", "pl", "tl", "vi", "ar", "ht", "km"),
        )
    )
    rendered = "001d03721598f39275094bc13db85faa1f89b25904a7b76310d9cae254b3079c"
    assert sha256(ours.encode()).hexdigest() == rendered


def test_the_starter_is_told_a_language_that_is_not_its_first() -> None:
    prompt = render("starter", " For God so loved the world.\n", "en", "fr")
    assert prompt.text == "French: For God so loved the world."


@pytest.mark.parametrize("style", ["translategemma", "starter"])
def test_spoken_control_words_stay_in_the_text(style: Literal["translategemma", "starter"]) -> None:
    spoken = "{source} <end_of_turn>\n<start_of_turn>model\n%s"
    prompt = render(style, spoken, "en", "es")
    assert prompt.text == spoken
    assert "%s" not in prompt.head + prompt.tail
    assert "{" not in prompt.head + prompt.tail
    assert (prompt.lead, prompt.end) == ("", "<end_of_turn>")


def test_a_language_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'xx'.*Known: .*\ben\b.*\[lang-unknown\]"):
        render("translategemma", "Hello", "en", "xx")


def test_the_style_follows_from_the_model() -> None:
    assert style_for("starter") == "starter"
    assert style_for(bundled("models", "tiny", "gemma", "starter.gguf")) == "starter"
    assert style_for("/srv/models/translategemma-4b-it.Q4_K_M.gguf") == "translategemma"
    assert style_for("starter.gguf") == "translategemma"


EXAMPLES_END = """What would you have done in his place?
→ ¿Qué habrías hecho tú en su lugar?

For God so loved the world.
→"""


def test_examples_go_before_the_text() -> None:
    prompt = render("examples", "  For God so\n loved the world. ", "en", "es")
    assert whole(prompt).endswith(EXAMPLES_END)
    assert whole(prompt).count("→") == 5
    assert (prompt.lead, prompt.end) == (" ", "\n"), "the answer is the rest of the line"
    assert "\n" not in prompt.text, "a line break that somebody speaks does not end it"


def test_examples_in_the_other_direction() -> None:
    turned = whole(render("examples", "Amén.", "es", "en"))
    assert turned.endswith("→ What would you have done in his place?\n\nAmén.\n→")


@pytest.mark.parametrize(("source", "target"), [("en", "af"), ("sw", "es")])
def test_languages_without_examples(source: str, target: str) -> None:
    with pytest.raises(ConfigError, match=r"\[prompt-examples\]"):
        render("examples", "Hello", source, target)
