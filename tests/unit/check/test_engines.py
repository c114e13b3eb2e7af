"""The rehearsal with the starter models, intact and broken."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest

from pipeline.check.engines import EngineChecks, ask_to_hear, ask_to_translate, judge, place_of
from pipeline.check.result import Result, results
from pipeline.config.loader import load
from pipeline.core.errors import EngineError
from pipeline.core.resources import bundled
from pipeline.engines.remote.openai import OpenAi
from pipeline.engines.remote.openai_speech import OpenAiSpeech
from pipeline.engines.specification import EngineSpec
from pipeline.evaluation.reference import Golden, read_golden
from pipeline.models.resolve import resolve
from tests.support.model_servers import MODEL, Answer, free_port, says, scripted, serves
from tests.support.needs import needs_program
from tests.support.speech_servers import SPEECH_MODEL, hears

GOLDEN = Golden(np.zeros(32_000, np.float32), {"en": "soul"}, {"en": ("soul",), "es": ("alma",)})
PATIENT = {"translate.final.deadline_s": 120.0}


@cache
def golden() -> Golden:
    """Return the golden texts that ship."""
    return read_golden(bundled("demo", "golden.json"))


def told(only: str = "", flags: Mapping[str, Any] | None = None) -> dict[str, Result]:
    """Rehearse with the configured models; keep the checks with `only` in their name."""
    with EngineChecks(load(flags=PATIENT | dict(flags or {})).settings) as rehearsal:
        found = results([c for c in rehearsal.checks() if only in c.name])
        return {result.name: result for result in found}


@pytest.mark.slow
@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="has a GPU")
def test_a_gpu_that_is_not_there_is_yellow_and_the_recognizer_is_tried_on_the_cpu() -> None:
    found = told("stt", {"stt.device": "cuda"})
    result = found["model-stt"]
    assert (result.ok, result.code) == (True, "gpu-unavailable")
    assert result.fix.endswith('set stt.device = "cpu".')
    assert found["golden-stt"].ok


def test_a_voice_is_tried_in_each_language_and_one_that_cannot_be_had_is_yellow(
    tmp_path: Path,
) -> None:
    needs_program("espeak-ng")
    asked = {"speech.enabled": True, "translate.targets": [{"lang": "fr"}]}
    found = told("speech", asked | {"speech.engine": "espeak"})["speech"]
    assert found.ok
    assert found.message.startswith("espeak speaks Spanish and French")
    missing = told("speech", asked | {"models.directory": str(tmp_path)})["speech"]
    assert (missing.ok, missing.code) == (True, "model-not-pulled")
    assert "stark-translate models pull kokoro-82m-int8" in missing.fix


def test_a_pair_without_a_model_is_yellow_and_names_one() -> None:
    found = told("pair", {"translate.source": ["en", "pt"], "translate.target": "pt"})
    (result,) = found.values()
    assert (result.name, result.ok, result.code) == ("pair-pt-en", True, "pair-no-model")
    assert "needs a model for pt to en" in result.message
    assert result.fix.startswith("stark-translate models pull ")


@pytest.mark.slow
def test_the_starter_models_get_the_golden_sentence_right() -> None:
    found = told()
    assert list(found) == [
        *("model-stt", "golden-stt", "model-marian", "golden-marian"),
        *("model-gemma", "golden-gemma", "memory"),
    ]
    assert {name: result.message for name, result in found.items() if not result.ok} == {}
    assert {name for name, result in found.items() if result.code == "starter-model"} == {
        *("model-stt", "model-marian", "model-gemma")
    }
    assert "SHA-256" in found["model-gemma"].message
    assert "all evil" in found["golden-stt"].message
    assert "todo mal" in found["golden-marian"].message
    assert "Señor" in found["golden-gemma"].message
    assert "real-time factor" in found["golden-stt"].message


def test_a_further_language_that_run_would_end_with_is_red() -> None:
    """`check` once said "Ready" although `run` ended at the second language."""
    found = told("marian-de", {"translate.targets": [{"lang": "de"}]})
    assert list(found) == ["model-marian-de"], "its sentence is not tried"
    assert found["model-marian-de"].code in {"lang-unsupported", "model-missing"}
    assert "translate.targets, 'de'" in found["model-marian-de"].message


@pytest.mark.slow
@pytest.mark.usefixtures("own_final_model")
def test_every_language_is_tried_and_a_shared_model_is_loaded_once() -> None:
    flags = {"translate.targets": [{"lang": "fr"}], "translate.compare.engine": "gemma"}
    found = told("", flags)
    assert {name: result.message for name, result in found.items() if not result.ok} == {}
    assert {"golden-marian-fr", "golden-gemma-fr"} <= found.keys()
    assert "gardera de tout mal" in found["golden-marian-fr"].message
    assert list(found)[-2:] == ["memory", "compare"]
    assert "todo mal" in found["compare"].message
    gone = told("compare", {**flags, "translate.compare.model": "none.gguf"})["compare"]
    assert (gone.verdict, gone.code) == ("look", "model-missing")
    assert "A service goes on without it" in gone.fix


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("stt", "stt.model"),
        ("marian", "translate.partial.model"),
        ("gemma", "translate.final.model"),
    ],
)
def test_a_missing_model_is_red(name: str, key: str, tmp_path: Path) -> None:
    found = told(name, {key: str(tmp_path / "none")})
    assert list(found) == [f"model-{name}"], "its sentence is not tried"
    assert found[f"model-{name}"].code == "model-missing"
    assert key in found[f"model-{name}"].fix


@pytest.mark.slow
def test_a_model_that_loads_but_talks_nonsense_is_red_at_the_sentence(tmp_path: Path) -> None:
    mixed = tmp_path / "mixed"
    shutil.copytree(resolve("marian", "starter"), mixed)
    vocabulary = mixed / "shared_vocabulary.json"
    pieces = json.loads(vocabulary.read_text("utf-8"))
    vocabulary.write_text(json.dumps(pieces[:100] + pieces[:99:-1]), "utf-8")  # another model's
    found = told("marian", {"translate.partial.model": str(mixed)})
    assert found["model-marian"].ok
    assert found["golden-marian"].code == "golden-missed"
    assert "'mal'" in found["golden-marian"].message
    assert "translate.partial.model" in found["golden-marian"].fix


def test_a_pass_that_has_no_model_for_a_pair_is_not_said_to_lack_a_golden_sentence() -> None:
    rehearsal = EngineChecks(load().settings)
    assert rehearsal._translate("marian-en", "en", "es").message == "Not asked for."


def test_only_the_engines_that_are_asked_for_are_rehearsed() -> None:
    only_marian = load(flags={"translate.final.engine": "marian"}).settings
    only_gemma = load(flags={"translate.partial.engine": "none"}).settings
    assert [check.name for check in EngineChecks(only_marian).checks()] == [
        *("model-stt", "golden-stt", "model-marian", "golden-marian", "memory")
    ]
    assert [check.name for check in EngineChecks(only_gemma).checks()] == [
        *("model-stt", "golden-stt", "model-gemma", "golden-gemma", "memory")
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("own_final_model")
class TestServers:
    """A final translator on a server: is it there, does it have the model, does it translate?"""

    def found(self, *turns: Answer, models: Answer | None = None) -> dict[str, Result]:
        with scripted(*turns, models=models) as server:
            flags = {"translate.final.engine": "openai", "translate.final.url": server.url}
            return told("server", flags)

    def test_one_that_translates_is_green(self) -> None:
        must = " ".join(word.partition("|")[0] for word in golden().must["es"])
        found = self.found(says(f" {must}."))
        assert list(found) == ["server-final", "golden-server-final"]
        assert all(result.ok for result in found.values())
        assert "serves starter" in found["server-final"].message

    def test_one_with_another_model_is_red_and_names_both(self) -> None:
        found = self.found(models=serves("llama-3"))
        assert not found["server-final"].ok
        assert found["server-final"].code == "server-other-model"
        assert "does not serve 'starter': llama-3" in found["server-final"].message


@pytest.mark.slow
class TestRecognizerOnAServer:
    """Is it there, does it have the model, does it hear? The local stand-in is checked too."""

    FLAGS = MappingProxyType(
        {"stt.engine": "openai", "stt.server_model": SPEECH_MODEL, "stt.deadline_s": 60.0}
    )

    def found(self, url: str) -> dict[str, Result]:
        return told("server-stt", {**self.FLAGS, "stt.url": url})

    def test_one_that_hears_is_green_and_says_that_sound_goes_there(self) -> None:
        text = golden().text["en"]
        with scripted(hears(text), models=serves(SPEECH_MODEL)) as server:
            found = self.found(server.url)
        assert list(found) == ["server-stt", "golden-server-stt"]
        assert found["server-stt"].ok
        assert found["golden-server-stt"].ok
        assert "s of speech" in found["golden-server-stt"].message
        assert found["server-stt"].message.endswith("All that is spoken is sent there, as sound.")

    def test_one_that_hears_wrong_is_red_at_the_sentence(self) -> None:
        with scripted(hears("Buy now."), models=serves(SPEECH_MODEL)) as server:
            found = self.found(server.url)
        assert found["server-stt"].ok
        assert found["golden-server-stt"].code == "golden-missed"
        assert "which model the server has" in found["golden-server-stt"].fix

    def test_one_with_another_model_or_none_at_all_is_red_with_a_fix(self) -> None:
        with scripted(models=serves("llama-3")) as server:
            other = self.found(server.url)["server-stt"]
        assert (other.ok, other.code) == (False, "server-other-model")
        assert "stt.server_model" in other.fix
        gone = self.found(f"http://127.0.0.1:{free_port()}/v1")["server-stt"]
        assert (gone.ok, gone.code) == (False, "server-gone")
        assert "stt.server" in gone.fix

    def test_the_recognizer_here_is_checked_without_the_server(self) -> None:
        flags = {**self.FLAGS, "stt.url": "http://127.0.0.1:1/v1"}
        assert told("stt", flags)["golden-stt"].ok


@pytest.mark.usefixtures("own_final_model")
def test_a_server_of_several_languages_is_asked_once_and_tried_in_each() -> None:
    with scripted(says(" Le Seigneur te gardera de tout mal.")) as server:
        flags = {
            "translate.targets": [
                {"lang": "fr", "final": {"engine": "openai", "url": server.url}},
                {"lang": "de", "final": {"engine": "openai", "url": server.url}},
                {"lang": "it", "final": {"engine": "openai", "url": f"{server.url}/other"}},
            ]
        }
        found = told("server", flags)
        asked = len(server.asked)
    assert list(found) == [
        *("server-final-fr", "golden-server-final-fr", "golden-server-final-de"),
        *("server-final-it", "golden-server-final-it"),
    ]
    assert asked == 3
    assert found["golden-server-final-fr"].ok
    assert "Seigneur" in found["golden-server-final-fr"].message


@pytest.mark.slow
def test_a_language_without_a_golden_sentence_is_not_judged() -> None:
    other = str(resolve("marian", "starter"))  # a path names no languages
    found = told("marian", {"translate.source": "de", "translate.partial.model": other})
    assert found["golden-marian"].verdict == "look", "what nobody has tried is not green"
    assert "'de'" in found["golden-marian"].message


def test_too_little_memory_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    little = SimpleNamespace(available=200_000_000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: little)
    found = told("memory")
    assert found["memory"].code == "memory-short"
    assert "0.20 GB was free" in found["memory"].message
    assert found["memory"].fix


@pytest.mark.parametrize(
    ("name", "took_s", "code"),
    [
        ("stt", 0.9, ""),
        ("stt", 1.5, "engine-slow"),
        ("gemma", 1.9, ""),
        ("gemma", 5.0, "engine-slow"),
    ],
)
def test_how_long_it_may_take(name: str, took_s: float, code: str) -> None:
    passed = judge(GOLDEN, name, "A soul.", "en", took_s)
    assert passed.code == code
    assert bool(passed.advice) == bool(code)
    assert f"factor {took_s / 2:.2f}" in passed.message


def test_what_takes_longer_than_the_speech_is_red() -> None:
    with pytest.raises(EngineError) as caught:
        judge(GOLDEN, "stt", "A soul.", "en", 2.1)
    assert caught.value.code == "engine-slow"
    assert "threads" in caught.value.fix


@pytest.mark.parametrize(("text", "lang"), [("", "en"), ("  ", "fr"), ("A sole.", "en")])
def test_a_wrong_or_empty_text_is_red_however_quick(text: str, lang: str) -> None:
    with pytest.raises(EngineError) as caught:
        judge(GOLDEN, "stt", text, lang, 0.0)
    assert caught.value.code == "golden-missed"


def test_a_language_without_a_golden_text_is_yellow_and_the_wrong_language_is_red() -> None:
    """Spanish once passed as German: no word was required, so none was missing."""
    passed = judge(golden(), "gemma", "Er gab sein Leben am Kreuz für unsere Sünden.", "de", 0.1)
    assert passed.code == "golden-unjudged"
    assert passed.advice
    for text, lang, message in (
        ("El Señor te guardará de todo mal.", "de", "is no German: Spanish"),
        ("The Lord will keep you from all evil.", "de", "is no German: English"),
        ("El Señor te guardará de todo mal.", "fr", "lacks 'Seigneur' and 'gardera'"),
        ("Gott gab sein Leben am Kreuz.", "ko", "is no Korean: wrong-script"),
    ):
        with pytest.raises(EngineError, match=message) as caught:
            judge(golden(), "gemma", text, lang, 0.1)
        assert caught.value.code == "golden-missed"


OPEN = "http://gpu.example.org:8000/v1"


def test_sound_on_an_open_network_is_said() -> None:
    server = OpenAiSpeech("m", url=OPEN)
    server.server.check_model = lambda **_: None  # type: ignore[method-assign]
    passed = ask_to_hear(server, "m")
    assert passed.code == "server-sound-open"
    assert "as sound, unencrypted." in passed.message
    assert "https" in passed.advice


def test_a_key_on_an_open_network_is_said(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cret")
    arguments = {"url": OPEN, "key_file": str(tmp_path / "key"), "ca_file": ""}
    spec = EngineSpec("openai", "openai", Path(MODEL), arguments, "translate.final")
    server = OpenAi(MODEL, url=OPEN, key_file=arguments["key_file"])
    server.server.check_model = lambda **_: None  # type: ignore[method-assign]
    passed = ask_to_translate(server, spec)
    assert (passed.code, "translate.final.server" in passed.advice) == ("server-key-open", True)
    assert place_of(spec) == (MODEL, OPEN, arguments["key_file"], "")
