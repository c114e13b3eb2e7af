"""Prompts for translation models, rendered by our own code. Pure functions.

Chat templates of model files are not used: runtimes have silently fallen back to other templates.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipeline.core import languages
from pipeline.core.errors import ConfigError
from pipeline.core.resources import SHIPPED_MODELS, bundled
from pipeline.engines.borrowed_words import borrowed
from pipeline.engines.specification import setting

Style = Literal["translategemma", "starter", "examples"]

END_OF_TURN = "<end_of_turn>"
"""The control token at the end of the model's answer."""
# Look-alikes: people read quotation marks, but a tokenizer finds no control token.
_BRACKETS = str.maketrans("<>", "‹›")

_TRANSLATEGEMMA = (
    "<start_of_turn>user\n"
    "You are a professional {source} ({source_code}) to {target} ({target_code}) translator. Your "
    "goal is to accurately convey the meaning and nuances of the original {source} text while "
    "adhering to {target} grammar, vocabulary, and cultural sensitivities.\n"
    "Produce only the {target} translation, without any additional explanations or commentary. "
    "Please translate the following {source} text into {target}:\n\n\n"
)

_TAUGHT = {"Haitian Creole": "Haitian", "Khmer": "Central Khmer"}
"""TranslateGemma's template has its own names for these languages."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt in its parts, without the beginning-of-sequence token.

    `head` and `tail` contain control tokens; `text` is spoken text and must be tokenized without
    them, so that nobody can speak one. The answer begins with `lead` and ends with `end`, a
    control token or a line break.
    """

    head: str
    text: str
    tail: str
    lead: str = ""
    end: str = END_OF_TURN


def render(
    style: Style, text: str, source: str, target: str, section: str = "", *, borrows: bool = True
) -> Prompt:
    """Return the prompt that asks for `text` in the language `target`.

    With `borrows`, nouns that a starter may not know are put into its text in the target language.
    `source` and `target` are codes such as `en`. Raises ConfigError for an unknown code, or for one
    without examples in the style that needs them; `section` is that of the style's setting.
    """
    names = {"source": language(source), "target": language(target)}
    if style == "examples":
        return _by_examples(text, source, target, section)
    if style == "starter":
        head = "<start_of_turn>user\n"
        # Before the language name is prepended: only spoken words may be replaced.
        text = borrowed(text.strip(), source, target) if borrows else text.strip()
        text = starter_text(text, target)
    else:
        taught = {side: _TAUGHT.get(name, name) for side, name in names.items()}
        head = _TRANSLATEGEMMA.format(**taught, source_code=source, target_code=target)
    # The text is separate from the control tokens around it: it is tokenized as plain text.
    return Prompt(head, text.strip(), f"{END_OF_TURN}\n<start_of_turn>model\n")


def starter_text(text: str, target: str) -> str:
    """Return the starter's input; it does not name Spanish, the starter's first language."""
    return text if target == "es" else f"{language(target)}: {text}"


def _by_examples(text: str, source: str, target: str, section: str) -> Prompt:
    """Return a few-shot prompt: example translations, then the text without its translation."""
    for code in (source, target):
        if not languages.language(code).examples:
            key = setting(section, "prompt")
            raise ConfigError(
                "prompt-examples",
                f'{key} = "examples": there are none in {language(code)}.',
                "Choose a model that was trained to translate, such as a TranslateGemma.",
            )
    examples = (languages.language(code).examples for code in (source, target))
    # Without the languages' names: with them Gemma 3 270M copies numbers and whole sentences.
    # Examples have the same order in each language: a missing sentence would pair the wrong ones.
    shown = "".join(f"{one}\n→ {other}\n\n" for one, other in zip(*examples, strict=True))
    return Prompt(shown, " ".join(text.split()), "\n→", lead=" ", end="\n")


def harmless(text: str) -> str:
    """Return a text without any control token, such as <end_of_turn>.

    For runtimes that recognize control tokens everywhere: a server, which tokenizes prompt and
    text together; the tokenizers of Hugging Face.
    """
    return text.translate(_BRACKETS)


def language(code: str) -> str:
    """Return the English name of a language. Raises ConfigError."""
    try:
        return languages.LANGUAGES[code].name
    except KeyError:
        raise ConfigError(
            "lang-unknown",
            f"translate.source and translate.target: no language with the code {code!r}.",
            f"Known: {', '.join(languages.LANGUAGES)}.",
        ) from None


def copies(model: Path) -> bool:
    """Whether a starter copies nouns of its target language; the tiny one garbles them."""
    return not _ships(model, "tiny")


def style_for(model: str | Path) -> Style:
    """Return the prompt style for a model: shipped models have their own."""
    ships = any(_ships(model, name) for name in SHIPPED_MODELS)
    return "starter" if ships else "translategemma"


def _ships(model: str | Path, name: str) -> bool:
    # By name or by path: the settings may give either.
    return str(model) == name or bundled("models", name) in Path(model).absolute().parents
