"""Devices by name, kept as hashes; six-digit codes that work once and allow few guesses."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipeline.core.errors import SessionError
from pipeline.core.files import try_lock
from pipeline.server import volunteers as module
from pipeline.server.volunteers import (
    CODE_S,
    FILE,
    GUESSES,
    GUESSES_IN_ALL,
    MOST,
    PairingCodes,
    Volunteers,
)


def test_a_device_is_known_by_its_token_and_the_file_has_only_its_hash(tmp_path: Path) -> None:
    volunteers = Volunteers(tmp_path)
    tokens = [volunteers.add(name) for name in ("Maria", "Jonas", "Maria")]
    assert len(set(tokens)) == 3
    assert [volunteers.name_of(token) for token in tokens] == ["Maria", "Jonas", "Maria"]
    assert volunteers.name_of("guess") == volunteers.name_of("\ud800") == ""
    assert volunteers.names == ("Maria", "Jonas")
    kept = (tmp_path / FILE).read_text()
    assert not any(token in kept for token in tokens)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    other = Volunteers(tmp_path)
    assert other.refresh()
    assert other.name_of(tokens[0]) == "Maria"
    assert volunteers.revoke("maria") == 2, "a name is out on all its devices"
    assert [volunteers.name_of(token) for token in tokens] == ["", "Jonas", ""]
    assert volunteers.revoke("maria") == 0


def test_changes_of_several_programs_at_once_are_all_kept(tmp_path: Path) -> None:
    def pair(program: int) -> None:
        volunteers = Volunteers(tmp_path)
        for number in range(8):
            volunteers.add(f"{program} {number}")
            volunteers.add("gone")
            volunteers.revoke("gone")

    with ThreadPoolExecutor(3) as programs:
        list(programs.map(pair, range(3)))
    kept = Volunteers(tmp_path)
    kept.refresh()
    assert sorted(kept.names) == sorted(f"{p} {n}" for p in range(3) for n in range(8))


def test_a_program_that_never_ends_its_change_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOCK_S", 0.02)
    with (tmp_path / "volunteers.lock").open("w") as other:
        assert try_lock(other.fileno())
        with pytest.raises(SessionError, match="another program is changing it"):
            Volunteers(tmp_path).add("Maria")
    assert Volunteers(tmp_path).add("Maria")


def test_what_another_program_has_revoked_is_seen(tmp_path: Path) -> None:
    running, typed = Volunteers(tmp_path), Volunteers(tmp_path)
    token = running.add("Maria")
    assert not running.refresh()
    assert typed.revoke("Maria") == 1
    assert running.refresh()
    assert running.name_of(token) == ""
    (tmp_path / FILE).unlink()
    assert running.refresh()


@pytest.mark.parametrize("content", [b"", b"{}", b'[{"name": 7}]', b"\xff"])
def test_a_broken_file_is_told_and_nobody_is_lost(tmp_path: Path, content: bytes) -> None:
    running = Volunteers(tmp_path)
    token = running.add("Maria")
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(SessionError) as caught:
        running.refresh()
    assert caught.value.code == "volunteers-unusable"
    assert str(tmp_path / FILE) in caught.value.message
    assert running.name_of(token) == "Maria"
    with pytest.raises(SessionError):
        running.add("Jonas")
    assert (tmp_path / FILE).read_bytes() == content, "what a person may still mend is not lost"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    running = Volunteers(tmp_path / "missing")
    with pytest.raises(SessionError) as caught:
        running.add("Maria")
    assert caught.value.code == "volunteers-unusable"
    assert running.names == ()


def test_the_oldest_of_too_many_devices_goes(tmp_path: Path) -> None:
    volunteers = Volunteers(None)
    tokens = [volunteers.add(f"Volunteer {number}") for number in range(MOST + 1)]
    assert volunteers.name_of(tokens[0]) == ""
    assert volunteers.name_of(tokens[-1]) == f"Volunteer {MOST}"
    assert list(tmp_path.iterdir()) == []


def test_a_code_holds_once_and_for_its_time() -> None:
    codes = PairingCodes()
    code = codes.issue(0.0)
    assert len(code) == 6 and code.isdigit()  # noqa: PT018
    assert codes.take(f" {code[:3]} {code[3:]} ", "10.0.0.1", 1.0)
    assert not codes.take(code, "10.0.0.1", 1.0)
    late = codes.issue(10.0)
    assert not codes.take(late, "10.0.0.1", 10.0 + CODE_S)


@pytest.mark.parametrize("zero", ["\u0660", "\u06f0", "\u0966", "\uff10"])
def test_a_code_may_be_typed_in_the_digits_of_any_script(zero: str) -> None:
    """Digits of Arabic, Persian and Devanagari, and full-width digits."""
    codes = PairingCodes()
    typed = "".join(chr(ord(zero) + int(digit)) for digit in codes.issue(0.0))
    assert codes.take(f"{typed[:3]} {typed[3:]}\u00b2", "10.0.0.1", 1.0)


def test_a_few_wrong_codes_of_an_address_end_all_that_were_shown_for_that_address() -> None:
    codes = PairingCodes()
    shown = [codes.issue(0.0), codes.issue(0.0)]
    for number in range(GUESSES):
        assert not codes.take(f"guess {number}", "10.0.0.66", 1.0)
    assert not any(codes.take(code, "10.0.0.66", 1.0) for code in shown)
    assert codes.take(shown[0], "10.0.0.1", 1.0)
    again = codes.issue(2.0)
    assert codes.take(again, "10.0.0.66", 3.0), "a new one begins anew"


def test_wrong_codes_from_many_addresses_end_all_that_were_shown() -> None:
    codes = PairingCodes()
    shown = codes.issue(0.0)
    for number in range(GUESSES_IN_ALL):
        assert not codes.take("guess", f"10.0.1.{number % 25}", 1.0)
    assert not codes.take(shown, "10.0.0.1", 1.0)
    assert codes.take(codes.issue(2.0), "10.0.0.1", 3.0)


def test_only_some_codes_hold_at_once() -> None:
    codes = PairingCodes()
    shown = [codes.issue(float(number)) for number in range(6)]
    assert [codes.take(code, "10.0.0.1", 10.0) for code in shown[2:]] == [True] * 4
    assert not codes.take(shown[0], "10.0.0.1", 10.0)
