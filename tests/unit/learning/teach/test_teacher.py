"""The teacher is the final translator in use, or whatever else is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.loader import Loaded, load
from pipeline.core.errors import LearningError, StarkError, UsageError
from pipeline.core.resources import bundled
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.remote.openai import OpenAi
from pipeline.learning.teach.teacher import Asked, choose_teacher
from pipeline.learning.teach.teaching import BEAM
from tests.support.model_servers import free_port, says, scripted

pytestmark = pytest.mark.usefixtures("own_final_model")

HERE = "http://192.168.1.5:8080/v1"
SERVER = {
    "translate.final.engine": "openai",
    "translate.final.model": "gemma-12b",
    "servers.gpu": {"url": HERE, "key_file": "church.key", "ca_file": "church.pem"},
    "translate.final.server": "gpu",
    "translate.final.prompt": "examples",
    "translate.final.requests": 3,
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def loaded(flags: Mapping[str, Any] = {}) -> Loaded:
    return load(flags=flags)


def test_the_final_translator_in_use_teaches_where_nothing_else_is_said() -> None:
    teacher = choose_teacher(loaded(), Asked())
    assert (teacher.engine, teacher.model) == ("gemma", "starter")
    assert len(teacher.id) == 64
    assert teacher.settings.translate.final.deadline_s == 300, "it may take its time"


def test_a_server_in_use_teaches_as_it_is_set_up() -> None:
    teacher = choose_teacher(loaded(SERVER), Asked())
    final = teacher.settings.translate.final
    assert (teacher.engine, teacher.model, teacher.id) == (
        "openai",
        "gemma-12b",
        "openai:gemma-12b",
    )
    server = teacher.settings.server_of(final)
    assert (server.url, server.key_file, server.ca_file) == (HERE, "church.key", "church.pem")
    assert final.prompt == "examples"


def test_another_model_of_the_server_in_use_is_asked_as_it_wants_to_be() -> None:
    teacher = choose_teacher(loaded(SERVER), Asked(model="gemma-27b"))
    final = teacher.settings.translate.final
    server = teacher.settings.server_of(final)
    assert (server.url, server.key_file, final.prompt) == (HERE, "church.key", "auto")
    assert teacher.id == "openai:gemma-27b"


def test_another_server_gets_no_key_of_the_one_in_use() -> None:
    asked = Asked(url="http://gpu.example.org:8000/v1", model="gemma-27b", prompt="translategemma")
    teacher = choose_teacher(loaded(SERVER), asked)
    final = teacher.settings.translate.final
    server = teacher.settings.server_of(final)
    assert (teacher.engine, server.url) == ("openai", asked.url)
    assert (server.key_file, server.ca_file, final.prompt) == ("", "", "translategemma")
    assert teacher.id == "openai:gemma-27b translategemma", "the address is not part of it"
    own = Asked(url=asked.url, model="gemma-27b", key_file="gpu.key", ca_file="gpu.pem")
    settings = choose_teacher(loaded(), own).settings
    server = settings.server_of(settings.translate.final)
    assert (server.key_file, server.ca_file) == ("gpu.key", "gpu.pem")


def test_a_model_that_is_not_the_one_in_use_is_not_asked_like_it() -> None:
    in_use = loaded({"translate.final.prompt": "starter", "translate.final.model": "tiny"})
    (file,) = bundled("models", "tiny", "gemma").glob("*.gguf")
    assert choose_teacher(in_use, Asked()).settings.translate.final.prompt == "starter"
    other = choose_teacher(in_use, Asked(model=str(file)))
    assert other.settings.translate.final.prompt == "auto"
    assert other.id == choose_teacher(in_use, Asked()).id, "the same file"


def test_a_marian_teacher_weighs_several_translations() -> None:
    teacher = choose_teacher(loaded(SERVER), Asked(engine="marian"))
    assert (teacher.engine, teacher.model) == ("marian", "starter")
    (made,) = teacher.load()
    assert isinstance(made, Marian)
    assert BEAM == 4


def test_where_drafts_are_final_gemma_teaches() -> None:
    teacher = choose_teacher(loaded({"translate.final.engine": "marian"}), Asked())
    assert (teacher.engine, teacher.model) == ("gemma", "starter")


@pytest.mark.parametrize(
    ("flags", "asked", "code"),
    [
        ({}, Asked(url=HERE), "teacher-unnamed"),
        (SERVER, Asked(url="http://gpu.example.org/v1"), "teacher-unnamed"),
        (SERVER, Asked(engine="gemma"), "teacher-unnamed"),
        ({}, Asked(url=HERE, engine="gemma", model="x"), "teacher-here"),
        ({}, Asked(url="gpu", model="x"), "config-bad-value"),
        ({}, Asked(engine="openai", model="x"), "config-bad-value"),
        ({}, Asked(model="nowhere.gguf"), "model-missing"),
    ],
)
def test_what_cannot_teach_is_told(flags: Mapping[str, Any], asked: Asked, code: str) -> None:
    with pytest.raises(StarkError) as told:
        choose_teacher(loaded(flags), asked)
    assert told.value.code == code
    if code.startswith("teacher"):
        assert isinstance(told.value, UsageError)
        assert told.value.fix


def test_a_server_is_asked_so_many_sentences_at_a_time_as_the_settings_say() -> None:
    with scripted(says("Uno.")) as server:
        flags = {**SERVER, "translate.final.model": "starter"}
        flags["servers.gpu"] = {"url": server.url}
        made = choose_teacher(loaded(flags), Asked()).load()
        assert [type(each) for each in made] == [OpenAi] * 3
        assert made[2].translate("One.").text == "Uno."


def test_a_server_that_is_not_there_is_told_before_anything_is_taught() -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    teacher = choose_teacher(loaded(), Asked(url=url, model="gemma-12b"))
    with pytest.raises(LearningError, match="gemma-12b at http") as told:
        teacher.load()
    assert told.value.code == "teacher-gone"
