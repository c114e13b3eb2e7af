"""Several target languages: what each inherits, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config.loader import changed, load
from pipeline.config.schema import Settings
from pipeline.core.errors import ConfigError

pytestmark = pytest.mark.usefixtures("own_final_model")


def loaded(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return load(file).settings


def test_without_any_there_is_the_first_alone() -> None:
    assert Settings().by_target() == ()
    assert load(flags={"translate.target": "fr"}).settings.translate.target == "fr"


def test_each_has_its_own_and_the_rest_of_the_first(tmp_path: Path) -> None:
    text = """
        [translate.final]
        model = "large.gguf"
        deadline_s = 5.0
        [[translate.targets]]
        lang = "fr"
        final = { deadline_s = 9.0 }
        [[translate.targets]]
        lang = "de"
        rest = false
        partial = { engine = "none" }
    """
    french, german = loaded(tmp_path, text).by_target()
    assert (french.translate.target, german.translate.target) == ("fr", "de")
    assert (french.translate.final.model, french.translate.final.deadline_s) == ("large.gguf", 9.0)
    assert (german.translate.final.model, german.translate.final.deadline_s) == ("large.gguf", 5.0)
    assert (french.translate.partial.engine, german.translate.partial.engine) == ("marian", "none")
    assert french.translate.targets == ()
    assert [target.rest for target in loaded(tmp_path, text).translate.targets] == [True, False]


def test_a_reload_keeps_what_they_inherit(tmp_path: Path) -> None:
    settings = loaded(tmp_path, '[[translate.targets]]\nlang = "fr"\n')
    again = changed(settings, {"translate.final.stability": "best"})
    (french,) = again.by_target()
    assert french.translate.final.stability == "best"


def test_each_may_have_a_server_of_its_own_or_that_of_the_first(tmp_path: Path) -> None:
    text = """
        [translate.final]
        engine = "openai"
        url = "http://gpu:8080/v1/"
        key_file = "key"
        [[translate.targets]]
        lang = "fr"
        [[translate.targets]]
        lang = "de"
        partial = { engine = "openai", url = "http://other:8000/", local = "marian-de" }
        final = { url = "https://other:8000/v1/", key_file = "", model = "german" }
        [[translate.targets]]
        lang = "it"
        final = { engine = "gemma" }
    """
    settings = loaded(tmp_path, text)
    french, german, italian = (each.translate for each in settings.by_target())
    first, own = settings.server_of(french.final), settings.server_of(german.final)
    assert (french.final.engine, first.url) == ("openai", "http://gpu:8080/v1")
    assert first.key_file == "key"
    assert (own.url, own.key_file) == ("https://other:8000/v1", "")
    assert settings.server_of(german.partial).url == "http://other:8000"
    assert german.partial.local == "marian-de"
    assert french.partial.engine == "marian"
    assert italian.final.engine == "gemma"


@pytest.mark.parametrize(
    ("targets", "says"),
    [
        ('lang = "en"', "'en', which is translate.source"),
        ('lang = "es"', "'es' twice.*translate.target is the first"),
        ('lang = "fr"\n[[translate.targets]]\nlang = "fr"', "'fr' twice"),
        ('partial = { engine = "none" }', "lang"),
        ('lang = "fr"\nmodle = 1', r"translate\.targets\.0\.modle: unknown key"),
        (
            'lang = "fr"\npartial = { engine = "none" }\nfinal = { engine = "marian" }',
            "no engine is left",
        ),
        (
            'lang = "fr"\npartial = { engine = "openai" }',
            r"translate\.partial\.engine = \"openai\" \(fr\) needs server",
        ),
        ('lang = "fr"\nfinal = { url = "gpu:8080" }', r"targets\.0\.final\.url"),
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path: Path, targets: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        loaded(tmp_path, f"[[translate.targets]]\n{targets}\n")


def test_what_is_spoken_is_a_caption_language_and_translated_from_another(tmp_path: Path) -> None:
    text = '[translate]\nsource = ["en", "es"]\ntargets = ["fr"]\npartial.model = "starter"\n'
    translate = loaded(tmp_path, text).translate
    assert (translate.source, translate.spoken) == ("en", ("en", "es"))
    assert translate.langs == ("es", "fr", "en")
    assert translate.pairs == (("en", "es"), ("en", "fr"), ("es", "fr"), ("es", "en"))
    french, english = map(translate.into, translate.targets)
    assert [(each.source, each.target) for each in (french, english)] == [
        ("en", "fr"),
        ("es", "en"),
    ]
    # The named model belongs to the first pair.
    assert (french.partial.model, english.partial.model) == ("starter", "auto")


def test_of_a_set_every_key_tells_where_it_came_from(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[translate]\nsource = ["en", "es"]\n')
    result = load(file)
    assert result.origins["translate.also_spoken"] == str(file)
    assert load(file, {"translate.source": "en"}).settings.translate.spoken == ("en",)
    with pytest.raises(ConfigError, match=r"config\.toml: translate\.source: a language code"):
        loaded(tmp_path, '[translate]\nsource = ["en", "es-MX"]\n')


@pytest.mark.parametrize(
    ("source", "says"),
    [(["es", "en"], 'set target = "en"'), (["en", "en"], "names a language twice")],
)
def test_a_set_that_makes_no_sense_is_refused(source: list[str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load(flags={"translate.source": source})


def test_what_is_printed_of_a_target_is_what_it_sets(tmp_path: Path) -> None:
    text = """
        [translate.final]
        threads = 4
        [[translate.targets]]
        lang = "fr"
        final = { context = 1024, search = false }
    """
    settings = loaded(tmp_path, text)
    own = {"context": 1024, "search": False}
    printed = settings.model_dump()["translate"]["targets"]
    assert printed == ({"lang": "fr", "rest": True, "partial": {}, "final": own},)
    (french,) = settings.by_target()
    assert (french.translate.final.threads, french.translate.final.context) == (4, 1024)
    assert settings.translate.final.search
    assert not french.translate.final.search
