"""A volunteer's tasks on the operator's page, as in `make trial`: at most three touches each."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from scripts.docs.trial import MOST_TOUCHES, play, table

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_no_task_at_the_desk_takes_more_than_three_touches(browser: Browser) -> None:
    """The seconds are only printed: they depend on the machine too."""
    tasks = play(browser)
    print(table(tasks))
    assert {task.name: task.touches for task in tasks if task.touches > MOST_TOUCHES} == {}
    assert [task.touches for task in tasks if not task.touches] == []
    assert len(tasks) == 16
