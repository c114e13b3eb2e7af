"""Messages to operators, over real sockets."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from pipeline.core.reports import Fault
from pipeline.protocol.codec import encode
from pipeline.protocol.messages import ConsoleMessage, DoneMessage, RuleMessage
from pipeline.server import hub, operator_feed
from pipeline.server.streams.voice_streams import VoiceStreams
from scripts.support.records import compare_record, utterance_record
from tests.support.hub import TOKEN, answer, in_loop, operator, receive, send, serving, silent


@in_loop
async def test_a_console_that_joins_late_gets_the_last_records() -> None:
    async with serving(address="https://captions.example.org/") as service:
        for key in range(operator_feed._UTTERANCES + 7):
            service.hub.operators.utterance(utterance_record(key))
        service.hub.operators.compare(compare_record(56, "Amén."))
        async with service.joined("kind=operator") as coordinator:
            assert await answer(coordinator, type="auth", token=TOKEN) == {"type": "authorized"}
            console = await receive(coordinator)
        expected = ConsoleMessage(
            address="https://captions.example.org/",
            utterances=tuple(utterance_record(key) for key in range(7, 57)),
            compares=(compare_record(56, "Amén."),),
        )
        assert console == orjson.loads(encode(expected))


@in_loop
async def test_health_tells_operators_how_displays_keep_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "_HEALTH_S", 0.2)
    async with serving() as service, service.connect("kind=projector&lang=en") as display:
        service.hub._voices = VoiceStreams(("es", "fr"), 5)
        service.hub._voices._listeners["fr"].add(object())  # type: ignore[arg-type]
        await receive(display)
        coordinator = await operator(service)
        service.say(1)
        service.say(2)
        for _ in range(2):
            await receive(display)
            await receive(coordinator)
        await send(display, type="ack", seq=1)
        health = await receive(coordinator)
        while not health["slowest"]:
            health = await receive(coordinator)
        await coordinator.close()
    assert health["type"] == "health"
    assert health["utc"].endswith("+00:00")
    assert health["queues"] == {"mailbox": 0, "drafts": 2}  # reported by the pipeline
    rows = {row.pop("kind"): row for row in health["displays"]}
    glass = rows["projector"].pop("glass_ms")
    assert 0 <= glass["p50"] == glass["p95"] < 5000
    assert rows == {
        "operator": {"lang": "es", "clients": 1, "glass_ms": None},
        "projector": {"lang": "en", "clients": 1},
        "voice": {"lang": "fr", "clients": 1, "glass_ms": None},
    }
    (slow,) = health["slowest"]
    assert (slow["kind"], slow["lang"], slow["behind"]) == ("projector", "en", 1)
    assert slow["glass_ms"] >= glass["p50"]  # the second caption is not acknowledged yet
    assert slow["name"] == "1 (127.0.0.1)"


@in_loop
async def test_only_operators_get_any_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "_HEALTH_S", 0.05)
    async with serving() as service, service.joined("kind=operator") as nosy:
        coordinator = await operator(service)
        operators = service.hub.operators
        rule = RuleMessage(id="philemon", heard="file lemon", write="Philemon", removed=False)
        operators.tell(rule)
        facts: dict[str, Any] = {"paused": False, "blank": False, "off_record": False}
        operators.tell(DoneMessage(name="add-rule", undo="rule", **facts))
        operators.compare(compare_record(1))
        operators.fault(Fault("dictionary", "dictionary-not-toml", "church.toml, line 3."))
        operators.level(-23.42, clipped=True)
        operators.utterance(utterance_record(1, "amen"))
        sent: dict[str, Any] = {}
        for kind in ("rule", "done", "compare", "fault", "level", "utterance", "health"):
            while kind not in sent:
                message = await receive(coordinator)
                sent[message["type"]] = message
        assert sent["level"] == {"type": "level", "dbfs": -23.4, "clipped": True}
        assert (sent["utterance"]["id"], sent["utterance"]["raw_text"]) == (1, "amen")
        assert await silent(nosy)
        await coordinator.close()
