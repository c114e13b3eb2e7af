"""The shape of TranslateGemma 4B from the checkpoint to the running daemon's translator.

Its vocabulary, heads, window, positions and pictures are those of its config.json; only the
width and the number of layers are small, and the weights are random except for an adapter.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import structlog

from pipeline.config.loader import load
from pipeline.engines.process.factory import final_spec, translator_process
from pipeline.engines.specification import FINAL
from pipeline.tuning.budget import SERVICE_BYTES, Writing, total, writing_needs
from tests.support.needs import needs_file, needs_train_extra
from tests.support.paths import ROOT

needs_train_extra()

import torch  # noqa: E402
import transformers  # noqa: E402
from sentencepiece import sentencepiece_model_pb2  # noqa: E402

from tests.support.tiny_gemma import ANSWER, ASKED, base_model, taught, write_tokenizer  # noqa: E402
from training.gguf_export import convert_translategemma, converting  # noqa: E402

pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),
]

LLAMA_CPP = ROOT / ".venv" / "llama.cpp"
PIECES, VOCABULARY = 262_144, 262_208  # of tokenizer.model, and of config.json


def write_base(folder: Path) -> None:
    model = base_model(
        sees_pictures=True,
        pictures={
            "hidden_size": 1152, "intermediate_size": 4304, "num_attention_heads": 16,
            "image_size": 896,
        },
        vocab_size=VOCABULARY, hidden_size=128, intermediate_size=256, num_attention_heads=8,
        num_key_value_heads=4, head_dim=256, query_pre_attn_scalar=256,
        max_position_embeddings=131_072, sliding_window=1024,
    )  # fmt: skip
    torch.nn.init.normal_(model.get_input_embeddings().weight, std=0.3)
    model.to(torch.bfloat16).save_pretrained(folder / "base")
    write_tokenizer(folder / "base")
    file = folder / "base" / "tokenizer.model"
    pieces = sentencepiece_model_pb2.ModelProto()
    pieces.ParseFromString(file.read_bytes())
    for number in range(len(pieces.pieces), PIECES):
        pieces.pieces.add(piece=f"\u2581unheard{number}", score=-float(number))
    pieces.trainer_spec.vocab_size = PIECES
    file.write_bytes(pieces.SerializeToString())


def number_in(head: bytes, form: str, key: str, behind: int) -> int:
    """Return a number of a GGUF file; gguf's own reader is slow with so many tokens."""
    found: tuple[int] = struct.unpack_from(form, head, head.index(key.encode()) + len(key) + behind)
    return found[0]


def test_a_model_of_its_shape_is_merged_converted_quantized_and_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_file(LLAMA_CPP / converting.SCRIPT)
    import sentencepiece

    write_base(tmp_path)
    processor = sentencepiece.SentencePieceProcessor(
        model_file=str(tmp_path / "base" / "tokenizer.model")
    )
    model = transformers.Gemma3ForConditionalGeneration.from_pretrained(
        tmp_path / "base", dtype=torch.float32
    )
    adapter = taught(model, processor, r".*language_model.*_proj", 60)
    adapter.save_pretrained(tmp_path / "adapter")
    del model, adapter
    with structlog.testing.capture_logs():
        done = convert_translategemma.main(
            ["--base", str(tmp_path / "base"), "--adapter", str(tmp_path / "adapter"),
             "--out", str(tmp_path / "made"), "--name", "translategemma-4b", "--levels", "Q4_K_M",
             "--threads", "2", "--llama-cpp", str(LLAMA_CPP)]
        )  # fmt: skip
    # The program has compared the logits of F16 with the merged model's.
    assert done == 0, capsys.readouterr().err
    made = tmp_path / "made" / "translategemma-4b-Q4_K_M.gguf"
    with made.open("rb") as file:
        head = file.read(20_000)
    assert number_in(head, "<I", "gemma3.attention.sliding_window", 4) == 1024
    assert number_in(head, "<Q", "tokenizer.ggml.tokens", 8) == VOCABULARY
    # As in a service: in its own process, with the prompt that its name requires.
    flags = {"translate.final.engine": "gemma", "translate.final.model": str(made)}
    settings = load(flags=flags | {"translate.final.deadline_s": 60}).settings
    engine = translator_process(settings, final_spec(settings), FINAL, restarts=False)
    assert engine is not None
    engine.load()
    try:
        assert engine.translate(ASKED).text == ANSWER
        needs = writing_needs(
            Writing(made.stem, made.stat().st_size, context=2048, batch=32, on_gpu=False)
        )
        assert made.stat().st_size < engine.memory_bytes < total(needs, "ram") + SERVICE_BYTES
    finally:
        engine.close()
