"""The messages that the daemon and the pages have agreed on."""

from __future__ import annotations

import json
from typing import Any

from tests.support.paths import ROOT

GOLDEN = ROOT / "tests" / "contract" / "golden" / "service.json"
MESSAGES: list[dict[str, Any]] = [
    step["message"] for step in json.loads(GOLDEN.read_text("utf-8")) if step["message"]
]
SNAPSHOT = [m for m in MESSAGES if m["type"] == "hello" and not m["resumed"]][-1]["captions"]
