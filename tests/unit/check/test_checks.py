"""The checks of the machine around the program, each with the real thing."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.check.checks import checks
from pipeline.check.engines import EngineChecks
from pipeline.check.result import Check, Result, results
from pipeline.church.scripture import editions
from pipeline.church.scripture.editions import Edition
from pipeline.config.loader import Loaded, load
from pipeline.server import addresses
from tests.support.certificates import NAME, make
from tests.support.daemon import Service
from tests.support.fakes import FakeSource, pcm_of
from tests.support.hub import in_loop, serving
from tests.support.verses import small_index


def loaded(tmp_path: Path, **flags: Any) -> Loaded:
    """Return settings that write in `tmp_path` and pick a free port."""
    ours = {"session.directory": str(tmp_path / "sessions"), "server.port": 0}
    return load(flags=ours | {key.replace("__", "."): value for key, value in flags.items()})


def planned(settings: Loaded, **options: Any) -> list[Check]:
    return checks(settings, EngineChecks(settings.settings), **options)


def told(name: str, settings: Loaded) -> Result:
    """Return the result of the check of this name."""
    (result,) = results([check for check in planned(settings) if check.name == name])
    return result


def test_the_quick_checks_come_first_and_the_memory_last(tmp_path: Path) -> None:
    names = [check.name for check in planned(loaded(tmp_path))]
    assert names == [
        *("settings", "dictionary", "verses", "pages", "port", "sessions", "disk"),
        *("voice-detector", "audio", "level"),
        *("model-stt", "golden-stt", "model-marian", "golden-marian"),
        *("model-gemma", "golden-gemma", "memory"),
    ]
    (level,) = (c for c in planned(loaded(tmp_path), seconds=4.5) if c.name == "level")
    assert level.doing == "Speak into the microphone: listening for 4.5 s"
    without = [check.name for check in planned(loaded(tmp_path), audio=False)]
    assert without == [n for n in names if n not in {"voice-detector", "audio", "level"}]


def test_the_settings_tell_their_file(tmp_path: Path) -> None:
    file = tmp_path / "church.toml"
    file.write_text("[vad]\nsilence_ms = 500\npartial_ms = 900\n")
    result = told("settings", load(file, {"server.port": 0}))
    assert result.ok
    assert f"{file} (2 set)" in result.message
    assert "en to es" in result.message


def test_a_check_says_how_old_keys_are_written_now(tmp_path: Path) -> None:
    file = tmp_path / "church.toml"
    file.write_text('[outputs]\nvmix = "http://a:1/"\n')
    result = told("settings", load(file))
    assert (result.verdict, result.code) == ("look", "old-keys")
    assert 'write [[outputs]] with program = "vmix", url.' in result.fix


def test_a_language_that_gemma_cannot_be_asked_for_is_red(tmp_path: Path) -> None:
    result = told("settings", loaded(tmp_path, translate__target="xx"))
    assert (result.ok, result.code) == (False, "lang-unknown")
    assert "translate.target" in result.message
    assert "Known:" in result.fix
    only_marian = {"translate__target": "xx", "translate__final__engine": "marian"}
    assert told("settings", loaded(tmp_path, **only_marian)).ok


def test_the_church_s_own_dictionary_is_read_too(tmp_path: Path) -> None:
    assert "rules" in told("dictionary", loaded(tmp_path)).message
    own = tmp_path / "own.toml"
    own.write_text("[[rule]]\nthis is not = ")
    broken = told("dictionary", loaded(tmp_path, dictionary__file=str(own)))
    assert not broken.ok
    assert str(own) in broken.message
    gone = told("dictionary", loaded(tmp_path, dictionary__file=str(tmp_path / "gone.toml")))
    assert gone.code == "dictionary-unreadable"
    assert "dictionary.file" in gone.fix
    off = loaded(tmp_path, dictionary__enabled=False, dictionary__file=str(own))
    assert told("dictionary", off).message == "Switched off."


def test_pages_that_are_not_there_are_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    displays = tmp_path / "displays"
    displays.mkdir()
    assert told("pages", loaded(tmp_path)).ok
    monkeypatch.setattr("pipeline.check.checks.bundled", tmp_path.joinpath)
    assert told("pages", loaded(tmp_path)).code == "pages-missing"
    (displays / "audience.html").write_text("<!doctype html>")
    lacking = told("pages", loaded(tmp_path))
    assert lacking.code == "pages-missing"
    assert "/projector" in lacking.message
    assert lacking.fix == "Install the program again."


class TestPort:
    def test_a_free_one_is_green_and_free_again_afterwards(self, tmp_path: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        for _ in range(2):
            result = told("port", loaded(tmp_path, server__port=port))
            assert result.ok
            assert result.message.startswith(f"http://127.0.0.1:{port}/, for this machine only")

    def test_the_address_that_was_set_is_the_one_for_phones(self, tmp_path: Path) -> None:
        outside = "https://captions.example.org"
        result = told("port", loaded(tmp_path, server__port=0, server__address=outside))
        assert result.ok
        assert result.message.startswith(f"For phones: {outside}/, as set")

    @pytest.mark.slow
    def test_one_that_the_daemon_itself_has_is_told_apart(self, tmp_path: Path) -> None:
        async def check(service: Service) -> None:
            port = service.app._context.hub.port
            result = await asyncio.to_thread(told, "port", loaded(tmp_path, server__port=port))
            service.app.stop()
            assert (result.ok, result.code) == (False, "port-in-use")
            assert f"session {service.app.folder.name}" in result.message
            assert "`stark-translate stop`" in result.fix

        service = Service(tmp_path / "running", source=FakeSource(pcm_of([], 1.0), hold=True))
        assert service.run(check) == 0

    def test_phones_are_told_this_machine_s_own_address(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with socket.socket() as probe:
            probe.bind(("0.0.0.0", 0))
            port = probe.getsockname()[1]
        everywhere = loaded(tmp_path, server__host="0.0.0.0", server__port=port)
        here = addresses.local_address()
        result = told("port", everywhere)
        assert result.ok
        assert f"http://{here}:{port}/" in result.message
        monkeypatch.setattr("pipeline.server.addresses.local_address", lambda: "127.0.0.1")
        alone = told("port", everywhere)
        assert (alone.ok, alone.code) == (True, "network-missing")

    def test_an_address_that_changes_is_advised_against(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pipeline.server.addresses.local_address", lambda: "10.1.2.3")
        result = told("port", loaded(tmp_path, server__host="0.0.0.0", server__port=0))
        assert (result.ok, result.code) == (True, "port-changes")


class TestSessions:
    def test_what_was_not_there_is_not_left_behind(self, tmp_path: Path) -> None:
        directory = tmp_path / "new" / "sessions"
        result = told("sessions", loaded(tmp_path, session__directory=str(directory)))
        assert result.ok
        assert str(directory) in result.message
        assert list(tmp_path.iterdir()) == []

    def test_what_was_there_stays(self, tmp_path: Path) -> None:
        (tmp_path / "sessions" / "2026-11-15T09-30-00").mkdir(parents=True)
        assert told("sessions", loaded(tmp_path)).ok
        assert [f.name for f in (tmp_path / "sessions").iterdir()] == ["2026-11-15T09-30-00"]

    def test_an_unwritable_folder_is_red(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        result = told("sessions", loaded(tmp_path, session__directory=str(tmp_path / "file/s")))
        assert (result.ok, result.code) == (False, "session-unwritable")
        assert str(tmp_path / "file") in result.message
        assert "session.directory" in result.fix
        assert [f.name for f in tmp_path.iterdir()] == ["file"]

    def test_an_unusable_operator_token_is_red(self, tmp_path: Path) -> None:
        (tmp_path / "sessions").mkdir()
        (tmp_path / "sessions" / "operator-token").write_text("")
        result = told("sessions", loaded(tmp_path))
        assert (result.ok, result.code) == (False, "token-unusable")
        assert result.fix == "Delete it."
        assert told("sessions", loaded(tmp_path, operator__token="in the settings")).ok


def test_the_disk_says_how_much_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = told("disk", loaded(tmp_path))
    assert result.ok
    assert "two hours take about 6 MB" in result.message
    full = SimpleNamespace(free=50_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    short = told("disk", loaded(tmp_path))
    assert (short.ok, short.code) == (False, "disk-short")
    assert str(tmp_path) in short.fix


# https


def secure(tmp_path: Path, *, days: float = 90, **flags: Any) -> Loaded:
    cert, key = make(tmp_path, days=days)
    return loaded(tmp_path, server__tls_cert=str(cert), server__tls_key=str(key), **flags)


def test_a_logo_that_pages_go_without_is_told(tmp_path: Path) -> None:
    file = tmp_path / "logo.png"
    settings = loaded(tmp_path, church__logo=str(file))
    assert told("logo", settings).code == "logo-unreadable"
    file.write_bytes(b"GIF89a")
    refused = told("logo", settings)
    assert (refused.verdict, refused.code) == ("look", "logo-unusable")
    assert "The pages go without it." in refused.message
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 5000)
    assert told("logo", settings).message == "image/png, 5 kB."


def test_a_certificate_says_until_when_it_is(tmp_path: Path) -> None:
    result = told("certificate", secure(tmp_path))
    assert (result.verdict, result.fix) == ("ok", "")
    assert NAME in result.message
    assert "until 20" in result.message
    assert told("port", secure(tmp_path)).message.startswith("https://127.0.0.1:")


@pytest.mark.parametrize(
    ("settings", "verdict", "code"),
    [
        (lambda path: secure(path, days=-1), "failed", "tls-expired"),
        (lambda path: secure(path, days=5), "look", "tls-ends-soon"),
        (lambda path: secure(path, server__host="192.0.2.7"), "look", "tls-other-name"),
        (lambda path: secure(path, server__address="https://a.b/"), "look", "tls-other-name"),
        (lambda path: secure(path, server__address=f"https://{NAME}:8765/"), "ok", ""),
    ],
)
def test_what_browsers_would_not_take_is_told(
    tmp_path: Path, settings: Callable[[Path], Loaded], verdict: str, code: str
) -> None:
    result = told("certificate", settings(tmp_path))
    assert (result.verdict, result.code) == (verdict, code)
    assert bool(result.fix) == bool(code)


def test_a_key_that_others_can_read_is_told(tmp_path: Path) -> None:
    settings = secure(tmp_path)
    Path(settings.settings.server.tls_key).chmod(0o644)
    assert told("certificate", settings).code == "tls-key-open"


@in_loop
async def test_a_running_service_is_known_over_https_too(tmp_path: Path) -> None:
    server = secure(tmp_path).settings.server
    async with serving(tls_cert=server.tls_cert, tls_key=server.tls_key) as service:
        settings = secure(tmp_path, server__port=service.hub.port)
        result = await asyncio.to_thread(told, "port", settings)
        assert result.code == "port-in-use"
        assert "the running session" in result.message


@pytest.mark.slow
def test_the_verses_tell_their_bible_or_the_command_that_builds_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    result = told("verses", loaded(tmp_path))
    assert (result.verdict, result.code) == ("look", "verses-not-built")
    assert "stark-translate verses build" in result.fix
    small_index(tmp_path / "cache")
    result = told("verses", loaded(tmp_path))
    assert (result.verdict, result.message[:18]) == ("ok", "Reina-Valera 1909,")
    own = Edition("new", "en", "New", "ours", {(43, 11, 35): "Jesus wept."})
    file = editions.write(own, editions.own_directory())
    result = told("verses", loaded(tmp_path))
    assert (result.verdict, result.code) == ("look", "verses-outdated")
    assert "new new" in result.message
    file.unlink()
    assert told("verses", loaded(tmp_path, church__verses="off")).verdict == "ok"
    french = told("verses", loaded(tmp_path, translate__target="fr"))
    assert (french.verdict, french.fix) == ("ok", "")
    wrong = told("verses", loaded(tmp_path, church__edition="nosuch"))
    assert (wrong.verdict, wrong.code) == ("look", "verses-unknown")
