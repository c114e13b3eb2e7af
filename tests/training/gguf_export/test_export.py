"""Checkpoints of three namings as GGUF files, against PyTorch, transformers and SentencePiece."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import structlog

from pipeline.core.errors import ModelError, StarkError
from tests.support.needs import needs_train_extra
from tests.support.paths import ROOT

needs_train_extra()

import gguf  # noqa: E402
import sentencepiece  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from sentencepiece import sentencepiece_model_pb2  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.functional import silu  # noqa: E402

from training.data import pieces  # noqa: E402
from training.gguf_export import checkpoint, levels, naming, proof, quantizing, vocabulary  # noqa: E402
from training.gguf_export import export as export_gguf  # noqa: E402
from training.gguf_export.shape import Shape  # noqa: E402
from training.gguf_export.writing import write  # noqa: E402

pytestmark = [pytest.mark.train, pytest.mark.slow]

TINY = ROOT / "models" / "tiny" / "gemma" / "model.gguf"
TEXTS = [
    "In the beginning God created the heavens and the earth.",
    "¿Cómo estás, Nehemías? Támesis, ñandú y pingüino — 1904, 3:16.",
    "Grace and peace to you all; the Lord is good, and his mercy endures for ever.",
]
VOCABULARY = 400
IDS = [2, *np.random.default_rng(1).integers(7, VOCABULARY, 60).tolist()]
WRITTEN_OUT = (r"5=<start_of_turn>user\n", r"6=<end_of_turn>\n<start_of_turn>model\n")
TURNS = [f"--token={each}" for each in WRITTEN_OUT]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Capture llama.cpp's log: it goes to structlog, which the program itself sets up."""
    with structlog.testing.capture_logs():
        yield


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    pieces.train_bpe(TEXTS * 20, VOCABULARY, tmp_path / "tokenizer.model")
    return tmp_path / "tokenizer.model"


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "verses.tsv"
    path.write_text(
        "# two\nGod is love.\tDios es amor.\n\nGood morning, church.\tBuenos días, iglesia.\n"
    )
    return path


def settle(model: Any) -> Any:
    """Set weights to a size that makes attention matter, and norms that are not all alike."""
    torch.manual_seed(3)
    for parameter in model.parameters():
        nn.init.normal_(parameter, 0.0, 0.2 if parameter.ndim == 1 else parameter.shape[1] ** -0.5)
    return model.eval()


def difference(path: Path, expected: Any) -> float:
    """Return the distance of llama.cpp's logits for IDS from `expected`, relative to its spread."""
    made = proof.ExactLlama(path, 1, context=64).logits(IDS)
    return float(np.sqrt(np.square(made - expected).mean()) / expected.std())


def by_transformers(model: Any) -> Any:
    with torch.no_grad():
        return model(torch.tensor([IDS])).logits[0].numpy()


def llama_model(**settings: Any) -> Any:
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=96, intermediate_size=160, num_hidden_layers=3,
        num_attention_heads=6, num_key_value_heads=2, max_position_embeddings=128,
        rope_theta=500_000.0, rms_norm_eps=1e-5, **settings,
    )  # fmt: skip
    return settle(transformers.LlamaForCausalLM(config))


def gemma_model(**settings: Any) -> Any:
    """Return a Gemma 3 with a window shorter than the prompts and an unusual layer pattern."""
    config = transformers.Gemma3TextConfig(
        vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=2, head_dim=32, query_pre_attn_scalar=32,
        max_position_embeddings=128, sliding_window=7,
        layer_types=["sliding_attention", "full_attention"] * 2, **settings,
    )  # fmt: skip
    return settle(transformers.Gemma3ForCausalLM(config))


def save(model: Any, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    tensors = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    save_file(tensors, folder / "model.safetensors")
    model.config.save_pretrained(folder)
    return folder


class Turned(nn.Module):  # type: ignore[misc]
    """A decoder as a training program may write it: transformer.wte, h.{i}.attn.c_q, ln_f."""

    def __init__(self, *, pairs: bool, heads: int = 4, kv_heads: int = 2, width: int = 64) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.pairs = heads, kv_heads, pairs
        inner = width // heads * kv_heads

        def layer() -> nn.ModuleDict:
            attn = {"c_q": (width, width), "c_k": (width, inner), "c_v": (width, inner)}
            mlp = {"w_gate": (width, 96), "w_up": (width, 96), "w_down": (96, width)}
            return nn.ModuleDict(
                {
                    "ln_1": nn.RMSNorm(width, 1e-6),
                    "attn": matrices(attn | {"c_proj": (width, width)}),
                    "ln_2": nn.RMSNorm(width, 1e-6),
                    "mlp": matrices(mlp),
                }
            )

        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(VOCABULARY, width),
                "h": nn.ModuleList(layer() for _ in range(3)),
                "ln_f": nn.RMSNorm(width, 1e-6),
            }
        )
        self.lm_head = nn.Linear(width, VOCABULARY, bias=False)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def forward(self, ids: list[int]) -> Any:
        """Return logits (len(ids), VOCABULARY)."""
        x = self.transformer["wte"](torch.tensor(ids))
        for block in self.transformer["h"]:
            y = block["ln_1"](x)
            q = self.turn(block["attn"]["c_q"](y), self.heads)
            k = self.turn(block["attn"]["c_k"](y), self.kv_heads)
            v = block["attn"]["c_v"](y).view(len(ids), self.kv_heads, -1).transpose(0, 1)
            k, v = (t.repeat_interleave(self.heads // self.kv_heads, 0) for t in (k, v))
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + block["attn"]["c_proj"](y.transpose(0, 1).reshape(len(ids), -1))
            y, mlp = block["ln_2"](x), block["mlp"]
            x = x + mlp["w_down"](silu(mlp["w_gate"](y)) * mlp["w_up"](y))
        return self.lm_head(self.transformer["ln_f"](x)).numpy()

    def turn(self, x: Any, heads: int) -> Any:
        """Rotate (length, heads * width) as complex numbers; return (heads, length, width)."""
        split = x.view(len(x), heads, -1).transpose(0, 1)
        half = split.shape[-1] // 2
        units = split.unflatten(-1, (half, 2) if self.pairs else (2, half))
        units = units if self.pairs else units.transpose(-1, -2)
        angles = torch.arange(len(x))[:, None] * 10_000.0 ** (-torch.arange(half) / half)
        turned = torch.view_as_complex(units.contiguous()) * torch.polar(
            torch.ones_like(angles), angles
        )
        found = torch.view_as_real(turned)
        return (found if self.pairs else found.transpose(-1, -2)).flatten(-2)


def matrices(sizes: Mapping[str, tuple[int, int]]) -> nn.ModuleDict:
    return nn.ModuleDict({n: nn.Linear(*size, bias=False) for n, size in sizes.items()})


def test_llama_names_give_the_logits_of_transformers(
    tokenizer: Path, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = llama_model()
    folder = save(model, tokenizer.parent / "llama")
    out = tokenizer.parent / "out"
    arguments = ["--model", folder, "--tokenizer", tokenizer, "--out", out, "--pairs", pairs]
    assert export_gguf.main([*map(str, arguments), "--levels", "Q8_0", "--threads", "1"]) == 0
    assert difference(out / "out-F16.gguf", by_transformers(model)) < 2e-3
    assert difference(out / "out-Q8_0.gguf", by_transformers(model)) < 0.05
    assert sorted(path.name for path in out.iterdir()) == ["out-F16.gguf", "out-Q8_0.gguf"]
    printed = capsys.readouterr()
    assert "not measured" in printed.err  # TranslateGemma's prompt does not fit its 128 tokens
    assert re.search(r"\| Q8_0 \| 0.\d MB \| \d\.\d\d% \| - \| - \|", printed.out)


def test_gemma_names_and_scaled_positions_give_the_logits_of_transformers(
    tokenizer: Path, pairs: Path
) -> None:
    rope = gemma_model().config.rope_parameters
    scaled = {**rope["full_attention"], "rope_type": "linear", "factor": 4.0}  # global layers only
    model = gemma_model(rope_parameters={**rope, "full_attention": scaled})
    folder = save(model, tokenizer.parent / "gemma")
    out = tokenizer.parent / "out"
    arguments = ["--model", folder, "--tokenizer", tokenizer, "--out", out, "--pairs", pairs]
    assert export_gguf.main([*map(str, arguments), "--levels", "", "--threads", "1"]) == 0
    assert difference(out / "out-F16.gguf", by_transformers(model)) < 2e-3


@pytest.mark.parametrize("turned", ["halves", "pairs"])
def test_the_names_of_transformer_wte_give_the_logits_of_its_own_program(
    tokenizer: Path, pairs: Path, turned: str
) -> None:
    model = settle(Turned(pairs=turned == "pairs"))
    # The names that torch.compile and a training loop leave.
    weights = {f"_orig_mod.{name}": tensor for name, tensor in model.state_dict().items()}
    file = tokenizer.with_name("ckpt.pt")
    torch.save({"model": weights, "config": {"n_head": 4}, "step": 7}, file)
    out = tokenizer.parent / "out"
    arguments = ["--model", file, "--out", out, "--pairs", pairs, "--name", "mine", "--threads", 1]
    arguments += ["--rope-pairs"] if turned == "pairs" else []
    assert export_gguf.main([*map(str, arguments), "--levels", "q4_0"]) == 0
    assert difference(out / "mine-F16.gguf", model(IDS)) < 2e-3
    assert difference(out / "mine-Q4_0.gguf", model(IDS)) < 0.5


def tiny_folder(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the shipped tiny model as a folder with Gemma 3's names, and its tensors."""
    folder.mkdir()
    reader = gguf.GGUFReader(TINY)
    facts = {name: field.contents() for name, field in reader.fields.items()}
    names = naming.expected(naming.GEMMA, facts["gemma3.block_count"])
    tensors = {}
    for tensor in reader.tensors:
        value = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        if value.ndim == 1:
            value = value - naming.GEMMA.norm_offset
        name = f"model.{names[tensor.name.removesuffix('.weight')]}.weight"
        tensors[name] = torch.from_numpy(np.ascontiguousarray(value))
    save_file(tensors, folder / "model.safetensors")
    attention = "gemma3.attention."
    config = {
        "num_attention_heads": facts[attention + "head_count"],
        "num_key_value_heads": facts[attention + "head_count_kv"],
        "max_position_embeddings": facts["gemma3.context_length"],
        "sliding_window": facts[attention + "sliding_window"],
    }
    (folder / "config.json").write_text(json.dumps(config))
    model = sentencepiece_model_pb2.ModelProto()
    ids = [f"{name}_token_id" for name in ("unknown", "bos", "eos", "padding")]
    spec = model.trainer_spec
    spec.unk_id, spec.bos_id, spec.eos_id, spec.pad_id = (facts[f"tokenizer.ggml.{i}"] for i in ids)
    spec.model_type, spec.byte_fallback = spec.BPE, True
    model.normalizer_spec.name = "identity"
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    rows = (facts[f"tokenizer.ggml.{each}"] for each in ("tokens", "scores", "token_type"))
    for text, score, kind in zip(*rows, strict=True):
        model.pieces.add(piece=text.replace("\n", "|"), score=score, type=kind)
    (folder / "tokenizer.model").write_bytes(model.SerializeToString())
    return folder, tensors


def test_the_tiny_model_under_the_names_of_gemma_3_at_every_level(
    tmp_path: Path, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, tensors = tiny_folder(tmp_path / "starter")
    out = tmp_path / "out"
    arguments = ["--model", folder, "--out", out, "--pairs", pairs, "--prompt", "starter"]
    assert export_gguf.main([*map(str, arguments), *TURNS, "--threads", "1"]) == 0
    printed = capsys.readouterr()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in printed.out.splitlines()
    ]
    assert rows[0] == ["level", "size", "logits off by", "chrF verses", "tokens/s"]
    assert [row[0] for row in rows[2:]] == ["F16", "Q8_0", "Q5_K_M", "Q4_K_M", "Q5_0", "Q4_0"]
    sizes = [(out / f"out-{row[0]}.gguf").stat().st_size for row in rows[2:]]
    assert [row[1] for row in rows[2:]] == [f"{size / 1e6:.1f} MB" for size in sizes]
    # Only Q5_0 is uniform: it spends on the rest what it saves on the embeddings.
    even = sizes.pop(4)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[1] > even > sizes[-1]
    off = [float(row[2].rstrip("%")) for row in rows[2:] if row[0] != "Q5_0"]
    assert off == sorted(off)
    assert off[0] < 0.2
    assert all(float(row[3]) > 60 for row in rows[2:])
    assert "the same tokens for 203 texts" in printed.err

    shipped = {t.name: (t.data, t.tensor_type) for t in gguf.GGUFReader(TINY).tensors}
    again = {
        t.name: (t.data, t.tensor_type) for t in gguf.GGUFReader(out / "out-Q8_0.gguf").tensors
    }
    assert again.keys() == shipped.keys()
    for name, (data, kind) in again.items():
        np.testing.assert_allclose(
            gguf.quants.dequantize(data, kind), gguf.quants.dequantize(*shipped[name]), atol=2e-3
        )

    reference = transformers.Gemma3ForCausalLM(
        transformers.Gemma3TextConfig(
            vocab_size=8000, hidden_size=256, intermediate_size=512, num_hidden_layers=6,
            num_attention_heads=4, num_key_value_heads=4, head_dim=64, query_pre_attn_scalar=64,
            sliding_window=512,
        )
    )  # fmt: skip
    loaded = reference.load_state_dict(tensors, strict=False)
    assert (loaded.missing_keys, loaded.unexpected_keys) == (["lm_head.weight"], [])
    reference.tie_weights()
    assert difference(out / "out-F16.gguf", by_transformers(reference.eval())) < 2e-3


def assembled(model: Any) -> checkpoint.Checkpoint:
    return checkpoint.assemble(model.state_dict(), model.config.to_dict())


@pytest.mark.parametrize(
    "fault", [{"rope_pairs": True}, {"rope_base": 100.0}, {"norm_epsilon": 0.1}]
)
def test_a_file_that_computes_something_else_is_refused(
    tokenizer: Path, fault: dict[str, Any]
) -> None:
    right = assembled(llama_model())
    words = vocabulary.read(tokenizer, VOCABULARY, {})
    wanted = proof.prompts(right, words, lambda *_: None)
    good, bad = tokenizer.with_name("good.gguf"), tokenizer.with_name("bad.gguf")
    write(right, words, good, "good", lambda *_: None)
    assert proof.check_logits(good, wanted, 1) < proof.TOLERANCE / 4
    write(replace(right, shape=replace(right.shape, **fault)), words, bad, "bad", lambda *_: None)
    with pytest.raises(ModelError, match="other logits") as caught:
        proof.check_logits(bad, wanted, 1)
    assert caught.value.code == "export-differs"


def test_a_token_without_a_number_is_named() -> None:
    with pytest.raises(StarkError, match="token-unreadable"):
        export_gguf._written("²=<end_of_turn>")


def test_a_vocabulary_in_another_order_is_refused(tokenizer: Path) -> None:
    whole = assembled(llama_model())
    words = vocabulary.read(tokenizer, VOCABULARY, {})
    file = tokenizer.with_name("swapped.gguf")
    texts = [*words.texts]
    texts[-1], texts[-2] = texts[-2], texts[-1]
    write(whole, replace(words, texts=texts), file, "swapped", lambda *_: None)
    with pytest.raises(ModelError, match=r"llama\.cpp splits") as caught:
        proof.check_tokens(file, words, 1)
    assert caught.value.code == "export-tokens"


def test_a_tokenizer_of_the_llama_kind_keeps_its_space_before_the_text(tmp_path: Path) -> None:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 20), model_prefix=str(tmp_path / "spaced"), vocab_size=380,
        model_type="bpe", byte_fallback=True, minloglevel=2, pad_id=3,
        user_defined_symbols=["<start_of_turn>", "<end_of_turn>", "▁▁"],
    )  # fmt: skip
    words = vocabulary.read(tmp_path / "spaced.model", VOCABULARY, {})
    assert words.space_prefix
    assert words.warnings == ["normalizes text by nmt_nfkc", "merges runs of spaces"]
    assert words.texts[-1] == f"[PAD{VOCABULARY - 1}]"
    file = tmp_path / "spaced.gguf"
    write(assembled(llama_model()), words, file, "spaced", lambda *_: None)
    assert proof.check_tokens(file, words, 1) > 100
    runtime = proof.ExactLlama(file, 1, context=64)
    assert runtime.tokenize(TEXTS[0], special=False) == words.processor.encode(TEXTS[0])
    # User-defined in the tokenizer, yet no text encodes to it.
    assert words.end_of_turn not in runtime.tokenize("<end_of_turn>", special=False)
    assert runtime.ends(words.end_of_turn)


def test_rows_that_fit_no_block_are_named_with_what_they_became(
    tokenizer: Path, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = save(llama_model(), tokenizer.parent / "llama")
    out = tokenizer.parent / "out"
    arguments = ["--model", folder, "--tokenizer", tokenizer, "--out", out, "--pairs", pairs]
    assert export_gguf.main([*map(str, arguments), "--levels", "Q4_K_M", "--threads", "1"]) == 0
    printed = capsys.readouterr().err
    kinds = {
        tensor.name: tensor.tensor_type.name
        for tensor in gguf.GGUFReader(out / "out-Q4_K_M.gguf").tensors
    }
    note = re.search(r"Q4_K_M: blk\.\*\.ffn_up, 3 tensors: rows of 96 .* stores (\w+)", printed)
    assert note
    assert {kinds[f"blk.{layer}.ffn_up.weight"] for layer in range(3)} == {note[1]} == {"Q5_0"}
    assert "Q8_0" in printed


def stored() -> dict[str, Any]:
    return dict(llama_model().state_dict())


def without(tensors: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: tensor for key, tensor in tensors.items() if key != name}


@pytest.mark.parametrize(
    ("change", "config", "code", "named"),
    [
        (lambda t: without(t, "model.layers.1.mlp.up_proj.weight"), {}, "tensor-missing",
         "layers.1.mlp.up_proj"),
        (dict, {"num_hidden_layers": 4}, "tensor-missing", "layers.3.input_layernorm"),
        (dict, {"num_hidden_layers": 2}, "tensor-unknown", "layers.2.input_layernorm"),
        (lambda t: t | {"model.layers.0.self_attn.q_proj.bias": torch.zeros(96)}, {},
         "tensor-unknown", "q_proj.bias"),
        (lambda t: t | {"model.layers.2.mlp.down_proj.weight": torch.zeros(96, 96)}, {},
         "tensor-shape", "layers.2.mlp.down_proj has the shape 96 x 96; 96 x 160"),
        (lambda t: {f"x.{name}": tensor for name, tensor in t.items()}, {}, "checkpoint-naming",
         "x.lm_head"),
        (lambda _: {"layers.0.q.lora_A.weight": torch.zeros(2, 2)}, {}, "checkpoint-adapter",
         "LoRA"),
        (lambda t: t | {"model.norm.weight": torch.full((96,), torch.nan)}, {}, "tensor-broken",
         "norm"),
        (dict, {"num_attention_heads": None}, "checkpoint-heads", "--heads"),
        (dict, {"num_key_value_heads": 3}, "checkpoint-heads", "kv_heads is said to be 3"),
        (dict, {"hidden_act": "relu"}, "checkpoint-unsupported", "'relu'"),
        (dict, {"rope_scaling": {"rope_type": "yarn"}}, "checkpoint-unsupported", "'yarn'"),
        (dict, {"final_logit_softcapping": 30.0}, "checkpoint-unsupported", "softcapping"),
        (dict, {"partial_rotary_factor": 0.5}, "checkpoint-unsupported", "partial_rotary"),
        (dict, {"query_pre_attn_scalar": 99}, "checkpoint-unsupported", "99"),
    ],
)  # fmt: skip
def test_what_cannot_be_exported_is_said(
    change: Any, config: dict[str, Any], code: str, named: str
) -> None:
    with pytest.raises(ModelError) as caught:
        checkpoint.assemble(change(stored()), {"num_attention_heads": 6} | config)
    assert caught.value.code == code
    assert named in str(caught.value)


def test_a_value_too_large_for_f16_is_named(tokenizer: Path) -> None:
    whole = assembled(llama_model())
    whole.weights["blk.1.ffn_up"][3, 4] = 1e6
    words = vocabulary.read(tokenizer, VOCABULARY, {})
    with pytest.raises(ModelError, match=r"blk\.1\.ffn_up") as caught:
        write(whole, words, tokenizer.with_name("large.gguf"), "large", lambda *_: None)
    assert caught.value.code == "tensor-too-large"


def test_files_that_cannot_be_read_are_named(tmp_path: Path, tokenizer: Path) -> None:
    def code(path: Path, config: Path | None = None) -> str:
        with pytest.raises(ModelError, match=re.escape(str(config or path))) as caught:
            checkpoint.read(path, config, {})
        return caught.value.code

    half = tmp_path / "half.safetensors"
    save_file(stored(), half)
    half.write_bytes(half.read_bytes()[:-1000])
    program = tmp_path / "program.pt"
    torch.save({"model": stored(), "args": Path("anything")}, program)
    empty, text = tmp_path / "empty.pt", tmp_path / "config.txt"
    empty.touch()
    text.write_text("{")
    assert code(tmp_path / "none.pt") == "checkpoint-missing"
    assert code(half) == "checkpoint-broken"
    assert code(empty) == "checkpoint-broken"
    assert code(program) == "checkpoint-pickle"
    torch.save(stored(), program)
    assert code(program, text) == "checkpoint-config"
    for path, size, expected in (
        (text, VOCABULARY, "tokenizer-broken"),
        (tmp_path / "none.model", VOCABULARY, "tokenizer-broken"),
        (tokenizer, VOCABULARY - 1, "tokenizer-size"),
    ):
        with pytest.raises(ModelError, match=re.escape(str(path))) as caught:
            vocabulary.read(path, size, {})
        assert caught.value.code == expected
    with pytest.raises(ModelError, match="<stop>"):
        vocabulary.read(tokenizer, VOCABULARY, {}, "<stop>")
    with pytest.raises(ModelError, match=f"no {VOCABULARY}"):
        vocabulary.read(tokenizer, VOCABULARY, {VOCABULARY: "beyond"})


def test_a_vocabulary_of_another_kind_is_refused(tmp_path: Path) -> None:
    pieces.train_unigram(TEXTS * 20, 320, tmp_path / "unigram.model")
    with pytest.raises(ModelError, match="unigram") as caught:
        vocabulary.read(tmp_path / "unigram.model", VOCABULARY, {})
    assert caught.value.code == "tokenizer-kind"


def test_what_nothing_tells_is_assumed_and_said(tmp_path: Path) -> None:
    torch.save(stored(), tmp_path / "bare.pt")
    found = checkpoint.read(tmp_path / "bare.pt", None, {"heads": 6, "context": 77})
    assert found.shape == Shape(
        "llama", VOCABULARY, 96, 160, 6, 2, 16, 77, 1e-6, 10_000.0, (False,) * 3
    )
    assert found.assumed == ["norm_epsilon 1e-06", "rope_base 10000"]
    windowed = checkpoint.assemble(stored(), {"num_attention_heads": 6, "sliding_window": 50})
    assert windowed.shape.context == 50


def test_mistakes_on_the_command_line_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["--model", str(tmp_path / "none.pt"), "--out", str(tmp_path)]
    for more, named in (
        (["--levels", "Q3"], "there is no Q3"),
        (["--pairs", str(tmp_path / "none.tsv")], "none.tsv"),
        ([], "there is no checkpoint"),
    ):
        assert export_gguf.main([*base, *more]) in {1, 2}
        assert named in " ".join(capsys.readouterr().err.split())


def test_pairs_are_read_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    for content, named in (("", "no pairs"), ("a\tb\nalone\n", "line 2")):
        file.write_text(content)
        with pytest.raises(StarkError, match=named):
            levels.read_pairs(file)
    assert len(levels.sermon("en", "es")) > 20


def test_a_disk_without_room_is_said_before_anything_is_written(tmp_path: Path) -> None:
    quantizing.require_space(tmp_path, 1)
    with pytest.raises(ModelError, match=r"1000000\.0 GB are needed") as caught:
        quantizing.require_space(tmp_path, 10**15)
    assert caught.value.code == "disk-full"


def test_a_file_that_is_no_gguf_is_not_quantized(tmp_path: Path) -> None:
    file = tmp_path / "no.gguf"
    file.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelError, match=r"no\.gguf") as caught:
        quantizing.quantize(file, tmp_path / "out.gguf", "Q8_0", 1)
    assert caught.value.code == "model-broken"
    assert [path.name for path in tmp_path.iterdir()] == ["no.gguf"]
