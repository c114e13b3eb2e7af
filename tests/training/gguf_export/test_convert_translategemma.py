"""A tiny Gemma 3 whose LoRA adapter alone can answer, from peft's folder to quantized files."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from pipeline.core.errors import ModelError
from tests.support.needs import needs_file, needs_train_extra
from tests.support.paths import ROOT

needs_train_extra()

import gguf  # noqa: E402
import peft  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from tests.support.tiny_gemma import ANSWER, base_model, taught, write_tokenizer  # noqa: E402
from training.gguf_export import convert_translategemma as program  # noqa: E402
from training.gguf_export import converting, merging  # noqa: E402

pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),  # peft's own
]

LLAMA_CPP = ROOT / ".venv" / "llama.cpp"


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Capture llama.cpp's log: it goes to structlog, which the program itself sets up."""
    with structlog.testing.capture_logs():
        yield


@pytest.fixture(scope="module", params=["text", "pictures"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `base` and `adapter`."""
    folder = tmp_path_factory.mktemp(request.param)
    model = base_model(request.param == "pictures")
    # Large enough for logits to tell tokens apart: the embeddings are also the head.
    torch.nn.init.normal_(model.get_input_embeddings().weight, std=0.3)
    model.to(torch.bfloat16).save_pretrained(folder / "base")
    processor = write_tokenizer(folder / "base")
    # The pattern uses names that the text part alone lacks. Only that model is converted.
    arguments: tuple[str | list[str], int] = (["q_proj", "down_proj"], 5)
    if request.param == "pictures":
        arguments = (r".*language_model.*_proj", 80)
    taught(model.float(), processor, *arguments).save_pretrained(folder / "adapter")
    return folder


def run(trained: Path, *more: str) -> int:
    base = ["--base", str(trained / "base"), "--out", str(trained / "made"), "--name", "tiny"]
    return program.main([*base, "--threads", "1", "--llama-cpp", str(LLAMA_CPP), *more])


def failing_checkout(folder: Path) -> Path:
    """Return a llama.cpp checkout whose converter knows no model."""
    llama_cpp = folder / "llama.cpp"
    (llama_cpp / "gguf-py" / "gguf").mkdir(parents=True)
    (llama_cpp / converting.SCRIPT).write_text("raise SystemExit('no such model')\n")
    return llama_cpp


def words_of(capsys: pytest.CaptureFixture[str]) -> str:
    printed = capsys.readouterr()
    return " ".join((printed.out + printed.err).split())


@pytest.mark.parametrize("trained", ["pictures"], indirect=True)
def test_the_adapter_speaks_out_of_the_quantized_files(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_file(LLAMA_CPP / converting.SCRIPT)
    adapter = ("--adapter", str(trained / "adapter"))
    assert run(trained, *adapter, "--levels", "Q8_0,Q4_0") == 0
    printed = words_of(capsys)
    assert re.search(r"F16: logits 0\.\d\d% of their spread apart", printed)
    for level in ("Q8_0", "Q4_0"):
        assert f"tiny-{level}.gguf: 0.00 GB, checked: '{ANSWER}'" in printed
    made = trained / "made"
    assert {path.name for path in made.iterdir()} == {
        "merged", "made_from.json", "tiny-F16.gguf", "tiny-F16.log", "tiny-Q8_0.gguf",
        "tiny-Q4_0.gguf",
    }  # fmt: skip

    # Existing files are kept and checked again; additional levels are made from them.
    times = {path: path.stat().st_mtime_ns for path in made.glob("*.gguf")}
    shutil.rmtree(made / "merged")
    assert run(trained, *adapter, "--levels", "Q8_0,Q4_0,Q5_K_M") == 0
    assert "merging" not in words_of(capsys)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert (made / "tiny-Q5_K_M.gguf").is_file()

    # A file that treats a control token as text does not fit its tokenizer.
    unfit = shutil.copyfile(made / "tiny-F16.gguf", trained / "unfit.gguf")
    kinds = gguf.GGUFReader(unfit, "r+").fields["tokenizer.ggml.token_type"]
    kinds.parts[kinds.data[4]][0] = gguf.TokenType.USER_DEFINED
    with pytest.raises(ModelError, match="whoever says <end_of_turn>") as caught:
        program.check(unfit, trained / "base", "en", "es", 1)
    assert caught.value.code == "check-tokens"

    # A model that cannot answer is refused; this one's output norm is zero.
    mute = shutil.copyfile(made / "tiny-F16.gguf", trained / "mute.gguf")
    (norm,) = (t for t in gguf.GGUFReader(mute, "r+").tensors if t.name == "output_norm.weight")
    norm.data[:] = 0
    with pytest.raises(ModelError) as caught:
        program.check(mute, trained / "base", "en", "es", 1)
    assert caught.value.code == "check-answer"

    # Without the adapter it is another model: no earlier file is left.
    failing = failing_checkout(trained)
    assert run(trained, "--levels", "Q8_0", "--llama-cpp", str(failing)) == 1
    printed = words_of(capsys)
    assert "starting anew" in printed
    assert "[convert-failed]" in printed
    assert not list(made.glob("*.gguf"))


def test_the_merged_model_computes_what_the_adapted_one_does(trained: Path) -> None:
    merging.merge(trained / "base", trained / "adapter", trained / "merged")
    merged = transformers.Gemma3ForCausalLM.from_pretrained(
        trained / "merged", dtype=torch.float32, local_files_only=True
    )
    names = json.loads((trained / "base" / "config.json").read_text())["architectures"]
    base = getattr(transformers, names[0]).from_pretrained(trained / "base", dtype=torch.float32)
    adapted = peft.PeftModel.from_pretrained(base, trained / "adapter").eval()
    ids = torch.arange(6, 70)[None]
    with torch.no_grad():
        ours, theirs = merged.eval()(ids).logits, adapted(input_ids=ids).logits
    apart = (ours - theirs).square().mean(-1).sqrt() / theirs.std()
    # A model trained this hard changes its answer at a position or two when weights are rounded.
    assert apart.quantile(0.9) < 5e-3
    shutil.rmtree(trained / "merged")


def copied(trained: Path, target: Path) -> Path:
    for name in ("base", "adapter"):
        shutil.copytree(trained / name, target / name)
    return target


@pytest.mark.parametrize("trained", ["pictures"], indirect=True)
def test_an_adapter_of_another_model_is_refused(trained: Path, tmp_path: Path) -> None:
    folder = copied(trained, tmp_path)
    file = folder / "adapter" / "adapter_model.safetensors"
    whole = load_file(file)

    def code() -> str:
        with pytest.raises(ModelError, match="adapter") as caught:
            merging.merge(folder / "base", folder / "adapter", folder / "merged")
        return caught.value.code

    save_file({name.replace("layers.1.", "layers.7."): t for name, t in whole.items()}, file)
    assert code() == "adapter-misfit"
    save_file({name: torch.cat([t, t]) for name, t in whole.items()}, file)
    assert code() == "adapter-misfit"
    save_file({"base_model.model.x": torch.zeros(1)}, file)
    assert code() == "adapter-misfit"
    file.write_bytes(b"half")
    assert code() == "adapter-broken"
    shutil.rmtree(folder / "adapter")
    assert code() == "model-incomplete"
    assert not (folder / "merged").exists()


@pytest.mark.parametrize("trained", ["pictures"], indirect=True)
def test_what_is_missing_is_said_before_any_work(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied(trained, tmp_path)
    base, config = folder / "base", folder / "base" / "config.json"

    def refused(*more: str) -> str:
        arguments = ["--base", str(base), "--out", str(folder / "made"), *more]
        assert program.main(arguments) != 0
        assert not (folder / "made").exists()
        return words_of(capsys)

    assert "no llama.cpp checkout: it lacks" in refused("--llama-cpp", str(tmp_path))
    llama_cpp = failing_checkout(tmp_path)
    checkout = ("--llama-cpp", str(llama_cpp))
    assert "there is no Q3" in refused(*checkout, "--levels", "Q3")
    assert "'xx'" in refused(*checkout, "--target", "xx")
    (base / "tokenizer.model").rename(base / "tokenizer.away")
    assert "lacks tokenizer.model" in refused(*checkout)
    (base / "tokenizer.away").rename(base / "tokenizer.model")
    content = config.read_text()
    config.write_text(re.sub("Gemma3For", "LlamaFor", content))
    assert "the architecture LlamaFor" in refused(*checkout)
    config.write_text(content)
    with pytest.raises(ModelError, match=r"no such model.*tiny\.log"):
        converting.convert(base, folder / "tiny.gguf", llama_cpp, 1, lambda _: None)
    shutil.rmtree(base)
    assert "hf download" in refused(*checkout)


@pytest.mark.parametrize("trained", ["pictures"], indirect=True)
def test_results_of_unknown_origin_are_left_alone(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_file(LLAMA_CPP / converting.SCRIPT)
    mine = tmp_path / "tiny-Q8_0.gguf"
    mine.write_bytes(b"mine")
    assert run(trained, "--out", str(tmp_path)) == 2
    assert "[out-unknown]" in words_of(capsys)
    assert mine.read_bytes() == b"mine"


def test_a_model_that_the_converter_misunderstands_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_file(LLAMA_CPP / converting.SCRIPT)
    # The converter assumes that every sixth layer is global.
    kinds = ["full_attention", "sliding_attention"] * 3
    base_model(sees_pictures=False, layer_types=kinds).save_pretrained(tmp_path / "base")
    write_tokenizer(tmp_path / "base")
    assert run(tmp_path) == 1
    assert "[export-differs]" in words_of(capsys)
    assert not list((tmp_path / "made").glob("*.gguf*"))
