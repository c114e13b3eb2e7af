"""The committed translators through the plain public API of their libraries, without torch."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

STARTER = Path(__file__).resolve().parents[2] / "models" / "starter"
TEXTS = [
    "God is love.",
    "Good morning, church.",
    "The Lord is my shepherd.",
    "We believe in Jesus Christ, the Son of God.",
    "Turn with me to Romans, chapter five, verse eight.",
]
PARTS = [
    [r"dios es amor"],
    [r"buenos días"],
    [r"\bseñor\b", r"\bpastor\b"],
    [r"jesucristo|jesús", r"hijo de dios"],
    [r"romanos", r"cinco", r"ocho"],
]
"""What each answer has."""
MARIAN = """
import json, sys
import ctranslate2, sentencepiece
folder, texts = sys.argv[1], json.loads(sys.argv[2])
translator = ctranslate2.Translator(folder, device="cpu", compute_type="int8", intra_threads=1)
source = sentencepiece.SentencePieceProcessor(model_file=folder + "/source.spm")
target = sentencepiece.SentencePieceProcessor(model_file=folder + "/target.spm")
tokens = [source.encode(text, out_type=str) + ["</s>"] for text in texts]
answers = translator.translate_batch(tokens, beam_size=8)  # as for a whole sentence
answers = [target.decode(answer.hypotheses[0]) for answer in answers]
print(json.dumps({"answers": answers, "torch": "torch" in sys.modules}))
"""
GEMMA = """
import json, sys
from llama_cpp import Llama
from pipeline.engines.llama_cpp.llama import load_kernels
load_kernels()
folder, texts = sys.argv[1], json.loads(sys.argv[2])
model = Llama(folder + "/model.gguf", n_ctx=512, n_threads=1, verbose=False)
answers, ends = [], []
for text in texts:
    head = model.tokenize(b"<start_of_turn>user\\n", add_bos=True, special=True)
    body = model.tokenize(text.encode(), add_bos=False, special=False)
    tail = model.tokenize(b"<end_of_turn>\\n<start_of_turn>model\\n", add_bos=False, special=True)
    answer = model.create_completion(head + body + tail, max_tokens=80, temperature=0.0)
    answers.append(answer["choices"][0]["text"])
    ends.append(answer["choices"][0]["finish_reason"])
print(json.dumps({"answers": answers, "ends": ends, "torch": "torch" in sys.modules}))
"""


def translated(program: str, folder: str) -> dict[str, Any]:
    """Return the output for TEXTS in a fresh interpreter; it prints one JSON object last."""
    command = [sys.executable, "-c", program, str(STARTER / folder), json.dumps(TEXTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("program", "folder"), [(MARIAN, "marian"), (GEMMA, "gemma")])
def test_simple_sentences_come_out_in_spanish(program: str, folder: str) -> None:
    found = translated(program, folder)
    assert found["torch"] is False
    assert set(found.get("ends", ["stop"])) == {"stop"}, "it ends its answers itself"
    for answer, parts in zip(found["answers"], PARTS, strict=True):
        assert all(re.search(part, answer.lower()) for part in parts), answer


def test_the_starter_models_stay_small() -> None:
    """Most hosts refuse a file of 100 MB in a repository, and a volunteer's connection is slow."""
    sizes_mb = {each.name: folder_mb(each) for each in STARTER.iterdir() if each.is_dir()}
    assert 60 < sizes_mb.pop("gemma") <= 90
    assert 10 < sum(sizes_mb.values()) <= 40


def folder_mb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.iterdir()) / 1e6


def test_the_card_gives_licences_and_figures() -> None:
    card = (STARTER / "MODEL_CARD.md").read_text(encoding="utf-8")
    for word in ("tatoeba.org", "manythings.org/anki", "CC-BY 2.0", "Reina-Valera 1909", "chrF"):
        assert word in card
