"""What operators' pages get beside captions: level, records, how daemon and displays do."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from pipeline.captions.redaction import Purge, Sweep
from pipeline.config.changes import Changes
from pipeline.core.types import CommandName, Fault
from pipeline.protocol import codec as wire
from pipeline.server.clients import Client, Clients
from pipeline.server.display_latency import Glass

_UTTERANCES = 50
"""Records kept for an operator who joins late."""


class Operators:
    """Speaks to the clients that have shown the token. Belongs to the event loop's thread."""

    def __init__(
        self,
        clients: Clients,
        glass: Glass,
        *,
        address: Callable[[], str],
        health: Callable[[], Mapping[str, Any]],
        console: Callable[[], Mapping[str, Any]],
    ) -> None:
        """Take what is asked whenever a message needs it.

        `address` is the audience page's, `health` the fields of a health record, `console` those of
        `wire.console` that only the pipeline knows.
        """
        self._clients = clients
        self._glass = glass
        self._address = address
        self._health = health
        self._console = console
        self._utterances: deque[Mapping[str, Any]] = deque(maxlen=_UTTERANCES)
        self._compares: deque[Mapping[str, Any]] = deque(maxlen=_UTTERANCES)
        self._purged: deque[tuple[float, float]] = deque(maxlen=_UTTERANCES)

    def level(self, dbfs: float, clipped: bool) -> None:
        """Tell the input level."""
        self._tell(wire.level(dbfs, clipped))

    def utterance(self, record: Mapping[str, Any]) -> None:
        """Give the diagnostics record of an utterance, also to those who come later."""
        self._utterances.append(record)
        self._tell(wire.utterance(record))

    def compare(self, record: Mapping[str, Any]) -> None:
        """Give the record of a second final, also to those who come later."""
        self._compares.append(record)
        self._tell(wire.encode(record))

    def fault(self, fault: Fault) -> None:
        """Tell that something went wrong and the daemon went on."""
        self._tell(wire.fault(fault.stage, fault.code, fault.message))

    def rule(self, rule_id: str, heard: str, write: str, *, removed: bool) -> None:
        """Tell that a dictionary rule was added, or taken back."""
        self._tell(wire.rule(rule_id, heard, write, removed=removed))

    def reloaded(self, changes: Changes, *, rules: int) -> None:
        """Tell that settings and dictionary were read again."""
        self._tell(
            wire.reloaded(
                live=changes.live,
                next_utterance=changes.next_utterance,
                restart=changes.restart,
                rules=rules,
            )
        )

    def purge(self, purge: Purge) -> None:
        """Forget the records of what was said off the record, and have pages forget them."""
        sweep = Sweep(purge)
        for kept in (self._utterances, self._compares):
            left = [record for record in kept if not sweep.takes(record)]
            kept.clear()
            kept.extend(left)
        self._purged.append((purge.from_s, purge.to_s))
        self._tell(wire.purged(purge.from_s, purge.to_s))

    def done(self, name: CommandName, controls: Mapping[str, Any]) -> None:
        """Tell that a command was obeyed, and how what operators control is now."""
        self._tell(wire.done(name, controls))

    def health(self, seq: int) -> None:
        """Tell how the daemon is, and how the displays keep up; `seq` is the newest caption's."""
        if not self._clients.authorized():
            return
        now_s = time.monotonic()
        message = {
            "type": "health",
            "utc": datetime.now(UTC).isoformat(timespec="milliseconds"),
            **self._health(),
            "displays": self._glass.displays(self._clients, now_s),
            "slowest": self._glass.slowest(self._clients, seq, now_s),
        }
        self._tell(wire.encode(message))

    def welcome(self, client: Client) -> None:
        """Bring one that has just shown the token up to date."""
        message = wire.console(
            address=self._address(),
            utterances=self._utterances,
            compares=self._compares,
            purged=self._purged,
            **self._console(),
        )
        client.backlog += len(message)
        self._clients.send([client], message)

    def _tell(self, message: bytes) -> None:
        self._clients.send(self._clients.authorized(), message)
