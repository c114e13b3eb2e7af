"""The sinks of a service write, send and count what they receive."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Request

from pipeline.captions.redaction import Redaction
from pipeline.core.metrics import Metrics
from pipeline.core.types import Correction
from pipeline.daemon.captions.coordinator import CaptionCoordinator
from pipeline.daemon.context.service_sinks import MetricsSink, PageSink
from pipeline.session.recorder import SessionRecorder
from scripts.support.records import utterance_record
from scripts.support.web_recorder import WebRecorder
from tests.support.commands import command
from tests.support.coordinator import CoordinatorFixture, caption, utterance
from tests.support.patience import wait_for


def test_the_record_is_told_before_any_screen(setting: CoordinatorFixture) -> None:
    kinds = [type(sink) for sink in setting.context.sinks]
    assert kinds == [SessionRecorder, PageSink, MetricsSink, type(setting.screen)]


def test_an_utterance_and_its_times_are_counted() -> None:
    metrics = Metrics()
    sink = MetricsSink(metrics)
    corrections = (Correction("philemon", "file lemon", "Philemon", 0),) * 2
    times: dict[str, Any] = {"stt_ms": 250.0, "final_ms": 500.0}
    times["last_syllable_to_final_ms"] = 1500.0
    sink.on_utterance(utterance_record(1, corrections=corrections, **times))
    sink.on_utterance(utterance_record(2, filtered="stock-phrase"))
    read = metrics.exposition().decode()
    assert "stark_utterances_total 2.0" in read
    assert 'stark_filtered_total{reason="stock-phrase"} 1.0' in read
    assert "stark_corrections_total 2.0" in read
    assert 'stark_stage_seconds_sum{stage="stt"} 0.5' in read
    assert 'stark_stage_seconds_sum{stage="final"} 0.5' in read
    assert 'stark_last_syllable_to_caption_seconds_sum{pass="final"} 1.5' in read
    assert 'stage="partial"' not in read
    assert 'pass="partial"' not in read


def test_edits_are_shown_but_only_engines_captions_are_counted(setting: CoordinatorFixture) -> None:
    setting.coordinator.show(caption("gracia", final=True))
    setting.coordinator.publish(setting.board.edit(1, "la gracia"))
    assert [m.target.text for m in setting.screen.messages] == ["gracia", "la gracia"]
    exposition = setting.context.metrics.exposition()
    assert b'stark_captions_total{engine="gemma",kind="final"} 1.0' in exposition
    journal = setting.written("captions.jsonl")
    assert [line["target"]["text"] for line in journal] == ["gracia", "la gracia"]


def test_each_program_has_its_language_and_keeps_it_awake(tmp_path: Path) -> None:
    with WebRecorder() as english, WebRecorder() as spanish, WebRecorder() as french:
        flags = {
            "outputs.freeshow": english.url,
            "outputs.freeshow_lang": "en",
            "outputs.propresenter": spanish.url,
            "outputs.vmix": french.url,
            "outputs.vmix_lang": "fr",
            "translate.targets": [{"lang": "fr"}],
        }
        setting = CoordinatorFixture(tmp_path, flags)
        outputs = setting.context.outside.outputs
        assert set(outputs) == {"en", "es", "fr"}
        for feed in outputs.values():
            feed.start(print)
        wait_for(lambda: all(each.sent for each in (english, spanish, french)))
        for each in (english, spanish, french):
            each.sent.clear()  # a screen begins empty
        into_french = CaptionCoordinator(setting.context, setting.context.targets[1])
        setting.coordinator.show(caption("gracia", final=True))
        into_french.show(caption("grâce", final=True))
        wait_for(lambda: all(len(each.sent) == 1 for each in (english, spanish, french)))
        for sink in setting.context.sinks:
            sink.on_state("blank", "")
        wait_for(lambda: all(len(each.sent) == 2 for each in (english, spanish, french)))
        for feed in outputs.values():
            feed.close()
        bodies = [each.sent[0].body.decode() for each in (english, spanish)]
        assert ['"grace"' in bodies[0], '"gracia"' in bodies[1]] == [True, True]
        titles = [parse_qs(urlsplit(each.path).query).get("Value") for each in french.sent]
        assert titles == [["grâce"], None]
    setting.targets.look(0.0)
    assert [each.watchers for each in setting.targets.health(0.0)] == [1]
    setting.recorder.close(5)


def test_what_an_operator_hides_or_edits_before_its_final_never_reaches_a_stream(
    tmp_path: Path,
) -> None:
    with WebRecorder() as server:
        setting = CoordinatorFixture(tmp_path, {"outputs.youtube": server.url})
        (feed,) = setting.context.outside.outputs.values()
        feed.start(print)
        for key in (1, 2, 3):
            setting.coordinator.on_closed(utterance(key))
            setting.coordinator.show(caption(f"parcial {key}", final=False, id=key))
        setting.commands.obey(command("hide", 1))
        setting.commands.obey(command("edit", 2, "operador"))
        for key in (1, 2, 3):
            setting.coordinator.show(caption(f"máquina {key}", final=True, id=key))
        wait_for(lambda: len(server.sent) == 2)
        feed.close()
        setting.recorder.close(5)
    assert [each.body.decode().splitlines()[1] for each in server.sent] == ["operador", "máquina 3"]


def test_a_service_that_ends_while_blank_lights_no_screen_and_sends_nothing(
    tmp_path: Path,
) -> None:
    with WebRecorder() as screen, WebRecorder() as stream:
        flags = {"outputs.freeshow": screen.url, "outputs.youtube": stream.url}
        setting = CoordinatorFixture(tmp_path, flags)
        (feed,) = setting.context.outside.outputs.values()
        feed.start(print)
        setting.facts.has_begun = True
        setting.commands.obey(command("blank"))
        wait_for(lambda: screen.sent)
        quiet = replace(utterance(), can_resume=True)
        final = caption("gracia", final=True)
        final = replace(final, transcript=replace(final.transcript, utterance=quiet))
        setting.coordinator.on_closed(quiet)
        setting.coordinator.show(final)
        setting.facts.has_ended = True
        setting.context.announcer.announce()
        setting.coordinator.settle()
        feed.close()
        setting.recorder.close(5)
    assert all(b"gracia" not in each.body for each in screen.sent + stream.sent)


def test_each_language_reaches_the_subtitles_for_streams_and_can_be_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    past_s = [0.0]
    clock = SimpleNamespace(time=lambda: 1_795_343_400.0, monotonic=lambda: past_s[0])
    monkeypatch.setattr("pipeline.daemon.context.service_sinks.time", clock)
    flags = {"outputs.hls": True, "translate.targets": [{"lang": "fr"}]}
    setting = CoordinatorFixture(tmp_path, flags)
    french = CaptionCoordinator(setting.context, setting.context.targets[1])
    subtitles = setting.context.outside.subtitles
    assert subtitles

    def read(lang: str) -> bytes:
        playlist = subtitles.answer(Request(f"/live/{lang}.m3u8", Headers())).body.decode()
        paths = re.findall(r"^[^#].*", playlist, re.MULTILINE)
        return b"".join(
            subtitles.answer(Request(f"/live/{path}", Headers())).body for path in paths
        )

    setting.coordinator.show(caption("gracia", final=True))
    french.show(caption("grâce", final=True))
    past_s[0] += 20
    assert b"gracia" in read("es")
    assert "grâce".encode() in read("fr")
    boards = setting.boards.items()
    removed = {lang: board.purge(Redaction(0, 100)) for lang, board in boards}
    for sink in setting.context.sinks:
        sink.on_redaction(Redaction(0, 100), removed)
    assert b"gracia" not in read("es")
    assert "grâce".encode() not in read("fr")
    # A language that only a stream shows is translated as well.
    setting.targets.look(past_s[0])
    assert [each.watchers for each in setting.targets.health(past_s[0])] == [1]
    setting.recorder.close(5)
