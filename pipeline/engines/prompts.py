"""Prompts for instruct models that translate, rendered by our own code. Pure.

Chat templates inside model files are not used: runtimes have silently fallen back to another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipeline.core.errors import ConfigError
from pipeline.core.resources import bundled

Style = Literal["translategemma", "starter"]

LANGUAGES = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali",
    "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish",
    "fil": "Filipino", "fr": "French", "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi",
    "hr": "Croatian", "ht": "Haitian Creole", "hu": "Hungarian", "id": "Indonesian",
    "is": "Icelandic", "it": "Italian", "ja": "Japanese", "kn": "Kannada", "ko": "Korean",
    "lt": "Lithuanian", "lv": "Latvian", "ml": "Malayalam", "mr": "Marathi", "nl": "Dutch",
    "no": "Norwegian", "pa": "Punjabi", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish",
    "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tl": "Tagalog",
    "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
    "zu": "Zulu",
}  # fmt: skip
"""English names of the languages a prompt can speak of, by code."""

END_OF_TURN = "<end_of_turn>"
"""What the model says at the end of its answer."""

_TRANSLATEGEMMA = (
    "<start_of_turn>user\n"
    "You are a professional {source} ({source_code}) to {target} ({target_code}) translator. Your "
    "goal is to accurately convey the meaning and nuances of the original {source} text while "
    "adhering to {target} grammar, vocabulary, and cultural sensitivities.\n"
    "Produce only the {target} translation, without any additional explanations or commentary. "
    "Please translate the following {source} text into {target}:\n\n\n"
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt in its parts, without the beginning-of-sequence token.

    `head` and `tail` hold control tokens; `text` is what somebody said and must be tokenized
    without them, so that nobody can speak one.
    """

    head: str
    text: str
    tail: str


def render(style: Style, text: str, source: str, target: str) -> Prompt:
    """Return the prompt that asks for `text` in the language `target`.

    `source` and `target` are codes such as `en`. Raises ConfigError for one without a name here.
    """
    names = {"source": language(source), "target": language(target)}
    if style == "starter":
        head = "<start_of_turn>user\n"
    else:
        head = _TRANSLATEGEMMA.format(**names, source_code=source, target_code=target)
    return Prompt(head, text.strip(), f"{END_OF_TURN}\n<start_of_turn>model\n")


def language(code: str) -> str:
    """Return the English name of a language. Raises ConfigError."""
    try:
        return LANGUAGES[code]
    except KeyError:
        raise ConfigError(
            "lang-unknown",
            f"translate.source and translate.target: no language with the code {code!r}.",
            f"Known: {', '.join(LANGUAGES)}.",
        ) from None


def style_for(model: str | Path) -> Style:
    """Return the style that fits `translate.final.model`: the bundled starter has its own."""
    own = str(model) == "starter" or bundled("models", "starter") in Path(model).absolute().parents
    return "starter" if own else "translategemma"
