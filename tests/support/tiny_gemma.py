"""A tiny Gemma 3 in Hugging Face's format; import it after `needs_train_extra`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import peft
import sentencepiece
import torch
import transformers
from tokenizers import AddedToken

from pipeline.engines import prompts

ANSWER = "Gracia y paz."
CONTROL = ("<start_of_turn>", "<end_of_turn>")
ASKED = "Grace and peace to you from God our Father."


def write_tokenizer(folder: Path) -> sentencepiece.SentencePieceProcessor:
    """Write a vocabulary laid out like Gemma's: pad, eos, bos, unk, turns, bytes, pieces."""
    head = prompts.render("translategemma", ASKED, "en", "es").head
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([ANSWER, ASKED, head] * 9),
        model_prefix=str(folder / "tokenizer"), vocab_size=420, model_type="bpe",
        byte_fallback=True, normalization_rule_name="identity", add_dummy_prefix=False,
        remove_extra_whitespaces=False, pad_id=0, eos_id=1, bos_id=2, unk_id=3,
        pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>",
        user_defined_symbols=list(CONTROL), minloglevel=2,
    )  # fmt: skip
    (folder / "tokenizer.vocab").unlink()
    special = {
        str(number): AddedToken(text, special=True).__getstate__() | {"content": text}
        for number, text in ((4, CONTROL[0]), (5, CONTROL[1]))
    }
    names = {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>", "pad_token": "<pad>"}
    content = {"tokenizer_class": "GemmaTokenizer", "added_tokens_decoder": special} | names
    (folder / "tokenizer_config.json").write_text(json.dumps(content))
    return sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))


def base_model(sees_pictures: bool, pictures: dict[str, Any] | None = None, **settings: Any) -> Any:
    """Make five local layers and a global one with scaled positions, as TranslateGemma 4B has.

    `pictures` (those of 4B) and `settings` replace sizes of the part for pictures and the text's.
    """
    rope = {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1_000_000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
    }
    sizes: dict[str, Any] = {
        "vocab_size": 420, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 6,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32,
        "query_pre_attn_scalar": 32, "max_position_embeddings": 1024, "sliding_window": 16,
        "bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 0, "rope_parameters": rope,
    }  # fmt: skip
    text = transformers.Gemma3TextConfig(**sizes | settings)
    torch.manual_seed(1)
    if not sees_pictures:
        return transformers.Gemma3ForCausalLM(text)
    small = {
        "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "image_size": 28, "patch_size": 14,
    }  # fmt: skip
    config = transformers.Gemma3Config(
        text_config=text,
        vision_config=transformers.SiglipVisionConfig(**small | (pictures or {})),
        mm_tokens_per_image=256 if pictures else 1,
        image_token_index=262_144 if pictures else 419,
    )
    return transformers.Gemma3ForConditionalGeneration(config)


def taught(model: Any, processor: Any, modules: str | list[str], steps: int) -> Any:
    """Return the model with an adapter; after 80 steps it always answers ANSWER, end of turn."""
    config = peft.LoraConfig(
        r=8, lora_alpha=16, rank_pattern={"layers.1.mlp.down_proj": 4}, target_modules=modules
    )  # fmt: skip
    adapted = peft.get_peft_model(model, config)
    prompt = prompts.render("translategemma", ASKED, "en", "es")
    head = prompt.head.removeprefix(CONTROL[0])
    tail = [5, *processor.encode("\n"), 4, *processor.encode("model\n")]
    asked = [2, 4, *processor.encode(head), *processor.encode(prompt.text), *tail]
    said = [*processor.encode(ANSWER), 5]
    ids = torch.tensor([asked + said])
    wanted = torch.tensor(said)
    optimizer = torch.optim.AdamW([p for p in adapted.parameters() if p.requires_grad], lr=0.02)
    for _ in range(steps):
        logits = adapted(input_ids=ids, logits_to_keep=len(said) + 1).logits[0, :-1]
        loss = torch.nn.functional.cross_entropy(logits, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return adapted
