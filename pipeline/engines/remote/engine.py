"""What all engines on servers have in common: whether the server is there, patience, reasons."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import structlog

from pipeline.core.errors import EngineCancelledError, EngineError
from pipeline.engines.protocols import never
from pipeline.engines.remote.api_server import ApiServer
from pipeline.engines.remote.http_call import LOOK_S

log = structlog.get_logger()

_WAITS_S = (0.1, 0.3, 1.0)
"""Waits before the retries of what may pass."""
_MAY_PASS = {"server-gone", "server-busy", "server-failed"}
_FIRST_LOOK_S = 3.0
"""A start waits no longer for a server that does not answer."""

T = TypeVar("T")


class RemoteEngine:
    """An engine on `server`. One request at a time."""

    kernels = ""
    gpu_layers = 0

    def __init__(self, server: ApiServer, deadline_s: float) -> None:
        self.server = server
        self.deadline_s = deadline_s
        self.is_cancelled: Callable[[], bool] = never
        self.degraded_reason = ""
        self._is_known = False

    def open(self) -> None:
        """Read what the server needs to be asked. Raises ModelError, ConfigError."""
        self.server.open()

    def load(self) -> None:
        """Do the same and see whether the server is there; one that is not may come later.

        Raises ModelError, ConfigError.
        """
        self.open()
        try:
            self.server.check_model(until_s=time.monotonic() + _FIRST_LOOK_S, check=_go_on)
        except EngineError as error:
            self._note(error)
        else:
            self._is_known = True

    def _ask(self, attempt: Callable[[], T]) -> T:
        """Return what an attempt gives. Raises EngineError, after noting it for people."""
        try:
            made = attempt()
        # That nobody wants the answer says nothing of the server.
        except EngineCancelledError:
            raise
        except EngineError as error:
            self._is_known = False  # what comes back may be another one
            self._note(error)
            raise
        if self.degraded_reason:
            log.info("server is back", server=self.server.place)
            self.degraded_reason = ""
        return made

    def _patiently(self, attempt: Callable[[], T], until_s: float) -> T:
        """Return what an attempt gives; what may pass is tried again while there is time."""
        for wait_s in (*_WAITS_S, None):
            try:
                self._know(until_s)
                return attempt()
            except EngineError as error:
                # A wait beyond the deadline would only make the same error late.
                is_last = wait_s is None or time.monotonic() + wait_s >= until_s
                if error.code not in _MAY_PASS or is_last or wait_s is None:
                    raise
                log.debug("server is asked again", error=str(error), wait_s=wait_s)
                self._wait(wait_s)
        raise AssertionError  # the last wait is None

    def _know(self, until_s: float) -> None:
        """See that the server has the model, where that is not known."""
        if not self._is_known:
            self.server.check_model(until_s=until_s, check=self._check)
            self._is_known = True

    def _check(self) -> None:
        if self.is_cancelled():
            raise EngineCancelledError("engine-cancelled", "The result is not wanted.")

    def _wait(self, wait_s: float) -> None:
        until_s = time.monotonic() + wait_s
        while time.monotonic() < until_s:
            self._check()
            # In short pieces: who cancels must not wait for a retry.
            time.sleep(LOOK_S)

    def _note(self, error: EngineError) -> None:
        """Keep why the server is not used, and say it where that is new."""
        if error.message != self.degraded_reason:
            log.warning("server is not used", reason=error.message, code=error.code, fix=error.fix)
        self.degraded_reason = error.message


def _go_on() -> None:
    """Go on waiting."""
