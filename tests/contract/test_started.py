"""`check` tests what a service starts: a new thread needs a check."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from pipeline.check.checks import checks
from pipeline.check.engines import EngineChecks
from pipeline.config.loader import load
from pipeline.core.threads import Thread
from scripts.support.web_recorder import WebRecorder
from tests.support.daemon import GEMMA, MARIAN, SCRIPT, Service
from tests.support.fakes import FakeSource, FakeTranslator, pcm_of
from tests.support.patience import reached
from tests.support.started import started

COMPARE = {"translate.compare.engine": "gemma"}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["live", "dry-run"])
def test_every_thread_of_a_service_has_its_checks(tmp_path: Path, mode: str) -> None:
    before = set(threading.enumerate())
    names: set[str] = set()

    async def look(service: Service) -> None:
        await reached(lambda: service.app.has_begun)
        new = set(threading.enumerate()) - before
        names.update(t.name for t in new if isinstance(t, Thread) and t.name != "http call")
        service.app.stop()

    with WebRecorder() as server:
        flags: dict[str, Any] = {
            "publish.nats": "nats://127.0.0.1:1",
            "outputs": [{"program": "vmix", "url": server.url}, {"program": "hls"}],
            **COMPARE,
        }
        service = Service(
            tmp_path,
            source=FakeSource(pcm_of(SCRIPT, 2.0), hold=True),
            compare=FakeTranslator("other") if mode == "dry-run" else None,
            mode=mode,
            flags=flags,
            extra_targets={"fr": (MARIAN, GEMMA)},
        )
        assert service.run(look) == 0
    table = started(service.settings, compare=mode == "dry-run")
    # Hashing has ended by then, and the index is built once.
    assert names - {"model hashes", "verse index"} == table.keys() - {
        *("main", "model hashes", "verse index")
    }, "a thread that is new needs a line in `started`, and a check"


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"translate.targets": [{"lang": "fr"}, {"lang": "de"}], **COMPARE},
        {"translate.partial.engine": "none", "translate.final.gpu_layers": -1},
        {"translate.final.engine": "marian"},
        {
            "publish.nats": "nats://127.0.0.1:1",
            "outputs": [{"program": "youtube", "url": "http://127.0.0.1:1/"}, {"program": "hls"}],
        },
    ],
)
@pytest.mark.parametrize("compare", [False, True])
def test_every_check_of_the_table_is_planned(flags: dict[str, Any], *, compare: bool) -> None:
    loaded = load(flags=flags)
    with EngineChecks(loaded.settings) as rehearsal:
        planned = {check.name for check in checks(loaded, rehearsal)}
    wanted = {
        name for names in started(loaded.settings, compare=compare).values() for name in names
    }
    assert wanted - planned == set()
