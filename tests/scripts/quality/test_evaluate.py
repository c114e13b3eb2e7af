"""The quality gate as a whole: real engines, exit codes, what is written and read again."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.config.schema import Settings
from pipeline.core.errors import EngineError
from pipeline.core.types import Translation
from pipeline.engines.protocols import never
from pipeline.evaluation.paired_bootstrap import LIMITS
from pipeline.evaluation.sentences import Sentence, read
from scripts.quality import evaluate as evaluate_quality
from scripts.quality import sides
from scripts.quality.evaluate import few
from scripts.quality.sides import stress
from tests.support.programs import put_program

SENTENCES = read()
FEW = ["--few", "4"]


@dataclass
class Scripted:
    """A translator that answers each sentence with `says`, and leaks `leak_mb` each time."""

    says: Callable[[Sentence], str]
    leak_mb: int = 0
    name: str = "scripted"
    degraded_reason: str = ""
    deadline_s: float = 8.0
    kept: list[mmap.mmap] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.is_cancelled = never

    def load(self) -> None: ...

    def translate(self, text: str, *_: object) -> Translation:
        if self.leak_mb:
            # The process must grow: mmap never reuses memory that the process has freed.
            leaked = mmap.mmap(-1, self.leak_mb * 1_000_000)
            leaked.write(b"x" * len(leaked))
            self.kept.append(leaked)
        answer = self.says(next(s for s in SENTENCES if s.source == text))
        if answer == "fail":
            raise EngineError("scripted", "Told to fail.")
        return Translation(answer, self.name, tokens=len(answer.split()))


@pytest.fixture
def any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow a busy machine to take long."""
    monkeypatch.setattr(sides, "SLOWER", 1000.0)


def save(path: Path, translator: Scripted, *, repeated: int = 0) -> sides.Side:
    """Measure a scripted side and write it as --json does."""
    answers = tuple(sides.ask(translator, [*SENTENCES, *SENTENCES[:repeated]]))
    side = sides.Side(
        label=path.stem,
        engine=translator.name,
        settings=Settings().translate.model_dump(),
        setback="",
        answers=answers[: len(SENTENCES)],
        repeated=answers[len(SENTENCES) :],
    )
    path.write_bytes(orjson.dumps({"sides": {"a": side}}))
    return side


def without_not(sentence: Sentence) -> str:
    """Return the reference without its negations."""
    lost = {"no", "nunca", "ni", "nadie", "tampoco"}
    kept = [w for w in sentence.target.split() if w.lower().strip("¿¡,.;:") not in lost]
    return " ".join(kept[: -len(kept) // 4])


def run(*arguments: str | Path) -> int:
    return evaluate_quality.main([str(argument) for argument in arguments])


@pytest.mark.slow
def test_the_real_engines_are_compared_and_kept(
    tmp_path: Path, any_time: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Compare Marian with Gemma; then Gemma of that run with a new measurement of Gemma."""
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    code = run("--a", "marian", "--b", "gemma", "--stress", *FEW, "--json", first)
    result: dict[str, Any] = orjson.loads(first.read_bytes())
    assert code == evaluate_quality.EXITS[result["verdict"]]
    assert result["sentences"] == 8
    found = result["sides"]
    assert (found["a"]["engine"], found["b"]["engine"]) == ("marian", "gemma")
    assert found["a"]["settings"]["final"]["engine"] == "marian"
    assert 20 < result["scores"]["all"]["b"]["chrF++"] < 100
    assert set(result["scores"]) == {"all", "general", "theological"}
    for side in found.values():
        assert [a["source"] for a in side["answers"]] == [s.source for s in few(SENTENCES, 4)]
        assert all(a["text"] and a["tokens"] and a["ms"] > 0 for a in side["answers"])
    assert result["stress"]["b"]["memory_end_mb"] > 0
    out = capsys.readouterr().out
    assert "B against A" in out
    assert "16 sentences in a row" in out

    assert run("--a", first, "--b", "gemma", *FEW, "--json", second) == 0
    again = orjson.loads(second.read_bytes())
    assert again["verdict"] == "same"
    assert {d["difference"] for d in again["differences"].values()} == {0}
    assert "(earlier)" in capsys.readouterr().out


@pytest.mark.slow
def test_one_side_alone_is_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--a", "marian", "--few", "1", "--json", tmp_path / "one.json") == 0
    out = capsys.readouterr().out
    assert "2 sentences" in out
    assert "B against A" not in out
    assert orjson.loads((tmp_path / "one.json").read_bytes())["verdict"] is None


@pytest.mark.slow
def test_settings_of_one_side_and_of_both(tmp_path: Path) -> None:
    common = ["--set", "translate.final.context=1024", "translate.final.deadline_s=60"]
    both = ["--a", "marian", "--b", "marian", "translate.final.context=512"]
    assert run(*both, *common, "--few", "1", "--json", tmp_path / "r.json") == 0
    measured = orjson.loads((tmp_path / "r.json").read_bytes())["sides"]
    found = [(s["settings"]["final"]["context"], s["settings"]["final"]["deadline_s"])
             for s in (measured["a"], measured["b"])]  # fmt: skip
    assert found == [(1024, 60), (512, 60)]


@pytest.mark.slow
def test_a_broken_side_is_worse_and_the_gate_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path / "good.json", Scripted(lambda s: s.target))
    save(tmp_path / "broken.json", Scripted(without_not))
    assert run("--a", tmp_path / "good.json", "--b", tmp_path / "broken.json") == 1
    out = capsys.readouterr().out
    assert "B against A: worse" in out
    assert "B lacks" in out
    assert run("--a", tmp_path / "broken.json", "--b", tmp_path / "good.json") == 0
    assert "B against A: better" in capsys.readouterr().out


@pytest.mark.slow
def test_a_loss_that_may_be_chance_has_an_exit_code_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_lost(sentence: Sentence) -> str:
        return "" if sentence is SENTENCES[47] else sentence.target

    save(tmp_path / "a.json", Scripted(lambda s: s.target))
    save(tmp_path / "b.json", Scripted(one_lost))
    both: list[str | Path] = ["--a", tmp_path / "a.json", "--b", tmp_path / "b.json"]
    assert run(*both) == 0
    monkeypatch.setitem(LIMITS, "BLEU", 0.5)
    assert run(*both) == 3


@pytest.mark.slow
def test_sentences_that_failed_count_as_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = save(tmp_path / "b.json", Scripted(lambda s: "fail" if "?" in s.source else s.target))
    assert failing.lost == sum("?" in s.source for s in SENTENCES) > 5
    late = "translate.final.deadline_s=0.001"
    assert run("--a", "gemma", late, "--few", "1") == 0
    captured = capsys.readouterr()
    assert "2 sentences failed, the first with: No translation within 0.001 s" in captured.err
    assert "without a translation" in captured.out


@pytest.mark.slow
def test_growing_memory_fails_the_stress_run(
    tmp_path: Path, any_time: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaking = save(tmp_path / "b.json", Scripted(lambda s: s.target, leak_mb=4), repeated=10)
    held = stress(leaking)
    assert held is not None
    assert held.grown_mb > 150
    steady = save(tmp_path / "a.json", Scripted(lambda s: s.target), repeated=10)
    assert run("--a", tmp_path / "b.json", "--stress") == 1
    assert run("--a", tmp_path / "a.json", "--stress") == 0
    monkeypatch.setattr(sides, "GROWN_MB", 2000.0)
    assert run("--a", tmp_path / "b.json", "--stress") == 0
    assert run("--a", tmp_path / "b.json") == 0  # not asked for
    assert stress(steady) is not None


@pytest.mark.slow
def test_growing_memory_of_a_gpu_fails_the_stress_run(
    tmp_path: Path,
    any_time: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A fake nvidia-smi reports 10 MiB more for this process at each call."""
    count = tmp_path / "count"
    count.write_text("1000\n")
    more = f"m=$(cat {count}); echo $((m + 10)) > {count}; echo {os.getpid()}, GPU-a, $m"
    script = f'case "$1" in *compute-apps*) {more};; *) echo GPU-a, 50;; esac'
    put_program(tmp_path, script, monkeypatch)
    held = stress(save(tmp_path / "a.json", Scripted(lambda s: s.target), repeated=10))
    assert held is not None
    assert held.gpu_grown_mb == pytest.approx(100 * 10 * 1.048576, abs=0.2)
    assert run("--a", tmp_path / "a.json", "--stress") == 1
    assert "the GPU's memory in use grew by 1048.6 MB" in capsys.readouterr().out.replace("\n", " ")


def without_atonement(sentence: Sentence) -> str:
    """Return the reference; a theological one at every third index loses its required terms."""
    if sentence.kind != "theological" or SENTENCES.index(sentence) % 3:
        return sentence.target
    lost = {word.rstrip("*").lower() for term in sentence.terms for word in term.split("|")}
    kept = [w for w in sentence.target.split() if not any(each in w.lower() for each in lost)]
    return " ".join(kept)


@pytest.mark.slow
def test_terms_decide_on_the_theological_half_and_four_bits_get_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path / "a.json", Scripted(lambda s: s.target))
    save(tmp_path / "b.json", Scripted(without_atonement))
    content = orjson.loads((tmp_path / "b.json").read_bytes())
    content["sides"]["a"]["settings"]["final"]["model"] = "translategemma-4b-q4_k_m"
    (tmp_path / "b.json").write_bytes(orjson.dumps(content))
    both: list[str | Path] = ["--a", tmp_path / "a.json", "--b", tmp_path / "b.json"]
    for measure in ("BLEU", "chrF++"):
        monkeypatch.setitem(LIMITS, measure, 100.0)
    assert run(*both, "--json", tmp_path / "r.json") == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "terms, %, theological" in out
    assert "translategemma-4b-q5_k_m" in out
    result = orjson.loads((tmp_path / "r.json").read_bytes())
    terms = result["differences"]["terms, %"]
    of_theology = result["scores"]["theological"]
    assert terms["b"] == of_theology["b"]["terms, %"] < result["scores"]["all"]["b"]["terms, %"]
    assert "q5_k_m" in result["advice"]
    assert run("--a", tmp_path / "a.json", "--b", tmp_path / "a.json") == 0
    assert "Four bits" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--a", "gemini"], "'gemini' is no side. Write KEY=VALUE, marian, gemma"),
        (["--a", "translate.final.engin=gemma"], "Did you mean translate.final.engine?"),
        (["--a", "translate.final.model=/nowhere.gguf"], "/nowhere.gguf"),
        (["--a", "missing.json"], "missing.json: No such file"),
        (["--a", "missing.json", "marian"], "a .json file is a whole side"),
        (["--sentences", "missing.toml"], "missing.toml cannot be read: No such file"),
        (["--a", "gemma", "translate.target=fr"], "translate.source and target ask for en-fr"),
        (["--a", "gemma", "translate.target=xx"], "No sentences from en to xx ship"),
    ],
)
def test_what_cannot_be_measured_is_named_and_exits_with_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    assert says in capsys.readouterr().err.replace("\n", " ")


def test_runs_on_other_sentences_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "old.json"
    save(path, Scripted(lambda s: s.target))
    content = orjson.loads(path.read_bytes())
    del content["sides"]["a"]["answers"][3]
    path.write_bytes(orjson.dumps(content))
    assert run("--a", path) == 2
    assert "sentences-differ" in capsys.readouterr().err
    path.write_bytes(b'{"sides": {"a": {"label": "x"}}}')
    assert run("--a", path) == 2
    assert "run-unreadable" in capsys.readouterr().err


def test_an_earlier_run_in_another_language_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path / "spanish.json", Scripted(lambda s: s.target))
    assert run("--set", "translate.target=fr", "--a", tmp_path / "spanish.json") == 2
    assert "translates en-es, the sentences are en-fr" in capsys.readouterr().err


@pytest.mark.slow
def test_json_that_cannot_be_written_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path / "a.json", Scripted(lambda s: s.target))
    assert run("--a", tmp_path / "a.json", "--json", tmp_path / "no" / "x.json") == 2
    assert "x.json" in capsys.readouterr().err
