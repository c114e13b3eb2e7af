"""Whether a sentence has ended where its speaker pauses."""

from __future__ import annotations

import pytest

from pipeline.text.sentences import HALF, goes_on


@pytest.mark.parametrize(
    ("over", "half", "lang"),
    [
        ("Grace is a gift that nobody here has ever earned.", "Grace is a gift that the.", "en"),
        ("He worked in a coal mine, and I never heard him complain again.", "When I was.", "en"),
        ("La gracia es un regalo que nadie se ha ganado.", "La gracia es un.", "es"),
        ("Dieu est bon avec nous tous les jours de la vie.", "Dieu est bon avec les.", "fr"),
    ],
)
def test_what_ends_with_an_article_or_has_just_begun_goes_on(
    over: str, half: str, lang: str
) -> None:
    assert goes_on(half, lang) > HALF > goes_on(over, lang)


def test_a_written_full_stop_is_no_evidence() -> None:
    assert goes_on("I remember holding my father's.", "en") == goes_on(
        "I remember holding my father's", "en"
    )


def test_a_name_follows_a_title() -> None:
    assert goes_on("Please welcome my friend, Dr.", "en") == 1.0
    assert goes_on("Please welcome my friend, the dr", "en") < 1.0


def test_of_nothing_of_a_long_text_and_of_an_unknown_language_nothing_is_known() -> None:
    assert goes_on("and so on to the " * 5, "en") == 0.0
    assert goes_on("", "en") == 0.0
    assert goes_on("und der", "de") == 0.0
