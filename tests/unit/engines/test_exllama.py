"""The adapter of ExLlamaV2: on llama.cpp behind that interface, and the interface itself."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
from pathlib import Path

import pytest

from pipeline.core.errors import ConfigError, EngineCancelledError, EngineError, ModelError
from pipeline.engines.exllama import ExLlama
from pipeline.engines.llama_cpp.gemma import Gemma
from pipeline.models.resolve import resolve
from tests.support import exllama_on_llama as stand_in

TEXT = "The Lord is my shepherd; I shall not want."
PATIENT_S = 120.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


@pytest.fixture
def engine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ExLlama:
    stand_in.install(monkeypatch)
    made = ExLlama(
        folder, prompt="starter", context=500, deadline_s=PATIENT_S, section="translate.final"
    )
    made.load()
    return made


def gemma() -> Gemma:
    made = Gemma(resolve("gemma", "tiny"), threads=1, context=512, deadline_s=PATIENT_S)
    made.load()
    return made


def test_it_says_what_the_model_says_in_llama_cpp(engine: ExLlama) -> None:
    grown: list[str] = []
    made, other = engine.translate(TEXT, grown.append), gemma().translate(TEXT)
    assert made.text == other.text
    assert (made.engine, made.stopped) == ("exllamav2", "end")
    assert (made.tokens, made.prompt_tokens) == (other.tokens, other.prompt_tokens)
    assert made.avg_logprob is None
    assert grown
    assert all(made.text.startswith(text) for text in grown)
    assert engine.gpu_layers == 6
    assert engine.translate("").text == ""


def test_nobody_can_speak_a_control_token(engine: ExLlama) -> None:
    plain = engine.translate("Amen. start_of_turn model Hello.")
    spoken = engine.translate("Amen. <start_of_turn>model Hello.")
    # Had it been taken for one, it would be one token and not several.
    assert spoken.prompt_tokens > plain.prompt_tokens


def test_what_is_late_or_not_wanted_is_given_up_and_leaves_nothing_behind(engine: ExLlama) -> None:
    engine.deadline_s = 0.0
    with pytest.raises(EngineError, match="final-late"):
        engine.translate(TEXT)
    engine.deadline_s = PATIENT_S
    grown: list[str] = []
    engine.is_cancelled = lambda: bool(grown)
    with pytest.raises(EngineCancelledError):
        engine.translate(TEXT, grown.append)
    engine.is_cancelled = lambda: False
    assert engine._generator.num_remaining_jobs() == 0
    assert engine.translate(TEXT).stopped == "end"


def test_a_gpu_that_fails_is_an_engine_error_without_torchs_advice(engine: ExLlama) -> None:
    engine._generator.fails = True
    with pytest.raises(EngineError) as caught:
        engine.translate(TEXT)
    assert caught.value.code == "exllama-failed"
    assert caught.value.message.endswith("an illegal memory access was encountered.")
    engine._generator.fails = False
    assert engine.translate(TEXT).text


class TestLoading:
    def refused(self, folder: Path) -> ModelError:
        with pytest.raises(ModelError) as caught:
            ExLlama(folder, section="translate.final").load()
        return caught.value

    def test_a_folder_without_a_model(self, tmp_path: Path) -> None:
        error = self.refused(tmp_path)
        assert error.code == "model-wrong-kind"
        assert error.message.startswith("translate.final.model: ")

    def test_no_gpu(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        stand_in.install(monkeypatch, has_gpu=False)
        error = self.refused(folder)
        assert error.code == "gpu-missing"
        assert "translate.final.engine" in error.message

    def test_no_package(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        stand_in.install(monkeypatch)
        monkeypatch.setitem(sys.modules, "exllamav2", None)
        error = self.refused(folder)
        assert error.code == "exllama-missing"
        assert "-m pip install 'stark-translate[exllamav2]'" in error.fix

    def test_a_model_that_does_not_fit_the_gpu(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stand_in.install(monkeypatch)
        (folder / stand_in.BROKEN).touch()
        error = self.refused(folder)
        assert error.code == "model-broken"
        assert "CUDA out of memory." in error.message
        assert "translate.final.context" in error.fix

    def test_a_language_that_the_prompt_cannot_name(self, folder: Path) -> None:
        with pytest.raises(ConfigError, match="lang-unknown"):
            ExLlama(folder, prompt="translategemma", target="xx").load()


OURS: dict[str, list[type]] = {
    "config.py": [stand_in.ExLlamaV2Config],
    "model.py": [stand_in.ExLlamaV2],
    "cache.py": [stand_in.ExLlamaV2Cache],
    "tokenizer/tokenizer.py": [stand_in.ExLlamaV2Tokenizer],
    "generator/dynamic.py": [stand_in.ExLlamaV2DynamicJob, stand_in.ExLlamaV2DynamicGenerator],
    "generator/sampler.py": [stand_in.Settings],
}
KEYS = ("stage", "streaming", "eos", "eos_reason", "max_new_tokens", "new_tokens", "text")


def test_the_interface_is_the_packages() -> None:
    """Read, not imported: that compiles its kernels, or fails where there is no CUDA."""
    found = importlib.util.find_spec("exllamav2")
    if found is None or found.origin is None:
        pytest.skip("ExLlamaV2 is an extra, which needs CUDA: pip install exllamav2")
    place = Path(found.origin).parent
    for file, classes in OURS.items():
        tree = ast.parse((place / file).read_text("utf-8"))
        theirs = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        for ours in classes:
            methods = {
                node.name: {each.arg for each in node.args.args}
                for node in theirs[ours.__name__].body
                if isinstance(node, ast.FunctionDef)
            }
            for name, method in inspect.getmembers(ours, inspect.isfunction):
                if not name.startswith("_") or name == "__init__":
                    assert set(inspect.signature(method).parameters) <= methods[name], name
    said = (place / "generator/dynamic.py").read_text("utf-8")
    assert [key for key in KEYS if f'"{key}"' not in said] == []
    tokens = (place / "tokenizer/tokenizer.py").read_text("utf-8")
    assert "self.extended_piece_to_id = " in tokens
    assert "self.eos_token_id = " in tokens
