"""Messages for operators only: level, records, faults, health of daemon and displays."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, fields, replace

from pipeline.captions.redaction import Redaction, RedactionFilter
from pipeline.config.loader import Changes
from pipeline.core.reports import Fault
from pipeline.protocol.codec import encode
from pipeline.protocol.messages import (
    ConsoleMessage,
    DisplayGroup,
    FaultMessage,
    HealthMessage,
    LevelMessage,
    Outgoing,
    PurgedMessage,
    ReloadedMessage,
    Stretch,
)
from pipeline.records.health import HealthRecord
from pipeline.records.utterance import CompareRecord, UtteranceRecord
from pipeline.server.clients import Client, Clients, DisplayLatency

_UTTERANCES = 50
"""Records kept for an operator who joins late."""


class OperatorFeed:
    """Sends to the clients that are logged in. Belongs to the event loop's thread."""

    def __init__(self, clients: Clients, glass: DisplayLatency) -> None:
        self._clients = clients
        self._glass = glass
        self._utterances: deque[UtteranceRecord] = deque(maxlen=_UTTERANCES)
        self._compares: deque[CompareRecord] = deque(maxlen=_UTTERANCES)
        # For pages that were disconnected: they still show the text when they come back.
        self._purged: deque[Stretch] = deque(maxlen=_UTTERANCES)

    def tell(self, message: Outgoing) -> None:
        """Send a message to every operator's page."""
        self._clients.send(self._clients.authorized(), encode(message))

    def level(self, dbfs: float, clipped: bool) -> None:
        """Send the input level."""
        # By default orjson cannot encode numpy numbers.
        self.tell(LevelMessage(dbfs=round(float(dbfs), 1), clipped=clipped))

    def utterance(self, record: UtteranceRecord) -> None:
        """Send the record of an utterance, and keep it for operators who log in later."""
        self._utterances.append(record)
        self.tell(record)

    def compare(self, record: CompareRecord) -> None:
        """Send the record of a second final, and keep it for operators who log in later."""
        self._compares.append(record)
        self.tell(record)

    def fault(self, fault: Fault) -> None:
        """Report an error that the daemon survived."""
        self.tell(FaultMessage(**asdict(fault)))

    @property
    def is_watched(self) -> bool:
        """Whether a page of an operator is open."""
        return bool(self._clients.authorized())

    def reloaded(self, changes: Changes, *, rules: int) -> None:
        """Report that settings and dictionary were reloaded."""
        self.tell(ReloadedMessage(rules=rules, **asdict(changes)))

    def purge(self, purge: Redaction) -> None:
        """Remove off-the-record utterances from the kept records and from operators' pages."""
        sweep = RedactionFilter(purge)
        # Utterances first: comparisons have no times and are removed by the ids found here.
        spoken = [record for record in self._utterances if not sweep.takes(record)]
        compared = [record for record in self._compares if not sweep.takes(record)]
        self._utterances = deque(spoken, maxlen=_UTTERANCES)
        self._compares = deque(compared, maxlen=_UTTERANCES)
        self._purged.append(Stretch(from_s=purge.from_s, to_s=purge.to_s))
        self.tell(PurgedMessage(from_s=purge.from_s, to_s=purge.to_s))

    def health(
        self, record: HealthRecord, seqs: Mapping[str, int], heard: Mapping[str, int]
    ) -> None:
        """Send the health of daemon and displays; `seqs` has the newest seq by board.

        `heard` has the number of listeners to the church's voice by language.
        """
        now_s = time.monotonic()
        listeners = (
            DisplayGroup(kind="voice", lang=lang, clients=count, glass_ms=None)
            for lang, count in sorted(heard.items())
        )
        self.tell(
            HealthMessage(
                **{each.name: getattr(record, each.name) for each in fields(HealthRecord)},
                displays=(*self._glass.displays(self._clients, now_s), *listeners),
                slowest=self._glass.slowest(self._clients, seqs, now_s),
            )
        )

    def welcome(self, client: Client, console: ConsoleMessage) -> None:
        """Bring a client that has just logged in up to date; add the kept records to `console`."""
        console = replace(
            console,
            utterances=tuple(self._utterances),
            compares=tuple(self._compares),
            purged=tuple(self._purged),
        )
        message = encode(console)
        # This message is large, so its size does not mean that the client is slow.
        client.backlog += len(message)
        self._clients.send([client], message)
