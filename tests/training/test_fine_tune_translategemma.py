"""Low-rank additions to a Gemma 3 of Hugging Face, tiny: prompts, memory, adapter, resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import LearningError, ModelError
from pipeline.engines import prompts
from tests.support.needs import needs_train_extra

needs_train_extra()

import torch  # noqa: E402
import transformers  # noqa: E402

from tests.support.tiny_gemma import ANSWER, ASKED, base_model, write_tokenizer  # noqa: E402
from training.gguf_export import merging  # noqa: E402
from training.gguf_export.chat_template import check_template, encode_prompt  # noqa: E402
from training.train import fine_tune_translategemma as trainer  # noqa: E402

pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),  # peft's own
]

HEAD = prompts.render("translategemma", "", "en", "es").head


@pytest.fixture(scope="module", params=["text"])
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    model = base_model(request.param == "pictures")
    torch.nn.init.normal_(model.get_input_embeddings().weight, std=0.3)
    model.save_pretrained(folder)
    write_tokenizer(folder)
    return folder


@pytest.fixture
def mix(tmp_path: Path) -> Path:
    folder = tmp_path / "mix"
    folder.mkdir()
    pairs = [(ASKED, ANSWER), ("Grace and peace.", ANSWER), ("God our Father.", "Dios.")] * 4
    lines = [json.dumps({"en": en, "es": es, "part": "sermon", "weight": 2.0}) for en, es in pairs]
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "held_out.jsonl").write_text(lines[0] + "\n")
    return folder


def options(base: Path, mix: Path, out: Path, *more: str) -> list[str]:
    return ["--base", str(base), "--mix", str(mix), "--out", str(out), "--rate", "5e-3", *more]


def held_out_loss(adapter: Path | None, base: Path, mix: Path, tmp_path: Path) -> float:
    parsed = trainer.options_of(options(base, mix, tmp_path))
    model, tokenizer = trainer.load(parsed)
    if adapter is not None:
        model.load_adapter(adapter, "default", is_trainable=False)
    pairs = trainer.examples(tokenizer, mix / "held_out.jsonl", ("en", "es"))
    with torch.no_grad():
        return float(trainer.loss_of(model.eval(), pairs, 0, "cpu").item())


@pytest.mark.parametrize("base", ["pictures"], indirect=True)
def test_what_it_learns_is_in_an_adapter_that_the_converter_takes(
    base: Path, mix: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    before = held_out_loss(None, base, mix, tmp_path)
    assert trainer.main(options(base, mix, out, "--epochs", "12")) == 0
    assert held_out_loss(out / "adapter", base, mix, tmp_path) < 0.7 * before
    merging.merge(base, out / "adapter", tmp_path / "merged")
    assert (tmp_path / "merged" / "config.json").is_file()
    step = torch.load(out / "checkpoint.pt", weights_only=False)["step"]
    assert step == 18
    assert trainer.main(options(base, mix, out, "--epochs", "14", "--resume")) == 0
    assert torch.load(out / "checkpoint.pt", weights_only=False)["step"] == 21


def test_only_the_answer_is_learnt_and_nobody_can_speak_a_control_token(
    base: Path, mix: Path, tmp_path: Path
) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    spoken = {"en": "Grace<end_of_turn> and peace.", "es": ANSWER, "weight": 1.0}
    (mix / "train.jsonl").write_text(json.dumps(spoken) + "\n")
    (each,) = trainer.examples(tokenizer, mix / "train.jsonl", ("en", "es"))
    end = tokenizer.convert_tokens_to_ids("<end_of_turn>")
    assert each.tokens.count(end) == 2, "the end of the question, and of the answer"
    assert each.tokens[-1] == end
    assert tokenizer.decode(each.tokens[each.answer : -1]) == ANSWER


def with_template(base: Path, template: str) -> Any:
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    tokenizer.chat_template = template
    return tokenizer


def template(head: str) -> str:
    """Return a template like TranslateGemma's, with the first message's text in its place."""
    return (
        "{{ bos_token }}" + head + "{{ messages[0]['content'][0]['text'] | trim }}<end_of_turn>\n"
        "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
    )


def test_our_prompt_is_compared_with_the_models_own_template(base: Path) -> None:
    quoted = "{{ " + json.dumps(HEAD) + " }}"
    assert check_template(with_template(base, template(quoted)), "en", "es")
    assert not check_template(with_template(base, ""), "en", "es")
    other = "{{ " + json.dumps(HEAD.replace("professional", "kind")) + " }}"
    with pytest.raises(ModelError, match="asks") as caught:
        check_template(with_template(base, template(other)), "en", "es")
    assert caught.value.code == "prompt-differs"
    refusing = "{{ raise_exception('no such language') }}"
    with pytest.raises(ModelError, match="no such language") as caught:
        check_template(with_template(base, refusing), "en", "es")
    assert caught.value.code == "prompt-differs"


def test_the_prompt_is_what_the_tokenizer_makes_of_the_whole(base: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    prompt = prompts.render("translategemma", ASKED, "en", "es")
    whole = tokenizer.encode(prompt.head + prompt.text + prompt.tail, add_special_tokens=False)
    assert encode_prompt(tokenizer, prompt) == [tokenizer.bos_token_id, *whole]


@pytest.mark.parametrize("error", [RuntimeError("CUDA out of memory."), MemoryError()])
def test_short_of_memory_it_steps_down_and_computes_the_same(
    base: Path, mix: Path, tmp_path: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = trainer.load(trainer.options_of(options(base, mix, tmp_path)))
    group = trainer.examples(tokenizer, mix / "train.jsonl", ("en", "es"))[:4]

    def gradients() -> Any:
        grads = [p.grad for p in model.parameters() if p.requires_grad]
        return torch.cat([grad.flatten() for grad in grads if grad is not None])

    whole = trainer.Stepper(model, 0, "cpu")
    expected_loss = whole.step(group).item()
    expected = gradients()
    model.zero_grad(set_to_none=True)
    compute, seen = trainer.loss_of, []

    def fails_at_two(model: Any, pairs: Any, *rest: Any) -> Any:
        seen.append(len(pairs))
        if len(seen) == 2:  # in the middle of a step
            raise error
        return compute(model, pairs, *rest)

    monkeypatch.setattr(trainer, "loss_of", fails_at_two)
    stepper = trainer.Stepper(model, 0, "cpu")
    assert stepper.step(group).item() == pytest.approx(expected_loss, rel=1e-4)
    assert seen == [2, 2, 1, 1, 1, 1]
    assert torch.allclose(gradients(), expected, rtol=1e-3, atol=1e-6)
    assert stepper.rung == 1


@pytest.mark.parametrize(
    "case",
    [
        ("DefaultCPUAllocator: can't allocate memory", LearningError, r"\[memory-short\]"),
        ("shape mismatch", RuntimeError, "shape mismatch"),
    ],
)
def test_where_nothing_fits_it_is_told_and_another_fault_is_no_matter_of_memory(
    base: Path,
    mix: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[str, type[Exception], str],
) -> None:
    fault, kind, says = case
    model, tokenizer = trainer.load(trainer.options_of(options(base, mix, tmp_path)))

    def fail(*_: Any) -> Any:
        raise RuntimeError(fault)

    monkeypatch.setattr(trainer, "loss_of", fail)
    stepper = trainer.Stepper(model, 0, "cpu")
    with pytest.raises(kind, match=says):
        stepper.step(trainer.examples(tokenizer, mix / "train.jsonl", ("en", "es")))


def test_four_bit_without_a_gpu_is_told(base: Path, mix: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        trainer.load(trainer.options_of(options(base, mix, tmp_path, "--four-bit")))
    assert caught.value.code == "four-bit-unavailable"
