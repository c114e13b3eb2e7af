"""The engines that the settings ask for, created without loading anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.audio.file import AudioFile
from pipeline.audio.microphone import Microphone
from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.core.errors import ConfigError, EngineError, ModelError
from pipeline.dictionary.store import Dictionary
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.ctranslate2.whisper import Whisper
from pipeline.engines.llama_cpp.gemma import Gemma
from pipeline.engines.process import factory
from pipeline.engines.process.factory import BrokenEngine
from pipeline.engines.process.model_specs import server_specs
from pipeline.engines.process.sharing import LanguageTranslator, process_of
from pipeline.engines.remote.openai import OpenAi
from pipeline.engines.remote.stand_in import RecognizerStandIn, StandIn
from pipeline.engines.specification import EngineSpec, make
from pipeline.models.resolve import resolve
from tests.support.model_fixtures import pulled, starter_files
from tests.support.needs import needs_module


def settings(tmp_path: Path, **flags: Any) -> Settings:
    empty = tmp_path / "empty.toml"
    empty.touch()
    return load(empty, {key.replace("__", "."): value for key, value in flags.items()}).settings


def test_the_defaults_give_every_engine(tmp_path: Path) -> None:
    chosen = settings(tmp_path)
    assert isinstance(factory.audio_source(chosen), Microphone)
    assert isinstance(factory.recognizer(chosen, Dictionary(chosen)), Whisper)
    assert isinstance(factory.partial_translator(chosen), Marian)
    assert isinstance(factory.final_translator(chosen), Gemma)


def test_a_file_is_a_source(tmp_path: Path) -> None:
    source = factory.audio_source(settings(tmp_path, audio__input="sermon.wav"), loop=True)
    assert isinstance(source, AudioFile)
    assert source.name == "sermon.wav"


def test_passes_can_be_left_out(tmp_path: Path) -> None:
    assert factory.partial_translator(settings(tmp_path, translate__partial__engine="none")) is None
    assert factory.final_translator(settings(tmp_path, translate__final__engine="marian")) is None


SERVER = "http://10.0.0.5:8080/v1"
QUICK_AT = {"translate__partial__engine": "openai", "translate__partial__url": SERVER}


def test_translators_on_a_server_need_no_files_here(tmp_path: Path) -> None:
    chosen = settings(
        tmp_path,
        translate__final__engine="openai",
        translate__final__url=SERVER,
        translate__final__model="church/translate",
        **QUICK_AT,
    )
    final, partial = factory.final_spec(chosen), factory.partial_spec(chosen)
    assert final is not None
    assert partial is not None
    assert (final.kind, str(final.model)) == ("openai", "church/translate")
    assert final.is_elsewhere
    assert final.arguments["deadline_s"] == 8.0
    assert partial.arguments["deadline_s"] == 2.0
    assert isinstance(factory.final_translator(chosen), OpenAi)
    assert factory.local_spec(chosen) is None
    assert list(server_specs(chosen)) == ["partial", "final"]


def test_a_local_model_stands_in_for_a_quick_translator_on_a_server(tmp_path: Path) -> None:
    chosen = settings(tmp_path, **QUICK_AT, translate__partial__local="starter")
    spec = factory.partial_spec(chosen)
    assert spec is not None
    assert EngineSpec.from_json(orjson.loads(orjson.dumps(spec.as_json()))) == spec
    assert isinstance(make(spec), StandIn)
    assert "local" not in server_specs(chosen)["partial"].arguments


def test_a_recognizer_on_a_server_has_the_one_of_this_machine_behind_it(tmp_path: Path) -> None:
    chosen = settings(
        tmp_path,
        stt__engine="openai",
        stt__url=SERVER,
        stt__server_model="large-v3",
        stt__model="starter",
        stt__deadline_s=2.0,
    )
    spec = factory.recognizer_spec(chosen)
    assert (spec.kind, spec.name, spec.section) == ("whisper", "openai:large-v3", "stt")
    assert EngineSpec.from_json(orjson.loads(orjson.dumps(spec.as_json()))) == spec
    assert isinstance(make(spec), RecognizerStandIn)
    assert isinstance(make(spec.with_gpu_share(0.0)), RecognizerStandIn)
    server = spec.arguments["server"]
    assert (server["model"], server["url"], server["deadline_s"]) == ("large-v3", SERVER, 2.0)
    local = factory.recognizer_process(chosen, local=True).spec
    assert local == factory.local_recognizer_spec(chosen)
    assert "server" not in local.arguments
    assert isinstance(factory.recognizer(chosen, Dictionary(chosen)), Whisper)


FRENCH = {"lang": "fr", "partial": {"engine": "none"}}
GERMAN = {
    "lang": "de",
    "partial": {"engine": "none"},
    "final": {"url": "http://10.0.0.6:8000", "model": "german", "requests": 2},
}


def test_each_language_asks_its_server_by_itself(tmp_path: Path) -> None:
    chosen = settings(
        tmp_path,
        translate__final__engine="openai",
        translate__final__url=SERVER,
        translate__targets=[FRENCH, GERMAN],
    )
    made = factory.engine_processes(chosen, compare=False)
    finals = [target.final for target in made.targets]
    specs = [process.spec for process in map(process_of, finals) if process is not None]
    assert [spec.arguments["target"] for spec in specs] == ["es", "fr", "de"]
    assert [spec.arguments["url"] for spec in specs] == [SERVER, SERVER, "http://10.0.0.6:8000"]
    assert str(specs[2].model) == "german"
    assert all(isinstance(final, LanguageTranslator) for final in finals)
    spanish, french, german = (each._turns for each in finals)  # type: ignore[union-attr]
    assert spanish is french, "they take turns at one server"
    assert (french._most, german._most) == (5, 2)
    assert list(server_specs(chosen)) == ["final", "final-fr", "final-de"]


def test_a_server_for_a_language_that_no_prompt_can_name(tmp_path: Path) -> None:
    nameless = {"lang": "xx", "partial": {"engine": "none"}}
    server = {"engine": "openai", "url": SERVER}
    chosen = settings(tmp_path, translate__targets=[{**nameless, "final": server}])
    with pytest.raises(ConfigError, match=r"translate\.targets, 'xx'"):
        factory.engine_processes(chosen, compare=False)


def test_a_second_final_translator_may_be_on_a_server(tmp_path: Path) -> None:
    chosen = settings(tmp_path, translate__compare__engine="openai", translate__compare__url=SERVER)
    spec = factory.compare_spec(chosen)
    assert spec is not None
    assert (spec.kind, spec.section) == ("openai", "translate.compare")
    assert spec.arguments["deadline_s"] == 30.0
    with pytest.raises(ConfigError, match="url"):
        settings(tmp_path, translate__compare__engine="openai")


def test_a_local_model_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    chosen = settings(tmp_path, **QUICK_AT, translate__partial__local="/nowhere")
    with pytest.raises(ModelError, match=r"translate\.partial\.local"):
        factory.partial_spec(chosen)


@pytest.mark.parametrize(
    ("engine", "model"),
    [
        ("gemma", "/nowhere.gguf"),
        ("marian", "/nowhere"),
        ("marian", str(resolve("stt", "starter"))),
    ],
)
def test_a_wrong_model_is_told_by_the_key_that_names_it(
    engine: str, model: str, tmp_path: Path
) -> None:
    section = "translate.partial" if engine == "marian" else "translate.final"
    usual = settings(tmp_path, **{f"{section}.model": model})
    other = settings(tmp_path, translate__compare__engine=engine, translate__compare__model=model)
    specs = [(factory.partial_spec if engine == "marian" else factory.final_spec, usual, section)]
    specs.append((factory.compare_spec, other, "translate.compare"))
    for make_spec, chosen, wanted in specs:
        with pytest.raises((ModelError, ConfigError)) as caught:
            make(make_spec(chosen)).load()  # type: ignore[arg-type]
        assert caught.value.message.startswith(f"{wanted}.model: ")


def test_a_prompt_that_cannot_be_made_is_told_by_its_key(tmp_path: Path) -> None:
    chosen = settings(
        tmp_path,
        translate__target="af",
        translate__compare__engine="gemma",
        translate__compare__model=str(resolve("gemma", "tiny")),
        translate__compare__prompt="examples",
    )
    spec = factory.compare_spec(chosen)
    assert spec is not None
    with pytest.raises(ConfigError, match=r"^translate\.compare\.prompt"):
        make(spec).load()


def moonshine(tmp_path: Path, **values: Any) -> Settings:
    return settings(tmp_path, stt__engine="moonshine", stt__model=str(tmp_path), **values)


def test_a_streaming_recognizer_needs_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"-m pip install 'stark-translate\[moonshine\]'"):
        factory.recognizer_spec(moonshine(tmp_path))


def test_a_streaming_recognizer_gets_what_it_understands_and_no_gpu(tmp_path: Path) -> None:
    needs_module("moonshine_voice")
    with pytest.raises(ConfigError, match=r'stt\.device = "cuda": moonshine hears on the CPU'):
        factory.recognizer_spec(moonshine(tmp_path, stt__device="cuda"))
    spec = factory.recognizer_spec(moonshine(tmp_path, stt__threads=3))
    assert (spec.kind, spec.arguments) == ("moonshine", {})
    assert make(spec).name == f"moonshine:{tmp_path.name}"


def settings_with(tmp_path: Path, partial: str) -> Path:
    text = f"models.directory = '{tmp_path}'\n[[translate.targets]]\nlang = 'fr'\n"
    text += "final = { engine = 'marian' }\n"
    (tmp_path / "config.toml").write_text(f"{text}partial = {{ model = '{partial}' }}\n")
    return tmp_path / "config.toml"


def test_a_broken_engine_tells_of_its_model_when_it_is_loaded_and_whenever_it_is_asked(
    tmp_path: Path,
) -> None:
    pulled(tmp_path, "french", "marian", starter_files("marian"))
    next(tmp_path.rglob("source.spm")).unlink()
    settings = load(settings_with(tmp_path, "french")).settings
    _, french = factory.engine_processes(settings, compare=False).targets
    assert isinstance(french.partial, BrokenEngine)
    with pytest.raises(ModelError, match=r"translate\.targets, 'fr': .*source\.spm.*broken\]"):
        french.partial.load()
    with pytest.raises(EngineError, match="'fr'"):
        french.partial.translate("grace")
    with pytest.raises(EngineError, match="'fr'"):
        french.partial.speak("Gracia.", "es", 1.0)


def test_a_model_that_is_not_there_is_a_mistake_in_the_settings(tmp_path: Path) -> None:
    settings = load(settings_with(tmp_path, "french")).settings
    with pytest.raises((ModelError, ConfigError), match=r"translate\.targets, 'fr'"):
        factory.engine_processes(settings, compare=False)


def both(**more: Any) -> Settings:
    usual = {"translate.source": ["en", "es"], "stt.model": "whisper-base"}
    return load(flags=usual | {k.replace("__", "."): v for k, v in more.items()}).settings


def test_a_pair_without_a_model_is_told_with_what_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    settings = both(translate__source=["en", "pt"], translate__target="pt")
    assert factory.missing_pairs(settings) == (("pt", "en"),)
    (english,) = settings.by_target()
    assert factory.extra_spec(factory.partial_spec, english) is None
    message, fix = factory.what_stands_in(settings, ("pt", "en"))
    assert message.endswith("until then the recognizer's own translation stands in.")
    assert fix.startswith("stark-translate models pull translategemma")
    assert factory.missing_pairs(Settings()) == ()


def test_the_starter_translates_into_english_behind_a_draft_by_the_recognizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    settings = both()
    assert factory.missing_pairs(settings) == ()
    (english,) = settings.by_target()
    assert factory.extra_spec(factory.partial_spec, english) is None
    final = factory.extra_spec(factory.final_spec, english)
    assert final is not None
    assert (final.arguments["source"], final.arguments["target"]) == ("es", "en")
    monkeypatch.setattr(factory, "recognizer_name", lambda _: str(tmp_path))
    assert factory.local_recognizer_spec(settings).arguments["to_english"] == ["es"]
    assert factory.missing_pairs(both(translate__target="fr")) == (("es", "fr"),)


@pytest.mark.parametrize(
    ("set_to", "says"),
    [
        ({"stt__model": "starter"}, "starter hears en"),
        ({"stt__engine": "moonshine"}, '"moonshine" hears one language'),
    ],
)
def test_a_recognizer_of_one_language_refuses_a_set(
    set_to: dict[str, str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match=says) as caught:
        factory.local_recognizer_spec(both(**set_to))
    assert caught.value.code == "lang-unsupported"
