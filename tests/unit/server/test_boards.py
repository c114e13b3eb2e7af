from __future__ import annotations

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Request

from pipeline.captions.board import CaptionBoard
from pipeline.core.errors import ProtocolError
from pipeline.server.boards import Boards
from scripts.support.captions import caption


def boards(session: str = "one") -> Boards:
    made = {lang: CaptionBoard(session, "en", lang, 50) for lang in ("es", "fr")}
    for lang, board in made.items():
        for key in range(1, 4):
            board.show(caption(key, "said", f"{lang} {key}", final=True, lang=lang))
    return Boards((made["es"], made["fr"]))


def asked(query: str) -> Request:
    return Request(f"/ws?{query}", Headers())


def shown(of: Boards, query: str, *, is_secret: bool = False) -> tuple[list[str], list[str] | None]:
    history = of.history(of.subscription(asked(query)), is_secret=is_secret)
    earlier = history.earlier
    return (
        [each.target.text for each in history.captions],
        None if earlier is None else [each.target.text for each in earlier],
    )


def test_the_spoken_language_is_read_with_the_first_target() -> None:
    made = boards()
    assert (made.targets, made.langs) == (("es", "fr"), ("es", "fr", "en"))
    assert [made.target_of(lang) for lang in ("es", "fr", "en")] == ["es", "fr", "es"]
    assert shown(made, "lang=en") == shown(made, "lang=es")


@pytest.mark.parametrize(
    ("query", "now", "later"),
    [
        ("lang=fr", ["fr 1", "fr 2", "fr 3"], None),
        ("lang=fr&history=2", ["fr 2", "fr 3"], ["fr 1"]),
        ("lang=fr&history=9", ["fr 1", "fr 2", "fr 3"], []),
        ("lang=fr&history=2&since=1&session=one", ["fr 2", "fr 3"], None),
        ("lang=fr&history=2&since=1&session=two", ["fr 2", "fr 3"], ["fr 1"]),
    ],
)
def test_a_display_gets_as_much_history_as_it_wants(
    query: str, now: list[str], later: list[str] | None
) -> None:
    assert shown(boards(), query) == (now, later)


def test_what_is_secret_is_not_shown() -> None:
    assert shown(boards(), "lang=fr", is_secret=True) == ([], None)
    assert shown(boards(), "since=2&history=2", is_secret=True) == ([], [])


def test_a_language_that_there_is_not_is_an_error_once_the_languages_are_known() -> None:
    with pytest.raises(ProtocolError) as raised:
        boards().subscription(asked("lang=xx"))
    assert raised.value.code == "unknown-lang"
    assert boards().subscription(asked("lang=xx"), is_strict=False).lang == "es"
    assert boards(session="").subscription(asked("lang=xx&prefer=fr")).lang == "fr"
