"""`demo`: play a recorded service through the whole program, with an operator, and sum it up."""

from __future__ import annotations

import argparse
import asyncio
import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import structlog
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from pipeline.church.scripture import verse_index
from pipeline.cli import streams
from pipeline.cli.browser import add_browser, open_with_token
from pipeline.cli.commands.run import SYNTHETIC, serve
from pipeline.cli.options import Commands, add_command, add_serving, settings_of
from pipeline.config.schema import Settings
from pipeline.core.errors import ModelError, VersesError
from pipeline.core.resources import bundled
from pipeline.core.threads import Thread
from pipeline.daemon.context.screen import Screen
from pipeline.models.automatic import AUTO, FIRST, names_in_use, recognizer_name, translator_name
from pipeline.models.catalog import state
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import STARTER as STARTER_MODEL
from pipeline.server.operator_token import token_in_force

if TYPE_CHECKING:
    from pipeline.evaluation.score import Score

DEMO = {"translate.source": "en", "translate.target": "es", "audio.channel": 1}
"""Settings that the demo's recording and reference need; they override the church's settings."""
STARTER = {
    "stt.engine": "whisper",
    "stt.model": "starter",
    "translate.partial.engine": "marian",
    "translate.partial.model": "starter",
    "translate.final.engine": "gemma",
    "translate.final.model": "starter",
    "translate.final.prompt": "auto",
}
"""Settings of --starter: the demo runs on the shipped models only."""
_ROBOT, _PEOPLE = "sermon", "service"
"""The recordings: the starter recognizer knows the voices of the first one only."""
_LATE_MS = 3000
_NEXT = (
    "Next, hear yourself: `stark-translate run`. (`stark-translate demo --details`: all figures.)"
)
_SMALL = (
    "The translators are the small ones that ship, good for a demo and not for a service: "
    "`stark-translate budget` names better ones for this machine."
)


def add(commands: Commands) -> None:
    says = "Play a recorded service through everything: wall, phone and desk on one page."
    demo = add_command(commands, "demo", _demo, says)
    add_serving(demo)
    add_browser(demo)
    option = demo.add_argument
    option("--fast", action="store_true", help="play as fast as the machine can")
    option("--loop", action="store_true", help="repeat until Ctrl-C")
    starter = "fetch nothing, and run on the models that ship, with a synthetic voice"
    option("--starter", action="store_true", help=starter)
    option("--offline", action="store_true", help="download nothing")
    option("--details", action="store_true", help="print a table of all figures at the end")


def _demo(arguments: argparse.Namespace) -> int:
    forced: dict[str, Any] = dict(STARTER) if arguments.starter else {}
    # Read twice: the choice of the recording depends on the models that these settings select.
    settings = settings_of(arguments, DEMO | forced).settings
    if settings.stt.model == AUTO and not arguments.offline:
        _have_real_recognizer(settings)
    if settings.church.verses != "off":
        _have_index(settings.translate.source)
    name = _ROBOT if recognizer_name(settings) == STARTER_MODEL else _PEOPLE
    if name == _PEOPLE and translator_name(settings, "gemma") == STARTER_MODEL:
        # The starter's two translators know French as well.
        forced["translate.targets"] = [{"lang": "fr"}]
    played = {"audio.input": str(bundled("demo", f"{name}.flac"))}
    pace = {"audio.pace": "fast" if arguments.fast else "realtime"}
    loaded = settings_of(arguments, DEMO | forced | played | pace)
    reference = bundled("demo", f"{name}.json")

    def at_desk(page: str) -> None:
        directory = Path(loaded.settings.session.directory)
        token = token_in_force(loaded.settings.operator.token, directory)
        if name == _PEOPLE:
            script = orjson.loads(reference.read_bytes())
            DemoOperator(page, token, script, bundled("demo", "notes.md")).start()
        open_with_token(token, f"{page.removesuffix('operator')}demo", directory, arguments.browser)

    def then(folder: Path, screen: Screen) -> None:
        # Imported here: a service needs none of it.
        from pipeline.evaluation.score import score, table  # noqa: PLC0415

        result, models = score(folder, reference), names_in_use(loaded.settings)
        if arguments.details:
            screen.show_summary(table(result, models))
        for line in sentences(result, models.values()):
            screen.show_summary(line)
        screen.show_summary(f"The session is kept in {folder}")

    return serve(loaded, "demo", loop=arguments.loop, then=then, at_desk=at_desk)


def sentences(result: Score, models: Iterable[str]) -> list[str]:
    """Return the result in sentences: delay, accuracy, a note on the models, and the next step."""
    took = result.last_syllable_to_final
    quick = "" if took is None else f"Captions came {took.p50 / 1000:.1f} s after the last word. "
    if took is not None and took.p50 > _LATE_MS:
        quick += "That is late: this machine was too busy, or is too slow. "
    heard = "It ended before a sentence was over."
    if result.wer is not None:
        # Rounded down: 100% would claim that no word was misheard.
        right = math.floor(100 * (1 - min(1.0, result.wer)))
        heard = f"{right}% of the words were heard right."
    parts = [f"{quick}{heard}"]
    if STARTER_MODEL in models:
        parts.append(_SMALL)
    return [*parts, _NEXT]


def _have_index(lang: str) -> None:
    """Build the index of verses before the demo begins; in a service it may be a little late."""
    if not (verse_index.folder(lang) / "index.json").exists():
        streams.say("Building the index of Bible verses, once: some seconds.")
        try:
            verse_index.renew(lang)
        except VersesError as error:
            streams.say(f"No printed verses: {error}")


def _have_real_recognizer(settings: Settings) -> None:
    """Fetch the recognizer of human voices, once; without it the demo runs on the starter."""
    store = ModelLibrary.of(settings)
    if recognizer_name(settings) != STARTER_MODEL or state(store, FIRST)[0] == "here":
        return
    streams.say(f"Fetching {FIRST}, which hears real voices, once (--starter goes without it).")
    from pipeline.cli.commands.models import Download  # noqa: PLC0415 - seldom needed

    try:
        with Download() as shown:
            shown.obtain(FIRST, store)
    except ModelError as error:
        streams.say(f"{error.message} The demo goes on with the starter. {SYNTHETIC}")


log = structlog.get_logger()


class DemoOperator:
    """Adds the preacher's notes, shows suggested verses, corrects what the script marks as wrong.

    `script` is the recording's reference (demo/service.json).
    """

    def __init__(
        self, page: str, token: str, script: Mapping[str, Any], notes: Path, *, seen_s: float = 2.5
    ) -> None:
        """Take the address of the operator's page and the operator's token.

        A mistake is shown for `seen_s` before it is corrected, so that people see it.
        """
        # The same step turns https into wss.
        self._uri = f"{page.replace('http', 'ws', 1).removesuffix('operator')}ws?kind=operator"
        self._token, self._notes, self._seen_s = token, notes, seen_s
        self._sections: list[Mapping[str, Any]] = list(script["sections"])
        self._sentences: Sequence[Mapping[str, Any]] = script["sentences"]
        self._wrong = [each for each in self._sentences if each.get("correct")]

    def start(self) -> None:
        """Connect as an operator in a separate thread, which ends with the service."""
        # The demo continues without its operator.
        gone = "The demo's operator has left"
        Thread(
            lambda: asyncio.run(self.work()),
            "demo operator",
            failed=lambda error: log.warning("demo", says=f"{gone}: {error}."),
        ).start()

    async def work(self) -> None:
        """Work until the service ends."""
        try:
            # The backlog of an operator's page may be large; a proxy must not be used.
            async with connect(self._uri, max_size=None, proxy=None) as desk:
                await _send(desk, type="auth", token=self._token)
                async for raw in desk:
                    await self._see(desk, orjson.loads(raw))
        except (ConnectionClosed, InvalidHandshake, OSError) as error:
            log.debug("demo operator", reason=str(error))

    async def _see(self, desk: ClientConnection, message: Mapping[str, Any]) -> None:
        match message:
            # Only now: an earlier command would be refused.
            case {"type": "authorized"}:
                self._say("the preacher's notes are added, as the desk does with a file")
                await self._add_notes(desk)
            case {"type": "health", "audio_s": float(at_s)}:
                # By the time of the audio: with --fast, any other clock would be too slow.
                while self._sections and self._sections[0]["start_s"] <= at_s + 1:
                    log.info("demo", says=self._sections.pop(0)["says"])
            case {"type": "suggestion", "ref": ref, "id": caption} if ref:
                self._say(f"{ref} is suggested at the desk, and shown (key V)")
                await _send(desk, type="command", name="take-verse", id=caption)
            case {"type": "caption", "final": True, "id": caption, "source": {"text": heard}}:
                span = message["start_s"], message["end_s"]
                # A caption that is hidden or was heard right needs no correction.
                if heard and (said := self._said(*span)) and said != heard:
                    # Cleared before the wait: the corrected caption comes here too.
                    self._wrong = []
                    await asyncio.sleep(self._seen_s)
                    self._say(f"what was heard is corrected: “{said}”")
                    await _send(desk, type="command", name="correct", id=caption, text=said)

    def _said(self, start_s: float, end_s: float) -> str:
        """Return the true text of a time span if the sentence to correct is in it, else ""."""

        def is_in(sentence: Mapping[str, Any]) -> bool:
            # By its middle: the cut of an utterance is not known to a tenth of a second.
            middle_s: float = (sentence["start_s"] + sentence["end_s"]) / 2
            return start_s < middle_s < end_s

        if not any(map(is_in, self._wrong)):
            return ""
        return " ".join(each["en"] for each in self._sentences if is_in(each))

    async def _add_notes(self, desk: ClientConnection) -> None:
        content = self._notes.read_bytes()
        await _send(
            desk,
            type="command",
            name="add-notes",
            file=self._notes.name,
            size=len(content),
            at=0,
            data=base64.b64encode(content).decode(),
        )

    def _say(self, does: str) -> None:
        log.info("demo", says=f"The demo plays the operator: {does}.")


async def _send(desk: ClientConnection, **message: object) -> None:
    await desk.send(orjson.dumps(message).decode())
