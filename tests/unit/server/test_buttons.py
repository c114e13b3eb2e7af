"""Operator actions over plain HTTP on a real port: what they do, and who may call them."""

from __future__ import annotations

from functools import partial
from urllib.parse import quote

import orjson
import pytest

from pipeline.protocol.commands import CommandMessage, PlainCommand, SpokenCommand, TypeCommand
from pipeline.protocol.messages import ConsoleMessage
from tests.support.hub import TOKEN, in_loop, serving

BEARER = f"Bearer {quote(TOKEN)}"


@pytest.fixture(autouse=True)
def without_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.server.inbound._WRONG_TOKEN_S", 0.01)


@in_loop
async def test_a_button_does_what_the_desk_does_and_tells_how_it_is_then() -> None:
    async with serving() as service:
        now = ConsoleMessage(paused=True, song="hold", undo="pause")
        service.hub._buttons.console = lambda: now
        for path in ("/do/pause", "/do/blank-or-unblank", "/do/pause-or-resume?x=1"):
            reply = await service.get(path, Authorization=BEARER)
            if path.startswith("/do/pause-or"):  # it is paused, and this service cannot resume
                assert (reply.status, reply.body[-14:]) == (409, b" [not-paused]\n")
                continue
            expected_state = {"paused": True, "blank": False, "song": "hold", "undo": "pause"}
            assert reply.status == 200, reply.body
            assert orjson.loads(reply.body) == expected_state
        held = await service.get(f"/do/song-or-captions?token={quote(TOKEN)}")
        assert held.status == 200
        shown = await service.get(f"/do/notice?text=Comida%20lista&lang=es&token={quote(TOKEN)}")
        assert shown.status == 200
        expected: list[CommandMessage] = [
            PlainCommand(name="pause"),
            PlainCommand(name="blank"),
            PlainCommand(name="song-auto"),
            TypeCommand(name="notice", text="Comida lista", lang="es"),
        ]
        assert service.commands == expected
        # The scheme counts in any case of its letters.
        assert (
            await service.get("/do", Authorization=BEARER.swapcase()[:7] + BEARER[7:])
        ).status == 200
        assert len(service.commands) == 4


@pytest.mark.parametrize(
    ("action", "code"),
    [
        *((name, "unknown-command") for name in ("off-record", "reload", "edit", "nothing")),
        ("notice", "bad-field"),
    ],
)
@in_loop
async def test_what_cannot_be_taken_back_or_is_incomplete_is_refused(
    action: str, code: str
) -> None:
    async with serving() as service:
        reply = await service.get(f"/do/{action}?id=1&text=", Authorization=BEARER)
        assert (reply.status, f"[{code}]" in reply.body.decode()) == (409, True), reply.body
        assert service.commands == []


@in_loop
async def test_the_sound_of_a_doubtful_caption_is_for_who_has_a_token() -> None:
    async with serving() as service:
        service.hub._buttons.sound = lambda key, lang: b"RIFF" if (key, lang) == (9, "es") else b""
        reply = await service.get("/do/hear?id=9&lang=es", Authorization=BEARER)
        assert (reply.status, reply.body, reply.headers["content-type"]) == (
            (200, b"RIFF", "audio/wav")
        )
        # The last has more digits than Python converts to an int.
        for query in ("id=8&lang=es", "id=x", "", f"id={'9' * 5000}"):
            assert (await service.get(f"/do/hear?{query}", Authorization=BEARER)).status == 404
        assert (await service.get("/do/hear?id=9&lang=es")).status == 401
        assert (await service.get("/do/hear?id=9&lang=es&token=guess")).status == 403


@in_loop
async def test_without_a_token_of_ours_nothing_is_done() -> None:
    async with serving() as service:
        assert (await service.get("/do/pause")).status == 401
        wrong = await service.get("/do/pause?token=guess")
        assert (wrong.status, b"not-authorized" in wrong.body) == (403, True)
        foreign = await service.get(
            "/do/pause", Authorization=BEARER, Origin="https://evil.example"
        )
        assert foreign.status == 403
        assert (await service.get("/do/pause", "HEAD", Authorization=BEARER)).status == 404
        assert service.commands == []


@in_loop
async def test_a_button_forces_the_spoken_language_and_lets_it_go() -> None:
    async with serving() as service:
        service.hub._buttons.console = lambda: ConsoleMessage(spoken=("en", "es"), forced="es")
        for query in ("?lang=es", ""):
            reply = await service.get(f"/do/spoken{query}", Authorization=BEARER)
            assert (reply.status, orjson.loads(reply.body)["spoken"]) == (200, "es")
        assert service.commands == [SpokenCommand(lang="es"), SpokenCommand(lang="")]
        service.commands.clear()
        for forced in ("", "en", "es"):
            now = partial(ConsoleMessage, spoken=("en", "es"), forced=forced)
            service.hub._buttons.console = now
            await service.get("/do/next-language", Authorization=BEARER)
        assert service.commands == [SpokenCommand(lang=lang) for lang in ("en", "es", "")]
