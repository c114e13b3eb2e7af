"""Workers that nobody has started, as far as operators' commands reach them."""

from __future__ import annotations

from pipeline.workers.group import HearingControls


class FakeHearing:
    """Stands still in the audio, where it is set to."""

    def __init__(self, heard_s: float = 1.0) -> None:
        self.heard_s = heard_s
        self.controls: HearingControls | None = None
        self.settled = 0

    def apply(self, controls: HearingControls) -> None:
        """Keep what operators want."""
        self.controls = controls

    def settle(self) -> None:
        """Count it."""
        self.settled += 1
