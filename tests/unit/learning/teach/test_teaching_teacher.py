"""The teacher is the final translator of the settings, or another model that is named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.loader import Loaded, load
from pipeline.core.errors import LearningError, StarkError
from pipeline.core.resources import bundled
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.remote.openai import OpenAi
from pipeline.learning.teach.teaching import BEAM, choose_teacher
from tests.support.model_servers import free_port, says, scripted

pytestmark = pytest.mark.usefixtures("elsewhere", "own_final_model")

HERE = "http://192.168.1.5:8080/v1"
SERVER = {
    "translate.final.engine": "openai",
    "translate.final.model": "gemma-12b",
    "servers.gpu": {"url": HERE, "key_file": "church.key", "ca_file": "church.pem"},
    "translate.final.server": "gpu",
    "translate.final.prompt": "examples",
    "translate.final.requests": 3,
}
WITHOUT_PROMPT = {key: value for key, value in SERVER.items() if not key.endswith("prompt")}


def loaded(flags: Mapping[str, Any] = {}) -> Loaded:
    return load(flags=flags)


def test_the_final_translator_in_use_teaches_where_nothing_else_is_said() -> None:
    teacher = choose_teacher(loaded())
    assert (teacher.engine, teacher.model) == ("gemma", "starter")
    assert len(teacher.id) == 64
    assert teacher.settings.translate.final.deadline_s == 300, "it may take its time"


def test_a_server_in_use_teaches_as_it_is_set_up() -> None:
    teacher = choose_teacher(loaded(SERVER))
    final = teacher.settings.translate.final
    assert (teacher.engine, teacher.model) == ("openai", "gemma-12b")
    assert teacher.id == "openai:gemma-12b examples", "the address is not part of it"
    server = teacher.settings.server_of(final)
    assert (server.url, server.key_file, server.ca_file) == (HERE, "church.key", "church.pem")
    assert final.prompt == "examples"


def test_another_model_is_asked_as_it_wants_to_be_where_no_flag_says_how() -> None:
    file = Path("config.toml")
    file.write_text('[translate.final]\nprompt = "examples"\n')
    assert choose_teacher(load(file, SERVER), "gemma-27b").id == "openai:gemma-27b examples"
    other = choose_teacher(load(file, WITHOUT_PROMPT), "gemma-27b")
    assert (other.id, other.settings.translate.final.prompt) == ("openai:gemma-27b", "auto")


def test_a_file_is_known_by_what_is_in_it() -> None:
    (file,) = bundled("models", "tiny", "gemma").glob("*.gguf")
    by_name = choose_teacher(loaded({"translate.final.model": "tiny"}))
    assert choose_teacher(loaded(), str(file)).id == by_name.id


def test_a_marian_teacher_weighs_several_translations() -> None:
    teacher = choose_teacher(loaded({"translate.final.engine": "marian"}))
    assert (teacher.engine, teacher.model) == ("marian", "starter")
    (made,) = teacher.load()
    assert isinstance(made, Marian)
    assert BEAM == 4


def test_what_cannot_teach_is_told() -> None:
    with pytest.raises(StarkError) as raised:
        choose_teacher(loaded(), "nowhere.gguf")
    assert raised.value.code == "model-missing"


def test_a_server_is_asked_so_many_sentences_at_a_time_as_the_settings_say() -> None:
    with scripted(says("Uno.")) as server:
        flags = {**SERVER, "translate.final.model": "starter"}
        flags["servers.gpu"] = {"url": server.url}
        made = choose_teacher(loaded(flags)).load()
        assert [type(each) for each in made] == [OpenAi] * 3
        assert made[2].translate("One.").text == "Uno."


def test_a_server_that_is_not_there_is_told_before_anything_is_taught() -> None:
    flags = {**SERVER, "servers.gpu": {"url": f"http://127.0.0.1:{free_port()}/v1"}}
    teacher = choose_teacher(loaded(flags))
    with pytest.raises(LearningError, match="gemma-12b at http") as raised:
        teacher.load()
    assert raised.value.code == "teacher-gone"
