"""`serve-model` as other machines use it: OpenAI's own client, five rooms at a time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_servers import serve_model
from tests.support.needs import needs_module

pytestmark = pytest.mark.slow

PROMPT = "<start_of_turn>user\nGrace and peace to you.<end_of_turn>\n<start_of_turn>model\n"
END = "<end_of_turn>"


def test_openai_s_own_client_and_five_rooms_side_by_side(tmp_path: Path) -> None:
    """Four rooms get long answers; the fifth gets its whole answer before any of them ends."""
    needs_module("openai")
    import openai

    key = tmp_path / "key"
    key.write_text("s3cret\n")
    with serve_model(tmp_path, "--rooms", "5", "--key-file", str(key)) as url:
        stranger = openai.OpenAI(base_url=url, api_key="other", max_retries=0)
        with stranger, pytest.raises(openai.AuthenticationError):
            ask(stranger)
        with openai.OpenAI(base_url=url, api_key="s3cret", max_retries=0) as client:
            assert [model.id for model in client.models.list()] == ["tiny"]
            begun = [threading.Event() for _ in range(4)]
            enough, ended = threading.Event(), [False] * 4

            def long_answer(room: int) -> None:
                more: dict[str, Any] = {"ignore_eos": True}
                with ask(client, stream=True, max_tokens=1900, extra_body=more) as stream:
                    for _ in stream:
                        begun[room].set()
                        if enough.is_set():
                            return
                ended[room] = True

            with ThreadPoolExecutor(4) as rooms:
                running = [rooms.submit(long_answer, room) for room in range(4)]
                for event in begun:
                    assert event.wait(120)
                answer = ask(client, stop=END)
                before = list(ended)
                enough.set()
                for each in running:
                    each.result(120)
        assert before == [False] * 4
        assert "paz" in answer.choices[0].text
        assert answer.choices[0].finish_reason == "stop"


def ask(client: Any, **more: Any) -> Any:
    asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 60, "temperature": 0, **more}
    return client.completions.create(**asked)
