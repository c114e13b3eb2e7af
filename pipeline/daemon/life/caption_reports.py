"""What the workers report of captions, handed to those whom it concerns.

Belongs to the event loop's thread.
"""

from __future__ import annotations

from pipeline.core.reports import CaptionReport, Rendition, Retranslated, Settled
from pipeline.core.types import Caption, Comparison, Transcript, Utterance
from pipeline.daemon.captions.coordinator import CaptionCoordinator
from pipeline.daemon.captions.languages import Languages
from pipeline.daemon.desk.operator_commands import OperatorCommands
from pipeline.workers.group import WorkerGroup


class CaptionReports:
    """Tells the first target, the further languages and the workers what has come of speech."""

    def __init__(
        self,
        coordinator: CaptionCoordinator,
        languages: Languages,
        commands: OperatorCommands,
        group: WorkerGroup,
    ) -> None:
        self._coordinator = coordinator
        self._languages = languages
        self._commands = commands
        self._group = group
        self._first = group.targets[0].lang

    def take(self, report: CaptionReport) -> None:
        """Act on a report."""
        match report:
            case Rendition(lang, caption) if lang == self._first:
                self._settled(self._coordinator.show(caption))
            case Rendition():
                self._languages.show(report)
            case Retranslated():
                self._commands.on_retranslated(report)
            case Comparison():
                self._coordinator.on_comparison(report)
            case Utterance(final=True):
                self._languages.on_closed(report)
                self._settled(self._coordinator.on_closed(report))
            # No final: speech has returned to it (`CaptionReport`).
            case Utterance():
                self._resumed(report)
            case Settled(id=key):
                self._languages.on_settled(key)
                self._settled(self._coordinator.on_settled(key))
            case Transcript():
                self._languages.on_filtered(report)
                self._coordinator.on_filtered(report)

    def _resumed(self, utterance: Utterance) -> None:
        self._languages.on_resumed(utterance)
        if reopened := self._coordinator.on_resumed(utterance):
            self._group.targets[0].go_on(reopened)

    def _settled(self, final: Caption | None) -> None:
        """Hand on a final caption, if one has settled."""
        if final is not None:
            self._group.compare(final)
            self._languages.offer(final.transcript)
