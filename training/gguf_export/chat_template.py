"""Compare our prompt with a TranslateGemma's own chat template, token by token.

The program renders prompts itself. If the template changes, a model is trained or run with a prompt
that it has never seen. Only worse translations would show that.
"""

from __future__ import annotations

from typing import Any

from pipeline.core.errors import ModelError
from pipeline.engines import prompts
from pipeline.text.commit_policy import common_beginning

_TEXT = "Grace and peace to you from God our Father."
_SHOWN = 12


def encode_prompt(tokenizer: Any, prompt: prompts.Prompt) -> list[int]:
    """Return a prompt's tokens; no spoken text can become a control token."""
    head, tail = (
        tokenizer.encode(part, add_special_tokens=False) for part in (prompt.head, prompt.tail)
    )
    text = tokenizer.encode(prompt.text, add_special_tokens=False, split_special_tokens=True)
    return [tokenizer.bos_token_id, *head, *text, *tail]


def check_template(tokenizer: Any, source: str, target: str) -> bool:
    """Return whether the tokenizer has a template to compare with.

    Raises ModelError (prompt-differs) if its tokens differ from ours.
    """
    if not tokenizer.chat_template:
        return False
    said = {"type": "text", "source_lang_code": source, "target_lang_code": target, "text": _TEXT}
    try:
        theirs = tokenizer.apply_chat_template(
            [{"role": "user", "content": [said]}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=False,
        )
    except Exception as error:  # a template is a program that may raise any error
        raise ModelError(
            "prompt-differs",
            f"The model's chat template refuses {source} to {target}: {error}.",
            "Is it a TranslateGemma? Others are not asked in this way.",
        ) from error
    ours = encode_prompt(tokenizer, prompts.render("translategemma", _TEXT, source, target))
    if list(theirs) != ours:
        at = common_beginning(theirs, ours)
        asks, we_ask = (tokenizer.decode(ids[at : at + _SHOWN]) for ids in (theirs, ours))
        raise ModelError(
            "prompt-differs",
            f"The model's chat template asks {asks!r} where the program asks {we_ask!r}"
            f" (token {at}).",
            "Use the model that this version of the program knows, or a newer version.",
        )
    return True
