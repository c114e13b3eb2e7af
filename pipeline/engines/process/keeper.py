"""Keep an engine's process alive: start it, watch it, start the next one after its death.

Each engine has a thread for this, the keeper. It waits until the child has loaded, passes on its
log lines, checks its memory, and decides with `deaths.Supervision` what follows a death.
This module imports no engine's library.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NoReturn

import structlog

from pipeline.core import errors
from pipeline.core.errors import EngineError, EngineGoneError, StarkError
from pipeline.core.formats import human_size
from pipeline.core.threads import Thread, described
from pipeline.engines.process.channel import Patience
from pipeline.engines.process.child_process import ChildProcess
from pipeline.engines.process.deaths import (
    Cause,
    Decision,
    Life,
    Supervision,
    crashed_before,
    crashes_always,
    died,
    sentence,
)
from pipeline.engines.process.gpu_use import GpuWatch
from pipeline.engines.specification import GPU_SHARES, EngineSpec, Part
from pipeline.models.crash_history import LOAD_CRASHES, CrashHistory
from pipeline.models.integrity import loading_limit_s

log = structlog.get_logger()

Tell = Callable[[str, str], None]
"""Takes a fault's code and message, in the keeper's thread."""

_END_S = 1.0
"""Seconds that an idle process has to end by itself."""

_BREAKS = 3
"""The keeper gives up after this many errors of its own with no loaded process in between."""

_MEMORY_S = 2.0
"""Seconds between two checks of the memory."""


class KeptProcess:
    """Keeps a process for one engine alive. Calls must come from one thread.

    `crashes` remembers models that crash while they load. A process is replaced if it grows by
    more than `growth_bytes` after loading (0: never), or if a call takes `hang_s`.
    Without `restarts` the first death is final.
    """

    def __init__(
        self,
        spec: EngineSpec,
        part: Part,
        *,
        crashes: CrashHistory | None = None,
        growth_bytes: int = 0,
        hang_s: float = 10.0,
        restarts: bool = True,
    ) -> None:
        self.spec = spec
        self.part = part
        self._crashes = crashes
        self._growth_bytes = growth_bytes
        self._hang_s = hang_s
        self._restarts = restarts
        self._supervision = Supervision(GPU_SHARES.get(spec.kind, (1.0,)))
        self._changed = threading.Condition()
        # `_changed` guards both: the process that takes calls, and the process that exists.
        self._ready: ChildProcess | None = None
        self._running: ChildProcess | None = None
        self._given_up: StarkError | None = None
        self._closing = threading.Event()
        self._away = self._less_gpu = self._own_reason = ""
        self._load_limit_s = loading_limit_s(spec.model)  # the first load sets that of later ones
        self._tell: Tell | None = None
        self._untold: list[tuple[str, str]] = []
        self._keeper: Thread | None = None
        self._breaks = 0  # the keeper's own errors since a process last loaded
        self.kernels = ""
        """The CPU features that the engine uses, if it reports them."""
        self.memory_bytes = 0
        """The memory of the process at the last check."""
        self.loaded_bytes = 0
        """The memory of the process right after loading."""
        self.load_s: float | None = None
        """How long the last load took, with the start of the process; None before the first."""
        self.gpu = GpuWatch()

    @property
    def name(self) -> str:
        """The name of the engine, for records."""
        return self.spec.name

    @property
    def pid(self) -> int | None:
        """The pid of the process that takes calls, None while there is none."""
        # Read once: the keeper may set `_ready` to None at any moment.
        ready = self._ready
        return ready.pid if ready else None

    @property
    def degraded_reason(self) -> str:
        """Why the engine is degraded, "" if it is not. Any thread may read this."""
        # A reader needs no lock: each of the three texts is replaced as a whole.
        return "; ".join(filter(None, (self._away, self._less_gpu, self._own_reason)))

    def cpu_s(self) -> float:
        """Return the CPU time that the process has used, in seconds."""
        ready = self._ready
        return ready.cpu_s() if ready else 0.0

    def listen(self, tell: Tell) -> None:
        """Report later faults to `tell`, and earlier ones at once."""
        with self._changed:
            self._tell = tell
            pending, self._untold = self._untold, []
        # Outside the lock: `tell` may call back, or wait for a thread that wants the lock.
        for code, message in pending:
            tell(code, message)

    def start(self) -> None:
        """Start the process. Any thread may call this, also repeatedly. `load` waits for it."""
        # Locked: the threads of two languages may load one engine at the same moment.
        with self._changed:
            if self._keeper is None:
                name = f"{self.part.key} keeper"
                self._keeper = Thread(self._keep, name, failed=self._broke, again=True)
                self._keeper.start()

    def load(self) -> None:
        """Wait until the engine has loaded. Raises what its `load` raises, or ModelCrashError."""
        self.start()
        with self._changed:
            self._changed.wait_for(self._is_decided)
            if self._given_up is not None:
                raise self._given_up
            if self._ready is None:
                raise self._gone()

    def close(self) -> None:
        """End the process within seconds, whatever it does, and release waiting callers."""
        # First: a keeper that is starting a process checks this flag after the start.
        self._closing.set()
        with self._changed:
            running, idle = self._running, self._ready is self._running
            self._changed.notify_all()
        if running is not None:
            # The lock is free only between two calls; a call that is running is not waited for.
            if idle and running.lock.acquire(blocking=False):  # the child reads the end and exits
                running.channel.end()
                running.lock.release()
                self._join(_END_S)
            running.kill(Cause("engine-closed", "was not needed any more"))
        # No timeout: the keeper itself abandons a process that cannot be killed.
        self._join()

    def _join(self, timeout_s: float | None = None) -> None:
        if self._keeper is not None:
            self._keeper.join(timeout_s)

    def _is_decided(self) -> bool:
        return bool(self._ready or self._given_up or self._closing.is_set())

    def take_child(self) -> ChildProcess:
        """Return the process to call. Raises EngineGoneError, or why the engine was given up."""
        with self._changed:
            # A recognizer has no substitute, so callers wait; a final translator has the draft.
            if self.part.waits:
                self._changed.wait_for(self._is_decided)
                if self._given_up is not None:
                    raise self._given_up
            if self._ready is None or self._closing.is_set():
                raise self._gone()
            return self._ready

    def lose(self, child: ChildProcess) -> NoReturn:
        """Stop calling this process. Raises EngineGoneError."""
        with self._changed:
            # The keeper may already have replaced it.
            if self._ready is child:
                self._ready = None
            if not self._restarts:  # a test wants the cause of death
                self._changed.wait_for(self._is_decided)
                if self._given_up is not None:
                    raise self._given_up
            raise self._gone()

    def _gone(self) -> EngineGoneError:
        return EngineGoneError("engine-gone", f"{sentence(self.part.name)} is not there.")

    # The keeper's thread.

    def _keep(self) -> None:
        # The thread restarts after an error of its own; that error may have given up the engine.
        if self._given_up is not None:
            return
        # Not in a test (no restarts): a test is how a repaired model is found to work again.
        if self._crashes is not None and self._restarts:
            before = self._crashes.of(self.spec.model)
            if before is not None and before.count >= LOAD_CRASHES:
                self._give_up(crashed_before(self.spec, before))
                return
        while not self._closing.is_set():
            life = self._live()
            if self._closing.is_set():
                return
            # A new process would refuse the model again, unless a GPU was lost meanwhile.
            if life.refusal is not None:
                if not (self.loaded_bytes and life.on_gpu):
                    self._give_up(life.refusal)
                    return
                life = life.with_gpu_lost()
            decision = self._supervision.died(time.monotonic(), on_gpu=life.on_gpu)
            if not self._restarts:
                self._give_up(died(self.spec, self.part, life.cause, has_loaded=life.has_loaded))
                return
            # Only a death while loading on the CPU points to the file: a GPU has its own faults.
            if life.cause.is_models and not (life.has_loaded or life.on_gpu) and self._crashes:
                self._crashes.note(self.spec.model, life.cause.words)
            if decision.given_up:
                self._give_up(crashes_always(self.spec, self.part, life.cause))
                return
            self._tell_of_death(life, decision)
            # Not sleep(): a service that ends does not wait for the next try.
            self._closing.wait(decision.delay_s)

    def _broke(self, error: BaseException) -> None:
        """End the process after an error in the keeper's thread; a new process follows.

        Raise an error that keeps coming back, which ends the service: callers of this engine
        would wait for ever.
        """
        with self._changed:
            child, self._running, self._ready = self._running, None, None
        if child is not None:
            child.kill(Cause("engine-unattended", "was ended"))
            with suppress(Exception):  # `end` may be what failed before
                child.end()
        lost = f"{self.part.name} was not looked after ({described(error)})"
        self._breaks += 1
        if self._breaks >= _BREAKS:
            self._give_up(EngineError("engine-unattended", f"{sentence(lost)}."))
            raise error
        self._away = f"{lost}; {self.part.meanwhile}"
        self._report("engine-unattended", f"{sentence(lost)}; it is started again.")

    def _live(self) -> Life:
        share = self._supervision.gpu_share
        on_gpu = self.spec.wants_gpu and share > 0
        try:
            child = ChildProcess(self.spec.with_gpu_share(share), self.part)
        except OSError as error:
            words = f"could not be started: {error.strerror}"
            return Life(Cause("engine-crashed", words), on_gpu=on_gpu)
        with self._changed:
            self._running = child
        # `close` may have run before there was a process to kill.
        if self._closing.is_set():
            child.kill(Cause("engine-closed", "was not needed any more"))
        answer = self._await_loaded(child)
        has_loaded = answer.get("is") == "loaded"
        if has_loaded:
            on_gpu = bool(answer["gpu_layers"])
            self._use(child, answer)
            self._tend(child)
        with self._changed:
            # Before `end`: no caller may take a process whose channel is about to close.
            self._running = self._ready = None
        refusal = _error_of(answer) if answer.get("is") == "error" else None
        return Life(child.end(), on_gpu=on_gpu, has_loaded=has_loaded, refusal=refusal)

    def _await_loaded(self, child: ChildProcess) -> dict[str, Any]:
        """Return the child's answer to its description, {} if it died or hung."""
        began_s, is_alive = time.monotonic(), True
        # If the child dies or writes nonsense, `end` finds the cause.
        with suppress(EOFError, OSError, ValueError):
            child.describe()
            while is_alive:
                # At most a second, so that the limit below is checked in time.
                is_alive = child.pump(1.0, answers=True) and not child.is_over
                # A child that has just ended may have refused its model first: read its answer.
                if child.channel.has_message():
                    answer, _ = child.channel.receive(Patience())
                    self.load_s = took_s = time.monotonic() - began_s
                    # The files are now cached: a load ten times as long is a hang, not a slow disk.
                    self._load_limit_s = max(30.0, 10 * took_s)
                    log.debug("engine loaded", engine=self.part.key, took_s=round(took_s, 2))
                    return answer
                if time.monotonic() - began_s > self._load_limit_s:
                    words = f"did not load its model within {self._load_limit_s:.0f} s"
                    child.kill(Cause("engine-hangs", words))
        return {}

    def _use(self, child: ChildProcess, facts: Mapping[str, Any]) -> None:
        layers = child.gpu_layers = facts["gpu_layers"]
        self._supervision.loaded(time.monotonic())
        if self._crashes is not None:
            # The model has loaded: earlier crashes no longer point to its file.
            self._crashes.forget(self.spec.model)
        self.memory_bytes = self.loaded_bytes = child.memory_bytes()
        self._own_reason, before = facts["degraded_reason"], self._less_gpu
        self.kernels = facts["kernels"]
        if self._supervision.gpu_share < 1:
            where = f"{layers} layers are on it now" if layers else "it runs on the CPU alone now"
            self._less_gpu = f"{self.part.name} failed on the GPU; {where}"
        self._away = ""
        self._breaks = 0
        log.info("engine", engine=self.part.key, name=self.name, pid=child.pid, gpu_layers=layers)
        with self._changed:
            # Last: from here on other threads call it, and they read the facts set above.
            self._ready = child
            self._changed.notify_all()
        if self._less_gpu != before:
            self._report("gpu-reduced", f"{sentence(self._less_gpu)}.")

    def _tend(self, child: ChildProcess) -> None:
        """Pass on the child's log lines and watch its memory until it ends."""
        look_s = 0.0
        while child.pump(_MEMORY_S) and not child.is_over:
            now_s = time.monotonic()
            if child.gpu_layers:
                self.gpu.look(child.pid)
            # Each log line ends the wait: do not check the memory for every line.
            if now_s < look_s:
                continue
            look_s = now_s + _MEMORY_S
            self.memory_bytes = child.memory_bytes()
            # If the first check failed (0), take this one: the model itself is no growth.
            self.loaded_bytes = self.loaded_bytes or self.memory_bytes
            grown = self.memory_bytes - self.loaded_bytes
            if self._growth_bytes and grown > self._growth_bytes:
                words = f"had grown by {human_size(grown)} and was ended"
                child.kill(Cause("engine-too-large", words))
        self.memory_bytes = 0
        self.gpu.forget()

    def _tell_of_death(self, life: Life, decision: Decision) -> None:
        when = "" if life.has_loaded else " while it loaded its model"
        then = f"in {decision.delay_s:.0f} s" if decision.delay_s else "at once"
        less = ", with less of it on the GPU" if decision.less_gpu else ""
        self._away = f"{self.part.name} {life.cause.words}{when}; {self.part.meanwhile}"
        message = f"{sentence(self.part.name)} {life.cause.words}{when}; it is started again"
        self._report(life.cause.code, f"{message} {then}{less}.")

    def _give_up(self, error: StarkError) -> None:
        self._away = f"{self.part.name} is given up [{error.code}]; {self.part.meanwhile}"
        with self._changed:
            self._given_up = error
            self._changed.notify_all()
        if self.loaded_bytes and self._restarts:  # else `load` raises it
            self._report(error.code, error.message)

    def _report(self, code: str, message: str) -> None:
        with self._changed:
            tell = self._tell
            # Keep a fault at the start while there is no listener.
            if tell is None:
                self._untold.append((code, message))
        if tell is not None:
            # Outside the lock, as in `listen`.
            tell(code, message)


def _error_of(answer: Mapping[str, Any]) -> StarkError:
    # Look the class up by name among our own errors: nothing from the child is unpickled.
    kind: type[StarkError] = getattr(errors, answer["class"])
    return kind(answer["code"], answer["message"], answer["fix"])
