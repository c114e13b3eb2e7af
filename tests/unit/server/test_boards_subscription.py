from __future__ import annotations

import pytest

from pipeline.core.errors import ProtocolError
from pipeline.server.boards import Subscription, parse_subscription


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
        ("lang=", "unknown-lang"),
        ("lang=%FF%00", "unknown-lang"),
        ("kind=toaster", "bad-field"),
        ("since=-1", "bad-field"),
        ("since=", "bad-field"),
        ("since=1.5", "bad-field"),
        ("since=%C2%B2", "bad-field"),
        ("since=" + "9" * 5000, "bad-field"),
        ("history=-1", "bad-field"),
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
        ("en-US,en,fr", "fr"),  # a phone set to the spoken language may be anybody's
        ("zh-Hant-TW,fr", "zh"),
        ("PT-br", "pt-BR"),
        ("en-US,en", "es"),
        ("de", "es"),
        ("", "es"),
        (",,-,%FF", "es"),
        ("fr", "fr"),
    ],
)
def test_a_phone_gets_the_first_of_its_languages_that_is_translated_into(
    prefer: str, lang: str
) -> None:
    targets = ["es", "fr", "zh", "pt-BR"]
    assert parse_subscription(f"prefer={prefer}", "en", targets).lang == lang


def test_what_a_reader_has_chosen_counts_more_than_what_the_browser_prefers() -> None:
    assert parse_subscription("prefer=fr&lang=en", "en", ["es", "fr"]).lang == "en"
