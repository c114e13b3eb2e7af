"""The daemon with scripted engines and a real socket: nothing that was said is ever lost."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.core.errors import DictionaryError, ModelError, ServerError
from pipeline.core.types import Caption
from pipeline.daemon.life import supervisor
from tests.support import daemon
from tests.support.daemon import SHORT as SCRIPT
from tests.support.daemon import SHORT_S as DURATION_S
from tests.support.daemon import ShortService as Service
from tests.support.daemon import until
from tests.support.fakes import (
    FakeRecognizer,
    FakeSongDetector,
    FakeSource,
    FakeTranslator,
    pcm_of,
)
from tests.support.patience import reached, wait_for

pytestmark = pytest.mark.slow


def all_finals(engine: str) -> list[tuple[int, str]]:
    return [(number, engine) for number in range(1, len(SCRIPT) + 1)]


def events(service: daemon.Service, name: str) -> list[dict[str, Any]]:
    return [event for event in service.records("event") if event["event"] == name]


def test_a_display_sees_partials_finals_and_the_end(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    async def watch(service: Service) -> None:
        async with service.connect("?lang=es&kind=projector") as socket:
            seen.extend([orjson.loads(raw) async for raw in socket])

    service = Service(tmp_path, source=FakeSource(pcm_of(SCRIPT, DURATION_S), speed=20))
    assert service.run(watch) == 0
    assert seen[0]["type"] == "hello"
    captions = [m for m in seen if m["type"] == "caption"]
    for number in range(1, len(SCRIPT) + 1):
        own = [m for m in captions if m["id"] == number]
        assert [m["final"] for m in own] == [False] * (len(own) - 1) + [True]
        assert [m["revision"] for m in own] == list(range(1, len(own) + 1))
        assert len(own) > 2
    states = [m["state"] for m in seen if m["type"] == "status"]
    assert states[-1] == "ended"
    assert {"listening", "speech"} <= set(states)


def test_a_final_translator_that_raises_costs_quality_not_content(tmp_path: Path) -> None:
    service = Service(tmp_path, final=FakeTranslator("gemma", fails=lambda _: True), fast=False)
    assert service.run() == 0
    assert service.finals() == all_finals("marian")
    assert {event["code"] for event in events(service, "fault")} == {"final-failed"}


def test_a_slow_final_translator_costs_quality_not_content(tmp_path: Path) -> None:
    service = Service(tmp_path, final=FakeTranslator("gemma", delay_s=0.2), fast=False)
    assert service.run() == 0
    assert sorted(number for number, _ in service.finals()) == list(range(1, len(SCRIPT) + 1))


def test_a_final_translator_that_takes_its_time_is_not_behind(tmp_path: Path) -> None:
    service = Service(
        tmp_path,
        source=FakeSource(pcm_of(SCRIPT[:1], 3.0)),
        final=FakeTranslator("gemma", delay_s=2.3),  # a long sentence on a processor
        fast=False,
    )
    assert service.run() == 0
    assert service.finals() == [(1, "gemma")]
    assert events(service, "rung") == []


def test_every_sentence_becomes_a_final_in_order(tmp_path: Path) -> None:
    """A file that is played fast waits for its slow translator."""
    service = Service(tmp_path, final=FakeTranslator("gemma", delay_s=0.1))
    assert service.run() == 0
    assert service.finals() == all_finals("gemma")
    assert [line["source"]["text"] for line in service.journal()] == [s.text for s in SCRIPT]
    assert len(service.records()) == len(SCRIPT)
    transcript = (service.app.folder / "transcript.es.txt").read_text()
    assert "sentence-gemma number-gemma one-gemma" in transcript


def test_a_hanging_final_translator_is_taken_over_from_and_does_not_hold_up_the_end(
    tmp_path: Path,
) -> None:
    hang = threading.Event()
    service = Service(
        tmp_path,
        source=FakeSource(pcm_of(SCRIPT, DURATION_S), speed=8),
        final=FakeTranslator("gemma", hang=hang),
        fast=False,
        flags={"translate.final.deadline_s": 0.2, "session.drain_s": 1.0},
    )
    assert service.run() == 0
    assert service.app.is_stuck
    assert service.finals() == all_finals("marian")
    assert "final-hangs" in {e.get("code") for e in service.records("event")}
    hang.set()
    service.app._group.targets[0].translate.join(5)  # type: ignore[union-attr]


def test_without_any_translator_the_source_text_is_shown(tmp_path: Path) -> None:
    service = Service(tmp_path, partial=None, final=FakeTranslator("gemma", fails=lambda _: True))
    assert service.run() == 0
    assert service.finals() == all_finals("source")


def test_a_broken_recognizer_ends_the_daemon_with_code_1(tmp_path: Path) -> None:
    recognizer = FakeRecognizer(SCRIPT, fails=lambda _: True)
    service = daemon.Service(tmp_path, recognizer=recognizer)  # it fails five times in a row
    assert service.run() == 1
    assert [event["worker"] for event in events(service, "broken")] == ["transcribe"]


def test_a_taken_port_is_told_before_an_engine_loads(tmp_path: Path) -> None:
    class Unloaded(FakeRecognizer):
        def load(self) -> None:
            raise AssertionError("it is loaded")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        flags = {"server.port": taken.getsockname()[1]}
        service = Service(tmp_path, recognizer=Unloaded(SCRIPT), flags=flags)
        with pytest.raises(ServerError, match="port-in-use"):
            service.run()


def test_an_engine_that_fails_to_load_after_the_stop_does_not_hold_up_the_end(
    tmp_path: Path,
) -> None:
    stopped = threading.Event()

    class Late(FakeRecognizer):
        def load(self) -> None:
            stopped.wait()
            time.sleep(0.2)
            raise ModelError("model-broken", "The model cannot be loaded.")

    async def at_once(service: Service) -> None:
        service.app.stop()
        stopped.set()

    service = Service(tmp_path, recognizer=Late(SCRIPT), flags={"session.drain_s": 100.0})
    assert service.run(at_once) == 1
    wait_for(lambda: not service.app.is_stuck)  # its thread reports its end just before it ends


def test_a_changed_dictionary_takes_effect_and_a_bad_one_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "WATCH_S", 0.05)
    own = tmp_path / "own.toml"
    rule = '[[rule]]\nhear = ["number"]\nwrite = "{}"\nexample = "number"\nbecomes = "{}"\n'
    own.write_text(rule.format("Numbers", "Numbers"))
    changed = threading.Event()

    async def change(service: Service) -> None:
        async with service.connect() as socket:
            first = await until(socket, lambda m: m["type"] == "caption" and m["final"])
            assert "Numbers" in first["source"]["text"]
            own.write_text("[[rule]]\nheer = 1\n")
            await reached(lambda: events(service, "fault"))
            own.write_text(rule.format("Digits", "Digits"))
            await reached(lambda: events(service, "dictionary"))
            changed.set()
            await until(
                socket,
                lambda m: m["type"] == "caption" and m["final"] and "Digits" in m["source"]["text"],
            )
            service.app.stop()

    service = Service(
        tmp_path,
        source=FakeSource(pcm_of(SCRIPT, DURATION_S), speed=6, waits=[(3.9, changed)]),
        flags={"dictionary.enabled": True, "dictionary.file": str(own)},
    )
    assert service.run(change) == 0


def test_a_bug_at_the_desk_ends_the_daemon_loudly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(tmp_path, source=FakeSource(pcm_of(SCRIPT, DURATION_S), hold=True))
    show = service.app._news.show

    def bug(caption: Caption) -> None:
        if caption.id == 2 and caption.final:
            raise RuntimeError("a bug")
        show(caption)

    monkeypatch.setattr(service.app._news, "show", bug)
    assert service.run() == 1
    (event,) = events(service, "broken")
    assert (event["worker"], event["code"]) == ("desk", "crash")
    assert (1, "gemma") in service.finals()


def test_a_watch_that_breaks_ends_the_daemon_loudly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug() -> None:
        raise RuntimeError("a bug")

    service = Service(tmp_path, source=FakeSource(pcm_of(SCRIPT, 1.0), hold=True))
    monkeypatch.setattr(service.app._reload, "check_dictionary", bug)

    async def wait(service: Service) -> None:
        await reached(lambda: service.records("event"))
        service.app.stop()

    assert service.run(wait) == 1
    (event,) = events(service, "broken")
    assert (event["worker"], event["code"]) == ("watch", "crash")


def test_a_dictionary_whose_file_cannot_be_looked_at_is_told(tmp_path: Path) -> None:
    name = "x" * 300  # longer than a file system allows: even the look-up is an error
    with pytest.raises(DictionaryError, match="dictionary-unreadable"):
        Service(tmp_path, flags={"dictionary.enabled": True, "dictionary.file": name})


def test_a_hanging_comparison_costs_only_itself(tmp_path: Path) -> None:
    hang = threading.Event()
    service = Service(
        tmp_path,
        compare=FakeTranslator("other", hang=hang),
        fast=False,
        mode="dry-run",
        flags={"session.drain_s": 0.5},
    )
    assert service.run() == 0
    assert service.finals() == all_finals("gemma")
    assert service.records("compare") == []
    assert service.app.is_stuck
    hang.set()
    wait_for(lambda: not service.app.is_stuck)


def test_song_is_told_to_every_display_and_written_down(tmp_path: Path) -> None:
    source = FakeSource(pcm_of(SCRIPT, DURATION_S))
    service = Service(tmp_path, source=source, songs=FakeSongDetector([(3.5, 13.5)]))
    assert service.run() == 0
    event = events(service, "song")[0]
    assert (event["held"], event["by"]) == (True, "detector")
    assert 2.0 < event["from_s"] < 5.0


def test_doubtful_finals_wait_for_the_operator_in_every_language(tmp_path: Path) -> None:
    """The texts of these translators are more than twice as long as they should be."""

    async def decide(service: Service) -> None:
        async with (
            service.connect("?kind=operator") as operator,
            service.connect("?lang=es") as spanish,
            service.connect("?lang=fr") as french,
        ):
            await operator.send('{"type":"auth","token":"secret"}')
            held = await until(
                operator, lambda m: m["type"] == "doubtful" and m["target"]["lang"] == "es"
            )
            key = held["id"]
            await operator.send(f'{{"type":"command","name":"approve","id":{key}}}')
            shown = await until(spanish, lambda m: m.get("id") == key and m.get("final", False))
            assert shown["target"] == held["target"]
            while shown["doubtful"]:  # on a busy machine the command may be late
                shown = await until(spanish, lambda m: m.get("id") == key)
            for display in (spanish, french):  # no operator decides on the next one
                await until(display, lambda m: m.get("doubtful", False) and m["id"] > key)
            service.app.stop()

    source = FakeSource(pcm_of(SCRIPT, DURATION_S), hold=True, speed=10)
    service = Service(
        tmp_path,
        source=source,
        final=None,
        extra_targets={"fr": (FakeTranslator("marian"), None)},
        flags={"church.hold_doubtful": True, "church.hold_s": 1.0},
    )
    assert service.run(decide) == 0
    assert any(record["held_ms"] for record in service.records())
    assert any(record["held_ms"] for record in service.records("translation"))
