"""The spoken language: when a detection changes it, and when it does not."""

from __future__ import annotations

import pytest

from pipeline.workers.transcriber import LONG_S, SOME_S, SpokenLanguage

ES, EN = {"en": 0.1, "es": 0.9}, {"en": 0.95, "es": 0.05}
UNSURE = {"en": 0.25, "es": 0.75}
SHORT_S, TINY_S = LONG_S - 0.1, SOME_S - 0.1


def heard(spoken: SpokenLanguage, *said: tuple[dict[str, float], float]) -> list[str]:
    return [
        spoken.hear(shares, speech_s, key, is_whole=True)
        for key, (shares, speech_s) in enumerate(said, 1)
    ]


@pytest.mark.parametrize(
    ("said", "langs"),
    [
        ([(ES, LONG_S)], ["es"]),
        ([(UNSURE, 20.0)], ["en"]),
        ([(ES, TINY_S), (ES, TINY_S), (UNSURE, 1.0)], ["en", "es", "es"]),
        ([(ES, TINY_S), (EN, TINY_S), (ES, TINY_S)], ["en", "en", "en"]),
        ([(ES, TINY_S), (UNSURE, SHORT_S), (ES, TINY_S)], ["en", "en", "es"]),
        # It is recognized in its own language; what follows is in the earlier language.
        ([(ES, SHORT_S), (UNSURE, SHORT_S)], ["es", "en"]),
        ([({}, 20.0)], ["en"]),
    ],
)
def test_one_long_utterance_or_two_short_ones_that_agree_change_it(
    said: list[tuple[dict[str, float], float]], langs: list[str]
) -> None:
    assert heard(SpokenLanguage(("en", "es")), *said) == langs


def test_two_versions_of_one_utterance_are_not_two_that_agree() -> None:
    spoken = SpokenLanguage(("en", "es"))
    eager, final = (spoken.hear(ES, TINY_S, 7, is_whole=True) for _ in range(2))
    assert (eager, final) == ("en", "en")
    assert spoken.hear(ES, TINY_S, 8, is_whole=True) == "es"


def test_a_partial_that_may_be_of_another_language_waits() -> None:
    spoken = SpokenLanguage(("en", "es"))
    assert spoken.hear(ES, 1.0, 1, is_whole=False) == ""
    assert spoken.hear(UNSURE, SOME_S, 1, is_whole=False) == "en"
    assert (spoken.hear(ES, SOME_S, 1, is_whole=False), spoken.now) == ("es", "en")
    assert (spoken.hear(ES, LONG_S, 1, is_whole=False), spoken.now) == ("es", "es")


def test_what_an_operator_has_chosen_holds_until_it_is_let_go() -> None:
    spoken = SpokenLanguage(("en", "es"))
    spoken.forced = "es"
    assert (spoken.expected, spoken.hear(EN, 20.0, 1, is_whole=True)) == ("es", "es")
    spoken.forced = ""
    assert spoken.hear(UNSURE, 20.0, 2, is_whole=True) == "es"
    assert spoken.hear(EN, 20.0, 3, is_whole=True) == "en"


def test_an_operator_who_lets_go_while_it_is_looked_at_leaves_a_language() -> None:
    class LetGo(SpokenLanguage):
        """Chosen at the first look, and released before the second look."""

        def __init__(self) -> None:
            self._looks = iter(["", "es"])
            super().__init__(("en", "es"))

        @property
        def forced(self) -> str:
            return next(self._looks, "")

        @forced.setter
        def forced(self, lang: str) -> None:
            next(self._looks)

    spoken = LetGo()
    assert spoken.hear(UNSURE, 20.0, 1, is_whole=True) == "es"
    assert spoken.now == "es"
