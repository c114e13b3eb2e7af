"""A benchmark's section finds its place and leaves the others alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.bench.report_section import PACKAGES, machine, markdown, show, with_section, write


def test_it_is_added_replaced_and_nothing_else_changes() -> None:
    once = with_section("# All\n\n## A\n\na\n", "## B", "## B\n\nnew\n")
    assert once == "# All\n\n## A\n\na\n\n## B\n\nnew\n"
    assert with_section(once, "## B", "## B\n\nnew\n") == once
    first = with_section(once, "## A", "## A\n\nother\n")
    assert first == "# All\n\n## A\n\nother\n\n## B\n\nnew\n"


def test_a_new_section_comes_behind_those_of_its_kind() -> None:
    text = "# All\n\n## Live: a\n\nold\n\n## Other\n\nkept\n"
    new = "## Live: b\n\nnew\n"
    placed = with_section(text, "## Live: b", new)
    assert placed == "# All\n\n## Live: a\n\nold\n\n## Live: b\n\nnew\n\n## Other\n\nkept\n"
    assert with_section(placed, "## Live: b", new) == placed


def test_a_table_is_printed_and_written_into_a_file_that_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [["", "this"], ["WER", "4.0%"]]
    assert markdown(rows) == "|  | this |\n|---|---|\n| WER | 4.0% |"
    show(rows, "## Words")
    printed = capsys.readouterr().out
    assert "Words" in printed
    assert "4.0%" in printed
    page = tmp_path / "B.md"
    write(page, "## Words", rows, preface="\nWhy.\n", notes=["today", "here"])
    section = f"## Words\n\nWhy.\n\n{markdown(rows)}\n\n- today\n- here\n"
    assert page.read_text("utf-8") == f"# Benchmarks\n\n{section}"
    write(page, "## More", rows, preface="Why.", notes=["today"], explain_once=True)
    assert page.read_text("utf-8").endswith(f"{section}\n## More\n\n{markdown(rows)}\n\n- today\n")
    write(None, "## Words", rows, preface="", notes=[])


def test_figures_name_the_day_the_processor_and_the_engines() -> None:
    facts = machine()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", facts["date"])
    assert re.search(r", \d+ cores$", facts["cpu"])
    assert {"python", *PACKAGES} <= set(facts)
    assert all(facts.values())
