"""Session folders that are not writable, from the start or later."""

from __future__ import annotations

import asyncio
import resource
import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.cli.main import main
from scripts.support.program import started
from tests.support.daemon import DURATION_S, SCRIPT, Service, all_finals, until
from tests.support.disk import fill_disk, small_disk
from tests.support.fakes import FakeSource, pcm_of
from tests.support.sounds import speech, wav

pytestmark = pytest.mark.slow


def finals_shown(messages: list[dict[str, Any]]) -> list[int]:
    return [m["id"] for m in messages if m["type"] == "caption" and m["final"]]


class TestFullDisk:
    """A session on a disk that becomes full after the first sentence."""

    def serve(self, tmp_path: Path, *, freed: bool) -> tuple[int, Service, list[dict[str, Any]]]:
        disk = tmp_path / "disk"
        seen: list[dict[str, Any]] = []

        async def watch(service: Service) -> None:
            async with service.connect() as socket:
                seen.append(await until(socket, lambda m: m.get("final") is True))
                while not service.journal():
                    await asyncio.sleep(0.01)
                fill_disk(disk / "filler")
                async for raw in socket:
                    seen.append(orjson.loads(raw))
                    if freed and len(finals_shown(seen)) == 4:
                        (disk / "filler").unlink(missing_ok=True)

        service = Service(disk, source=FakeSource(pcm_of(SCRIPT, DURATION_S), speed=8))
        return service.run(watch), service, seen

    def test_captions_go_on_and_the_end_says_that_the_record_is_not_whole(
        self, tmp_path: Path
    ) -> None:
        with small_disk(tmp_path, size="256k"):
            code, service, seen = self.serve(tmp_path, freed=False)
            assert finals_shown(seen) == [number for number, _ in all_finals("gemma")]
            assert code == 1
            assert "[session-incomplete]" in str(service.app.failure)
            journal = (service.app.folder / "captions.jsonl").read_bytes()
            assert journal.endswith(b"}\n")  # no torn line
            assert service.finals() == all_finals("gemma")[: len(service.finals())]
            assert service.finals()

    def test_what_waited_is_written_when_there_is_room_again(self, tmp_path: Path) -> None:
        with small_disk(tmp_path, size="256k"):
            code, service, seen = self.serve(tmp_path, freed=True)
            assert finals_shown(seen) == [number for number, _ in all_finals("gemma")]
            assert code == 0
            assert service.finals() == all_finals("gemma")
            assert "session-unwritable" in {e.get("code") for e in service.records("event")}


def test_a_folder_that_takes_no_more_writes_costs_the_record_only(tmp_path: Path) -> None:
    """The real program; suddenly its files may not grow any more."""
    wav(tmp_path / "a.wav", speech(7))
    with started("run", "--input", "a.wav", cwd=tmp_path) as program:
        program.wait_for("ready")
        _, hard = resource.prlimit(program.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(program.process.pid, resource.RLIMIT_FSIZE, (0, hard))
        assert program.end() == 1
        assert len([line for line in program.log if line["event"] == "caption"]) >= 2
        assert "session-unwritable" in {line.get("code") for line in program.log}
        assert program.noise[-1].startswith("stark-translate: Not everything could be written")
        assert program.noise[-1].endswith("[session-incomplete]\n")
        assert program.journal() == []


def test_a_session_folder_that_is_taken_away_costs_the_record_only(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    async def watch(service: Service) -> None:
        async with service.connect() as socket:
            seen.append(await until(socket, lambda m: m.get("final") is True))
            shutil.rmtree(service.app.folder)
            seen.extend([orjson.loads(raw) async for raw in socket])

    service = Service(tmp_path, source=FakeSource(pcm_of(SCRIPT, DURATION_S), speed=10))
    assert service.run(watch) == 1
    assert "[session-incomplete]" in str(service.app.failure)
    assert finals_shown(seen) == [number for number, _ in all_finals("gemma")]


def test_a_token_that_cannot_be_kept_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wav(tmp_path / "a.wav", speech(1))
    (tmp_path / "sessions" / "operator-token").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--port", "0", "--input", "a.wav"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].endswith("[token-unusable]")
    assert [path.name for path in (tmp_path / "sessions").glob("2*")] == [], "no session is left"


def test_a_journal_torn_anywhere_is_exported_up_to_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The power fails during a write: cut the journal at every byte of its last line."""
    service = Service(tmp_path)
    assert service.run() == 0
    journal = service.app.folder / "captions.jsonl"
    whole = journal.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    capsys.readouterr()
    for size in range(last, len(whole) - 1, 7):
        journal.write_bytes(whole[:size])
        arguments = ("--sessions", str(tmp_path), "--format", "txt", "--lang", "source")
        assert main(["export", service.app.folder.name, *arguments]) == 0
        assert capsys.readouterr().out.splitlines() == [s.text for s in SCRIPT[:-1]]
