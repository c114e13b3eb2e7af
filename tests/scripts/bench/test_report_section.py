"""A benchmark's section finds its place and leaves the others alone."""

from __future__ import annotations

from scripts.bench.report_section import with_section


def test_it_is_added_replaced_and_nothing_else_changes() -> None:
    once = with_section("# All\n\n## A\n\na\n", "## B", "## B\n\nnew\n")
    assert once == "# All\n\n## A\n\na\n\n## B\n\nnew\n"
    assert with_section(once, "## B", "## B\n\nnew\n") == once
    first = with_section(once, "## A", "## A\n\nother\n")
    assert first == "# All\n\n## A\n\nother\n\n## B\n\nnew\n"
