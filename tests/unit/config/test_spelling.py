"""Old keys are read with a line of advice each, [expert] is read, `compare` inherits."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config.loader import Loaded, load
from pipeline.config.section import ModelServer
from pipeline.core.errors import ConfigError

URL = "http://gpu:8080/v1"


pytestmark = pytest.mark.usefixtures("elsewhere", "own_final_model")


def loaded(text: str) -> Loaded:
    Path("config.toml").write_text(text)
    return load()


@pytest.mark.parametrize("table", ["stt", "translate.partial", "translate.final"])
def test_a_servers_address_in_an_engines_own_table(table: str) -> None:
    keys = f'engine = "openai"\nurl = "{URL}/"\nkey_file = "k"\nca_file = "c"\n'
    more = 'server_model = "m"\n' if table == "stt" else ""
    result = loaded(f"[{table}]\n{keys}{more}")
    name = table.rpartition(".")[2]
    assert result.settings.servers == {name: ModelServer(url=URL, key_file="k", ca_file="c")}
    assert result.origins[f"{table}.server"] == "config.toml"
    keys = f"{table}.url, {table}.key_file, {table}.ca_file"
    now = f'[servers.NAME] with url, key_file, ca_file, and server = "NAME" in [{table}]'
    assert result.advice == (f"config.toml: {keys}: write {now}.",)


def test_an_old_key_with_a_mistake_is_named_as_it_was_written() -> None:
    with pytest.raises(ConfigError, match=r"config\.toml: translate\.final\.url: is not a server"):
        loaded('[translate.final]\nengine = "openai"\nurl = "gpu:8080"\n')
    with pytest.raises(ConfigError, match=r"config\.toml: outputs\.vmix: is not a web address"):
        loaded('[outputs]\nfreeshow = "http://a"\nvmix = "gpu:8080"\n')
    with pytest.raises(ConfigError, match=r"config\.toml: outputs\.vmx: unknown key"):
        loaded('[outputs]\nvmx = "http://a"\n')


def test_an_address_of_its_own_gets_no_other_servers_key(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f'[servers.gpu]\nurl = "{URL}"\nkey_file = "k"\n'
    text += '[translate.final]\nengine = "openai"\nserver = "gpu"\n'
    assert loaded(text).advice == ()
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__FINAL__URL", "http://other/v1")
    result = loaded(text)
    found = result.settings.server_of(result.settings.translate.final)
    assert (found.url, found.key_file) == ("http://other/v1", "")
    later = load(flags={"servers.b": {"url": "http://b"}, "translate.final.server": "b"}).settings
    assert later.server_of(later.translate.final).url == "http://b"
    monkeypatch.delenv("STARK_TRANSLATE__TRANSLATE__FINAL__URL")
    monkeypatch.setenv("STARK_TRANSLATE__SERVERS__GPU__KEY_FILE", "other")
    assert loaded(text).settings.servers["gpu"].key_file == "other"


def test_a_server_that_is_not_named_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"translate\.final\.server is 'gup'.*named are: gpu"):
        loaded(
            f'[servers.gpu]\nurl = "{URL}"\n[translate.final]\nengine = "openai"\nserver = "gup"\n'
        )


@pytest.mark.parametrize(
    ("key", "value", "more", "says"),
    [
        ("youtube", '"http://a/"', "", 'outputs.youtube: write [[outputs]] with program = "yo'),
        ("vmix", '"http://a/"', "", 'outputs.vmix: write [[outputs]] with program = "vmix", url.'),
        ("youtube_lang", '"es"', 'youtube = "http://a/"', "outputs.youtube_lang: write"),
        ("vmix_lang", '"es"', 'vmix = "http://a/"', "outputs.vmix_lang: write"),
        ("vmix_title", '"2, T"', 'vmix = "http://a/"', "outputs.vmix_title: write"),
        ("propresenter_message", '"M, T"', 'propresenter = "http://a/"', "outputs.propresenter_m"),
        ("freeshow_variable", '"V"', 'freeshow = "http://a/"', "outputs.freeshow_variable: write"),
        ("hls", "true", "", 'outputs.hls: write [[outputs]] with program = "hls".'),
    ],
)
def test_each_old_key_of_an_output(key: str, value: str, more: str, says: str) -> None:
    result = loaded(f"[outputs]\n{more}\n{key} = {value}\n")
    (output,) = result.settings.outputs
    assert output.program == key.partition("_")[0]
    values = {"lang": output.lang, "title": output.shows_in, "": output.url}
    values |= {"message": output.shows_in, "variable": output.shows_in}
    assert values[key.partition("_")[2]] == value.strip('"') or key == "hls"
    (line,) = result.advice
    assert says in line
    assert line.startswith("config.toml: outputs.")


def test_what_the_old_file_had_by_default_needs_no_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[outputs]\nvmix = ""\nvmix_title = "2, T"\nvmix_lang = ""\nhls = false\n'
    text += '[translate.final]\nurl = ""\nkey_file = ""\nca_file = ""\n'
    result = loaded(text)
    assert (result.settings.outputs, result.settings.servers, result.advice) == ((), {}, ())
    monkeypatch.setenv("STARK_TRANSLATE__OUTPUTS__VMIX", "http://a/")
    monkeypatch.setenv("STARK_TRANSLATE__OUTPUTS__HLS", "true")
    vmix, hls = loaded(text).settings.outputs
    assert (vmix.url, vmix.shows_in, hls.program) == ("http://a/", "2, T", "hls")


def test_a_list_of_outputs_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STARK_TRANSLATE__OUTPUTS", '[{"program": "freeshow", "url": "http://b/"}]')
    (output,) = loaded('[[outputs]]\nprogram = "vmix"\nurl = "http://a/"\n').settings.outputs
    assert (output.program, output.url) == ("freeshow", "http://b/")


def test_keys_of_experts_are_read_and_their_own_sections_win() -> None:
    result = loaded("[expert]\nstt.commit_s = 1.5\nstt.window_s = 9.0\n[stt]\nwindow_s = 8.0\n")
    assert (result.settings.stt.commit_s, result.settings.stt.window_s) == (1.5, 8.0)
    assert result.origins["stt.commit_s"] == "config.toml"
    with pytest.raises(ConfigError, match=r"config\.toml: stt\.comit_s: unknown key"):
        loaded("[expert]\nstt.comit_s = 1.5\n")


def test_compare_takes_from_the_final_what_it_does_not_set() -> None:
    text = '[translate.final]\nmodel = "m"\ngpu_layers = -1\nbatch = 512\ndeadline_s = 5.0\n'
    off = loaded(text).settings.translate.compare
    assert (off.engine, off.gpu_layers) == ("none", 0)
    result = loaded(f'{text}[translate.compare]\nengine = "gemma"\nbatch = 64\n')
    compare = result.settings.translate.compare
    assert (compare.model, compare.gpu_layers, compare.batch) == ("m", -1, 64)
    assert compare.deadline_s == 30.0
    assert result.origins["translate.compare.gpu_layers"] == "as in [translate.final]"


def test_another_engine_takes_no_model_and_a_marian_takes_from_the_partial() -> None:
    text = '[translate.partial]\nmodel = "p"\nthreads = 3\n[translate.final]\nmodel = "m"\n'
    marian = loaded(f'{text}[translate.compare]\nengine = "marian"\n').settings.translate.compare
    assert (marian.model, marian.threads) == ("p", 3)
    text = '[translate.final]\nengine = "marian"\nmodel = "m"\n[translate.compare]\n'
    other = loaded(f'{text}engine = "gemma"\n').settings.translate.compare
    assert other.model == "starter"


def test_keys_that_are_gone_are_read_over_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STARK_TRANSLATE__ENGINES__GROWTH_MB", "100")
    text = "[expert]\nstt.avg_logprob = -1.0\n[stt]\nthreads = 3\n[[translate.targets]]\n"
    result = loaded(f'{text}lang = "fr"\nfinal = {{ flash_attention = false, threads = 4 }}\n')
    assert result.settings.stt.threads == 3
    assert result.settings.translate.targets[0].final.threads == 4
    gone = [
        "config.toml: stt.avg_logprob",
        "config.toml: translate.targets.0.final.flash_attention",
        "environment: engines.growth_mb",
    ]
    assert result.advice == tuple(f"{key}: is no setting any more, delete it." for key in gone)
