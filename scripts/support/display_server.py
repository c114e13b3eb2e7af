"""A service that a browser can open: the real board and hub, on an event loop in a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pipeline.captions.board import CaptionBoard
from pipeline.config import schema
from pipeline.core.metrics import Metrics
from pipeline.core.types import Caption, Mode, State
from pipeline.protocol.caption import CaptionMessage, TargetText
from pipeline.protocol.commands import CommandMessage
from pipeline.protocol.messages import NoticeMessage
from pipeline.server.hub import Hub
from pipeline.server.streams.voice_streams import VoiceStreams
from pipeline.session.past_services import PastServices
from scripts.support.loop_thread import LoopThread
from scripts.support.records import caption, health_record


def _boards(session: str, targets: Sequence[str], history: int = 200) -> dict[str, CaptionBoard]:
    return {lang: CaptionBoard(session, "en", lang, history) for lang in targets}


class DisplayServer:
    """Run a hub. Every method may be called from the test's thread."""

    def __init__(
        self,
        *,
        target: str = "es",
        mode: Mode = "live",
        session: str = "one",
        history: int = 200,
        certificate: tuple[Path, Path] | None = None,
        extra_targets: Sequence[str] = (),
        ack_every: int = 1,
        sessions: Path | None = None,
        server: Mapping[str, Any] | None = None,
        church: schema.Church | None = None,
        voices: VoiceStreams | None = None,
    ) -> None:
        """`extra_targets` are languages besides `target`, `sessions` is the folder of past
        services, `server` are more server settings, `voices` are the speech streams.
        """
        self._voices = voices
        self._ack_every = ack_every
        self.mode: Mode = mode
        self.boards = _boards(session, (target, *extra_targets), history)
        """By target language."""
        self.metrics = Metrics()
        self.published: list[CaptionMessage] = []
        self._port = 0
        self._certificate = certificate
        self._sessions = sessions
        self._church = church
        self.server = dict(server or {})
        """Server settings besides port and certificate; the next `open` applies them."""
        self._hub: Hub | None = None
        self._loop = LoopThread("hall")

    def __enter__(self) -> Self:
        """Start the hub, in the state `listening`."""
        self._loop.start()
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._loop.stop()

    @property
    def board(self) -> CaptionBoard:
        """The board of the first target."""
        return next(iter(self.boards.values()))

    @property
    def url(self) -> str:
        """URL of the pages, without the last slash."""
        return f"{'https' if self._certificate else 'http'}://127.0.0.1:{self._port}"

    def open(self, state: State = "listening") -> None:
        """Start the hub; after `close` it uses the same port as before."""

        cert, key = self._certificate or ("", "")

        async def start() -> Hub:
            hub = Hub(
                tuple(self.boards.values()),
                schema.Server.model_validate(
                    {"port": self._port, "tls_cert": str(cert), "tls_key": str(key)} | self.server
                ),
                mode=self.mode,
                token="secret",
                metrics=self.metrics,
                ack_every=self._ack_every,
                past=PastServices(self._sessions) if self._sessions else None,
                church=self._church,
                voices=self._voices,
            )
            if self._voices:
                self._voices.open()
            hub.set_state(state)
            await hub.start(on_command=self._command, health=health_record)
            return hub

        self._hub = self._loop.wait(start())
        self._port = self._hub.port

    def close(self) -> None:
        """Say goodbye to every display and free the port."""
        if self._hub is not None:
            self._loop.wait(self._hub.close())
            self._hub = None

    def restart(self, session: str) -> None:
        """Stop the daemon and start it again; the journal restores the history."""
        self.close()
        before, self.boards = self.boards, _boards(session, tuple(self.boards))
        for lang, board in before.items():
            self.boards[lang].restore(board.snapshot().messages)
        self.open()

    def adopt(self, session: str, extra_targets: Sequence[str] = ()) -> None:
        """Switch open displays to another service, as a relay does."""
        self.boards = _boards(session, (self.board.target, *extra_targets))
        boards, adopt = tuple(self.boards.values()), self._running().adopt
        self._loop.call(adopt, boards, self.mode, state="listening", notice=NoticeMessage())

    def show(self, shown: Caption) -> None:
        """Publish a caption."""
        self._publish(lambda: self.board.show(shown))

    def show_in(self, lang: str, shown: Caption) -> None:
        """Publish a caption in a target language."""
        self._publish(lambda: self.boards[lang].show(shown), lang)

    def say(
        self, caption_id: int, text: str, source: str = "", *, final: bool = False, stable: int = 0
    ) -> None:
        """Publish a caption in Spanish."""
        source = source or f"Source of {caption_id}."
        self.show(caption(caption_id, source, text, final=final, stable=stable))

    def reopen(self, caption_id: int) -> None:
        """Reopen a final caption, because its speaker continues."""
        self._publish(lambda: self.board.reopen(caption_id))

    def edit(self, caption_id: int, text: str) -> None:
        """Edit a caption as an operator does."""
        self._publish(lambda: self.board.edit(caption_id, text))

    def correct(self, caption_id: int, text: str, translation: str) -> None:
        """Correct the recognized text as an operator does, then retranslate it."""
        self._publish(lambda: self.board.correct(caption_id, text))
        target = TargetText(self.board.target, translation, "gemma")
        self._publish(lambda: self.board.retranslate(caption_id, target))

    def hide(self, caption_id: int) -> None:
        """Hide a caption as an operator does."""
        self._publish(lambda: self.board.hide(caption_id))

    def state(self, state: State, reason: str = "") -> None:
        """Set the state of the daemon."""
        self._loop.call(self._running().set_state, state, reason)

    def glass(self, kind: str) -> int:
        """Count the acknowledgements from displays of a kind."""
        name = "stark_glass_seconds_count"
        return int(self.metrics.registry.get_sample_value(name, {"kind": kind}) or 0)

    def clients(self, kind: str) -> int:
        """Count the connected displays of a kind."""
        return int(self.metrics.registry.get_sample_value("stark_clients", {"kind": kind}) or 0)

    def _publish(self, change: Callable[[], CaptionMessage | None], lang: str = "es") -> None:
        def publish() -> None:
            message = change()
            if message is not None:
                self.published.append(message)
                if self._hub is not None:
                    self._hub.publish(message, lang)

        self._loop.call(publish)

    def _running(self) -> Hub:
        assert self._hub is not None, "the hall is closed"
        return self._hub

    def _command(self, command: CommandMessage) -> None:
        raise AssertionError(f"no display may send a command: {command}")
