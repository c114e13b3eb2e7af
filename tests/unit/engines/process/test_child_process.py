"""One child process as its parent sees it, and its cause of death in words."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
import structlog

from pipeline.core import logs
from pipeline.engines.process import child_process
from pipeline.engines.process.channel import Patience
from pipeline.engines.process.child import LOG_MARK, OUT_OF_MEMORY
from pipeline.engines.process.child_process import ChildProcess
from pipeline.engines.process.deaths import Cause
from pipeline.engines.specification import FINAL, EngineSpec
from tests.support.failing_engines import put_into_children

pytestmark = pytest.mark.slow

NOTHING = EngineSpec("gemma", "gemma", Path("/nowhere.gguf"), {})
STACK = (
    "import faulthandler; faulthandler.enable(); os.write(2, b'double free\\n'); "
    "os.kill(os.getpid(), signal.SIGSEGV)"
)
"""Python prints its stack, which is no last word."""


def ended(child: ChildProcess) -> Cause:
    while child.pump(1.0):
        pass
    return child.end()


def environment(child: ChildProcess) -> dict[str, str]:
    """Return the child's variables: for a moment after its start the kernel shows none."""
    variables: dict[str, str] = {}
    while not variables:
        variables = psutil.Process(child.pid).environ()
        time.sleep(0.01)
    return variables


def does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> ChildProcess:
    """Start a child that runs only this code."""
    text = f"\n    import os, signal, sys, time\n    {code}\n"
    for name, value in put_into_children(tmp_path / "site", "final", text).items():
        monkeypatch.setenv(name, value)
    return ChildProcess(NOTHING, FINAL)


@pytest.mark.parametrize(
    ("code", "died", "words"),
    [
        (STACK, "engine-crashed", "crashed (SIGSEGV: double free)"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "engine-killed", "was killed (SIGKILL)"),
        ("os.kill(os.getpid(), 35)", "engine-crashed", "crashed (signal 35)"),
        ("os.write(1, b'one\\ntwo\\n'); os._exit(3)", "engine-crashed", "ended with code 3: two"),
        (
            "os.write(2, b'std::bad_alloc\\n'); os.abort()",
            "engine-out-of-memory",
            "got no more memory: std::bad_alloc (",
        ),
        (f"os._exit({OUT_OF_MEMORY})", "engine-out-of-memory", "got no more memory ("),
    ],
)
def test_what_it_died_of_is_told_with_the_librarys_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, *, died: str, words: str
) -> None:
    found = ended(does(tmp_path, monkeypatch, code))
    assert found.code == died
    assert found.words.startswith(words)
    assert ("B were free" in found.words) == (died == "engine-out-of-memory")


def test_an_error_that_nobody_expected_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import pipeline.engines.llama_cpp.gemma as g; g.Gemma.load = lambda self: 1 / 0"
    child = does(tmp_path, monkeypatch, code)
    child.describe()
    assert ended(child).words == "ended with code 1: ZeroDivisionError: division by zero"


def test_whoever_kills_it_says_why_and_it_is_over_at_once() -> None:
    child = ChildProcess(NOTHING, FINAL)
    assert not child.is_over
    child.kill(Cause("engine-hangs", "did not answer"))
    child.kill(Cause("engine-closed", "was not needed"))
    while not child.is_over:  # although nobody has read its end
        time.sleep(0.01)
    assert ended(child) == Cause("engine-hangs", "did not answer")
    assert child.memory_bytes() == 0


def test_its_log_lines_reach_the_parents_log_and_only_those_that_it_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = (
        "import pipeline.engines.llama_cpp.gemma as g; import logging; import structlog; "
        "log = structlog.get_logger('pipeline.engines.llama_cpp.gemma'); "
        "g.Gemma.load = lambda self: (log.info('hello', words=3), log.debug('hidden'), "
        "logging.getLogger('library').info('hidden'), "
        "logging.getLogger('library').warning('look %s', 'out'), sys.exit())"
    )
    logs.configure("info", "json")
    try:
        child = does(tmp_path, monkeypatch, code)
        child.describe()
        ended(child)
    finally:
        structlog.reset_defaults()
        logging.getLogger().removeHandler(logs._handler)
        logging.getLogger("pipeline").setLevel(logging.NOTSET)
        logging.getLogger().setLevel(logging.WARNING)
        logging.captureWarnings(capture=False)
    told = capsys.readouterr().err
    assert '"words":3' in told
    assert '"engine":"final"' in told
    assert '"logger":"pipeline.engines.llama_cpp.gemma"' in told
    assert '"event":"look out"' in told
    assert "hidden" not in told


def test_lines_of_libraries_and_of_ours_may_come_in_any_pieces() -> None:
    child = ChildProcess(NOTHING, FINAL)
    try:
        record = LOG_MARK + b'{"level":10,"logger":"x","event":"e"}\n'
        for piece in (
            b"half ",
            b"a line" + record,
            b"\xff\n",
            LOG_MARK + b"no json\n",
            b"z" * 200_000,
        ):
            child._take(piece)
        assert child._said == "\ufffd"
        assert list(child._last_lines) == ["half a line", "\ufffd"]
    finally:
        child.kill(Cause("x", "x"))
        ended(child)


def test_of_a_library_that_aborts_the_assertion_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the last line of a debugger, for which the new process would have to wait."""
    code = "from llama_cpp import _ggml; _ggml.libggml.ggml_abort(b'x.c', 1, b'no such layer')"
    child = does(tmp_path, monkeypatch, code)
    assert ended(child) == Cause("engine-crashed", "crashed (SIGABRT: x.c:1: no such layer)")


@pytest.mark.parametrize("own", ["", "7"])
def test_it_has_a_group_and_variables_of_its_own(monkeypatch: pytest.MonkeyPatch, own: str) -> None:
    """Its waiting threads soon go to sleep, unless the environment sets it otherwise."""
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/nowhere")
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    if own:
        monkeypatch.setenv("GOMP_SPINCOUNT", own)
    child = ChildProcess(NOTHING, FINAL)
    try:
        assert os.getpgid(child.pid) == child.pid, "not the terminal's"
        variables = environment(child)
        assert variables["GOMP_SPINCOUNT"] == (own or "1000")
        assert variables["GGML_NO_BACKTRACE"] == "1"
        assert "NOTIFY_SOCKET" not in variables
    finally:
        child.kill(Cause("x", "x"))
        ended(child)


def test_where_no_process_can_be_started_nothing_is_left_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(BlockingIOError):
        ChildProcess(NOTHING, FINAL)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_refusal_that_is_sent_just_before_the_end_is_not_missed() -> None:
    child = ChildProcess(NOTHING, FINAL)
    child.describe()
    while child.pump(1.0):
        pass
    assert child.channel.has_message()
    answer, _ = child.channel.receive(Patience())
    assert answer["code"] == "model-missing"
    assert child.end().words == "ended with code 0"


def test_one_that_is_stopped_is_ended_all_the_same() -> None:
    child = ChildProcess(NOTHING, FINAL)
    os.kill(child.pid, signal.SIGSTOP)
    assert child.end() == Cause("engine-killed", "was killed (SIGKILL)")


def test_one_that_nothing_ends_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a driver can keep a process alive after SIGKILL; here the wait for its end fails."""

    def wait(timeout: float | None = None) -> int:
        raise subprocess.TimeoutExpired("child", timeout or 0.0)

    for name in ("_END_S", "_DEATH_S"):
        monkeypatch.setattr(child_process, name, 0.01)
    child = ChildProcess(NOTHING, FINAL)
    process = child._process
    child.kill(Cause("engine-hangs", "did not answer for 9 s"))
    monkeypatch.setattr(process, "wait", wait)
    assert child.end() == Cause("engine-hangs", "did not answer for 9 s, and hangs in the system")
    monkeypatch.undo()
    process.wait()
