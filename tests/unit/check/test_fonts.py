"""The check for letters of other scripts, with fontconfig's own program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pipeline.check.fonts import font_checks
from pipeline.check.result import Result, results
from pipeline.config.loader import load
from tests.support.needs import needs_program, without


def checked(*targets: str) -> list[Result]:
    first, *further = targets
    flags = {"translate.target": first, "translate.targets": [{"lang": each} for each in further]}
    return list(results(font_checks(load(flags=flags).settings)))


def alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let fontconfig see the type of one folder, and no other."""
    config = folder / "fonts.conf"
    config.write_text(f"<fontconfig><dir>{folder}</dir><cachedir>{folder}</cachedir></fontconfig>")
    monkeypatch.setenv("FONTCONFIG_FILE", str(config))


def test_a_machine_without_type_for_a_language_is_told_which_package_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_program("fc-list")
    alone(tmp_path, monkeypatch)
    (made,) = checked("ko", "fr", "zh")
    assert (made.verdict, made.code) == ("look", "fonts-missing")
    assert made.message == "No type for Korean, Chinese: a browser on this machine shows boxes."
    assert made.fix.endswith("sudo apt install fonts-noto-cjk")
    (other,) = checked("hi", "ja")
    assert other.fix.endswith("sudo apt install fonts-noto-cjk fonts-noto-core")


def test_type_that_is_there_is_seen() -> None:
    needs_program("fc-list")
    here = [
        lang
        for lang in ("ar", "he", "ko", "zh", "ja", "hi", "th")
        if subprocess.run(["fc-list", f":lang={lang}"], capture_output=True, check=True).stdout
    ]
    if not here:
        without("no type of another script")
    (made,) = checked(*here)
    assert (made.verdict, made.message[:18]) == ("ok", "There is type for ")


def test_letters_that_are_everywhere_need_no_check(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checked("es", "ru", "el", "xx") == []
    monkeypatch.setenv("PATH", "")
    assert checked("ko") == []
