"""Workers that nobody has started, as far as operators' commands reach them."""

from __future__ import annotations

from pipeline.audio.utterance_ids import UtteranceIds
from pipeline.config.schema import Settings
from pipeline.workers.degradation import Degradation
from pipeline.workers.engines import TargetEngines
from pipeline.workers.group import HearingControls
from pipeline.workers.queues import Retranslation
from pipeline.workers.quick import QuickPass
from pipeline.workers.target import TargetWorkers


class FakeHearing:
    """Stands still in the audio, where it is set to."""

    def __init__(self, heard_s: float = 1.0) -> None:
        self.heard_s = heard_s
        self.controls: HearingControls | None = None
        self.settled = 0

        self.asked: list[Retranslation] = []
        self.ids = UtteranceIds()

    def take_id(self) -> int:
        """Return the next id."""
        return self.ids.take()

    def retranslate(self, request: Retranslation) -> None:
        """Keep what is asked for."""
        self.asked.append(request)

    def apply(self, controls: HearingControls) -> None:
        """Keep what operators want."""
        self.controls = controls

    def settle(self) -> None:
        """Count it."""
        self.settled += 1


def idle_workers(settings: Settings, hearing: FakeHearing) -> list[TargetWorkers]:
    """Return the workers of each target language, without engines; their threads do not run."""
    made = [
        TargetWorkers(
            alone,
            TargetEngines(alone.translate.target, None, None),
            emit=print,
            is_stale=lambda _: False,
            shed=True,
            ask=hearing.retranslate if number == 0 else None,
        )
        for number, alone in enumerate(settings.for_each_target())
    ]
    made[0].quick = QuickPass(
        settings=settings,
        translator=None,
        drafts=None,
        degradation=Degradation(),
        emit=print,
        stage="transcribe",
        shed=True,
    )
    return made
