"""When a service begins a new session: at a quiet hour while nobody speaks, or when asked to."""

from __future__ import annotations

from datetime import datetime, timedelta

from pipeline.core.errors import ProtocolError
from pipeline.daemon.context.state import DaemonState

QUIET_S = 60.0
"""So long nobody must have spoken, and no caption be on its way."""


class NewDay:
    """Tells when the session that was begun at `started`, a time with its zone, is to end."""

    def __init__(self, started: datetime, *, quiet_s: float = QUIET_S) -> None:
        self._started = started
        self._quiet_s = quiet_s
        self._quiet_since_s: float | None = None

    def is_due(self, new_at: str, now: datetime, now_s: float, *, is_quiet: bool) -> bool:
        """Return whether the hour has struck since the session began, and it is quiet by now.

        `new_at` is "04:00" by the clock of `now`, or "" for never; `now_s` is monotonic.
        """
        if not is_quiet:
            self._quiet_since_s = None
            return False
        # Also without an hour: one may be set while the session runs.
        if self._quiet_since_s is None:
            self._quiet_since_s = now_s
        # Monotonic: the computer's clock may jump, and then nobody has been quiet for so long.
        calm = now_s - self._quiet_since_s >= self._quiet_s
        return bool(new_at) and calm and self._started < last_strike(new_at, now)


def ask_for_new_session(facts: DaemonState) -> None:
    """Let the supervisor begin a new session, as soon as nobody is speaking.

    Raises ProtocolError (not-now): where there is none to begin, and while something is set that
    the next session would not know.
    """
    if not facts.may_begin_anew:
        message = "A rehearsal, a demonstration and a file are one session each."
        raise ProtocolError("not-now", message)
    if facts.paused or facts.blank or facts.off_record:
        message = "Go on first: a new session is neither paused, blank nor off the record."
        raise ProtocolError("not-now", message)
    facts.is_new_session_wanted = True


def last_strike(new_at: str, now: datetime) -> datetime:
    """Return when the clock of `now` last showed `new_at`, such as "04:00"."""
    hour, minute = map(int, new_at.split(":"))
    today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return today if today <= now else today - timedelta(days=1)
