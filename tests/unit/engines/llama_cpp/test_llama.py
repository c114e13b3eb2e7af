from __future__ import annotations

import ctypes
import gc
import itertools
import os
import platform
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import pytest
import structlog

from pipeline.engines.llama_cpp import llama
from pipeline.engines.llama_cpp.llama import Llama, LlamaError, kernels, layers
from tests.support.needs import needs_program
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def model(gguf: Path) -> Llama:
    return start(gguf)


def start(gguf: Path, **more: Any) -> Llama:
    return Llama(gguf, gpu_layers=0, threads=1, context=512, batch=128, **more)


def best(model: Llama, place: int = -1) -> tuple[int, float]:
    """Return the most likely next token and its log-probability."""
    token, logprob, _ = model.best_and(None, place)
    return token, logprob


def go_on(model: Llama, tokens: list[int], count: int) -> list[tuple[int, float]]:
    """Return the `count` most likely tokens after `tokens`, with their log-probabilities."""
    model.prompt(tokens, lambda: None)
    made = []
    for _ in range(count):
        made.append(best(model))
        model.feed([made[-1][0]])
    return made


def watch(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    """Return a list that collects every argument of a function of the C library."""
    seen: list[Any] = []
    real = getattr(llama_cpp, name)

    def watched(argument: Any) -> Any:
        seen.append(argument)
        return real(argument)

    monkeypatch.setattr(llama_cpp, name, watched)
    return seen


def test_text_survives_its_tokens(model: Llama) -> None:
    text = "  Grace, 316 — Támesis ☃ 漢字\n<end_of_turn>"
    tokens = model.tokenize(text, special=False)
    assert b"".join(map(model.piece, tokens)).decode() == text
    assert model.tokenize("", special=False) == []
    assert model.tokenize("half: \ud800", special=False) == model.tokenize("half: ?", special=False)


def test_the_log_probability_is_that_of_the_softmax(model: Llama) -> None:
    model.prompt([*model.begin, *model.tokenize("God is", special=False)], lambda: None)
    token, logprob = best(model)
    pointer = llama_cpp.llama_get_logits_ith(model._context, -1)
    logits = np.ctypeslib.as_array(pointer, shape=(model._vocab_size,)).astype(np.float64)
    assert logprob == pytest.approx(float(logits[token] - np.log(np.exp(logits).sum())), abs=1e-4)
    assert token == int(logits.argmax())


@pytest.mark.slow
def test_agrees_with_the_library_itself(gguf: Path, model: Llama) -> None:
    prompt = [*model.begin, *model.tokenize("The Lord is my shepherd", special=False)]
    theirs = llama_cpp.Llama(str(gguf), n_ctx=512, n_threads=1, flash_attn=True, verbose=False)
    made = list(itertools.islice(theirs.generate(prompt, temp=0.0), 16))
    assert [token for token, _ in go_on(model, prompt, 16)] == made


def test_what_is_known_is_not_evaluated_again(model: Llama) -> None:
    head = [*model.begin, *model.tokenize("the Lord is my shepherd ", special=False)]
    one = head + model.tokenize("and my light", special=False)
    two = head + model.tokenize("our strength", special=False)
    model.reset()
    assert model.prompt(one, lambda: None) == 0
    assert model.prompt(one, lambda: None) == len(one) - 1, "the last token makes the logits"
    assert model.prompt(two, lambda: None) >= len(head)


def test_the_head_of_each_language_is_kept_while_another_takes_its_turn(gguf: Path) -> None:
    model = start(gguf)
    spanish, french = (
        [*model.begin, *model.tokenize(f"{language}: the Lord is my shepherd ", special=False)]
        for language in ("Spanish", "In the French of today")
    )
    end = model.tokenize("and my light", special=False)
    other = model.tokenize("our strength in the day of trouble", special=False)

    def ask(head: list[int], rest: list[int]) -> tuple[int, int]:
        reused = model.prompt([*head, *rest], lambda: None, len(head))
        return reused, best(model)[0]

    alone = []
    for head in (spanish, french):
        model.reset()
        alone.append(ask(head, end)[1])
    turns = [ask(head, end) for head in (spanish, french, spanish, french)]
    assert [best for _, best in turns] == [*alone, *alone]
    assert [reused for reused, _ in turns][2:] == [len(spanish), len(french)]
    assert ask(french, other)[0] >= len(french)
    assert ask(spanish, other)[0] == len(spanish)


def test_a_head_that_cannot_be_put_back_is_evaluated_again(
    gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = start(gguf)
    one, two = (
        [*model.begin, *model.tokenize(text, special=False)]
        for text in ("Spanish: grace and peace", "French: grace and peace")
    )
    monkeypatch.setattr(llama_cpp, "llama_state_seq_set_data", lambda *_: 0)
    for _ in range(2):
        assert model.prompt(one, lambda: None, len(one) - 2) < len(one) - 2
        first = best(model)
        model.prompt(two, lambda: None, len(two) - 2)
    model.reset()
    model.prompt(one, lambda: None)
    assert best(model) == pytest.approx(first, abs=0.02)


@pytest.mark.parametrize("cuts", [True, False], ids=["cut", "cleared"])
def test_tokens_are_taken_back(model: Llama, monkeypatch: pytest.MonkeyPatch, cuts: bool) -> None:
    prompt = [*model.begin, *model.tokenize("the Lord is my shepherd", special=False)]
    made = go_on(model, prompt, 5)
    tokens = [token for token, _ in made]
    model.prompt(prompt, lambda: None)
    model.feed([*tokens[:3], 77, 88], every=True)
    if not cuts:
        monkeypatch.setattr(llama_cpp, "llama_memory_seq_rm", lambda *_: False)
    model.forget(2)
    model.feed([tokens[3]])
    assert best(model) == pytest.approx(made[4], abs=0.02)
    assert bool(model.prompt(prompt, lambda: None)) == cuts, "what cannot be cut is cleared"


@pytest.mark.slow
def test_the_room_that_is_left(model: Llama) -> None:
    model.reset()
    assert model.room == 128, "a batch"
    model.prompt(model.begin * (model.context - 5), lambda: None)
    assert model.room == 5


@pytest.mark.slow
def test_a_long_prompt_is_checked_between_batches(model: Llama) -> None:
    checks = 0

    def check() -> None:
        nonlocal checks
        checks += 1
        if checks == 2:
            raise TimeoutError

    tokens = model.begin * 300
    model.reset()
    with pytest.raises(TimeoutError):
        model.prompt(tokens, check)
    assert model.prompt(tokens, lambda: None) == 128, "what was evaluated is kept"


def test_after_a_refused_token_all_is_as_before(model: Llama) -> None:
    """An id beyond the vocabulary makes llama_decode fail for real."""
    tokens = [*model.begin, *model.tokenize("God is", special=False)]
    before = go_on(model, tokens, 5)
    with pytest.raises(LlamaError, match="llama_decode returned -1"):
        model.feed([10**7])
    assert go_on(model, tokens, 5) == before


def test_a_model_that_computes_no_numbers(model: Llama, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = (ctypes.c_float * model._vocab_size)(*[float("nan")] * model._vocab_size)
    kind = ctypes.POINTER(ctypes.c_float)
    for pointer, says in ((ctypes.cast(broken, kind), "no numbers"), (kind(), "nothing has been")):
        monkeypatch.setattr(llama_cpp, "llama_get_logits_ith", lambda *_, given=pointer: given)
        with pytest.raises(LlamaError, match=says):
            best(model)


def test_text_is_never_lost_in_silence(model: Llama, monkeypatch: pytest.MonkeyPatch) -> None:
    """The C functions return a negative size where a buffer is too small."""
    monkeypatch.setattr(llama_cpp, "llama_tokenize", lambda *_: -99)
    with pytest.raises(LlamaError, match="99 tokens in 5 bytes"):
        model.tokenize("Amen.", special=False)
    monkeypatch.setattr(llama_cpp, "llama_token_to_piece", lambda *_: -999)
    with pytest.raises(LlamaError, match="token 7 has a text of 999 bytes"):
        model.piece(7)


def test_a_file_that_does_not_load_is_explained(gguf: Path, tmp_path: Path) -> None:
    half = tmp_path / "half.gguf"
    half.write_bytes(gguf.read_bytes()[: gguf.stat().st_size // 2])
    with pytest.raises(LlamaError, match=r"corrupted or incomplete"):
        layers(half)
    with pytest.raises(LlamaError, match=r"corrupted or incomplete"):
        start(half)


def test_a_context_that_cannot_be_made(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    freed = watch(monkeypatch, "llama_model_free")
    monkeypatch.setattr(llama_cpp, "llama_init_from_model", lambda *_: None)
    with pytest.raises(LlamaError):
        start(gguf)
    assert len(freed) == 1


@pytest.mark.slow
def test_a_model_that_makes_no_text(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedding model has no memory of tokens, and the C functions do not check for that."""
    gc.collect()  # what earlier tests have left
    freed = watch(monkeypatch, "llama_free")
    monkeypatch.setattr(llama_cpp, "llama_get_memory", lambda *_: None)
    with pytest.raises(LlamaError, match="vectors, not text"):
        start(gguf)
    gc.collect()
    assert len(freed) == 1


def test_the_library_speaks_through_our_log_only(
    gguf: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with structlog.testing.capture_logs() as logs:
        start(gguf)
    assert capfd.readouterr() == ("", "")
    assert {entry["log_level"] for entry in logs} == {"debug"}
    assert any("gemma3" in entry["line"] for entry in logs)


def test_the_kernels_are_those_that_it_was_compiled_for() -> None:
    found = kernels()
    assert found, "llama.cpp says what it was compiled for"
    assert all(name and " " not in name for name in found)
    if platform.machine() == "x86_64":
        assert found.get("AVX2") == "1"


@pytest.mark.slow
def test_amx_kernels_are_left_alone_in_a_library_that_has_them(
    gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = []
    real = llama_cpp.llama_model_load_from_file

    def watched(path: bytes, settings: Any) -> Any:
        used.append(bool(settings.use_extra_bufts))
        return real(path, settings)

    monkeypatch.setattr(llama_cpp, "llama_model_load_from_file", watched)
    monkeypatch.setattr(llama, "kernels", lambda: {"AVX2": "1"})
    plain = go_on(start(gguf), [1, 2], 3)
    monkeypatch.setattr(llama, "kernels", lambda: {"AVX2": "1", "AMX_INT8": "1"})
    assert [token for token, _ in go_on(start(gguf), [1, 2], 3)] == [token for token, _ in plain]
    assert used == [True, False]


@pytest.mark.parametrize(("shell", "cwd"), [("sh", ROOT), ("bash", "/"), ("sh", "/")])
def test_the_build_takes_the_library_only(shell: str, cwd: str | Path) -> None:
    """A shell in another folder that cannot find the script's folder compiles a little more.

    No AMX kernels: those that GCC 12 compiles crash.
    """
    needs_program(shell)
    build = ROOT / "scripts/llama_build.sh"
    printed = subprocess.run(
        [shell, "-euc", f'. {shlex.quote(str(build))}; printf "%s " "$CXXFLAGS" "$CMAKE_ARGS"'],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "CMAKE_ARGS": "-DGGML_CUDA=on"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert printed.pop(0) == "-U__AMX_INT8__"
    hook = ROOT / "scripts/llama_build.cmake"
    assert printed[-2:] == ["-DLLAVA_BUILD=OFF", "-DGGML_CUDA=on"]
    is_known = (shell, cwd) != ("sh", "/") and " " not in str(ROOT)
    assert printed[:-2] == [f"-DCMAKE_PROJECT_llama.cpp_INCLUDE={hook}"] * is_known
    assert hook.is_file()


@pytest.mark.slow
def test_a_library_without_kernels_for_this_cpu_is_told(gguf: Path, tmp_path: Path) -> None:
    """Use our wheel's libraries without the kernels, as on a CPU that none of them fits."""
    wheels = list((ROOT / "wheels").glob(f"*_{platform.machine()}.whl"))
    if not wheels:
        pytest.skip("there is no wheel for this machine")
    with zipfile.ZipFile(wheels[0]) as wheel:
        for name in wheel.namelist():
            if name.endswith(".so") and "ggml-cpu" not in name:
                wheel.extract(name, tmp_path)
    code = (
        "import sys, pathlib; from pipeline.engines.llama_cpp.gemma import Gemma;"
        "Gemma(pathlib.Path(sys.argv[1])).load()"
    )
    folder = tmp_path / "llama_cpp" / "lib"
    done = subprocess.run(
        [sys.executable, "-c", code, str(gguf)],
        env={**os.environ, "LLAMA_CPP_LIB_PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"{folder} has no kernels of llama.cpp for this CPU" in done.stderr
    assert "[no-kernels]" in done.stderr
