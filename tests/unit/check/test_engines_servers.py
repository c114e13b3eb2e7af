"""Messages of `check` about servers; test_engines tests whole checks."""

from __future__ import annotations

from pathlib import Path

from pipeline.check.engines import ask_to_hear, ask_to_translate, place_of
from pipeline.engines.remote.openai import OpenAi
from pipeline.engines.remote.openai_speech import OpenAiSpeech
from pipeline.engines.specification import EngineSpec
from tests.support.model_servers import MODEL

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
