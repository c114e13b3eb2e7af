from __future__ import annotations

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Request

from pipeline.captions.board import CaptionBoard
from pipeline.core.errors import ProtocolError
from pipeline.server.boards import Boards, Subscription, parse_subscription
from scripts.support.records import caption


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


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", Subscription("es", "audience", None, "")),
        ("lang=en&kind=obs", Subscription("en", "obs", None, "")),
        (
            "lang=es&kind=projector&session=2026-11-22T09-30-00&since=41",
            Subscription("es", "projector", 41, "2026-11-22T09-30-00"),
        ),
        ("since=0&other=1&kind=operator", Subscription("es", "operator", 0, "")),
        ("lang=es&lang=fr", Subscription("es", "audience", None, "")),
        ("prefer=es&lang=en", Subscription("en", "audience", None, "")),
        ("history=20", Subscription("es", "audience", history=20)),
        ("history=0&since=7", Subscription("es", "audience", 7, history=0)),
    ],
)
def test_a_subscription(query: str, expected: Subscription) -> None:
    assert parse_subscription(query, "en", ["es"]) == expected


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("lang=fr", "unknown-lang"),
        ("kind=toaster", "bad-field"),
        ("since=%C2%B2", "bad-field"),
        ("since=" + "9" * 5000, "bad-field"),
        ("history=all", "bad-field"),
    ],
)
def test_a_wrong_subscription_is_refused(query: str, code: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_subscription(query, "en", ["es"])
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("prefer", "lang"),
    [
        ("fr-CA,fr,en-US", "fr"),
        ("en-US,en,fr", "fr"),  # anybody's phone may be set to the spoken language
        ("zh-Hant-TW,fr", "zh"),
        ("PT-br", "pt-BR"),
        ("en-US,en", "es"),
        ("", "es"),
        (",,-,%FF", "es"),
    ],
)
def test_a_phone_gets_the_first_of_its_languages_that_is_translated_into(
    prefer: str, lang: str
) -> None:
    targets = ["es", "fr", "zh", "pt-BR"]
    assert parse_subscription(f"prefer={prefer}", "en", targets).lang == lang
